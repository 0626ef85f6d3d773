"""`phase-gate waive`: a person lets one guard's present findings pass, on the record."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta

from phase_gate.cli._answer import Answer, Call, require_task
from phase_gate.codec import each_from_json
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.findings import Finding
from phase_gate.gate.parts import VERIFICATION
from phase_gate.gate.state import Event, State
from phase_gate.task import Task
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("guard", metavar="GUARD", help="the guard that the last verdict names")
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")
    parser.add_argument("--days", metavar="N", type=float, help="let it expire after so many days; else with the cycle")


def run(call: Call) -> Answer:
    task = call.task()
    project, store = task.project, task.store
    require_task(task, verification=True)
    with task.transaction() as change:
        store.refuse_while_running(change.opened.state)
        covered = _present_findings(change.state, call.arguments.guard)
        call.require_person(project, change.opened, "a waiver")
        data = {
            "guard": call.arguments.guard,
            "findings": covered,
            "reason": call.arguments.reason,
            "by": call.arguments.by,
            "expires": _expiry(call.arguments.days, change.at),
        }
        change.record(Event(kind="waived", data=data))
        step = _following(task.after(change))
    until = f"until {data['expires']}" if data["expires"] else "until the cycle ends"
    return Answer(
        text=show_rows(
            (
                f"{call.arguments.guard} is waived for {len(covered)} finding(s), {until}",
                f"  next: {step}",
            )
        ),
        document=data,
    )


def _following(task: Task) -> str:
    if VERIFICATION in task.state.parts:
        return f"phase-gate verify status --task {task.project.task}"
    return task.way_on


def _present_findings(state: State, guard: str) -> list[str]:
    """Return the keys of what the guard found in the last verdict. Raises NotAllowedError if it found nothing."""
    evaluation = state.evaluation
    unmet = [] if evaluation is None else [row for row in evaluation["gate_1"]["guards"] if not row["met"]]
    names = [row["name"] for row in unmet]
    if guard not in names:
        raise NotAllowedError(
            f"{guard} is not what closes the gate", remedy=f"unmet guards: {', '.join(names) or 'none'}"
        )
    assert evaluation is not None
    findings = each_from_json(Finding, evaluation["findings"])
    keys = [finding.key for finding in findings if finding.belongs_to(guard) and finding.tier == "hard"]
    if not keys:
        raise NotAllowedError(f"{guard} names no finding that a waiver could cover", remedy="phase-gate explain")
    return keys


def _expiry(days: float | None, at: str) -> str:
    if days is None:
        return ""
    if not 0 < days <= 366:
        raise UsageError(f"--days {days:g}: not a time that a waiver may last", remedy="give 1 to 366")
    ends = datetime.fromisoformat(at).astimezone(UTC) + timedelta(days=days)
    return ends.isoformat(timespec="milliseconds").replace("+00:00", "Z")
