"""`phase-gate signal`, `advance`: the exit signal, and the way into the next phase."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._streams import say_aside, say_progress, screen_width
from phase_gate.decisions.advancing import EnteredPhase, JudgedPhase, advance
from phase_gate.decisions.signalling import give_signal, leave_answer, leave_signal
from phase_gate.gate.signals import Given, Signal
from phase_gate.gate.verdict import Evaluation, evaluation_to_json, way_to
from phase_gate.report.panel import panel_text, render_panel
from phase_gate.storage.signal_file import check_signal
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.visible import show_rows
from phase_gate.workflow.model import requires_of
from phase_gate.workflow.names import ANSWER_VARIABLE, is_answer_name

# --- the verdict of an evaluation, as a command answers with it


def answer_with(call: Call, evaluation: Evaluation, *, is_stuck: bool = False) -> Done:
    """Return a verdict as a command's answer."""
    closed = exit_codes.CIRCUIT_OPEN if is_stuck or evaluation.breaker.is_open else exit_codes.GATE_CLOSED
    lines = render_panel(evaluation, verbosity=int(call.arguments.v), width=screen_width())
    return Done(
        text=panel_text(lines, width=screen_width()),
        document=evaluation_to_json(evaluation),
        code=exit_codes.OPEN if evaluation.can_exit else closed,
    )


# --- the beginning of a phase, as a command answers with it


def answer_entry(entered: EnteredPhase) -> Done:
    """Return what is said where a phase begins: what it is for, what it asks for, what to type."""
    phase, title, needs = entered.phase, entered.phase.name, entered.needs
    step = way_to(phase, entered.task.project.task)
    document: dict[str, Any] = {"phase": phase.name, "entered": entered.is_new}
    pipeline = find_pipeline(entered.task.state)
    if pipeline is not None:
        attempt = pipeline.attempts.get(phase.name, 1)
        document |= {"attempt": attempt, "needs": [list(row) for row in needs]}
        title += f" (attempt {attempt})" if attempt > 1 else ""
        if entered.written is not None:
            document |= {"written": list(entered.written), "kept": list(entered.kept)}
            needs = (
                *needs,
                *(("written", path) for path in entered.written),
                *(("kept", path) for path in entered.kept),
            )
        if entered.written:
            step = f"fill in what was written, then {step}"
        elif phase.tests == "none" and requires_of(phase).artifacts:
            step = f"write what is asked for ({step} --template begins each file), then {step}"
    rows = [f"  {name:13} {text}" for name, text in needs]
    recorded = ", ".join(entered.constitution)
    if recorded:
        rows.append(f"  constitution  {recorded}: recorded, it may not change until the pipeline is done")
    verb = "begins" if entered.is_new else "asks for these"
    return Done(
        text=show_rows([f"{title} {verb}: {phase.purpose}".rstrip(": "), *rows, f"  next: {step}"]),
        document=document,
    )


# --- `phase-gate signal`: the explicit answer of Gate 2, for the last complete run


def run_signal(call: Call) -> Done:
    project, signal = call.project(), _read(call)
    check_signal(signal, remaining_work=call.arguments.remaining_work)
    task = call.task(project)
    answer = Path(call.environment.get(ANSWER_VARIABLE, ""))
    if is_answer_name(answer.name) and answer.name.startswith("signal-") and task.store.is_driven():
        leave_answer(task, signal, answer)
        return Done(
            text=f"{signal.answer} is left for phase-gate drive: it runs the tests when you stop, and then decides",
            document={"answer": signal.answer, "waits_for": "drive"},
        )
    if call.arguments.next:
        leave_signal(task, signal)
        return Done(
            text=f"signal {signal.answer} waits for the next evaluation",
            document={"answer": signal.answer, "waits_for": "next"},
        )
    evaluation, after = give_signal(task, signal, show=say_aside, show_progress=say_progress)
    return answer_with(call, evaluation, is_stuck=after.state.is_stuck)


def _read(call: Call) -> Signal:
    given = call.arguments
    answer: Given = "done"
    if given.not_done:
        answer = "not-done"
    elif given.blocked:
        answer = "blocked"
    elif given.test_wrong:
        answer = "test-wrong"
    return Signal(answer=answer, reason=given.reason, by=call.by())


# --- `phase-gate advance`: enter the next phase, or evaluate one that needs no tests


def run_advance(call: Call) -> Done:
    done = advance(call.task(), template=call.arguments.template, show=say_aside)
    if isinstance(done, JudgedPhase):
        return answer_with(call, done.evaluation, is_stuck=done.is_stuck)
    return answer_entry(done)
