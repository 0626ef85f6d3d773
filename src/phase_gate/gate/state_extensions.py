"""The interface of parts: features that own a share of a task's state. `gate.state` has their table.

Only a part loads this module, so that other tasks do not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phase_gate.codec import from_json
from phase_gate.gate.freshness import CurrentStatus
from phase_gate.gate.measured import Remembered, Section
from phase_gate.gate.order import Entry, How
from phase_gate.gate.state import Case, Event, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import Value
from phase_gate.workflow.model import Phase, Workflow


class Part:
    """The interface between `gate` and a part. `value` is the part's share of the state; defaults have no effect.

    From `evidence` on, only the part of a task's work is asked.
    """

    #: The type of that share, and the events that change it.
    kind: type[Value]
    events: frozenset[str]

    def read(self, row: Any) -> Any:
        return from_json(self.kind, row)

    def reduce(self, value: Any, event: Event) -> Any:
        """Return the share after one more event; None if the task has none."""
        raise NotImplementedError

    def sections(self, value: Any) -> tuple[Section, ...]:
        """Return the part's sections in the report on a task."""
        return ()

    def evidence(self) -> Any:
        """Return the part's `evidence.gathering.PartEvidence`, which gathers and remembers."""
        raise NotImplementedError

    def current_status(self, state: State, *, tree: str, gate_1_only: bool) -> CurrentStatus | None:
        """Return the current status of the task; None if its phases and runs determine it."""
        return None

    def following(self, state: State, workflow: Workflow, current: Phase) -> tuple[str, How] | None:
        """Return the phase that follows after this one's exit, and how it is entered; None: as in the workflow."""
        return None

    def cycle_data(self, remembered: Remembered) -> dict[str, Any]:
        """Return the part's data for the event that begins a cycle of its workflow."""
        return {}

    def enter(
        self, value: Any, state: State, workflow: Workflow, entry: Entry, remembered: Remembered
    ) -> tuple[list[Event], dict[str, Any]]:
        """Return the events before a phase of the part's workflow is entered, and data for the event that enters it."""
        return [], {}

    def with_consequences(self, evaluation: Evaluation, case: Case) -> Evaluation:
        """Return the verdict with its consequences."""
        return evaluation

    def verdict_events(
        self, evaluation: Evaluation, case: Case, *, look: Callable[[Phase], Remembered]
    ) -> tuple[list[Event], dict[str, Any]]:
        """Return the events that follow from a verdict, and data for the exit event, if the phase exits.

        :param look: inspects the project at the time when the given phase is entered.
        """
        return [], {}
