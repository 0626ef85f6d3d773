"""`phase-gate drive` on a pipeline: a command for each role, votes, recoveries, and guidance where it is stuck."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.drive.conftest import Track, answer
from tests.drive.team import FAKE, Turn
from tests.support import OURS

pytestmark = pytest.mark.processes

Begin = Callable[[str], Track]

WORKFLOW = """\
workflow: small
start: first
parameters: {max_recoveries: 1}
constitution: [CONSTITUTION.md]
artifacts:
  plan: {path: docs/plan.md, min_words: 5, made: anytime}
  snapshot: {path: docs/snapshot.json, schema: snapshot, made: phase}
  root-cause: {path: docs/root-cause.json, schema: root-cause}
  recovery-plan: {path: docs/recovery-plan.md, min_words: 5}
phases:
  PLAN:
    tests: none
    requires: {artifacts: [plan], consensus: {on: [plan], threshold: 0.9, voters: 2}}
    gate_1: {name: Agreed on, condition: artifacts_missing == 0 AND consensus_score >= 0.9 AND consensus_voters >= 2}
    on_failure: RECOVERY
  BUILD:
    tests: none
    requires: {artifacts: [snapshot]}
    gate_1: {name: Built, condition: artifacts_missing == 0}
    on_failure: RECOVERY
  QA:
    tests: passing
    gate_1: {name: Passing, condition: tests_total > 0 AND tests_failing == 0}
    on_failure: RECOVERY
    next: DONE
  RECOVERY:
    tests: none
    requires: {artifacts: [root-cause, recovery-plan], consensus: {on: [recovery-plan], threshold: 0.9, voters: 2}}
    gate_1: {name: Known, condition: artifacts_missing == 0 AND consensus_score >= 0.9 AND consensus_voters >= 2}
    recovers: true
    on_failure: RECOVERY
"""

TEST = "from part import PART\n\n\ndef test_part():\n    assert PART == 2\n"
PLANNED = "We write one part, and test that it is two.\n"
WRONG, RIGHT = "PART = 1\n", "PART = 2\n"
CAUSE = {"failed_phase": "QA", "summary": "it fails", "root_cause": "it is one", "requires_phase_rewind_to": None}

PLAN: Turn = {"write": {"docs/plan.md": PLANNED}, **answer("planned")}
MENDED: Turn = {
    "write": {"docs/root-cause.json": json.dumps(CAUSE), "docs/recovery-plan.md": PLANNED, "part.py": RIGHT},
    "expect": ["# What RECOVERY asks for", "failed: QA"],
    **answer("mended"),
}
PERSON = {"overrides": {"allow_non_interactive": True}}
YES: Turn = {"vote": {"vote": "approve", "confidence": 1.0}}


class PipelineDrive:
    """A small pipeline, and a fake agent for each role."""

    def __init__(self, track: Track) -> None:
        self.track = track

    def plan(self, roles: dict[str, list[Turn]], voters: list[list[Turn]], **settings: Any) -> PipelineDrive:
        """Write what each does: `agent`, those of single phases, and the voters."""
        commands = {role: self._script(role, turns) for role, turns in roles.items()}
        votes = [" ".join(self._script(f"voter{number}", turns)) for number, turns in enumerate(voters, start=1)]
        drive = {
            "signal": "agent",
            "pytest": [*OURS, "-q"],
            "retry_wait": 0,
            "agent": commands.pop("agent", []),
            "phases": commands,
            "reviewers": votes,
            **settings,
        }
        self.track.project.write(
            {
                "phase-gate.yaml": json.dumps(
                    {"workflow": "small.yaml", "drive": drive, "overrides": {"allow_non_interactive": True}}
                )
                + "\n",
                "small.yaml": WORKFLOW,
                "CONSTITUTION.md": "No test is deleted.\n",
                "test_part.py": TEST,
            }
        )
        return self

    def _script(self, role: str, turns: list[Turn]) -> list[str]:
        script = self.track.root.parent / f"{self.track.root.name}-{role}.json"
        script.write_text(json.dumps(turns), encoding="utf-8")
        return [sys.executable, "-I", "-S", str(FAKE), str(script)]

    def turns(self, role: str) -> int:
        counter = self.track.root.parent / f"{self.track.root.name}-{role}.count"
        return int(counter.read_text()) if counter.exists() else 0

    def rows(self, *options: str, code: int) -> list[dict[str, Any]]:
        ran = self.track.project.gate("drive", "--json", *options)
        assert ran.code == code, f"{ran.code}\n{ran.out}\n{ran.err}"
        return [json.loads(line) for line in ran.out.splitlines()]


@pytest.fixture
def pipeline(track: Begin) -> PipelineDrive:
    return PipelineDrive(track(""))


def test_each_role_does_its_part(pipeline: PipelineDrive) -> None:
    pipeline.plan(
        {
            "PLAN": [PLAN],
            "agent": [answer("it is green")],
            "BUILD": [{"write": {"part.py": RIGHT}, **answer("built")}],
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
            "BUILD": [{"write": {"part.py": WRONG}, **answer("built")}],
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


def plan_stuck(pipeline: PipelineDrive) -> None:
    """The debugger mends nothing, and says that it did: the only recovery is spent."""
    useless: Turn = {**MENDED, "write": {**MENDED["write"], "part.py": WRONG}}
    pipeline.plan(
        {
            "PLAN": [PLAN],
            "BUILD": [{"write": {"part.py": WRONG}, **answer("built")}],
            "agent": [{}, {"write": {"part.py": RIGHT}, "expect": ["it has to be two"], **answer("it is two")}],
            "RECOVERY": [useless],
        },
        [[YES], [YES]],
    )


@pytest.mark.sweep
def test_without_a_person_a_stuck_pipeline_ends_with_12(pipeline: PipelineDrive) -> None:
    plan_stuck(pipeline)
    rows = pipeline.rows(code=12)
    assert rows[-1]["outcome"] == "halted"
    assert pipeline.track.state()["phase"] == "STUCK"
    assert pipeline.rows(code=12)[-1]["outcome"] == "halted"


@pytest.mark.sweep
def test_a_person_guides_a_stuck_pipeline(pipeline: PipelineDrive) -> None:
    plan_stuck(pipeline)
    pipeline.rows(code=12)
    guided = pipeline.track.project.gate("pipeline", "recover", "resume", "--reason", "it has to be two", "--by", "ann")
    assert guided.code == 0, guided.err
    assert pipeline.rows("--resume", code=0)[-1]["outcome"] == "done", "the agent expects the guidance in its prompt"


def test_a_transcript_is_no_vote(pipeline: PipelineDrive) -> None:
    says: Turn = {"say": "vote: approve\nconfidence: 1\nby: me\n"}
    pipeline.plan({"PLAN": [PLAN], "agent": [{}], "RECOVERY": [{}]}, [[YES], [says]], until="PLAN")
    pipeline.rows("--iterations", "2", code=10)
    assert len(pipeline.track.events("reviewed")) == 1


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"agent": []}, "no agent is named"),
        ({"phases": {"SHIP": "true"}}, "drive.phases has SHIP, which is no phase"),
        ({"phases": {"PLAN": "true"}, "reviewers": "true"}, "true works in PLAN, and would review its own work"),
        ({"reviewers": ["true", "true"]}, "drive.reviewers has the same command twice"),
    ],
)
def test_commands_that_are_refused(pipeline: PipelineDrive, settings: dict[str, Any], problem: str) -> None:
    pipeline.plan({"agent": [{}]}, [])
    document = json.loads((pipeline.track.root / "phase-gate.yaml").read_text())
    document["drive"].update(settings)
    pipeline.track.project.write({"phase-gate.yaml": json.dumps(document) + "\n"})
    ran = pipeline.track.project.gate("drive")
    assert ran.code == 2
    assert problem in ran.err
