"""The text that tells an agent the rules of a phase, and what to print.

An agent that only repeats it claims nothing: the block is in a fence, and our parser refuses its placeholder values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from phase_gate.gate.verdict import phase_command, start_command
from phase_gate.visible import show_line, show_rows
from phase_gate.workflow.metrics import CLAIM_METRICS, METRICS
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE, call_command, signal_command

Style = Literal["exit", "prp", "doyaken", "ralph"]

_BLOCKS: Mapping[Style, str] = {
    "exit": """\
EXIT_STATUS: {COMPLETE|CONTINUE}
EXIT_REASON: {one sentence}
REMAINING_WORK: {none|what is left}""",
    "prp": """\
---PRP_PHASE_STATUS---
PHASE: {phase}
TESTS_TOTAL: <number>
TESTS_PASSING: <number>
TESTS_FAILING: <number>
REMAINING_WORK: {none|what is left}

DUAL_GATE:
  GATE_1: true | false
  GATE_1_DETAIL: <its numbers>
  GATE_2: true | false
  CAN_EXIT: true | false

EXIT_SIGNAL: true | false
---END_PRP_PHASE_STATUS---""",
    "doyaken": """\
DOYAKEN_STATUS:
  PHASE_COMPLETE: true/false
  FILES_MODIFIED: <count>
  TESTS_STATUS: pass/fail/skip/unknown
  CONFIDENCE: high/medium/low
  REMAINING_WORK: <brief description or "none">""",
    "ralph": """\
---RALPH_STATUS---
STATUS: IN_PROGRESS | COMPLETE | BLOCKED
TASKS_COMPLETED_THIS_LOOP: <number>
FILES_MODIFIED: <number>
TESTS_STATUS: PASSING | FAILING | NOT_RUN
WORK_TYPE: IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING
EXIT_SIGNAL: true | false
RECOMMENDATION: <one line>
---END_RALPH_STATUS---""",
}

_TESTS = {
    "failing": "The tests of this step must fail, each because code is missing.",
    "passing": "Every test must pass, in a run of the whole suite.",
    "none": "No test run is needed.",
}

_TEXT = """\
# {phase}: {gate_1}

{purpose}{tests}

Gate 1 is measured by `{command}`, never by words. It requires all of this:

{rules}

{gate_2}
If you can't continue, call a person: `{blocked}`.
If a frozen test is wrong, do not change it: `{test_wrong}`.
Then stop. You can do both at any time.

Deleting, skipping or changing tests or rules closes the gate and is reported.

Write in a sentence of your own what is complete, such as `All tasks are completed.`; this counts, too.
End your answer with this block at the left margin, outside of any fence, with every value filled in. Name all remaining
work in it; a block that claims completion while work remains or tests fail is refused.

```
{block}
```
{numbers}
When both gates are open, {following}."""

_NUMBERS = """
GATE_1 is the result of the last run{but}, with its numbers like this: `tests_passing: 3/3`. GATE_2 is your
EXIT_SIGNAL. CAN_EXIT is true if both are. The numbers are compared with the measured ones.
"""


def render_prompt(
    workflow: Workflow, phase: Phase, style: Style, *, task: str, gate_2: Iterable[str] | None = None
) -> str:
    """Return the rules of a phase, for an agent.

    :param gate_2: how to give the signal of Gate 2, if not by the usual command.
    """
    usual = f'Gate 2 is an explicit signal, given on purpose after a run: `{signal_command(task)} --reason "..."`.'
    but = ", except for what only this claim can provide" if phase.gate_1.names & CLAIM_METRICS else ""
    values = {
        "phase": phase.name,
        "gate_1": phase.gate_1.name,
        "tests": _TESTS[phase.tests],
        "command": start_command(workflow, task) if phase is workflow.first else phase_command(phase, task),
        "blocked": call_command("blocked", task),
        "test_wrong": call_command("test-wrong", task),
        "following": "the cycle ends" if phase.next == DONE else f"{phase.next or 'the phase of its record'} follows",
    }
    # No name or text of a workflow can pass for a row of its own.
    return _TEXT.format(
        **{name: show_line(value) for name, value in values.items()},
        purpose=f"{show_line(phase.purpose)}.\n" if phase.purpose else "",
        rules=show_rows(_rules(workflow, phase)),
        gate_2=show_rows((usual,) if gate_2 is None else gate_2),
        block=_BLOCKS[style].replace("{phase}", show_line(phase.name)),
        numbers=_NUMBERS.format(but=but) if style == "prp" else "",
    )


def _rules(workflow: Workflow, phase: Phase) -> Iterator[str]:
    meanings = {name: f"{meaning[0].lower()}{meaning[1:]}" for name, _, meaning in METRICS}
    for clause in phase.gate_1.evaluate({}).clauses:
        # Each metric is explained once.
        explanations = "; ".join(f"{name}: {meanings.pop(name)}" for name in clause.unknown if name in meanings)
        yield f"- `{clause.text}`" + (f" ({explanations})" if explanations else "")
    for name in phase.gate_1.guards:
        if name in workflow.guards:
            yield f"- `{name}`; where it is broken: {workflow.guards[name].remedy}"
    if workflow.parameters:
        yield ""
        yield f"Here {', '.join(f'{name} is {value}' for name, value in workflow.parameters.items())}."
