"""Let one guard's present findings pass, by a person's word."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from phase_gate.codec import each_from_json
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.findings import Finding
from phase_gate.gate.overrides import Person
from phase_gate.gate.parts import VERIFICATION
from phase_gate.gate.state import Event, State
from phase_gate.storage.again import again_if_moved
from phase_gate.task import Task
from phase_gate.values import Value


class Waived(Value):
    record: Mapping[str, Any]
    next_command: str


@again_if_moved
def waive_guard(task: Task, guard: str, person: Person, *, days: float | None) -> Waived:
    """Record that what the guard found in the last verdict may pass.

    :param days: after how many it expires; without, when the cycle ends.
    """
    task.require_begun(verification=True)
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        covered = _present_findings(change.state, guard)
        person.require(change.opened.state, "a waiver")
        record = {
            "guard": guard,
            "findings": covered,
            "reason": person.reason,
            "by": person.by,
            "expires": _expiry(days, change.at),
        }
        change.record(Event(kind="waived", data=record))
        step = _following(task.after(change))
    return Waived(record=record, next_command=step)


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
