"""`phase-gate check`: may the phase end? Only looks."""

from __future__ import annotations

from phase_gate.cli._answer import Call, Done
from phase_gate.visible import show_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.task import Task


def run(call: Call) -> Done:
    task = call.task()
    state, standing = task.state, task.standing(gate_1_only=call.arguments.gate1)
    document: dict[str, object] = {
        "task": task.project.task,
        "root": str(task.project.root),
        "phase": state.phase,
        "open": standing.is_open,
        **standing.document,
        "forced_exit": state.forced,
    }
    phase = state.phase or "no phase"
    forced = " (forced)" if state.forced else ""
    word = "open" if standing.is_open else "closed"
    rows = [f"{phase}: {word}{forced}: {standing.verdict}", f"  next: {standing.next_step}"]
    if notes := _note_proof(task):
        document["notes"] = notes
        rows[1:1] = [f"  note: {note}" for note in notes]
    return Done(text=show_rows(rows), document=document, code=standing.exit_code)


def _note_proof(task: Task) -> list[str]:
    """Say what is not shown where the phase wants a proof and has none: it is off, can't be made, or had no RED."""
    state = task.state
    if task.project.configuration.proof.mode == "off":
        from phase_gate.gate.proofs import GUARD, OFF

        phase = task.rules.phase(state.phase or "")
        return [OFF] if phase is not None and GUARD in phase.gate_1.guards else []
    findings = () if state.evaluation is None else state.evaluation.findings
    unseen = [finding.detail for finding in findings if finding.slug == "red-was-seen"]
    if unseen or state.proof is None or not state.proof.problem:
        return unseen
    from phase_gate.gate.proofs import say_no_proof

    return [say_no_proof(state.proof.problem)]
