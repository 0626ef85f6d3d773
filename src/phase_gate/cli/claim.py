"""`phase-gate claim`: compare what an agent says with what was measured, and decide whether its work is complete."""

from __future__ import annotations

import argparse
from functools import partial

from phase_gate import exit_codes
from phase_gate.claims.blocks import StatusBlocks, read_blocks
from phase_gate.claims.decision import Decision, Outcome, Threshold, decide
from phase_gate.claims.measured import MeasuredClaim, measure_claim
from phase_gate.claims.record import claim_event, decision_to_json
from phase_gate.claims.show import render_claim
from phase_gate.claims.text import read_claim_text, sentences
from phase_gate.claims.transcripts import read_transcript
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import read_input, say_aside
from phase_gate.cli.signal import give_signal
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.evaluation import Evaluation, evaluation_to_json
from phase_gate.gate.rejudging import evaluate_again, judgement_events
from phase_gate.gate.runs import count
from phase_gate.gate.signals import ABSENT, Signal
from phase_gate.gate.state import State
from phase_gate.gate.status import show_next
from phase_gate.project import Project
from phase_gate.storage.store import Transaction
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.visible import show_line
from phase_gate.workflow.names import run_command, signal_command
from phase_gate.workflow.settings import ExitGate

#: Far more than an agent prints in one go.
_MAX_BYTES = 64 * 1024 * 1024
_VARIABLE = "PHASE_GATE_EXIT_THRESHOLD"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="what the agent printed; - reads it from standard input")
    parser.add_argument("--transcript", action="store_true", help="read JSON lines: the assistant's texts only")
    parser.add_argument(
        "--as-signal", action="store_true", help="give the block's answer as the signal of Gate 2, where that is set"
    )
    parser.add_argument("--threshold", metavar="N", type=int, help="indicators that it takes, for this call")
    parser.add_argument("--kind", metavar="NAME", help="kind of task: its threshold in exit_gate.thresholds")
    parser.add_argument("--by", metavar="NAME", help="who says so; the user's name by default")


def run(call: Call) -> Answer:
    project = call.project()
    gate = project.configuration.exit_gate
    threshold, own = _threshold(call, gate), _own_threshold(call, gate)
    if call.arguments.as_signal and not gate.as_signal:
        raise NotAllowedError(
            "a claim is not taken for a signal here", remedy="phase-gate signal, or set exit_gate: {as_signal: true}"
        )
    task = call.task(project)
    task.require_begun()
    task = task.leave_out(call.handed(project.root, call.arguments.file))
    texts, note = _read(call)
    text = read_claim_text(texts)
    said = read_blocks(text)
    prose = sentences(text, said.reasons)
    said = replace(said, notes=(*said.notes, *note))
    # Before the lock: a build may take minutes.
    looked = measure_claim(task, claim_file=(call.start / call.arguments.file).resolve(), show=say_aside)
    if looked.context.asked and threshold.value < own.value:
        raise _too_low(looked.context.phase, threshold, own)
    decision, gate_1, task = _decide(call, task, looked, said, prose, threshold)
    verdict = None
    if call.arguments.as_signal:
        verdict, task = _signal(call, task, decision)
    return _answer(project, task.state, decision, gate_1, verdict, asked=call.arguments.as_signal)


def _read(call: Call) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the messages, and what is to be said about reading them."""
    raw = _read_bytes(call)
    is_wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = raw.decode("utf-16" if is_wide else "utf-8", "replace")
    if not call.arguments.transcript:
        return (text,), ()
    transcript = read_transcript(text)
    note = (f"lines of the transcript that are no JSON: {transcript.unread}",) if transcript.unread else ()
    return transcript.texts, note


def _read_bytes(call: Call) -> bytes:
    name = call.arguments.file
    try:
        if name == "-":
            raw = read_input(_MAX_BYTES + 1)
        else:
            with open(call.start / name, "rb") as stream:
                raw = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name} can't be read: {error.strerror or error}", remedy="name the agent's output") from None
    if len(raw) > _MAX_BYTES:
        raise UsageError(f"{name} is longer than {_MAX_BYTES // 1024 // 1024} MB", remedy="hand over its end: tail -c")
    return raw


def _threshold(call: Call, gate: ExitGate) -> Threshold:
    """Return what counts: the call, then the environment, then the kind of task, then the file."""
    given = call.arguments.threshold
    own = _own_threshold(call, gate)
    if given is not None:
        if given < 1:
            raise UsageError(f"--threshold can't be {given}", remedy="give 1 or more")
        return Threshold(value=given, source="--threshold")
    variable = call.environment.get(_VARIABLE)
    if variable is not None:
        if not variable.isascii() or not variable.isdigit() or not int(variable[:9]) >= 1:
            raise UsageError(f"{_VARIABLE} can't be {variable[:40]!r}", remedy="set it to 1 or more, or unset it")
        return Threshold(value=int(variable[:9]), source=_VARIABLE)
    return own


def _own_threshold(call: Call, gate: ExitGate) -> Threshold:
    """Return what the project asks for: for the kind of task, or for all."""
    kind = call.arguments.kind
    if kind is not None and kind not in gate.thresholds:
        known = ", ".join(gate.thresholds) or "none are set"
        raise UsageError(f"unknown kind of task {kind!r}", remedy=f"use one under exit_gate.thresholds: {known}")
    if kind is not None:
        return Threshold(value=gate.thresholds[kind], source=f"kind {kind}")
    is_usual = gate.indicator_threshold == ExitGate().indicator_threshold
    return Threshold(value=gate.indicator_threshold, source="default" if is_usual else "phase-gate.yaml")


def _too_low(phase: str, threshold: Threshold, own: Threshold) -> NotAllowedError:
    """Return the error: a gate that opens by a claim is not lowered by the claim itself."""
    leave = "unset it" if threshold.source == _VARIABLE else f"leave {threshold.source} out"
    setting = f"exit_gate: {{indicator_threshold: {threshold.value}}}"
    return NotAllowedError(
        f"{threshold.source} asks for {count(threshold.value, 'indicator')}, and Gate 1 of {phase} needs {own.value}",
        remedy=f"{leave}; to lower it for the project, set {setting} in phase-gate.yaml before the cycle begins",
    )


def _decide(
    call: Call, task: Task, looked: MeasuredClaim, said: StatusBlocks, prose: str, threshold: Threshold
) -> tuple[Decision, Evaluation | None, Task]:
    """Decide on the claim and record it; return the decision, what Gate 1 makes of it, and the task after it."""
    store, configuration = task.store, task.project.configuration
    with task.transaction() as change:
        store.refuse_while_running(change.opened.state)
        if change.state.phase != looked.context.phase or change.state.iteration != looked.context.iteration:
            raise NotAllowedError("the task moved on while the claim was looked at", remedy="claim again")
        context = replace(
            looked.context,
            breaker=change.state.breaker,
            counted=change.state.claims,
            at=change.at,
        )
        decision = decide(said, prose, context, configuration.exit_gate, configuration.confidence, threshold)
        change.record(
            claim_event(
                decision,
                change.state,
                kind=call.arguments.kind,
                by=call.by(),
                tree=looked.tree,
                reports=call.handed(task.project.root, call.arguments.file),
            )
        )
        gate_1 = _judge_again(task, looked, change)
    return decision, gate_1, task.after(change)


def _judge_again(task: Task, looked: MeasuredClaim, change: Transaction) -> Evaluation | None:
    """Judge the iteration anew where its Gate 1 asks for a claim, and record that; return the verdict."""
    phase = task.rules.phase(looked.context.phase)
    if phase is None or not looked.context.asked or looked.context.untested or change.state.measurement is None:
        return None
    evaluation = evaluate_again(change.state, task.rules, phase, ABSENT, at=change.at, root=str(task.project.root))
    change.record(*judgement_events(evaluation, phase, at=change.at))
    return evaluation


def _signal(call: Call, task: Task, decision: Decision) -> tuple[Evaluation | None, Task]:
    """Give the signal that the block gives, if it gives one that counts; return the verdict, and the task after it."""
    said = decision.said
    reason = said.reason.strip('"')[:500] or "claimed by a status block"
    if said.explicit is False and not said.contradictions:
        return give_signal(task, Signal(answer="not-done", reason=said.remaining[:500] or reason, by=call.by()))
    if decision.passed and said.explicit is True and decision.found >= decision.threshold.value:
        return give_signal(task, Signal(answer="done", reason=reason, by=call.by()))
    return None, task


#: Where a block was printed, and does not count.
_PRINT_AGAIN = "print the block at the left margin, in capitals, outside of any fence, then: phase-gate claim FILE"
_ASK_PERSON = "a person reads the work; then a claim with a filled-in block, or: phase-gate force --reason TEXT"


def _what_next(project: Project, decision: Decision, gate_1: Evaluation | None) -> tuple[str, str]:
    """Return what to type, and a hint: never a signal that would be refused."""
    said = decision.said
    if decision.outcome is Outcome.HALTED:
        return "phase-gate breaker status", ""
    if decision.outcome is Outcome.ASK:
        return "", _ASK_PERSON
    if said.uncounted and not said.blocks:
        return "", _PRINT_AGAIN
    if gate_1 is not None:
        return gate_1.next_command, gate_1.next_hint
    return (signal_command if decision.passed else partial(run_command, "auto"))(project.task), ""


def _answer(
    project: Project,
    state: State,
    decision: Decision,
    gate_1: Evaluation | None,
    verdict: Evaluation | None,
    *,
    asked: bool,
) -> Answer:
    phase = state.phase if verdict is None else verdict.subject.phase
    if verdict is not None:
        following, hint = verdict.next_command, verdict.next_hint
    else:
        following, hint = _what_next(project, decision, gate_1)
    is_closed = gate_1 is not None and not gate_1.gate_1.is_open
    closed = gate_1.reason if is_closed and gate_1 is not None and decision.passed else ""
    text = render_claim(decision, phase=str(phase), closed=closed, next_step=show_next(following, hint))
    # What a claim says by lenient settings opens no gate, so a loop that goes by the code goes on.
    code = exit_codes.GATE_CLOSED if closed else decision.exit_code
    if verdict is not None:
        code = exit_codes.OPEN if verdict.can_exit else code or exit_codes.GATE_CLOSED
        text += f"\n{show_line(f'  signal: {verdict.gate_2.answer}: {verdict.verdict}')}"
    elif asked:
        text += "\n  signal: none was given"
    document = {
        "task": project.task,
        "root": str(project.root),
        "phase": phase,
        "iteration": state.iteration,
        **decision_to_json(decision),
        "gate_1": None if gate_1 is None else {"open": not is_closed, "reason": gate_1.reason},
        "next_command": following,
        "next_hint": hint,
        "evaluation": None if verdict is None else evaluation_to_json(verdict),
    }
    return Answer(text=text, document=document, exit_code=code)
