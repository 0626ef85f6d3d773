"""The prompt of one iteration: what is to be built, where it stands, what failed and why, the rules, how to answer.

Pure. The rules are those of `phase-gate agent prompt`. Foreign text stands indented: nothing in it is at the left
margin, so an agent that repeats it claims nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from phase_gate.gate.standing import Standing
from phase_gate.gate.state import Json
from phase_gate.report.prompt import render_prompt
from phase_gate.values import Value
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.settings import DriveSignal

#: Lines, and characters, of the last run's output: its end says which tests failed.
_LINES, _CHARACTERS = 60, 6000
#: Findings that are told one by one.
_FINDINGS = 10


class Situation(Value):
    """What a prompt speaks of."""

    workflow: Workflow
    phase: Phase
    task: str
    goal: str = ""
    number: int = 1
    iterations: int = 30
    standing: Standing | None = None
    #: The last verdict on this phase; None where there is none yet.
    evaluation: Json | None = None
    #: What our own run of the tests printed last, and where all of it is.
    output: str = ""
    output_file: str = ""
    #: What there is to say about the last answer of the agent: how it ended, what became of its claim and its signal.
    notes: tuple[str, ...] = ()
    #: What a phase of a pipeline asks for.
    needs: tuple[str, ...] = ()
    signal: DriveSignal = "ask"
    answer_file: str = ""


def write_prompt(situation: Situation) -> str:
    rows = [*_tell_goal(situation), *_tell_needs(situation), *_tell_standing(situation)]
    rules = render_prompt(
        situation.workflow, situation.phase, "exit", task=situation.task, gate_2=_tell_gate_2(situation)
    )
    return "\n".join([*rows, rules, ""])


def _tell_goal(situation: Situation) -> Iterator[str]:
    where = f"iteration {situation.number}, and there are at most {situation.iterations}"
    yield f"You work on task {show_line(situation.task)}. This is {where}."
    yield "Work, then stop. When you stop, the tests are run for you, and you are told here what is missing."
    yield ""
    if situation.goal:
        yield "# What is to be built"
        yield ""
        yield show_text(situation.goal.strip())
        yield ""


def _tell_needs(situation: Situation) -> Iterator[str]:
    if not situation.needs:
        return
    yield f"# What {situation.phase.name} asks for"
    yield ""
    yield from (f"- {show_line(row)}" for row in situation.needs)
    yield "Files that were missing lie there to be filled in. Snapshots are made and votes asked for when you stop."
    yield ""


def _tell_standing(situation: Situation) -> Iterator[str]:
    standing, evaluation = situation.standing, situation.evaluation
    if standing is None and not situation.notes:
        return
    yield "# Where it stands"
    yield ""
    if standing is not None:
        yield f"{situation.phase.name}: {show_line(standing.reason)}."
        if standing.next_hint:
            yield f"What to do: {show_line(standing.next_hint)}."
    yield from (f"- {show_line(note)}" for note in situation.notes)
    if evaluation is not None:
        yield from _tell_verdict(evaluation)
    if situation.output:
        yield ""
        yield f"The end of the last run (all of it: {situation.output_file}):"
        yield ""
        yield textwrap.indent(_end_of(situation.output), "    ")
    yield ""


def _tell_verdict(evaluation: Json) -> Iterator[str]:
    gate_1 = evaluation["gate_1"]
    yield f"- Gate 1 is {'open' if gate_1['open'] else 'closed'}; Gate 2: {evaluation['gate_2']['answer']}"
    for clause in gate_1["clauses"]:
        if clause["met"] is not True:
            yield f"- {'not measured' if clause['met'] is None else 'unmet'}: `{show_line(clause['text'])}`"
    for guard in gate_1["guards"]:
        if guard["met"] is not True and not guard["waived"]:
            remedy = f"; {guard['remedy']}" if guard["remedy"] else ""
            yield f"- unmet: {show_line(guard['name'])}: {show_line(guard['detail'])}{show_line(remedy)}"
    hard = [row for row in evaluation["findings"] if row["tier"] == "hard"]
    for row in hard[:_FINDINGS]:
        yield f"- {show_line(row['slug'])}: {show_line(str(row['id']))}: {show_line(row['detail'])}"
    if len(hard) > _FINDINGS:
        yield f"- and {len(hard) - _FINDINGS} more findings: phase-gate explain"
    yield from (f"- {show_line(warning)}" for warning in evaluation["warnings"])


def _end_of(output: str) -> str:
    return show_text("\n".join(output[-_CHARACTERS:].splitlines()[-_LINES:]))


def _tell_gate_2(situation: Situation) -> Iterator[str]:
    if situation.signal == "ask":
        yield "Gate 2 is an explicit signal, and a person gives it: not you. When your work is done, just stop."
        return
    yield "Gate 2 is an explicit signal. If you judge on purpose that this phase is done, give it before you stop:"
    yield '`phase-gate signal --reason "..."`, or write exactly this into'
    yield f"`{situation.answer_file}`:"
    yield ""
    yield "    exit_signal: true"
    yield '    reason: "why it is done"'
    yield ""
    yield "It counts for the run that follows, and only once. Nothing that you print is taken for a signal."
