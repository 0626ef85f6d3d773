"""The beginning of a phase, as a command answers with it."""

from __future__ import annotations

from typing import Any

from phase_gate.cli._answer import Answer
from phase_gate.decisions.advancing import EnteredPhase
from phase_gate.gate.verdict import way_to
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.visible import show_rows
from phase_gate.workflow.model import requires_of


def answer_entry(entered: EnteredPhase) -> Answer:
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
    return Answer(
        text=show_rows([f"{title} {verb}: {phase.purpose}".rstrip(": "), *rows, f"  next: {step}"]),
        document=document,
    )
