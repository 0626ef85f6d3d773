"""The two workflows of `examples/workflows`, each driven to DONE by commands and runs of pytest, as a person would.

On the way, whatever a phase asks for is left out once: the gate has to close, and to say so.
"""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Begin, CommandProject
from tests.conftest import ROOT
from tests.support import CALC, FAILING_TESTS, Result

EXAMPLES = ROOT / "examples" / "workflows"
PROSE = "The calculator adds and subtracts whole numbers, in the order in which they are given to it, {}.\n"
SPECIFICATION = PROSE.format("and refuses anything else with a message that names the argument and its type")
VOTE = "vote: {}\nconfidence: {}\nby: ann\nreason: read line by line\n"


class Flow:
    """A project that goes through a workflow."""

    def __init__(self, gated: CommandProject) -> None:
        self.project, self.gated = gated.project, gated

    def gate(self, *words: str, ends_with: int = 0) -> Result:
        ran = self.gated.gate(*words)
        assert ran.code == ends_with, ran.out + ran.err
        return ran

    def run(self, *words: str, ends_with: int = 0) -> Result:
        ran = self.project.run(*words)
        assert ran.code == ends_with, ran.out + ran.err
        return ran

    def signal(self, ends_with: int = 0) -> Result:
        return self.gate("signal", "--reason", "it is done", ends_with=ends_with)

    def vote(self, word: str, confidence: float, ends_with: int = 0) -> Result:
        self.project.write({".git/vote.yaml": VOTE.format(word, confidence)})
        return self.gate("pipeline", "vote", ".git/vote.yaml", ends_with=ends_with)

    def declare(self, *facts: str) -> None:
        for fact in facts:
            self.gate("declare", f"{fact}=true", "--reason", "seen")


@pytest.fixture
def flow(begin: Begin) -> Flow:
    gated = begin("")
    workflows = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.yaml")}
    gated.project.write({"pytest.ini": "[pytest]\n", **workflows})
    gated.project.commit_all()
    return Flow(gated)


def test_a_feature_from_its_specification_to_delivery(flow: Flow) -> None:
    flow.project.write({"phase-gate.yaml": "workflow: feature-flow.yaml\n"})
    flow.project.commit_all()
    assert flow.gate("advance").has("SPECIFY begins", "specification: docs/feature/specification.md")

    assert flow.signal(10).has("specification", "SPECIFY")
    flow.project.write({"docs/feature/specification.md": SPECIFICATION})
    assert flow.signal().has("both gates are open: SPECIFY has exited")

    flow.run("--phase=green", ends_with=13)  # nothing is skipped
    flow.project.write(test_calc=FAILING_TESTS)
    flow.run("--phase=red", "--exit-signal=both fail")
    flow.project.write(calc=CALC)
    flow.run("--phase=green", ends_with=10)
    flow.run("--phase=green", "--exit-signal=both pass, twice")

    flow.gate("advance")
    flow.project.write({"docs/feature/change-notes.md": PROSE.format("and nothing else is new in this change")})
    assert flow.signal(10).has("repository-snapshot")
    flow.gate("advance", ends_with=10)
    assert flow.signal(10).has("consensus")
    flow.vote("reject", 0.9, ends_with=10)
    flow.signal(10)
    flow.vote("approve", 0.9)
    flow.project.write(calc=f"{CALC}\n\nMORE = 1\n")
    flow.signal(10)  # nobody has read, or tested, this
    flow.project.write(calc=CALC)
    assert flow.signal().has("REVIEW has exited")

    flow.declare("delivered")
    assert flow.signal(10).has("tree_clean == true")
    flow.project.commit_all()
    assert flow.signal().has("DELIVER has exited, the cycle is done")
    assert flow.gated.json("status")["phase"] == "DONE"


def test_a_release_in_the_order_of_its_checklist(flow: Flow) -> None:
    build = f'"{sys.executable}" -c "import calc"'
    evidence = f"evidence: {{commands: {{build: {{run: '{build}'}}}}}}\n"
    flow.project.write(
        {
            "phase-gate.yaml": f"workflow: release-checklist.yaml\n{evidence}",
            "CHANGELOG.md": PROSE.format("since the very first release of this small library"),
            "test_calc.py": FAILING_TESTS,
        }
    )
    flow.project.commit_all()
    assert flow.gate("workflow", "check").has("release-checklist.yaml: nothing wrong")
    flow.gate("advance")
    flow.signal(10)
    flow.declare("version_chosen")
    flow.signal()

    flow.project.write(calc=CALC.replace("a - b", "b - a"))
    flow.run("--phase=verify", ends_with=1)
    flow.project.write({"calc.py": CALC})
    flow.project.commit_all()
    flow.run("--phase=verify", ends_with=10)
    flow.run("--phase=verify", "--exit-signal=twice")
    assert flow.gated.json("status")["evaluation"]["metrics"]["checks_failed"] == 0

    flow.gate("advance")
    assert flow.signal(10).has("release-notes")  # those of the release before
    flow.project.write({"CHANGELOG.md": PROSE.format("and now says so in its own words to everybody who asks")})
    flow.signal()

    flow.vote("conditional", 1.0, ends_with=10)
    flow.signal(10)
    flow.vote("approve", 1.0)
    flow.signal()

    flow.declare("tagged", "published")
    assert flow.signal(10).has("tree_clean == true")
    notes = (flow.project.root / "CHANGELOG.md").read_text(encoding="utf-8")
    flow.project.write({"CHANGELOG.md": notes + "And one more thing.\n"})
    flow.project.commit_all()
    assert flow.signal(10).has("as-approved")
    flow.project.write({"CHANGELOG.md": notes})
    flow.project.commit_all()
    assert flow.signal().has("PUBLISH has exited, the cycle is done")


def test_after_a_rewind_the_artifact_of_the_first_attempt_does_not_count(flow: Flow) -> None:
    flow.project.write({"phase-gate.yaml": "workflow: feature-flow.yaml\n"})
    flow.gate("advance")
    flow.project.write({"docs/feature/specification.md": SPECIFICATION})
    flow.signal()
    flow.gate("rewind", "SPECIFY", "--reason", "something was forgotten")
    assert flow.signal(10).has("specification"), "the one of the first attempt"
