"""`phase-gate agent prompt`: the rules in plain words, and nothing in them that we would take for a claim."""

from __future__ import annotations

from typing import get_args

import pytest

from phase_gate.claims.agent_output import read_claim_text, sentences
from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.confidence import DEFAULT_PATTERNS, find_patterns
from phase_gate.config.workflow_files import load_shipped_workflow, shipped_workflow_names
from phase_gate.report.prompt import Style
from tests.cli.conftest import Begin

PHASES = [(name, phase.name) for name in shipped_workflow_names() for phase in load_shipped_workflow(name).phases]


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize(("workflow", "phase"), PHASES)
def test_nothing_in_it_is_a_claim(begin: Begin, workflow: str, phase: str, style: str) -> None:
    gated = begin("")
    gated.project.write({"phase-gate.yaml": f"workflow: {workflow}\n"})
    text = gated.gate("agent", "prompt", "--phase", phase, "--style", style).out
    assert phase in text
    # As it is; then as an agent repeats it without its fence, with another indentation, and bare.
    block = text.partition("```\n")[2].partition("```")[0]
    assert block.count("\n") >= 3
    for echoed in (text, text.replace("```", ""), block, f"I shall print:\n\n{block}\nI have not begun."):
        read = read_claim_text([echoed])
        said = read_blocks(read)
        assert (said.explicit, said.claims_done) == (None, False)
        assert [each.name for each in find_patterns(DEFAULT_PATTERNS, sentences(read)) if each.met] == []


FILLED = {
    "exit": (("{COMPLETE|CONTINUE}", "COMPLETE"), ("{one sentence}", "it works"), ("{none|what is left}", "none")),
    "prp": (
        ("<number>", "2"),
        ("true | false", "true"),
        ("{none|what is left}", "none"),
        ("<its numbers>", '"tests_passing: 2/2"'),
    ),
    "doyaken": (
        ("true/false", "true"),
        ("<count>", "1"),
        ("pass/fail/skip/unknown", "pass"),
        ("high/medium/low", "high"),
        ('<brief description or "none">', "none"),
    ),
    "ralph": (
        ("IN_PROGRESS | COMPLETE | BLOCKED", "COMPLETE"),
        ("<number>", "1"),
        ("PASSING | FAILING | NOT_RUN", "PASSING"),
        ("IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING", "TESTING"),
        ("true | false", "true"),
        ("<one line>", "none"),
    ),
}


@pytest.mark.parametrize("style", get_args(Style))
def test_a_claim_as_it_is_asked_for_passes(begin: Begin, style: str) -> None:
    gated = begin("green")
    prompt = gated.gate("agent", "prompt", "--style", style).out
    block = prompt.partition("```\n")[2].partition("```")[0]
    for template, value in FILLED[style]:
        assert template in block
        block = block.replace(template, value)
    said = read_blocks(read_claim_text([block]))
    assert (said.explicit, said.problems) == (True, ())
    # Without the sentence, the answer tells what is missing; with the one that the prompt shows, it passes.
    gated.project.write({"said.txt": block})
    found = gated.json("claim", "said.txt")
    assert found["next_hint"].startswith("1 more indicator: words of your own such as `")
    sentence = prompt.partition("such as `")[2].partition("`")[0]
    gated.project.write({"said.txt": f"{sentence}\n\n{block}"})
    assert gated.json("claim", "said.txt")["decision"] == "complete"


def test_it_speaks_of_the_present_phase(begin: Begin) -> None:
    ran = begin("green").gate("agent", "prompt")
    assert ran.code == 0
    assert ran.has(
        "# GREEN: All tests passing (stable)",
        "`pytest --phase=green`",
        "- `tests_failing == 0` (tests_failing: tests in scope that failed",
        "`tests-unchanged`; where it is broken: undo the change",
        "required_green_runs is 2",
        'phase-gate signal --reason "..."',
        "REFACTOR follows",
    )


def test_a_phase_that_is_not_there(begin: Begin) -> None:
    code, slug, problem = begin("").error("agent", "prompt", "--phase", "blue")
    assert (code, slug, problem) == (2, "bad-usage", "workflow tdd has no phase 'blue'")
