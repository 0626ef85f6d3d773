"""`phase-gate claim`: compare what an agent says with what was measured, and decide whether its work is complete."""

from __future__ import annotations

import argparse
from functools import partial

from phase_gate import exit_codes
from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.decision import Decision, Outcome, Threshold, own_threshold
from phase_gate.claims.show import decision_to_json, render_claim
from phase_gate.claims.text import read_claim_text, sentences
from phase_gate.claims.transcripts import read_transcript
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import read_input, say_aside, say_progress
from phase_gate.decisions.claiming import THRESHOLD_VARIABLE, Claim, DecidedClaim, decide_claim
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.evaluation import Evaluation, evaluation_to_json
from phase_gate.gate.status import show_next
from phase_gate.project import Project
from phase_gate.values import replace
from phase_gate.visible import show_line
from phase_gate.workflow.names import run_command, signal_command
from phase_gate.workflow.settings import ExitGate

#: Far more than an agent prints in one go.
_MAX_BYTES = 64 * 1024 * 1024


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
    texts, note = _read(call)
    text = read_claim_text(texts)
    said = read_blocks(text)
    claim = Claim(
        said=replace(said, notes=(*said.notes, *note)),
        prose=sentences(text, said.reasons),
        file=(call.start / call.arguments.file).resolve(),
        handed=call.handed(project.root, call.arguments.file),
        threshold=threshold,
        own_threshold=own,
        kind=call.arguments.kind,
        by=call.by(),
        as_signal=call.arguments.as_signal,
    )
    done = decide_claim(task, claim, show=say_aside, show_progress=say_progress)
    return _answer(project, done, asked=call.arguments.as_signal)


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
    variable = call.environment.get(THRESHOLD_VARIABLE)
    if variable is not None:
        if not variable.isascii() or not variable.isdigit() or not int(variable[:9]) >= 1:
            raise UsageError(
                f"{THRESHOLD_VARIABLE} can't be {variable[:40]!r}", remedy="set it to 1 or more, or unset it"
            )
        return Threshold(value=int(variable[:9]), source=THRESHOLD_VARIABLE)
    return own


def _own_threshold(call: Call, gate: ExitGate) -> Threshold:
    """Return what the project asks for: for the kind of task, or for all."""
    kind = call.arguments.kind
    if kind is not None and kind not in gate.thresholds:
        known = ", ".join(gate.thresholds) or "none are set"
        raise UsageError(f"unknown kind of task {kind!r}", remedy=f"use one under exit_gate.thresholds: {known}")
    return own_threshold(gate, kind)


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


def _answer(project: Project, done: DecidedClaim, *, asked: bool) -> Answer:
    state, decision, gate_1, verdict = done.state, done.decision, done.gate_1, done.verdict
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
