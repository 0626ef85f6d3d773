"""The text that tells an agent the rules of a phase, and what to print.

Nothing in it is a claim: the block stands in a fence, and its values are choices that our own parser refuses, so that
an agent that only repeats the text has said nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, get_args

from phase_gate.gate.verdict import way_to, way_to_begin
from phase_gate.visible import show_rows
from phase_gate.workflow.metrics import CLAIM_METRICS, METRICS
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import DONE, call_command, signal_command

Style = Literal["exit", "prp", "doyaken", "ralph"]
STYLES: tuple[Style, ...] = get_args(Style)

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
    "failing": "The tests of this step have to fail, each for a reason that the missing code explains.",
    "passing": "Every test has to pass, in a run of the whole suite.",
    "none": "No test run is needed.",
}


def render_prompt(
    workflow: Workflow, phase: Phase, style: Style, *, task: str, gate_2: Iterable[str] | None = None
) -> str:
    """Return the rules of a phase, for an agent.

    :param gate_2: how the signal of Gate 2 is given, where that is not as usual.
    """
    return show_rows(_rows(workflow, phase, style, task, _tell_gate_2(task) if gate_2 is None else gate_2))


def _rows(workflow: Workflow, phase: Phase, style: Style, task: str, gate_2: Iterable[str]) -> Iterator[str]:
    yield f"# {phase.name}: {phase.gate_1.name}"
    yield ""
    if phase.purpose:
        yield f"{phase.purpose}."
    yield _TESTS[phase.tests]
    yield ""
    measuring = way_to_begin(workflow, task) if phase is workflow.first else way_to(phase, task)
    yield f"Gate 1 is measured by `{measuring}`, never by words. It asks for all of this:"
    yield ""
    meanings = {metric.name: metric.meaning for metric in METRICS}
    for clause in phase.gate_1.condition.evaluate({}).clauses:
        # Each is told once.
        told = "; ".join(f"{name}: {_lower(meanings.pop(name))}" for name in clause.unknown if name in meanings)
        yield f"- `{clause.text}`" + (f" ({told})" if told else "")
    for name in phase.gate_1.guards:
        guard = workflow.guards.get(name)
        if guard is not None:
            yield f"- `{name}`; where it is broken: {guard.remedy}"
    values = ", ".join(f"{name} is {value}" for name, value in workflow.parameters.items())
    if values:
        yield ""
        yield f"Here {values}."
    yield ""
    yield from gate_2
    yield f"Where you can't go on, call a person: `{call_command('blocked', task)}`. Where a frozen test is"
    yield f"wrong, leave it and say so: `{call_command('test-wrong', task)}`. Then stop; a person"
    yield "corrects it and goes back. Both can be said at any time, and are honest ways to stop."
    yield ""
    yield "Deleting, skipping or changing tests, or the rules, closes the gate and is named."
    yield ""
    yield "Say in a sentence of your own what is complete, such as `All tasks are completed.`; words are weighed, too."
    yield "End your answer with this block at the left margin, outside of any fence, every value filled in. Whatever is"
    yield "left to do belongs into it; a block that says one thing while work remains, or tests fail, is refused."
    yield ""
    yield "```"
    yield from (row.replace("{phase}", phase.name) for row in _BLOCKS[style].splitlines())
    yield "```"
    yield from _explain_block(phase, style)
    following = "the cycle ends" if phase.next == DONE else f"{phase.next or 'the phase of its record'} follows"
    yield ""
    yield f"When both gates are open, {following}."


def _tell_gate_2(task: str) -> Iterator[str]:
    yield f'Gate 2 is an explicit signal, given on purpose after a run: `{signal_command(task)} --reason "..."`.'


def _explain_block(phase: Phase, style: Style) -> Iterator[str]:
    if style != "prp":
        return
    yield ""
    but = ", but for what only this claim can give" if phase.gate_1.condition.names & CLAIM_METRICS else ""
    yield f"GATE_1 is what the last run showed{but}; its numbers look like this: `tests_passing: 3/3`. GATE_2 is your"
    yield "EXIT_SIGNAL; CAN_EXIT is true if both are. Numbers are compared with the measured ones."


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
