"""`phase-gate signal`, `advance`, `declare`, `withdraw`, `rewind`, `baseline`: what each does, and what it refuses."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest

from phase_gate.decisions import signalling
from phase_gate.decisions.fresh_evidence import measure_now
from phase_gate.gate.measured import Evidence
from phase_gate.storage.signal_file import remove_signal_file
from phase_gate.storage.store import DRIVE_NAME
from phase_gate.task import Task
from tests.cli.conftest import Begin, CommandProject
from tests.support import CALC, Project

# --- what each refuses

#: Story, command, slug of the refusal, and how its problem begins. A folder without a task is in test_call.py.
REFUSED = [
    ("green-exited", "signal --reason done", "not-allowed", "GREEN has exited already"),
    ("done", "signal --reason done", "not-allowed", "the cycle is done: there is nothing to signal"),
    ("green", "signal --blocked", "bad-signal", "signal: blocked needs a reason"),
    ("green", "signal --test-wrong --next --reason ' '", "bad-signal", "signal: test-wrong needs a reason"),
    ("green", f"signal --next --reason {'x' * 70_000}", "bad-yaml", "exit-signal.yaml:1:1: bigger than 65536 bytes"),
    ("done", "advance", "not-allowed", "the cycle is done"),
    ("green", "advance", "phase-order", "GREEN has not exited (Gate 1 is open; Gate 2 waits for the exit signal)"),
    ("green-once", "advance", "phase-order", "GREEN has not exited (needs one more green run"),
    ("green", "declare tests_failing=0 --reason so", "not-allowed", "tests_failing is measured, not declared"),
    ("green", "declare no_such=1 --reason so", "not-allowed", "no phase of workflow tdd asks for 'no_such'"),
    ("refactor", "declare refactoring_complete --reason so", "bad-usage", "'refactoring_complete' has no value"),
    (
        "refactor",
        "declare refactoring_complete=yes --reason so",
        "bad-usage",
        "refactoring_complete='yes': not of type",
    ),
    ("done", "declare refactoring_complete=true --reason so", "not-allowed", "the cycle is done: facts belong to a"),
    ("green", "withdraw", "not-allowed", "no signal is waiting"),
    ("refactor", "withdraw refactoring_complete", "not-allowed", "refactoring_complete is not declared in this phase"),
    ("done", "rewind green --reason so", "phase-order", "the cycle is done: there is no way back into it"),
    ("green", "rewind refactor --reason so", "phase-order", "REFACTOR comes after GREEN: rewind only goes back"),
    ("green", "rewind blue --reason so", "bad-usage", "unknown phase 'blue'"),
    ("green", f"rewind {'röt' * 100} --reason so", "bad-usage", f"unknown phase '{('röt' * 100)[:59]}…'"),
    *((story, "baseline", "not-allowed", "cycle 1 has begun: a baseline could") for story in ("red", "green-once")),
]


@pytest.mark.parametrize(("story", "line", "slug", "problem"), REFUSED, ids=lambda given: given[:60])
def test_a_refused_step_writes_nothing(begin: Begin, story: str, line: str, slug: str, problem: str) -> None:
    code, found, said = begin(story).error(*shlex.split(line))
    assert (code, found) == (2 if slug in ("bad-usage", "bad-yaml") else 13, slug)
    assert said.startswith(problem)


def test_a_fact_of_another_phase_is_refused_with_that_phase(begin: Begin) -> None:
    ran = begin("green").gate("declare", "refactoring_complete=true", "--reason", "tidy")
    assert ran.code == 13
    assert ran.has("GREEN does not ask for refactoring_complete: REFACTOR does [not-allowed]")
    assert ran.has("try: declare it once REFACTOR has begun; continue: GREEN asks for no fact")


# --- signal


def test_an_answer_without_a_reason_names_who_gave_it(begin: Begin) -> None:
    ran = begin("green").gate("signal", "--not-done", "--by", "ann")
    assert (ran.code, ran.has("Gate 2  waiting  not done (ann)")) == (10, True)


#: What makes a signal stale, and an option that calls a person nevertheless.
STALE: dict[str, tuple[str, Callable[[CommandProject], object], str]] = {
    "after-an-edit": (
        "files have changed since iteration 2: no run has tested them (calc.py)",
        CommandProject.edit_source,
        "--blocked",
    ),
    "after-a-narrow-run": (
        "a run came after iteration 2 (partial)",
        lambda gated: gated.project.run("--phase=green", "-k", "add"),
        "--test-wrong",
    ),
    "after-a-run-that-stopped-early": (
        "a run came after iteration 2 (incomplete)",
        lambda gated: gated.project.run("--phase=green", "--setup-only"),
        "--blocked",
    ),
    "after-a-run-that-was-lost": (
        "run feedface began after it and never ended",
        CommandProject.lose_run,
        "--test-wrong",
    ),
    "after-the-phase-was-entered-again": (
        "GREEN has no complete run for a signal",
        lambda gated: gated.gate("rewind", "green", "--reason", "again"),
        "--blocked",
    ),
}


@pytest.mark.parametrize(("problem", "happens", "call"), STALE.values(), ids=STALE)
def test_a_stale_signal_is_refused_and_a_person_can_still_be_called(
    begin: Begin, problem: str, happens: Callable[[CommandProject], object], call: str
) -> None:
    gated = begin("green")
    happens(gated)
    refused = (13, "stale-signal", problem)
    assert gated.error("signal", "--reason", "done") == refused
    before = gated.json("status")
    evaluation = gated.json("signal", call, "--reason", "no access")
    assert (evaluation["status"], evaluation["can_exit"], evaluation["run"]) == ("needs-person", False, None)
    assert evaluation["gate_1"]["open"] is False, "no run has tested it"
    after = gated.json("status")
    assert (after["phase"], after["iteration"]) == (before["phase"], before["iteration"])
    for arguments in ((), ("--gate1",)):
        checked = gated.gate("check", "--json", *arguments)
        assert (checked.code, checked.document["status"]) == (10, "needs-person")
    assert gated.error("signal", "--reason", "done")[:2] == refused[:2], "and nothing else becomes possible"


@pytest.mark.parametrize(
    ("waiting", "is_kept"),
    [
        pytest.param("exit_signal: true\n", False, id="done-is-spent-with-it"),
        pytest.param("exit_signal: false\n", False, id="so-is-a-veto"),
        pytest.param("exit_signal: maybe\n", True, id="a-malformed-one-waits-for-its-author"),
    ],
)
def test_a_call_wins_over_what_waits(begin: Begin, waiting: str, is_kept: bool) -> None:
    gated = begin("green")
    gated.edit_source()
    (gated.folder / "exit-signal.yaml").write_text(waiting)
    evaluation = gated.json("signal", "--blocked", "--reason", "no access")
    assert (evaluation["status"], evaluation["reason"]) == ("needs-person", "needs a person (blocked): no access")
    assert (gated.folder / "exit-signal.yaml").exists() is is_kept


def test_a_call_stands_until_something_runs(begin: Begin) -> None:
    gated = begin("green")
    assert gated.gate("signal", "--blocked", "--reason", "no access").code == 10
    gated.edit_source()
    for arguments in ((), ("--gate1",)):
        checked = gated.gate("check", "--json", *arguments)
        assert (checked.code, checked.document["status"]) == (10, "needs-person")
    assert gated.project.run("--phase=green").code == 10
    assert gated.json("check")["status"] == "closed"


@pytest.mark.parametrize(
    ("option", "following", "code"),
    [
        pytest.param("--blocked", "pytest --phase=green", 1, id="blocked"),
        pytest.param("--test-wrong", "pytest --phase=red", 0, id="test-wrong"),
    ],
)
def test_a_call_takes_no_exit_back(begin: Begin, option: str, following: str, code: int) -> None:
    gated = begin("red-exited")
    gated.project.write(calc=CALC.replace("a - b", "a"))
    evaluation = gated.json("signal", option, "--reason", "no access")
    assert (evaluation["status"], evaluation["next_command"]) == ("needs-person", following)
    status = gated.json("status")
    assert (status["phase"], status["exited"]) == ("RED", True)
    gated.project.write(calc=CALC.replace("a - b", "a") if option == "--blocked" else "")
    assert gated.project.run(*following.split()[1:]).code == code


def test_the_next_run_takes_it(begin: Begin) -> None:
    gated = begin("green-once")
    assert gated.json("signal", "--next", "--reason", "done \U0001f389", "--by", "ann") == {
        "answer": "done",
        "waits_for": "next",
    }
    ran = gated.project.run("--phase=green", "--phase-exit=dual", "-v")
    assert ran.code == 0
    assert ran.has("done \U0001f389 (ann)")
    assert not (gated.folder / "exit-signal.yaml").exists()
    assert gated.json("status")["exited"] is True


def test_a_veto_in_the_file_is_stronger_than_a_word(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: false\nreason: wait for ann\n"})
    ran = gated.gate("signal", "--reason", "done", "-v")
    assert ran.code == 10
    assert ran.has("the signal reports not done (wait for ann)")
    assert not (gated.folder / "exit-signal.yaml").exists(), "it was read: it is in the ledger now"
    assert gated.gate("signal", "--reason", "ann says yes", "-v").code == 0


def test_a_malformed_file_closes_the_gate_and_waits_for_its_author(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: yes\n"})
    ran = gated.gate("signal", "--reason", "done")
    assert ran.code == 13
    assert ran.has(
        "exit-signal.yaml:1:14: exit_signal is 'yes'; write exit_signal: true, false, blocked or test-wrong, exactly",
        "try: phase-gate withdraw  # takes it back, then signal again",
    )
    assert (gated.folder / "exit-signal.yaml").read_text(encoding="utf-8") == "exit_signal: yes\n"
    assert gated.gate("withdraw").code == 0
    assert gated.gate("signal", "--reason", "done").code == 0


def test_a_done_in_the_file_does_not_wait_for_the_next_phase(begin: Begin) -> None:
    gated = begin("green")
    gated.gate("signal", "--next", "--reason", "first")
    evaluation = gated.json("signal", "--reason", "second")
    assert (evaluation["can_exit"], evaluation["gate_2"]["reason"]) == (True, "second")
    assert not (gated.folder / "exit-signal.yaml").exists()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("decisions.signalling", ("signal", "--reason", "done")),
        ("cli.steps", ("withdraw",)),
        ("storage.signal_file", ()),
    ],
    ids=["signal", "withdraw", "run"],
)
def test_a_signal_that_comes_after_the_last_look_is_kept(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, place: str, words: tuple[str, ...]
) -> None:
    gated = begin("green")
    gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: blocked\nreason: not yet\n"})

    def remove(*given: Any, **more: Any) -> None:
        gated.project.write({".phase-gate/exit-signal.yaml": "exit_signal: blocked\nreason: wait for ann\n"})
        remove_signal_file(*given, **more)

    monkeypatch.setattr(f"phase_gate.{place}.remove_signal_file", remove)
    ran = gated.gate(*words) if words else gated.project.run("--phase=green")
    assert ran.code in (0, 1, 10, 12), ran
    assert "wait for ann" in (gated.folder / "exit-signal.yaml").read_text(encoding="utf-8")


def test_what_was_written_meanwhile_counts(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green")

    def measure(task: Task, **options: Any) -> Evidence:
        gated.lose_run()  # another process writes while evidence is gathered, before the lock
        return measure_now(task, **options)

    monkeypatch.setattr(signalling, "measure_now", measure)
    ran = gated.gate("signal", "--reason", "both pass")
    assert ran.code == 13
    assert ran.has("run feedface began after it and never ended")


# --- advance


@pytest.mark.parametrize(
    ("story", "phase"),
    [
        pytest.param("green-exited", "REFACTOR", id="from-green"),
        pytest.param("refactor-exited", "DOCUMENT", id="into-a-phase-without-tests"),
    ],
)
def test_the_next_phase_begins(begin: Begin, story: str, phase: str) -> None:
    gated = begin(story)
    assert gated.json("advance") == {"phase": phase, "entered": True}
    status = gated.json("status")
    assert (status["phase"], status["iteration"], status["exited"], status["streak"]) == (phase, 0, False, 0)


def test_it_says_what_to_do_there(begin: Begin) -> None:
    ran = begin("red-exited").gate("advance")
    assert ran.code == 0
    assert ran.out.startswith("GREEN begins\n")
    assert ran.out.endswith("\n  next: pytest --phase=green\n")


def test_a_phase_without_tests_is_evaluated_each_time(begin: Begin) -> None:
    gated = begin("document")
    for iteration in (1, 2):
        ran = gated.gate("advance", "--json")
        assert ran.code == 10
        assert (ran.document["phase"], ran.document["iteration"], ran.document["run"]) == ("DOCUMENT", iteration, None)
    assert gated.json("status")["iteration"] == 2


@pytest.mark.parametrize("words", [("advance",), ("signal", "--reason", "written")], ids=lambda words: words[0])
def test_a_lost_run_is_past_once_the_phase_is_judged_again(begin: Begin, words: tuple[str, ...]) -> None:
    gated = begin("notes")
    gated.lose_run()
    assert gated.json("status")["status"] == "stale"
    gated.gate(*words)
    status = gated.json("status")
    assert (status["open_runs"], status["status"]) == ([], "waiting" if words == ("advance",) else "open")
    assert [run["kind"] for run in gated.json("history")["runs"]][-1] == "lost"


def test_a_waiting_signal_is_read_and_spent(begin: Begin) -> None:
    gated = begin("notes")
    gated.gate("signal", "--next", "--reason", "written", "--by", "ann")
    ran = gated.gate("advance", "--json")
    assert (ran.code, ran.document["can_exit"], ran.document["gate_2"]["by"]) == (0, True, "ann")
    assert not (gated.folder / "exit-signal.yaml").exists()
    assert gated.json("status")["phase"] == "DONE"


@pytest.mark.parametrize(
    ("content", "answer", "stays"),
    [
        pytest.param("exit_signal: yes\n", "malformed", True, id="a-malformed-one-waits"),
        pytest.param("exit_signal: true\nremaining_work: all\n", "refused", False, id="a-contradiction-is-spent"),
        pytest.param("exit_signal: false\n", "not-done", False, id="a-veto-is-spent"),
    ],
)
def test_no_other_signal_opens_it(begin: Begin, content: str, answer: str, stays: bool) -> None:
    gated = begin("notes")
    gated.project.write({".phase-gate/exit-signal.yaml": content})
    ran = gated.gate("advance", "--json")
    assert (ran.code, ran.document["gate_2"]["answer"]) == (10, answer)
    assert (gated.folder / "exit-signal.yaml").exists() is stays


# --- declare


def test_a_fact_opens_gate_1(begin: Begin) -> None:
    gated = begin("refactor")
    document = gated.json("declare", "refactoring_complete=true", "--reason", "tidy", "--by", "ann")
    assert document == {
        "phase": "REFACTOR",
        "name": "refactoring_complete",
        "value": True,
        "reason": "tidy",
        "by": "ann",
        "next_command": "phase-gate signal",
    }
    assert {gated.json(name)["next_command"] for name in ("status", "check")} == {"phase-gate signal"}
    assert gated.gate("signal", "--reason", "done").code == 0


def test_the_last_word_counts(begin: Begin) -> None:
    gated = begin("refactor")
    for value, following in (("true", "phase-gate signal"), ("false", "pytest --phase=auto")):
        declared = gated.json("declare", f"refactoring_complete={value}", "--reason", "so")
        assert declared["next_command"] == following
    assert [fact["value"] for fact in gated.json("status")["facts"]] == [False]
    assert gated.gate("signal", "--reason", "done").code == 10


@pytest.mark.parametrize(
    ("story", "line"),
    [
        ("refactor-exited", "advance"),
        ("declared", "rewind green --reason so"),
        ("declared", "rewind refactor --reason so"),
    ],
)
def test_a_fact_holds_for_its_phase_only(begin: Begin, story: str, line: str) -> None:
    gated = begin(story)
    assert [fact["name"] for fact in gated.json("status")["facts"]] == ["refactoring_complete"]
    assert gated.gate(*line.split()).code == 0
    assert gated.json("status")["facts"] == []


#: A workflow that asks for a fact of each type, and has one that nobody asks for.
TYPES = """\
workflow: typed
facts: {reviewers: int, risk: number, version: text, forgotten: bool}
phases:
  LOOK:
    gate_1: {name: Looked, condition: "tests_total > 0 AND reviewers >= 2 AND risk < 0.5"}
    next: SHIP
  SHIP:
    tests: none
    gate_1: {name: Shipped, condition: 'version == "1.0"'}
    next: DONE
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("fact", "value"),
    [
        pytest.param("reviewers=2", 2, id="a-whole-number"),
        pytest.param("risk=0.25", 0.25, id="a-number"),
        pytest.param("reviewers=2.5", "reviewers='2.5': not of type int", id="half-a-reviewer"),
        pytest.param("risk=low", "risk='low': not of type number", id="a-word-is-no-number"),
        pytest.param("forgotten=true", "no phase of workflow typed asks for 'forgotten'", id="of-no-phase"),
    ],
)
def test_facts_have_types_and_phases(begin: Begin, fact: str, value: object) -> None:
    gated = begin("")
    gated.project.write({"phase-gate.yaml": "workflow: typed.yaml\n", "typed.yaml": TYPES})
    gated.project.write(test_it="def test_it():\n    pass\n").run("--phase=look")
    if isinstance(value, str):
        assert gated.error("declare", fact, "--reason", "counted")[2] == value
        return
    assert gated.json("declare", fact, "--reason", "counted")["value"] == value
    assert [each["value"] for each in gated.json("status")["facts"]] == [value]
    assert type(gated.json("status")["facts"][0]["value"]) is type(value)


# --- withdraw


@pytest.mark.parametrize("story", ["green-once", ""], ids=["a-task", "no-task-yet"])
def test_a_waiting_signal_is_taken_back(begin: Begin, story: str) -> None:
    gated = begin(story)
    gated.gate("signal", "--next", "--reason", "done")
    assert gated.json("withdraw") == {
        "withdrawn": "signal",
        "answer": "done",
        "next_command": "phase-gate status",
    }
    assert gated.json("status")["signal_waiting"] is None
    last = gated.json("history", "--events")["events"][-1]
    assert (last["kind"], last["answer"], last["by"]) == ("signal-withdrawn", "done", "dev")
    if story:
        assert gated.project.run("--phase=green", "--phase-exit=dual").code == 10, "it does not count"


def test_a_folder_in_its_place_is_named_and_stays(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({".phase-gate/exit-signal.yaml/notes.txt": "mine\n"})
    assert gated.error("withdraw") == (11, "state-storage", "exit-signal.yaml is a folder, not a file")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_in_its_place_goes_and_what_it_points_to_stays(begin: Begin) -> None:
    gated = begin("green")
    gated.project.write({"mine.yaml": "exit_signal: true\n"})
    (gated.folder / "exit-signal.yaml").symlink_to(gated.root / "mine.yaml")
    assert gated.gate("withdraw").code == 0
    assert not (gated.folder / "exit-signal.yaml").is_symlink()
    assert (gated.root / "mine.yaml").exists()


@pytest.mark.parametrize(
    ("story", "remedy"),
    [
        pytest.param("declared", "try: phase-gate withdraw refactoring_complete", id="one-is-declared"),
        pytest.param("refactor", "try: phase-gate status", id="none-is-declared"),
    ],
)
def test_what_is_not_declared_is_refused_with_what_can_be_typed(begin: Begin, story: str, remedy: str) -> None:
    ran = begin(story).gate("withdraw", "refactored")
    assert ran.code == 13
    assert ran.has("refactored is not declared in this phase [not-allowed]", remedy)


def test_a_fact_is_taken_back(begin: Begin) -> None:
    gated = begin("declared")
    assert gated.json("withdraw", "refactoring_complete") == {"withdrawn": "refactoring_complete"}
    assert gated.json("status")["facts"] == []
    assert gated.gate("signal", "--reason", "done").code == 10


# --- rewind


@pytest.mark.parametrize(
    ("story", "wanted", "expected"),
    [
        pytest.param("green", "red", "RED", id="to-the-first"),
        pytest.param("refactor", "GREEN", "GREEN", id="by-one"),
        pytest.param("green", "green", "GREEN", id="to-the-beginning-of-the-same"),
    ],
)
def test_back_in_an_earlier_phase(begin: Begin, story: str, wanted: str, expected: str) -> None:
    gated = begin(story)
    before = gated.json("status")["phase"]
    document = gated.json("rewind", wanted, "--reason", "a test is missing", "--by", "ann")
    assert document.pop("next_command") == f"pytest --phase={expected.lower()}"
    assert document == {"from": before, "to": expected, "reason": "a test is missing", "by": "ann"}
    status = gated.json("status")
    assert (status["phase"], status["iteration"], status["streak"], status["exited"]) == (expected, 0, 0, False)
    assert [event["kind"] for event in gated.json("history", "--events")["events"]][-2:] == ["rewound", "phase-entered"]


def test_an_earlier_run_is_forgotten_there(begin: Begin) -> None:
    gated = begin("green-once")
    gated.project.run("--phase=green", "-k", "test_add")
    assert gated.json("status")["reason"].startswith("a run came after the last verdict (partial)")
    gated.gate("rewind", "green", "--reason", "a test is missing")
    assert gated.json("status")["reason"] == "no complete run in GREEN yet"


def test_an_agent_of_a_drive_can_not_go_back(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    gated = begin("green-once")
    monkeypatch.setenv("PHASE_GATE_ANSWER", str(gated.folder / "drive" / f"signal-{'0' * 16}.yaml"))
    lock = gated.store().hold(DRIVE_NAME)
    code, slug, problem = gated.error("rewind", "red", "--reason", "the test is wrong")
    assert (code, slug, problem) == (13, "not-allowed", "an agent of a drive can't go back to an earlier phase")
    assert gated.project.run("--phase=red").code == 13, "nor by a run"
    assert gated.project.run("--phase=green").code == 0
    lock.release()
    went = gated.gate("rewind", "red", "--reason", "the test is wrong")
    assert (went.code, went.out) == (0, "back in RED\n  next: pytest --phase=red\n"), "no drive is going on"


# --- baseline


MIXED = """\
import pytest


def test_fine():
    pass


def test_broken():
    assert False


@pytest.mark.skip(reason="later")
def test_later():
    pass
"""

#: The inner pytest loads no plugins by itself here.
ARGUMENTS = ("--", "-p", "phase_gate.plugin", "-p", "no:cacheprovider")


@pytest.fixture
def mixed(begin: Begin) -> CommandProject:
    gated = begin("")
    gated.project.write({"pytest.ini": "[pytest]\n"}, test_old=MIXED)
    return gated


@pytest.mark.sweep
def test_known_failures_do_not_close_the_gate_afterwards(mixed: CommandProject) -> None:
    taken = mixed.project.gate("baseline", "--json", *ARGUMENTS)
    assert taken.code == 0
    said = {"total": 3, "known_failures": ["test_old.py::test_broken"], "revision": None}
    assert taken.document == {**said, "next_command": "pytest --phase=red"}
    assert "1 failed, 1 passed, 1 skipped" in taken.err, "pytest's own output is there, and not on stdout"
    (event,) = [each for each in mixed.json("history", "--events")["events"] if each["kind"] == "baseline-taken"]
    assert event["seq"] == 2
    mixed.project.write(test_new="def test_new():\n    from new import thing\n\n    assert thing\n")
    assert mixed.project.run("--phase=red", "--exit-signal=one new test", "--phase-exit=dual").code == 0
    mixed.project.write(new="thing = 1\n")
    report = "--phase-report=verdict.json"
    assert mixed.project.run("--phase=green", report).code == 1, "pytest itself fails, and that is not hidden"
    metrics = mixed.project.report()["metrics"]
    assert (metrics["tests_failing"], metrics["tests_known_failing"], metrics["consecutive_green_runs"]) == (0, 1, 1)


def test_from_another_revision(mixed: CommandProject) -> None:
    mixed.project.commit_all()
    (mixed.root / "test_old.py").write_text(MIXED.replace("assert False", "pass"), encoding="utf-8")
    taken = mixed.project.gate("baseline", "--rev", "HEAD", *ARGUMENTS)
    assert taken.code == 0
    assert taken.has("the next cycle starts from 3 tests", "  known failure: test_old.py::test_broken")
    assert mixed.project.git("worktree", "list").count("\n") == 1, "its worktree is gone again"


@pytest.mark.parametrize(
    ("revision", "problem"),
    [
        pytest.param("no-such-revision", "git worktree: ", id="an-unknown-revision"),
        pytest.param("--help", "", id="an-option-is-no-revision"),
    ],
)
def test_a_revision_that_git_does_not_know(mixed: CommandProject, revision: str, problem: str) -> None:
    mixed.project.commit_all()
    code, slug, said = mixed.error("baseline", f"--rev={revision}")
    assert (code, slug) == (13, "not-allowed")
    assert said.startswith(problem)


def test_a_session_that_proves_nothing_is_no_baseline(project: Project) -> None:
    project.write({"pytest.ini": "[pytest]\n"})
    ran = project.gate("baseline", *ARGUMENTS)
    assert ran.code == 13
    assert ran.has("no baseline was taken [not-allowed]", "\n  try: run the whole suite to its end\n")
    assert ran.has("\nno baseline: no test was collected [not-allowed]\n")
    assert not (project.root / ".phase-gate" / "ledger.jsonl").exists()
