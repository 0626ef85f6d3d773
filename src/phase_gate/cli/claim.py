"""`phase-gate claim`: compare what an agent says with what was measured, and decide whether its work is complete."""

from __future__ import annotations

import argparse

from phase_gate import exit_codes
from phase_gate.claims.blocks import Said, read_blocks
from phase_gate.claims.decision import Decision, Outcome, Threshold, claim_event, decide, decision_to_json
from phase_gate.claims.measured import measure_claim
from phase_gate.claims.show import render_claim
from phase_gate.claims.text import read_claim_text, sentences
from phase_gate.claims.transcripts import read_transcript
from phase_gate.cli._answer import Answer, Call, require_task
from phase_gate.cli._streams import read_input, say_aside
from phase_gate.cli.signal import give_signal
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.evaluation import Evaluation, evaluation_to_json
from phase_gate.gate.signals import Signal
from phase_gate.gate.state import State
from phase_gate.gate.status import show_next
from phase_gate.project import Project
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
    threshold = _threshold(call, gate)
    if call.arguments.as_signal and not gate.as_signal:
        raise NotAllowedError(
            "a claim is not taken for a signal here", remedy="phase-gate signal, or set exit_gate: {as_signal: true}"
        )
    task = call.task(project)
    require_task(task)
    texts, note = _read(call)
    text = read_claim_text(texts)
    said, prose = read_blocks(text), sentences(text)
    said = replace(said, notes=(*said.notes, *note))
    decision, task = _decide(call, task, said, prose, threshold)
    verdict = None
    if call.arguments.as_signal:
        verdict, task = _signal(call, task, decision)
    return _answer(project, task.state, decision, verdict, asked=call.arguments.as_signal)


def _read(call: Call) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the messages, and what is to be said about reading them."""
    raw = _read_bytes(call)
    is_wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = raw.decode("utf-16" if is_wide else "utf-8", "replace")
    if not call.arguments.transcript:
        return (text,), ()
    transcript = read_transcript(text)
    note = (f"{transcript.unread} line(s) of the transcript are no JSON",) if transcript.unread else ()
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
    given, kind = call.arguments.threshold, call.arguments.kind
    if kind is not None and kind not in gate.thresholds:
        known = ", ".join(gate.thresholds) or "none are set"
        raise UsageError(f"unknown kind of task {kind!r}", remedy=f"use one under exit_gate.thresholds: {known}")
    if given is not None:
        if given < 1:
            raise UsageError(f"--threshold can't be {given}", remedy="give 1 or more")
        return Threshold(value=given, source="--threshold")
    variable = call.environment.get(_VARIABLE)
    if variable is not None:
        if not variable.isascii() or not variable.isdigit() or not int(variable[:9]) >= 1:
            raise UsageError(f"{_VARIABLE} can't be {variable[:40]!r}", remedy="set it to 1 or more, or unset it")
        return Threshold(value=int(variable[:9]), source=_VARIABLE)
    if kind is not None:
        return Threshold(value=gate.thresholds[kind], source=f"kind {kind}")
    is_usual = gate.indicator_threshold == ExitGate().indicator_threshold
    return Threshold(value=gate.indicator_threshold, source="default" if is_usual else "phase-gate.yaml")


def _decide(call: Call, task: Task, said: Said, prose: str, threshold: Threshold) -> tuple[Decision, Task]:
    """Decide on the claim and record it; return the decision, and the task after it."""
    # Before the lock: a build may take minutes.
    looked = measure_claim(task, show=say_aside)
    store, configuration = task.store, task.project.configuration
    with task.transaction() as change:
        store.refuse_while_running(change.opened.state)
        if change.state.phase != looked.context.phase or change.state.iteration != looked.context.iteration:
            raise NotAllowedError("the task moved on while the claim was looked at", remedy="claim again")
        context = replace(
            looked.context,
            breaker=change.state.breaker,
            claims_low=change.state.claims.low,
            claims_done=change.state.claims.done,
            at=change.at,
        )
        decision = decide(said, prose, context, configuration.exit_gate, configuration.confidence, threshold)
        # Only from one that passed on: what a blocked claim was about is still to be claimed.
        keeps = decision.passed and looked.git is not None
        remembered = {"git": store.keep("evidence", looked.git)} if keeps else {}
        change.record(
            claim_event(
                decision,
                change.state,
                kind=call.arguments.kind,
                by=call.by(),
                tree=looked.tree,
                remembered=remembered,
            )
        )
    return decision, task.after(change)


def _signal(call: Call, task: Task, decision: Decision) -> tuple[Evaluation | None, Task]:
    """Give the signal that the block gives, if it gives one that counts; return the verdict, and the task after it."""
    said = decision.said
    reason = said.reason.strip('"')[:500] or "claimed by a status block"
    if said.explicit is False and not said.contradictions:
        return give_signal(task, Signal(answer="not-done", reason=said.remaining[:500] or reason, by=call.by()))
    if decision.passed and said.explicit is True and decision.found >= decision.threshold.value:
        return give_signal(task, Signal(answer="done", reason=reason, by=call.by()))
    return None, task


def _answer(project: Project, state: State, decision: Decision, verdict: Evaluation | None, *, asked: bool) -> Answer:
    phase = state.phase if verdict is None else verdict.subject.phase
    hint = "" if verdict is None else verdict.next_hint
    if verdict is not None:
        following = verdict.next_command
    elif decision.outcome is Outcome.COMPLETE:
        following = signal_command(project.task)
    elif decision.outcome in (Outcome.HALTED, Outcome.ASK):
        following = "phase-gate breaker status"
    else:
        following = run_command("auto", project.task)
    text = render_claim(decision, phase=str(phase), next_step=show_next(following, hint))
    code = decision.exit_code
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
        "next_command": following,
        "next_hint": hint,
        "evaluation": None if verdict is None else evaluation_to_json(verdict),
    }
    return Answer(text=text, document=document, exit_code=code)
