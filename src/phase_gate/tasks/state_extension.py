"""The part of `gate.state_extensions` for verify tasks and pipelines: `gate` calls it for the work of a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phase_gate.codec import from_json
from phase_gate.gate.freshness import CurrentStatus, by_verdict, closed
from phase_gate.gate.measured import Remembered, Section
from phase_gate.gate.order import Entry, How
from phase_gate.gate.state import Event, State
from phase_gate.gate.state_extensions import WORK, Part
from phase_gate.gate.verdict import Evaluation
from phase_gate.gate.verdict import Status as GateStatus
from phase_gate.tasks.routing import decided, entry_data, files_in, following, pipeline_events, with_pipeline
from phase_gate.tasks.task_events import change
from phase_gate.tasks.verify_verdict import with_task
from phase_gate.tasks.work import Pipeline, Verification, Work
from phase_gate.workflow.model import Phase, Workflow


class WorkPart(Part):
    kind = Work

    def read(self, row: object) -> Work:
        return from_json(Verification if isinstance(row, dict) and "spec" in row else Pipeline, row)

    def reduce(self, value: Work | None, event: Event) -> Work | None:
        return change(value, event)

    def rules(self, value: Work) -> tuple[str, str] | None:
        return (value.rules, "workflow") if isinstance(value, Pipeline) else None

    def listed_files(self, value: Work) -> tuple[str, ...] | None:
        return value.spec.files if isinstance(value, Verification) else None

    def evidence(self) -> Any:
        from phase_gate.tasks.evidence import PipelineEvidence  # it reads files: needed only for runs and verdicts

        return PipelineEvidence()

    def current_status(self, value: Work, state: State, *, tree: str, gate_1_only: bool) -> CurrentStatus | None:
        """Return whether the gate of a verify task is open. It stays open for a committed task."""
        if not isinstance(value, Verification):
            return None
        evaluation, look = state.evaluation, f"phase-gate verify status --task {value.task}"
        if value.commit:
            reason = f"approved, and committed as {value.commit[:10]}"
            return CurrentStatus(is_open=True, status="open", reason=reason, next_command=look)
        if evaluation is None or state.evaluation_is_stale:
            status: GateStatus = "unstarted" if evaluation is None else "stale"
            return closed(status, f"it is {value.status}", look)
        if value.verified_tree not in ("", tree) and not evaluation.forced_exit:
            reason = "files were changed after the verify run: its evidence is stale"
            return closed("stale", reason, look)
        return by_verdict(evaluation, gate_1_only=gate_1_only)

    def sections(self, value: Work) -> tuple[Section, ...]:
        if not isinstance(value, Verification):
            return ()
        from phase_gate.tasks.show import describe_task  # imported here: only reports need it

        return (describe_task(value),)

    def following(self, value: Work, workflow: Workflow, current: Phase) -> tuple[str, How] | None:
        if not isinstance(value, Pipeline):
            return None
        way = following(value, workflow, current)
        return way.phase, way.how

    def cycle_data(self, remembered: Remembered) -> dict[str, Any]:
        files = files_in(remembered)
        return {WORK: {"constitution": dict(files.constitution), "rules": files.rules}}

    def entry_events(self, value: Work | None, state: State, workflow: Workflow, entry: Entry) -> list[Event]:
        """Return the decisions on the requests that lead here: following a request approves it."""
        current = workflow.phase(state.phase or "")
        if entry.how != "request" or current is None or not isinstance(value, Pipeline):
            return []
        reason = f"leads from {current.name} to {entry.phase.name}"
        requests = following(value, workflow, current).requests
        return [decided(request, "approved", by=current.name, reason=reason) for request in requests]

    def entry_data(
        self, value: Work | None, state: State, workflow: Workflow, entry: Entry, remembered: Remembered
    ) -> dict[str, Any]:
        current = workflow.phase(state.phase or "")
        past = value or state.parts.get(WORK)
        known = past if isinstance(past, Pipeline) else Pipeline()
        return entry_data(known, workflow, current, entry.phase, entry.how, files_in(remembered))

    def with_consequences(
        self, value: Work, evaluation: Evaluation, state: State, workflow: Workflow, phase: Phase
    ) -> Evaluation:
        if isinstance(value, Pipeline):
            return with_pipeline(evaluation, value, workflow, phase, task=state.task)
        assert isinstance(value, Verification), "there is no third kind"
        return with_task(evaluation, value)

    def verdict_events(
        self,
        value: Work,
        evaluation: Evaluation,
        state: State,
        workflow: Workflow,
        phase: Phase,
        *,
        at: str,
        look: Callable[[Phase], Remembered],
    ) -> tuple[list[Event], dict[str, Any]]:
        if isinstance(value, Pipeline):
            return pipeline_events(evaluation, value, workflow, phase, at=at, look=look)
        return [], {}


PART = WorkPart()
