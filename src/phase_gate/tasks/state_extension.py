"""The part of `gate.state_extensions` for verify tasks and pipelines: how each event changes their work, and verdicts.

Replaying the ledger gives the same value. A status that can't follow the current one is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from phase_gate.codec import from_json, reader
from phase_gate.gate.freshness import CurrentStatus, by_verdict
from phase_gate.gate.measured import Remembered, Section
from phase_gate.gate.order import Entry, How
from phase_gate.gate.state import WORK, Case, Event, State
from phase_gate.gate.state_extensions import Part
from phase_gate.gate.verdict import Evaluation, with_advice
from phase_gate.gate.verdict import Status as GateStatus
from phase_gate.tasks.routing import decided, entry_data, files_in, following, pipeline_events, with_pipeline
from phase_gate.tasks.verify_verdict import advise_task
from phase_gate.tasks.work import (
    Check,
    Failure,
    FailureType,
    Pipeline,
    Report,
    Request,
    Skip,
    Status,
    Verification,
    Word,
    Work,
    find_pipeline,
    find_verification,
    pipeline_of,
)
from phase_gate.values import fields, replace
from phase_gate.visible import same_name
from phase_gate.workflow.model import Phase, Workflow

AnyWork = TypeVar("AnyWork", bound=Work)


#: Events of verify tasks that are not a step of one.
_NO_STEP = frozenset({"phase-exited", "task-resumed", "steps-voided"})


# --- events of both kinds


def _failure(event: Event) -> Failure:
    return replace(from_json(Failure, event.data["failure"]), at=event.at)


def _with_word(work: AnyWork, event: Event) -> AnyWork:
    """Record a reviewer's result; a second one replaces the first."""
    word = replace(from_json(Word, event.data["word"]), at=event.at)
    others = (each for each in work.words if not same_name(each.by, word.by))
    return replace(work, words=(*others, word))


# --- verify tasks


#: All allowed transitions. A failure of step 1 or 2 is FAILED, one of step 3 is REJECTED.
TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.EXECUTING, Status.SKIPPED}),
    Status.EXECUTING: frozenset({Status.VERIFYING, Status.FAILED, Status.BLOCKED, Status.SKIPPED}),
    Status.VERIFYING: frozenset({Status.REVIEWING, Status.FAILED, Status.SKIPPED}),
    Status.REVIEWING: frozenset({Status.APPROVED, Status.REJECTED, Status.SKIPPED}),
    Status.FAILED: frozenset({Status.EXECUTING, Status.SKIPPED}),
    Status.REJECTED: frozenset({Status.EXECUTING, Status.SKIPPED}),
    Status.BLOCKED: frozenset({Status.EXECUTING, Status.SKIPPED}),
    # Only if a user abandons it before its commit.
    Status.APPROVED: frozenset({Status.REJECTED}),
    Status.SKIPPED: frozenset(),
}


def move(verification: Verification, status: Status, **changes: Any) -> Verification:
    """Return the task in another status. Raises ValueError if the table does not have that transition."""
    if status not in TRANSITIONS[verification.status]:
        raise ValueError(f"{status} can't follow {verification.status}")
    return replace(verification, status=status, **changes)


def _expect(verification: Verification, status: Status) -> None:
    if verification.status is not status:
        raise ValueError(f"the task is {verification.status}, not {status}")


def _fields(event: Event) -> dict[str, Any]:
    """Return the fields of a verify task that the event's data has by their names."""
    known = fields(Verification)
    return {name: reader(Verification, name)(row, None) for name, row in event.data.items() if name in known}


def _taken(before: Work | None, event: Event) -> Verification:
    if isinstance(before, Verification) and before.status is not Status.PENDING:
        raise ValueError("a task that has begun was taken once more")
    # With another text it keeps its place in the list.
    taken_at = before.taken_at if isinstance(before, Verification) else event.at
    return Verification(taken_at=taken_at, **_fields(event))


def _attempt_began(verification: Verification, event: Event) -> Verification:
    given = _fields(event)
    return move(verification, Status.EXECUTING, began_at=event.at, report=None, check=None, words=(), **given)


def _executor_reported(verification: Verification, event: Event) -> Verification:
    report = from_json(Report, {**event.data, "at": event.at})
    verification, said = replace(verification, report=report), report.result
    if said["status"] == "blocked":
        return move(verification, Status.BLOCKED)
    is_done = said["status"] == "success" and said["done_criteria_met"]
    return move(verification, Status.VERIFYING) if is_done else verification


def _verify_ran(verification: Verification, event: Event) -> Verification:
    """Record a run of the verify command, first when it began, then when it ended."""
    _expect(verification, Status.VERIFYING)
    check, before = from_json(Check, event.data["check"]), verification.check
    if check.how != "running" and (before is None or check.id != before.id):
        raise ValueError("another run of the verify command ended")
    verification = replace(verification, check=check)
    return _recover(move(verification, Status.REVIEWING), 2) if check.passes else verification


def _reviewed(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.REVIEWING)
    verification = _with_word(verification, event)
    resolution = "a verdict that can be read"
    return _mend(verification, lambda each: each.step == 3 and each.type is FailureType.MALFORMED, resolution)


def _attempt_failed(verification: Verification, event: Event) -> Verification:
    failure = replace(_failure(event), attempt=verification.attempt)
    verification = replace(verification, failures=(*verification.failures, failure))
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
    skip = Skip(kind=data["skip_kind"], reason=data["reason"], by=data["by"], at=event.at)
    return move(verification, Status.SKIPPED, skip=skip)


def _committed(verification: Verification, event: Event) -> Verification:
    _expect(verification, Status.APPROVED)
    return replace(verification, **_fields(event))


def _resumed(verification: Verification, event: Event) -> Verification:
    """Let the task continue, as a person decided."""
    guidance = (*verification.guidance, f"{event.data['by']}: {event.data['reason']}")
    return replace(verification, resumed_after=len(verification.failures), guidance=guidance, voided="")


def _recover(verification: Verification, step: int) -> Verification:
    """Mark the failures of earlier attempts, up to this step, as recovered."""
    result = {} if verification.report is None else verification.report.result
    resolution = str(result.get("resolution") or result.get("evidence") or "").strip()

    def is_mended(failure: Failure) -> bool:
        is_earlier = failure.step <= step and failure.attempt < verification.attempt
        return is_earlier or failure.type is FailureType.BLOCKED

    return _mend(verification, is_mended, resolution.partition("\n")[0][:200])


def _mend(verification: Verification, is_mended: Callable[[Failure], bool], resolution: str) -> Verification:
    rows = verification.failures
    mended = {row: replace(row, recovered=True, resolution=resolution) for row in rows if is_mended(row)}
    return replace(verification, failures=tuple(row if row.recovered else mended.get(row, row) for row in rows))


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
    data, requests = event.data, {each.id: each for each in pipeline.requests}
    given = {"status": data["status"], "decided_by": data["by"], "reason": data["reason"]}
    requests[data["id"]] = replace(requests[data["id"]], **given)
    return replace(pipeline, requests=tuple(requests.values()))


def _gate_failed(pipeline: Pipeline, event: Event) -> Pipeline:
    return replace(
        pipeline,
        failures=(*pipeline.failures, _failure(event)),
        failed_phase=event.data["failed_phase"],
        recoveries=pipeline.recoveries + bool(event.data["uses_recovery"]),
        at_failure=event.data.get("at_failure", pipeline.at_failure),
    )


_OF_TASKS: Mapping[str, Callable[[Any, Event], Work]] = {
    "attempt-failed": _attempt_failed,
    "reviewed": _reviewed,
    "phase-exited": _approved,
    "attempt-began": _attempt_began,
    "executor-reported": _executor_reported,
    "verify-ran": _verify_ran,
    "overridden": _skipped,
    "committed": _committed,
    "task-resumed": _resumed,
    "steps-voided": lambda verification, event: replace(verification, **_fields(event)),
}
_OF_PIPELINES: Mapping[str, Callable[[Any, Event], Work]] = {
    "attempt-failed": _gate_failed,
    "reviewed": _with_word,
    "phase-entered": _entered,
    "phase-exited": _exited,
    "request-made": _request_made,
    "request-decided": _request_decided,
}


class WorkPart(Part):
    kind = Work
    events = frozenset({*_OF_TASKS, *_OF_PIPELINES, "task-taken"})

    def read(self, row: object) -> Work:
        return from_json(Verification if isinstance(row, dict) and "spec" in row else Pipeline, row)

    def reduce(self, value: Work | None, event: Event) -> Work | None:
        """Return the work after one more event. Raises ValueError for an event that can't follow."""
        if event.kind == "cycle-began":
            began = event.data.get(WORK)
            return None if began is None else Pipeline(constitution=began["constitution"], rules=began["rules"])
        if event.kind == "task-taken":
            return _taken(value, event)
        apply = (_OF_TASKS if isinstance(value, Verification) else _OF_PIPELINES).get(event.kind)
        if value is None or apply is None:
            return value
        changed = apply(value, event)
        is_step = isinstance(changed, Verification) and event.kind not in _NO_STEP
        return replace(changed, last_step_at=event.at) if is_step else changed

    def evidence(self) -> Any:
        from phase_gate.tasks.evidence import PipelineEvidence  # it reads files: needed only for runs and verdicts

        return PipelineEvidence()

    def current_status(self, state: State, *, tree: str, gate_1_only: bool) -> CurrentStatus | None:
        """Return whether the gate of a verify task is open. It stays open for a committed task."""
        value = find_verification(state)
        if value is None:
            return None
        evaluation, look = state.evaluation, f"phase-gate verify status --task {value.task}"
        if value.commit:
            return CurrentStatus("open", f"approved, and committed as {value.commit[:10]}", look, is_open=True)
        if evaluation is None or state.evaluation_is_stale:
            status: GateStatus = "unstarted" if evaluation is None else "stale"
            return CurrentStatus(status, f"it is {value.status}", look)
        if value.verified_tree not in ("", tree) and not evaluation.forced_exit:
            reason = "files were changed after the verify run: its evidence is stale"
            return CurrentStatus("stale", reason, look)
        return by_verdict(evaluation, gate_1_only=gate_1_only)

    def sections(self, value: Work) -> tuple[Section, ...]:
        if not isinstance(value, Verification):
            return ()
        from phase_gate.tasks.show import describe_task  # imported here: only reports need it

        return (describe_task(value),)

    def following(self, state: State, workflow: Workflow, current: Phase) -> tuple[str, How] | None:
        pipeline = find_pipeline(state)
        if pipeline is None:
            return None
        way = following(pipeline, workflow, current)
        return way.phase, way.how

    def cycle_data(self, remembered: Remembered) -> dict[str, Any]:
        files = files_in(remembered)
        return {WORK: {"constitution": dict(files.constitution), "rules": files.rules}}

    def enter(
        self, value: Work | None, state: State, workflow: Workflow, entry: Entry, remembered: Remembered
    ) -> tuple[list[Event], dict[str, Any]]:
        current = workflow.phase(state.phase or "")
        past = value or state.work
        known = past if isinstance(past, Pipeline) else Pipeline()
        events = []
        if entry.how == "request" and current is not None and isinstance(value, Pipeline):
            # Following a request approves it.
            reason = f"leads from {current.name} to {entry.phase.name}"
            requests = following(value, workflow, current).requests
            events = [decided(request, "approved", by=current.name, reason=reason) for request in requests]
        return events, entry_data(known, workflow, current, entry.phase, entry.how, files_in(remembered))

    def with_consequences(self, evaluation: Evaluation, case: Case) -> Evaluation:
        verification = find_verification(case.state)
        if verification is not None:
            # The status after the exit of the phase, which follows immediately.
            seen = replace(verification, status=Status.APPROVED) if evaluation.can_exit else verification
            return with_advice(evaluation, advise_task(seen, evaluation))
        return with_pipeline(evaluation, pipeline_of(case.state), case.workflow, case.phase, task=case.state.task)

    def verdict_events(
        self, evaluation: Evaluation, case: Case, *, look: Callable[[Phase], Remembered]
    ) -> tuple[list[Event], dict[str, Any]]:
        pipeline = find_pipeline(case.state)
        if pipeline is None:
            return [], {}
        return pipeline_events(evaluation, pipeline, case.workflow, case.phase, at=case.at, look=look)


PART = WorkPart()
