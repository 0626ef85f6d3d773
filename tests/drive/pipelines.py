"""A small pipeline that is driven, with a fake agent for each role."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.drive.conftest import Track
from tests.drive.team import FAKE, Turn, turns_of
from tests.support import OURS

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
        return turns_of(self.track.root.parent / f"{self.track.root.name}-{role}")

    def rows(self, *options: str, code: int) -> list[dict[str, Any]]:
        ran = self.track.project.gate("drive", "--json", *options)
        assert ran.code == code, f"{ran.code}\n{ran.out}\n{ran.err}"
        return [json.loads(line) for line in ran.out.splitlines()]
