"""What a verify task owns of its state, for the table of `gate.parts`: how each event changes it, where it stands.

Pure, but for the story of all tasks: replaying the ledger gives the same value again. A status that can't follow is an
error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.codec import from_json
from phase_gate.gate.measured import Section
from phase_gate.gate.parts import PARTS, VERIFICATION, Part
from phase_gate.gate.standing import Standing, by_verdict, closed
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import Status as GateStatus
from phase_gate.tasks.model import (
    TRANSITIONS,
    Check,
    Failure,
    FailureType,
    Report,
    Skip,
    Status,
    TaskSpec,
    Verification,
    Word,
)
from phase_gate.values import replace


class VerificationPart(Part):
    kind = Verification

    def reduce(self, value: Verification | None, event: Event) -> Verification | None:
        if event.kind in PARTS[VERIFICATION].kinds:
            return advance(value, event)
        if value is not None and event.kind == "phase-exited" and not event.data.get("forced"):
            return exit_phase(value)
        return value

    def listed_files(self, value: Verification) -> tuple[str, ...]:
        return value.spec.files

    def standing(self, value: Verification, state: State, *, tree: str, gate_1_only: bool) -> Standing:
        """Return whether the gate is open: it is for what is committed, whatever comes after it."""
        evaluation, look = state.evaluation, f"phase-gate verify status --task {value.spec.slug}"
        if value.commit:
            reason = f"approved, and committed as {value.commit[:10]}"
            return Standing(is_open=True, status="open", reason=reason, next_command=look)
        if evaluation is None or state.evaluation_is_stale:
            status: GateStatus = "unstarted" if evaluation is None else "stale"
            return closed(status, f"it is {value.status}", look)
        if value.verified_tree not in ("", tree) and not evaluation.forced_exit:
            reason = "files were changed after the verify run: its evidence is stale"
            return closed("stale", reason, look)
        return by_verdict(evaluation, gate_1_only=gate_1_only)

    def sections(
        self, value: Verification | None, *, folder: Path, look: Callable[[str], State | None]
    ) -> tuple[Section, ...]:
        if not (folder / "tasks").is_dir():
            return ()
        # Here, not above: only reports draw all tasks.
        from phase_gate.tasks.overview import load_overview
        from phase_gate.tasks.show import sections_of

        return sections_of(load_overview(folder, look, tuple(getattr(look, "refused", ()))), value)


PART = VerificationPart()


# --- how each event changes a verify task


def advance(verification: Verification | None, event: Event) -> Verification:
    """Return the task after one more event. Raises ValueError for what can't follow."""
    if event.kind == "task-taken":
        return _taken(verification, event)
    if verification is None:
        raise ValueError(f"{event.kind} without a task")
    verification = _CHANGES[event.kind](verification, event)
    attachment = event.data.get("attachment")
    if attachment and attachment not in verification.attachments:
        verification = replace(verification, attachments=(*verification.attachments, attachment))
    return replace(verification, last_step_at=event.at) if event.kind in _STEPS else verification


def move(verification: Verification, status: Status, **changes: Any) -> Verification:
    """Return the task in another status. Raises ValueError where the table does not have that step."""
    if status not in TRANSITIONS[verification.status]:
        raise ValueError(f"{status} can't follow {verification.status}")
    return replace(verification, status=status, **changes)


def exit_phase(verification: Verification) -> Verification:
    """Both gates were open: the task is approved, and what failed before is mended."""
    return _recover(move(verification, Status.APPROVED), 3)


def _taken(verification: Verification | None, event: Event) -> Verification:
    data = event.data
    spec = from_json(TaskSpec, data["spec"])
    taken = Verification(
        spec=spec,
        taken_at=event.at,
        limits=dict(data["limits"]),
        untimed=data.get("untimed", False),
        memory=data.get("memory", ""),
        place=data.get("place", ""),
        flags=tuple(data.get("flags", ())),
        attachments=tuple(data.get("attachments", ())),
    )
    if verification is None or verification.status is Status.PENDING:
        return taken
    if not data.get("amends"):
        raise ValueError("a task that has begun was taken once more")
    # Another text for the same work: what happened to it stays.
    return replace(verification, spec=spec, limits=taken.limits, untimed=taken.untimed, flags=taken.flags)


def _attempt_began(verification: Verification, event: Event) -> Verification:
    # Worked on elsewhere from now on: what was changed is told from the files there.
    moves = "memory" in event.data
    return move(
        verification,
        Status.EXECUTING,
        attempt=event.data["attempt"],
        began_at=event.at,
        # The first one stays: what was committed in an attempt that failed is still there.
        head=event.data.get("head", "") if moves else verification.head or event.data.get("head", ""),
        memory=event.data["memory"] if moves else verification.memory,
        place=event.data["place"] if moves else verification.place,
        by=event.data.get("by", ""),
        limits=dict(event.data.get("limits") or verification.limits),
        report=None,
        check=None,
        review=None,
        codes={},
    )


def _executor_reported(verification: Verification, event: Event) -> Verification:
    data = event.data
    report = Report(result=data["result"], by=data["by"], at=event.at, tree=data["tree"], kept=data["kept"])
    if report.result["status"] == "success" and report.result["done_criteria_met"]:
        return move(verification, Status.VERIFYING, report=report)
    if report.result["status"] == "blocked":
        return move(verification, Status.BLOCKED, report=report)
    return replace(verification, report=report)


def _verify_started(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.VERIFYING)
    data = event.data
    check = Check(id=data["id"], command=data["command"], at=event.at, tree=data["tree"], limit=data["limit"])
    return replace(verification, check=check)


def _verify_ran(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.VERIFYING)
    assert verification.check is not None
    check = replace(from_json(Check, event.data["check"]), ended_at=event.at)
    if check.id != verification.check.id:
        raise ValueError("another run of the verify command ended")
    verification = replace(verification, check=check)
    return _recover(move(verification, Status.REVIEWING), 2) if check.passes else verification


def _agent_worked(verification: Verification, event: Event) -> Verification:
    return replace(verification, codes={**verification.codes, event.data["role"]: event.data.get("code") or 0})


def _reviewed(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.REVIEWING)
    review = replace(from_json(Word, event.data["word"]), at=event.at)
    return _mend(
        replace(verification, review=review),
        lambda failure: failure.step == 3 and failure.type is FailureType.MALFORMED,
        "a verdict that can be read",
    )


def _attempt_failed(verification: Verification, event: Event) -> Verification:
    failure = from_json(Failure, {"attempt": verification.attempt, **event.data["failure"], "at": event.at})
    verification = replace(
        verification,
        failures=(*verification.failures, failure),
        files=event.data.get("files") or verification.files,
    )
    if failure.type is FailureType.BLOCKED:
        _expect(verification, Status.BLOCKED)
        return verification
    if failure.step == 3 and failure.type is FailureType.MALFORMED:
        # The other two steps stand: the reviewer may say it once more.
        _expect(verification, Status.REVIEWING)
        return verification
    return move(verification, Status.REJECTED if failure.step == 3 else Status.FAILED)


def _skipped(verification: Verification, event: Event) -> Verification:
    data = event.data
    skip = Skip(mark=data["mark"], kind=data["skip_kind"], reason=data["reason"], by=data["by"], at=event.at)
    return move(verification, Status.SKIPPED, skip=skip)


def _committed(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.APPROVED)
    return replace(verification, commit=event.data["commit"], committed_at=event.at)


def _resumed(verification: Verification, event: Event) -> Verification:
    said = _guidance(verification, event)
    return replace(verification, resumed_after=len(verification.failures), guidance=said, voided="")


def _voided(verification: Verification, event: Event) -> Verification:
    return replace(verification, voided=event.data["reason"])


def _wave_resumed(verification: Verification, event: Event) -> Verification:
    said = _guidance(verification, event)
    return replace(verification, wave_resumed_after=len(verification.failures), guidance=said)


def _guidance(verification: Verification, event: Event) -> tuple[str, ...]:
    return (*verification.guidance, f"{event.data['by']}: {event.data['reason']}")


def _expect(verification: Verification, status: Status) -> None:
    if verification.status is not status:
        raise ValueError(f"the task is {verification.status}, not {status}")


def _recover(verification: Verification, step: int) -> Verification:
    """Mark what failed in earlier attempts, up to this step, as mended."""
    result = {} if verification.report is None else verification.report.result
    said = str(result.get("resolution") or result.get("evidence") or "").strip()
    return _mend(
        verification,
        lambda failure: (
            (failure.step <= step and failure.attempt < verification.attempt) or failure.type is FailureType.BLOCKED
        ),
        said.splitlines()[0][:200] if said else "",
    )


def _mend(verification: Verification, is_mended: Callable[[Any], bool], resolution: str) -> Verification:
    failures = tuple(
        replace(failure, recovered=True, resolution=resolution)
        if not failure.recovered and is_mended(failure)
        else failure
        for failure in verification.failures
    )
    return replace(verification, failures=failures)


_CHANGES: Mapping[str, Callable[[Verification, Event], Verification]] = {
    "attempt-began": _attempt_began,
    "executor-reported": _executor_reported,
    "verify-started": _verify_started,
    "verify-ran": _verify_ran,
    "agent-worked": _agent_worked,
    "reviewed": _reviewed,
    "attempt-failed": _attempt_failed,
    "verification-skipped": _skipped,
    "committed": _committed,
    "task-resumed": _resumed,
    "wave-resumed": _wave_resumed,
    "steps-voided": _voided,
}

#: Events that are a step of the task, for the time of the last one.
_STEPS = frozenset(_CHANGES) - {"agent-worked", "task-resumed", "wave-resumed", "steps-voided"}
