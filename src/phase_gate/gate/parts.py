"""The table of parts: features that own a share of a task's state.

`gate` asks this table and imports no feature. A part is loaded where a task has it, or an event begins it: no other
task pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from phase_gate.codec import from_json
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.gate.measured import Remembered, Section
    from phase_gate.gate.order import Entry
    from phase_gate.gate.standing import Standing
    from phase_gate.gate.state import Event, State
    from phase_gate.gate.verdict import Evaluation
    from phase_gate.workflow.model import Phase, Workflow

WORK = "work"
DRIVE = "drive"


class Row(Value):
    """Where a part is defined, the kinds of events that only it has, the section of a workflow that asks for it."""

    module: str
    kinds: frozenset[str]
    section: str = ""


PARTS: Mapping[str, Row] = {
    WORK: Row(
        module="phase_gate.tasks.part",
        kinds=frozenset(
            {
                "task-taken",
                "attempt-began",
                "attempt-failed",
                "executor-reported",
                "verify-started",
                "verify-ran",
                "agent-worked",
                "reviewed",
                "verification-skipped",
                "committed",
                "task-resumed",
                "wave-resumed",
                "steps-voided",
                "request-made",
                "request-decided",
                "commands-added",
            }
        ),
        section="pipeline",
    ),
    DRIVE: Row(
        module="phase_gate.drive.model",
        kinds=frozenset({"drive-started", "iteration-started", "iteration-ended", "drive-ended"}),
    ),
}
PART_KINDS: frozenset[str] = frozenset().union(*(row.kinds for row in PARTS.values()))


class Part:
    """What `gate` asks of a part. `value` is the part's share of the state; the answers here change nothing."""

    #: What that share is.
    kind: type[Value]

    def read(self, row: Any) -> Any:
        return from_json(self.kind, row)

    def reduce(self, value: Any, event: Event) -> Any:
        """Return the share after one more event: None where the task has none, before or after it."""
        raise NotImplementedError

    def rules(self, value: Any) -> tuple[str, str] | None:
        """Return where the rules stand that the task began with and keeps: the name of an object, and the key in it.

        None: it is judged by those of its last run.
        """
        return None

    def listed_files(self, value: Any) -> tuple[str, ...] | None:
        """Return the files, folders and globs that a verdict speaks of beside the sources; None: what runs imported."""
        return None

    def evidence(self) -> Any:
        """Return what gathers and remembers for the part, an `evidence.gathering.PartEvidence`; None: nothing does."""
        return None

    def standing(self, value: Any, state: State, *, tree: str, gate_1_only: bool) -> Standing | None:
        """Return where the task stands; None where that is said by its phases and runs."""
        return None

    def holds_signal(self, value: Any) -> str:
        """Return why no done signal is taken now, as long as the part's process lives; empty: it is."""
        return ""

    def refuses_answer(self, value: Any, answer: str) -> str:
        """Return why the agent at work may not give this answer; empty: it may."""
        return ""

    def sections(self, value: Any) -> tuple[Section, ...]:
        """Return what the part tells in the story of a task."""
        return ()

    def following(self, value: Any, workflow: Workflow, current: Phase) -> tuple[str, str] | None:
        """Return which phase follows once this one has exited, and how it is entered; None: the workflow says it."""
        return None

    def cycle_data(self, remembered: Remembered) -> dict[str, Any]:
        """Return what the event says with which a cycle of the part's workflow begins."""
        return {}

    def entry_events(self, value: Any, state: State, workflow: Workflow, entry: Entry) -> list[Event]:
        """Return what happens just before a phase of the part's workflow is entered."""
        return []

    def entry_data(
        self, value: Any, state: State, workflow: Workflow, entry: Entry, remembered: Remembered
    ) -> dict[str, Any]:
        """Return what the event says with which a phase of the part's workflow is entered."""
        return {}

    def with_consequences(
        self, value: Any, evaluation: Evaluation, state: State, workflow: Workflow, phase: Phase
    ) -> Evaluation:
        """Return the verdict with what follows from it."""
        return evaluation

    def verdict_events(
        self,
        value: Any,
        evaluation: Evaluation,
        state: State,
        workflow: Workflow,
        phase: Phase,
        *,
        at: str,
        look: Callable[[Phase], Remembered],
    ) -> tuple[list[Event], dict[str, Any]]:
        """Return the events that follow from a verdict, and what its exit says where it exits.

        :param look: looks at the project as it is when the given phase is entered.
        """
        return [], {}


def load_part(name: str) -> Part:
    """Return a part by its name. Raises KeyError for one that is not in the table."""
    import sys

    module = PARTS[name].module
    if module not in sys.modules:
        import importlib

        importlib.import_module(module)
    part: Part = sys.modules[module].PART
    return part


def parts_of(state: State) -> Iterator[tuple[Part, Any]]:
    """Return the parts that a task has, each with its share of the state."""
    return ((load_part(name), value) for name, value in state.parts.items())


def parts_of_workflow(workflow: Workflow) -> Iterator[tuple[str, Part]]:
    """Return the parts that a cycle of the workflow has: its file has a section for each."""
    return ((name, load_part(name)) for name, row in PARTS.items() if getattr(workflow, row.section, None) is not None)


def change_parts(parts: Mapping[str, Any], event: Event) -> Mapping[str, Any]:
    """Return the parts after one more event. One that is not there may begin by an event that is its own."""
    changed = {}
    for name, row in PARTS.items():
        value = parts.get(name)
        if value is not None or event.kind in row.kinds or name in event.data:
            value = load_part(name).reduce(value, event)
        if value is not None:
            changed[name] = value
    return changed
