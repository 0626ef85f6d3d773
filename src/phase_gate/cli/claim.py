"""`phase-gate claim`: compare an agent's claims with the measurements, and decide whether its work is complete."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate import exit_codes
from phase_gate.claims.agent_output import read_messages
from phase_gate.claims.confidence import Threshold, measurable
from phase_gate.claims.decision import Decision, Outcome
from phase_gate.cli._call import Call, Done
from phase_gate.cli._streams import print_aside, read_given
from phase_gate.codec import spell_out
from phase_gate.decisions.claiming import THRESHOLD_VARIABLE, DecidedClaim, decide_claim, read_claim
from phase_gate.errors import UsageError
from phase_gate.gate.verdict import SAY_WHY, show_next
from phase_gate.project import Project
from phase_gate.values import replace
from phase_gate.visible import count, show_rows
from phase_gate.workflow.names import of_task, run_command, signal_command, status_command
from phase_gate.workflow.sections import ExitGate


def run(call: Call) -> Done:
    project = call.project()
    gate = ExitGate.of(project.configuration)
    kind, threshold = call.arguments.kind, _given_threshold(call)
    if kind is not None and kind not in gate.thresholds:
        known = ", ".join(gate.thresholds) or "none are set"
        raise UsageError(f"unknown kind of task {kind!r}", remedy=f"use one under exit_gate.thresholds: {known}")
    task = call.task(project)
    task.require_begun()
    texts = _read(call)
    claim = replace(
        read_claim(texts, by=call.by()),
        kind=kind,
        handed=call.handed(project.root, call.arguments.file),
        threshold=threshold,
        person=call.person(),
    )
    return _answer(project, decide_claim(task, claim, show=print_aside))


def _read(call: Call) -> tuple[str, ...]:
    """Return the agent's messages."""
    raw = read_given(call.start, call.arguments.file)
    is_wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    return read_messages(raw.decode("utf-16" if is_wide else "utf-8", "replace"))


def _given_threshold(call: Call) -> Threshold | None:
    """Return the threshold from the command line, else from the environment; None: use the project's."""
    given, variable = call.arguments.threshold, call.environment.get(THRESHOLD_VARIABLE)
    if given is not None:
        return Threshold(value=given, source="--threshold")
    if variable is None:
        return None
    if not variable.isascii() or not variable.isdigit() or not int(variable[:9]) >= 1:
        raise UsageError(f"{THRESHOLD_VARIABLE} can't be {variable[:40]!r}", remedy="set it to 1 or more, or unset it")
    return Threshold(value=int(variable[:9]), source=THRESHOLD_VARIABLE)


#: The remedy for a printed block that does not count.
_PRINT_AGAIN = "print the block at the left margin, in capitals, outside of any fence, then: {}"
_ASK_PERSON = "a person reads the work; then a claim with a filled-in block, or: {}"


def _what_next(project: Project, done: DecidedClaim) -> tuple[str, str]:
    """Return the command to type and a hint, but never a signal that would be refused."""
    decision, gate_1 = done.decision, done.gate_1
    if decision.decision is Outcome.HALTED:
        return status_command(project.task), ""
    if decision.decision is Outcome.ASK:
        return "", _ASK_PERSON.format(of_task("phase-gate force --reason TEXT", project.task))
    if done.task.state.exited:
        standing = done.task.current_status()
        return standing.next_command, standing.next_hint
    if decision.is_claim and not decision.passed and not decision.blocks:
        return "", _PRINT_AGAIN.format(of_task("phase-gate claim FILE", project.task))
    if gate_1 is not None:
        return gate_1.next_command, gate_1.next_hint
    if decision.passed:
        return signal_command(project.task), SAY_WHY
    return run_command("auto", project.task), ""


def _answer(project: Project, done: DecidedClaim) -> Done:
    state, decision, gate_1 = done.task.state, done.decision, done.gate_1
    following, hint = _what_next(project, done)
    closed = gate_1.reason if gate_1 is not None and decision.passed and not gate_1.gate_1.is_open else ""
    text = show_rows(_rows(decision, str(state.phase), show_next(following, hint), closed))
    # A loop driven by the exit code must continue if Gate 1 requires more than a claim can provide.
    code = exit_codes.GATE_CLOSED if closed else decision.exit_code
    document = {
        "task": project.task,
        "root": str(project.root),
        "phase": state.phase,
        "iteration": state.iteration,
        **spell_out(decision),
        "gate_1": None if gate_1 is None else {"open": gate_1.gate_1.is_open, "reason": gate_1.reason},
        "next_command": following,
        "next_hint": hint,
    }
    return Done(text=text, document=document, code=code)


# --- the text: decision, reason, every part, next command


_SIGNS = {True: "+", False: "-", None: "?"}


def _rows(decision: Decision, phase: str, next_step: str, closed: str) -> Iterator[str]:
    """Yield the decision as text, and why Gate 1 is still closed although the claim passes."""
    parts = decision.confidence_parts
    yield f"{phase}: {decision.decision}: {decision.reason}"
    names = ", ".join(block.kind for block in decision.blocks)
    answer = {True: "done", False: "not done", None: "nothing that counts"}[decision.explicit]
    yield f"  claims      {answer}" + (f" ({names})" if names else " (no status block)")
    source = "" if decision.threshold_from == "default" else f" (threshold from {decision.threshold_from})"
    yield f"  indicators  {decision.indicators} ({decision.threshold} needed){source}"
    for each in decision.indicator_rows:
        if each.kind != "pattern" or each.met:
            yield f"    {_SIGNS[each.met]} {each.name}: {each.reason}"
    absent = sum(each.kind == "pattern" and not each.met for each in decision.indicator_rows)
    if absent:
        yield f"    - {count(absent, 'phrase')} not found"
    yield f"  confidence  {decision.confidence} of {measurable(parts)} ({decision.confidence_needed} needed)"
    for part in parts:
        points = "  ?" if part.met is None else f"{part.worth * part.met:3}"
        yield f"    {points} {part.name}: {part.reason}"
    for title, rows in (
        ("against it", decision.vetoes),
        ("measured", decision.contradictions),
        ("let pass", decision.leniency),
        ("warning", decision.warnings),
    ):
        for row in rows:
            yield f"  {title:<11} {row}"
    if closed:
        yield f"  Gate 1      closed: {closed}"
    yield f"  next: {next_step}"
