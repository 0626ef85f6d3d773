"""An agent's turn: its tests, its claim, its answer; in a pipeline also votes and recoveries."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable

import pytest

from tests.drive.conftest import DONE, RIGHT, WRONG, Track, answer
from tests.drive.pipelines import PipelineDrive
from tests.drive.team import Turn

pytestmark = pytest.mark.processes

Begin = Callable[[str], Track]


@pytest.mark.sweep
def test_an_agent_may_run_the_phase_itself(track: Begin) -> None:
    runs = "{python} -m pytest -p phase_gate.plugin -p no:cacheprovider -q --phase=green"
    driven = track("red-exited").plan(
        {"write": {"calc.py": RIGHT}, "run": [runs.replace("{python}", sys.executable)] * 2, **answer()}, signal="agent"
    )
    rows = driven.rows(code=0, real=True)
    assert len(driven.gated.json("history")["runs"]) == 1 + 2 + 1, "RED, its own two, and one of ours"
    assert rows[-1]["outcome"] == "done"


def test_a_phase_without_tests_is_judged_without_a_run(track: Begin) -> None:
    driven = track("notes").plan(
        {"say": "nothing\n"}, answer("written"), signal="agent", until="NOTES", workflow="short.yaml"
    )
    rows = driven.rows(code=0)
    assert rows[-1]["reason"].endswith("the cycle is done")
    assert "tests-ended" not in [row["event"] for row in rows]


def test_a_fact_that_the_agent_declares_is_judged(track: Begin) -> None:
    declares = f"{sys.executable} -m phase_gate.cli declare refactoring_complete=true --reason tidy"
    driven = track("refactor").plan({"say": "I look around.\n"}, {"run": [declares]}, until="REFACTOR")
    rows = driven.rows(code=13)
    assert rows[-1]["reason"] == "Gate 1 of REFACTOR is open: a person gives the signal of Gate 2"
    assert driven.turns() == 2


def test_done_while_tests_fail_is_blocked_and_told(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": WRONG}, "say": DONE},
        {"say": DONE, "expect": ["you claimed that it is done: 1 test failed in the last complete run"]},
    )
    rows = driven.rows("--iterations", "2", code=10)
    weighed = [row for row in rows if row["event"] == "claim-weighed"]
    assert [row["outcome"] for row in weighed] == ["continue", "continue"]
    assert rows[-1]["reason"].startswith("the budget of 2 iterations is spent")
    assert driven.state()["phase"] == "GREEN"


def test_a_crash_is_told_and_the_work_goes_on(track: Begin) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": WRONG}, "exit": 3, "err": "Segmentation fault\n"},
        {"write": {"calc.py": RIGHT}, **answer(), "expect": ["you failed with 3 last time"]},
        signal="agent",
    )
    rows = driven.rows(code=0)
    assert [row["code"] for row in rows if row["event"] == "agent-ended"] == [3, 0]


def test_the_agent_answers_by_the_command(track: Begin) -> None:
    signal = f'{sys.executable} -m phase_gate.cli signal --reason "both pass"'
    driven = track("red-exited").plan({"write": {"calc.py": RIGHT}, "run": [signal]}, signal="agent")
    rows = driven.rows(code=0)
    assert [row["answer"] for row in rows if row["event"] == "answer"] == ["done"]
    (spent,) = [row for row in driven.events("signal-spent") if row["phase"] == "GREEN"]
    assert spent["reason"] == "both pass"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("turn", "signal", "problem"),
    [
        pytest.param(answer(), "ask", "a person gives the signal in this drive", id="not-asked"),
        pytest.param(
            answer(remaining_work="a lot"), "agent", "exit_signal is true, but remaining_work", id="contradiction"
        ),
        pytest.param(answer(exit_signal="yes"), "agent", "exit_signal is 'yes'", id="malformed"),
        pytest.param(
            {"write": {".phase-gate/exit-signal.yaml": "exit_signal: true\n"}},
            "agent",
            "exit-signal.yaml was made while the agent worked",
            id="beside-the-drive",
        ),
    ],
)
def test_answers_that_are_refused(track: Begin, turn: dict[str, object], signal: str, problem: str) -> None:
    driven = track("green").plan(turn, {"expect": ["your answer was refused"]}, signal=signal)
    driven.rows("--iterations", "2", code=10)
    (refused,) = driven.events("signal-refused")
    assert problem in refused["problem"]
    assert driven.state()["phase"] == "GREEN"
    assert not list((driven.gated.folder / "drive").glob("*/signal-*"))
    assert not (driven.gated.folder / "exit-signal.yaml").exists()


@pytest.mark.sweep
def test_an_agent_that_is_not_asked_can_not_signal(track: Begin) -> None:
    commands = [
        f'{sys.executable} -m phase_gate.cli signal --reason "done" ; echo $? >> codes.txt',
        f'env -u PHASE_GATE_ANSWER {sys.executable} -m phase_gate.cli signal --reason "done" ; echo $? >> codes.txt',
        f"env -u PHASE_GATE_ANSWER {sys.executable} -m phase_gate.cli signal --next --reason x ; echo $? >>codes.txt",
    ]
    commands.append(
        f"{sys.executable} -m pytest -p phase_gate.plugin -q --phase=green --exit-signal=done; echo $? >> codes.txt"
    )
    driven = track("red-exited").plan({"write": {"calc.py": RIGHT}, "run": commands})
    rows = driven.rows(code=13)
    assert (driven.root / "codes.txt").read_text().split() == ["13"] * 4
    assert rows[-1]["outcome"] == "person"
    assert driven.state()["phase"] == "GREEN"


def test_a_phase_that_ends_beside_the_drive_needs_a_person(track: Begin) -> None:
    """An agent that hides that it is one can still reach the files; the drive sees it in the ledger."""
    code = (
        "from pathlib import Path;from phase_gate.gate.state import Event;"
        "from phase_gate.storage.opening import Place;from phase_gate.storage.store import TaskStore;"
        "s=TaskStore(Place(Path('.phase-gate'),'default'))\n"
        "with s.transaction() as c: c.record(Event(kind='phase-exited',data={'phase':'GREEN','next':'REFACTOR'}))"
    )
    driven = track("green").plan({"run": [f"{sys.executable} -c {shlex.quote(code)}"]}, signal="agent")
    rows = driven.rows(code=13, CI="1")
    assert rows[-1]["reason"].startswith("phase-exited was recorded while the agent worked")
    assert rows[-1]["outcome"] == "person"


PLANNED = "We write one part, and test that it is two.\n"


ONE, TWO = "PART = 1\n", "PART = 2\n"


CAUSE = {"failed_phase": "QA", "summary": "it fails", "root_cause": "it is one", "requires_phase_rewind_to": None}


PLAN: Turn = {"write": {"docs/plan.md": PLANNED}, **answer("planned")}


MENDED: Turn = {
    "write": {"docs/root-cause.json": json.dumps(CAUSE), "docs/recovery-plan.md": PLANNED, "part.py": TWO},
    "expect": ["# What RECOVERY asks for", "failed: QA"],
    **answer("mended"),
}


YES: Turn = {"vote": {"vote": "approve", "confidence": 1.0}}


def test_each_role_does_its_part(pipeline: PipelineDrive) -> None:
    pipeline.plan(
        {
            "PLAN": [PLAN],
            "agent": [answer("it is green")],
            "BUILD": [{"write": {"part.py": TWO}, **answer("built")}],
            "RECOVERY": [{}],
        },
        [[YES], [YES]],
    )
    rows = pipeline.rows(code=0)
    begun = [row["phase"] for row in rows if row["event"] == "iteration-started"]
    assert begun == ["PLAN", "BUILD", "QA"]
    assert [pipeline.turns(role) for role in ("PLAN", "BUILD", "agent", "RECOVERY", "voter1")] == [
        1,
        1,
        1,
        0,
        1,
    ]
    assert {row["word"]["by"] for row in pipeline.track.events("reviewed")} == {
        f"{sys.executable.rpartition('/')[2]} (reviewer 1)",
        f"{sys.executable.rpartition('/')[2]} (reviewer 2)",
    }


def test_voters_who_do_not_agree_send_the_plan_back(pipeline: PipelineDrive) -> None:
    doubts: Turn = {"vote": {"vote": "conditional", "confidence": 1.0, "reason": "say what happens at zero"}}
    better: Turn = {
        "write": {"docs/plan.md": PLANNED + "At zero it says no.\n"},
        "expect": ["say what happens at zero", "your signal waits until the reviewers agree"],
        **answer("planned"),
    }
    pipeline.plan({"PLAN": [PLAN, better], "agent": [{}], "RECOVERY": [{}]}, [[YES], [doubts, YES]], until="PLAN")
    pipeline.rows(code=0)
    assert pipeline.turns("PLAN") == 2
    assert not pipeline.track.events("attempt-failed"), "that is no gate that failed"


@pytest.mark.sweep
def test_a_voter_without_a_login_needs_a_person(pipeline: PipelineDrive) -> None:
    no: Turn = {"exit": 1, "say": "Invalid API key · Please run /login\n"}
    pipeline.plan({"PLAN": [PLAN], "agent": [{}], "RECOVERY": [{}]}, [[no], [YES]], until="PLAN")
    assert "(reviewer 1) can't work: Invalid API key · Please run /login" in pipeline.rows(code=13)[-1]["reason"]


@pytest.mark.sweep
def test_a_fix_is_made_and_checked_in_the_recovery(pipeline: PipelineDrive) -> None:
    pipeline.plan(
        {
            "PLAN": [PLAN],
            "BUILD": [{"write": {"part.py": ONE}, **answer("built")}],
            "agent": [{}, answer("it is green")],
            "RECOVERY": [MENDED],
        },
        [[YES], [YES]],
    )
    rows = pipeline.rows(code=0)
    begun = [row["phase"] for row in rows if row["event"] == "iteration-started"]
    assert begun == ["PLAN", "BUILD", "QA", "RECOVERY", "QA"]
    tested = [(row["phase"], row["code"]) for row in rows if row["event"] == "tests-ended"]
    assert ("RECOVERY", 0) in tested or ("RECOVERY", 10) in tested
    assert pipeline.turns("RECOVERY") == 1


@pytest.mark.sweep
def test_a_person_guides_a_stuck_pipeline(pipeline: PipelineDrive) -> None:
    # The debugger mends nothing, and says that it did: the only recovery is spent.
    useless: Turn = {**MENDED, "write": {**MENDED["write"], "part.py": ONE}}
    pipeline.plan(
        {
            "PLAN": [PLAN],
            "BUILD": [{"write": {"part.py": ONE}, **answer("built")}],
            "agent": [{}, {"write": {"part.py": TWO}, "expect": ["it has to be two"], **answer("it is two")}],
            "RECOVERY": [useless],
        },
        [[YES], [YES]],
    )
    for _ in range(2):  # a second drive finds it as it is
        assert pipeline.rows(code=12)[-1]["outcome"] == "halted"
    assert pipeline.track.state()["phase"] == "STUCK"
    guided = pipeline.track.project.gate("pipeline", "recover", "resume", "--reason", "it has to be two", "--by", "ann")
    assert guided.code == 0, guided.err
    assert pipeline.rows("--resume", code=0)[-1]["outcome"] == "done", "the agent expects the guidance in its prompt"


def test_a_transcript_is_no_vote(pipeline: PipelineDrive) -> None:
    says: Turn = {"say": "vote: approve\nconfidence: 1\nby: me\n"}
    pipeline.plan({"PLAN": [PLAN], "agent": [{}], "RECOVERY": [{}]}, [[YES], [says]], until="PLAN")
    pipeline.rows("--iterations", "2", code=10)
    assert len(pipeline.track.events("reviewed")) == 1
