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
    """The interface between `gate` and a part. `value` is the part's share of the state; defaults have no effect."""

    #: The type of that share.
    kind: type[Value]

    def read(self, row: Any) -> Any:
        return from_json(self.kind, row)

    def reduce(self, value: Any, event: Event) -> Any:
        """Return the share after one more event; None if the task has none."""
        raise NotImplementedError

    def rules(self, value: Any) -> tuple[str, str] | None:
        """Return the location of the rules that the task keeps from its start: the name of an object, and a key in it.

        None: use the rules of its last run.
        """
        return None

    def listed_files(self, value: Any) -> tuple[str, ...] | None:
        """Return more files, folders and globs that a verdict covers, apart from the sources; None: imported files."""
        return None

    def evidence(self) -> Any:
        """Return the part's `evidence.gathering.PartEvidence`, which gathers and remembers; None if there is none."""
        return None

    def current_status(self, value: Any, state: State, *, tree: str, gate_1_only: bool) -> CurrentStatus | None:
        """Return the current status of the task; None if its phases and runs determine it."""
        return None

    def holds_signal(self, value: Any) -> str:
        """Return why no done signal is accepted while the part's process runs; empty if it is accepted."""
        return ""

    def refuses_answer(self, value: Any, answer: str) -> str:
        """Return why the working agent may not give this answer; empty if it may."""
        return ""

    def sections(self, value: Any) -> tuple[Section, ...]:
        """Return the part's sections in the report on a task."""
        return ()

    def following(self, value: Any, workflow: Workflow, current: Phase) -> tuple[str, How] | None:
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

    def with_consequences(self, value: Any, evaluation: Evaluation, case: Case) -> Evaluation:
        """Return the verdict with its consequences."""
        return evaluation

    def verdict_events(
        self, value: Any, evaluation: Evaluation, case: Case, *, look: Callable[[Phase], Remembered]
    ) -> tuple[list[Event], dict[str, Any]]:
        """Return the events that follow from a verdict, and data for the exit event, if the phase exits.

        :param look: inspects the project at the time when the given phase is entered.
        """
        return [], {}
