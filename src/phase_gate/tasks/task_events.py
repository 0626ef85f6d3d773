"""How each event changes the work of a task: one reducer for verify tasks and pipelines.

Pure: replaying the ledger gives the same value. A status that can't follow the current one is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.codec import from_json
from phase_gate.gate.state import Event
from phase_gate.gate.state_extensions import WORK
from phase_gate.identities import same_name
from phase_gate.tasks.work import (
    PHASE,
    TRANSITIONS,
    Check,
    Failure,
    FailureType,
    Pipeline,
    Report,
    Request,
    Skip,
    Status,
    TaskSpec,
    Verification,
    Word,
    Work,
)
from phase_gate.values import replace


def change(work: Work | None, event: Event) -> Work | None:
    """Return the work after one more event. Raises ValueError for an event that can't follow."""
    if event.kind == "cycle-began":
        began = event.data.get(WORK)
        return None if began is None else Pipeline(constitution=began["constitution"], rules=began["rules"])
    if event.kind == "task-taken":
        return _taken(work, event)
    changes = _OF_TASKS if isinstance(work, Verification) else _OF_PIPELINES
    apply = changes.get(event.kind)
    return work if work is None or apply is None else apply(work, event)


# --- events of both kinds


def _failed(work: Work, event: Event) -> Work:
    failure = replace(from_json(Failure, event.data["failure"]), at=event.at)
    if isinstance(work, Verification):
        return _attempt_failed(work, event, replace(failure, attempt=work.attempt))
    assert isinstance(work, Pipeline), "there is no third kind"
    return _gate_failed(work, event, failure)


def _reviewed(work: Work, event: Event) -> Work:
    """Record a reviewer's result; a second one replaces the first."""
    word = replace(from_json(Word, event.data["word"]), at=event.at)
    others = (each for each in work.words if not same_name(each.by, word.by))
    work = replace(work, words=(*others, word))
    if isinstance(work, Verification):
        _expect(work, Status.REVIEWING)
        work = _noted(work, event)
        return _mend(
            work,
            lambda failure: failure.step == 3 and failure.type is FailureType.MALFORMED,
            "a verdict that can be read",
        )
    return work


# --- verify tasks


def move(verification: Verification, status: Status, **changes: Any) -> Verification:
    """Return the task in another status. Raises ValueError if the table does not have that transition."""
    if status not in TRANSITIONS[verification.status]:
        raise ValueError(f"{status} can't follow {verification.status}")
    return replace(verification, status=status, **changes)


def _expect(verification: Verification, status: Status) -> None:
    if verification.status is not status:
        raise ValueError(f"the task is {verification.status}, not {status}")


def _noted(verification: Verification, event: Event) -> Verification:
    """Record when a step was taken."""
    return replace(verification, last_step_at=event.at)


def _taken(before: Work | None, event: Event) -> Verification:
    if isinstance(before, Verification) and before.status is not Status.PENDING:
        raise ValueError("a task that has begun was taken once more")
    data = event.data
    return Verification(
        spec=from_json(TaskSpec, data["spec"]),
        taken_at=event.at,
        limits=dict(data["limits"]),
        untimed=data.get("untimed", False),
        memory=data.get("memory", ""),
        place=data.get("place", ""),
        flags=tuple(data.get("flags", ())),
    )


def _attempt_began(verification: Verification, event: Event) -> Verification:
    data = event.data
    # From now on the work continues in another work tree, and changes are found from its files.
    moves, head = "memory" in data, data.get("head", "")
    return move(
        _noted(verification, event),
        Status.EXECUTING,
        attempts={PHASE: data["attempt"]},
        began_at=event.at,
        # Keep the first one: commits of a failed attempt are still there.
        base=head if moves else verification.base or head,
        memory=data["memory"] if moves else verification.memory,
        place=data["place"] if moves else verification.place,
        by=data.get("by", ""),
        limits=dict(data.get("limits") or verification.limits),
        report=None,
        check=None,
        words=(),
        codes={},
    )


def _executor_reported(verification: Verification, event: Event) -> Verification:
    data, verification = event.data, _noted(verification, event)
    given = {name: data[name] for name in ("result", "by", "tree", "kept")}
    report = Report(**given, at=event.at, flags=tuple(data.get("flags", ())))
    if report.result["status"] == "success" and report.result["done_criteria_met"]:
        return move(verification, Status.VERIFYING, report=report)
    if report.result["status"] == "blocked":
        return move(verification, Status.BLOCKED, report=report)
    return replace(verification, report=report)


def _verify_started(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.VERIFYING)
    data = event.data
    check = Check(id=data["id"], command=data["command"], at=event.at, tree=data["tree"], limit=data["limit"])
    return replace(_noted(verification, event), check=check)


def _verify_ran(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.VERIFYING)
    check = replace(from_json(Check, event.data["check"]), ended_at=event.at)
    if verification.check is None or check.id != verification.check.id:
        raise ValueError("another run of the verify command ended")
    verification = replace(_noted(verification, event), check=check)
    return _recover(move(verification, Status.REVIEWING), 2) if check.passes else verification


def _agent_worked(verification: Verification, event: Event) -> Verification:
    return replace(verification, codes={**verification.codes, event.data["role"]: event.data.get("code") or 0})


def _attempt_failed(verification: Verification, event: Event, failure: Failure) -> Verification:
    verification = replace(
        _noted(verification, event),
        failures=(*verification.failures, failure),
    )
    if failure.type is FailureType.BLOCKED:
        _expect(verification, Status.BLOCKED)
        return verification
    if failure.step == 3 and failure.type is FailureType.MALFORMED:
        # The other two steps remain valid: the reviewer can hand in the verdict again.
        _expect(verification, Status.REVIEWING)
        return verification
    return move(verification, Status.REJECTED if failure.step == 3 else Status.FAILED)


def _approved(verification: Verification, event: Event) -> Verification:
    """Both gates were open: approve the task, and mark its earlier failures as recovered."""
    return verification if event.data.get("forced") else _recover(move(verification, Status.APPROVED), 3)


def _skipped(verification: Verification, event: Event) -> Verification:
    data = event.data
    skip = Skip(mark=data["mark"], kind=data["skip_kind"], reason=data["reason"], by=data["by"], at=event.at)
    return move(_noted(verification, event), Status.SKIPPED, skip=skip)


def _committed(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.APPROVED)
    return replace(_noted(verification, event), commit=event.data["commit"], committed_at=event.at)


def _resumed(verification: Verification, event: Event) -> Verification:
    """Let the task, or its whole wave, continue, as a person decided."""
    failed = len(verification.failures)
    said = (*verification.guidance, f"{event.data['by']}: {event.data['reason']}")
    if event.kind == "wave-resumed":
        return replace(verification, wave_resumed_after=failed, guidance=said)
    return replace(verification, resumed_after=failed, guidance=said, voided="")


def _recover(verification: Verification, step: int) -> Verification:
    """Mark the failures of earlier attempts, up to this step, as recovered."""
    result = {} if verification.report is None else verification.report.result
    said = str(result.get("resolution") or result.get("evidence") or "").strip()
    return _mend(
        verification,
        lambda failure: (
            (failure.step <= step and failure.attempt < verification.attempt) or failure.type is FailureType.BLOCKED
        ),
        said.splitlines()[0][:200] if said else "",
    )


def _mend(verification: Verification, is_mended: Callable[[Failure], bool], resolution: str) -> Verification:
    failures = tuple(
        replace(failure, recovered=True, resolution=resolution)
        if not failure.recovered and is_mended(failure)
        else failure
        for failure in verification.failures
    )
    return replace(verification, failures=failures)


# --- pipelines


def _entered(pipeline: Pipeline, event: Event) -> Pipeline:
    phase, how = event.data["phase"], event.data["how"]
    data = event.data.get(WORK, {})
    old = dict(pipeline.old)
    for name, digests in data.get("old", {}).items():
        old[name] = tuple(dict.fromkeys((*old.get(name, ()), *(each for each in digests if each))))
    anew = data.get("anew", ())
    return replace(
        pipeline,
        attempts={**pipeline.attempts, phase: pipeline.attempts.get(phase, 0) + 1},
        old=old,
        words=(),
        approved={name: digest for name, digest in pipeline.approved.items() if name not in anew},
        at_failure=data.get("at_failure", pipeline.at_failure),
        base=data.get("base", pipeline.base),
        leads_to="",
        made={**pipeline.made, **data.get("made", {})},
        failed_phase="" if how in ("recovered", "guided") else pipeline.failed_phase,
        guidance=(data["guidance"],) if "guidance" in data else pipeline.guidance,
    )


def _exited(pipeline: Pipeline, event: Event) -> Pipeline:
    approved = {**pipeline.approved, **event.data.get("approved", {})}
    return replace(pipeline, leads_to=event.data["next"], guidance=(), approved=approved)


def _request_made(pipeline: Pipeline, event: Event) -> Pipeline:
    return replace(pipeline, requests=(*pipeline.requests, Request(**event.data, at=event.at)))


def _request_decided(pipeline: Pipeline, event: Event) -> Pipeline:
    data = event.data
    return replace(
        pipeline,
        requests=tuple(
            replace(each, status=data["status"], decided_by=data["by"], reason=data["reason"])
            if each.id == data["id"]
            else each
            for each in pipeline.requests
        ),
    )


def _gate_failed(pipeline: Pipeline, event: Event, failure: Failure) -> Pipeline:
    return replace(
        pipeline,
        failures=(*pipeline.failures, failure),
        failed_phase=event.data["failed_phase"],
        recoveries=pipeline.recoveries + bool(event.data["uses_recovery"]),
        at_failure=event.data.get("at_failure", pipeline.at_failure),
    )


_OF_BOTH: Mapping[str, Callable[[Any, Event], Work]] = {"attempt-failed": _failed, "reviewed": _reviewed}
_OF_TASKS: Mapping[str, Callable[[Any, Event], Work]] = {
    **_OF_BOTH,
    "phase-exited": _approved,
    "attempt-began": _attempt_began,
    "executor-reported": _executor_reported,
    "verify-started": _verify_started,
    "verify-ran": _verify_ran,
    "agent-worked": _agent_worked,
    "verification-skipped": _skipped,
    "committed": _committed,
    "task-resumed": _resumed,
    "wave-resumed": _resumed,
    "steps-voided": lambda verification, event: replace(verification, voided=event.data["reason"]),
}
_OF_PIPELINES: Mapping[str, Callable[[Any, Event], Work]] = {
    **_OF_BOTH,
    "phase-entered": _entered,
    "phase-exited": _exited,
    "request-made": _request_made,
    "request-decided": _request_decided,
}
