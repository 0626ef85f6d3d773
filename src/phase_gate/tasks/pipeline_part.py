"""What a pipeline owns of a task's state, for the table of `gate.parts`. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phase_gate.gate.measured import Remembered
from phase_gate.gate.order import Entry, How
from phase_gate.gate.parts import PIPELINE, Part
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.tasks.pipeline import Pipeline, change, files_in, find_pipeline
from phase_gate.tasks.routing import decided, entry_data, following, pipeline_events, with_pipeline
from phase_gate.workflow.model import Phase, Workflow


class PipelinePart(Part):
    kind = Pipeline

    def reduce(self, value: Pipeline | None, event: Event) -> Pipeline | None:
        return change(value, event)

    def rules(self, value: Pipeline) -> tuple[str, str]:
        return value.rules, "workflow"

    def evidence(self) -> Any:
        from phase_gate.tasks.evidence import PipelineEvidence  # it looks at files: only a run and a verdict do

        return PipelineEvidence()

    def following(self, value: Pipeline, workflow: Workflow, current: Phase) -> tuple[str, str]:
        way = following(value, workflow, current)
        return way.phase, way.how

    def cycle_data(self, remembered: Remembered) -> dict[str, Any]:
        files = files_in(remembered)
        return {PIPELINE: {"constitution": dict(files.constitution), "rules": files.rules}}

    def entry_events(self, value: Pipeline | None, state: State, workflow: Workflow, entry: Entry) -> list[Event]:
        """Return what becomes of the requests that lead here: to follow one is to approve it."""
        current = workflow.phase(state.phase or "")
        if entry.how is not How.REQUEST or current is None or value is None:
            return []
        reason = f"leads from {current.name} to {entry.phase.name}"
        requests = following(value, workflow, current).requests
        return [decided(request, "approved", by=current.name, reason=reason) for request in requests]

    def entry_data(
        self, value: Pipeline | None, state: State, workflow: Workflow, entry: Entry, remembered: Remembered
    ) -> dict[str, Any]:
        current = workflow.phase(state.phase or "")
        how = "restart" if state.is_stuck and entry.begins_cycle else entry.how
        past = value or find_pipeline(state) or Pipeline()
        return entry_data(past, workflow, current, entry.phase, how, files_in(remembered))

    def with_consequences(
        self, value: Pipeline, evaluation: Evaluation, state: State, workflow: Workflow, phase: Phase
    ) -> Evaluation:
        return with_pipeline(evaluation, value, workflow, phase, task=state.task)

    def verdict_events(
        self,
        value: Pipeline,
        evaluation: Evaluation,
        state: State,
        workflow: Workflow,
        phase: Phase,
        *,
        at: str,
        look: Callable[[Phase], Remembered],
    ) -> tuple[list[Event], dict[str, Any]]:
        return pipeline_events(evaluation, value, workflow, phase, at=at, look=look)


PART = PipelinePart()
