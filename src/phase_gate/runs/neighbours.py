"""The open freezes of other tasks with the same root and state folder.

Checked when a run requires passing tests and its own task has not been through RED: leaving a task in the middle of its
cycle does not release its frozen tests. Only the end of that cycle, or a waiver, does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from phase_gate.errors import StateError
from phase_gate.gate.inventory import Frozen, Inventory, find_altered
from phase_gate.gate.measured import Finding, Waiver, covered_by
from phase_gate.gate.order import may_end_here
from phase_gate.gate.record import Criteria, Document
from phase_gate.gate.state import State
from phase_gate.project import Project
from phase_gate.runs.meaning import AtStart, read_frozen, take_inventory, take_meaning
from phase_gate.storage.files import exists
from phase_gate.storage.fingerprint import Tree
from phase_gate.storage.root import relative_id
from phase_gate.storage.store import now
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.workflow.model import Workflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.runs.recorder import Compare

#: The guard for frozen tests.
_GUARD = "tests-unchanged"


class Neighbour(Value):
    """A task of the same root with an open cycle: its frozen tests, or why they can't be read."""

    name: str
    frozen: Frozen | None = None
    at_start: AtStart | None = None
    waivers: tuple[Waiver, ...] = ()
    problem: str = ""


def find_neighbours(project: Project, tree: Tree, names: Iterable[str]) -> Compare:
    """Find the tasks of the same root with an open freeze; return a function to compare with them after the run.

    Call it before any test can change a file.

    :param names: the other tasks of the state folder.
    """
    others = (replace(project, task=name) for name in names)
    neighbours = [found for other in others if (found := _look(project, other, tree)) is not None]

    def compare(
        inventory: Inventory, after: Tree, facts: Document, is_output: Callable[[str], bool]
    ) -> tuple[Finding, ...]:
        return tuple(
            finding
            for each in neighbours
            for finding in _find_altered(each, project, inventory, after, facts, is_output)
        )

    return compare


def _look(project: Project, other: Project, tree: Tree) -> Neighbour | None:
    name = other.task
    store = other.store("")
    if store.shared is not None and not exists(store.runs_folder):
        return None  # other machines have other files: their frozen tests are not in this folder
    try:
        opened = store.read()
        state = opened.state
        if not opened.exists and store.has_lost_cycle(state):
            return Neighbour(name=name, problem="its files are gone, and its cycle was open")
        if not state.freeze.red_exited or state.freeze.current is None:
            return None
        if store.shared is None and not _is_of(project.root, other.state_folder, state):
            return None
        if not _is_open(state, Task(other, store, state).rules):
            return None
        frozen = store.objects.load_frozen(state.freeze.current)
    except StateError as error:
        return Neighbour(name=name, problem=error.problem)
    assert frozen is not None
    at_start = read_frozen(project, frozen, tree)
    return Neighbour(name=name, frozen=frozen, at_start=at_start, waivers=state.waivers)


def _is_open(state: State, workflow: Workflow) -> bool:
    """Return whether the freeze is active: its cycle is open, and the phase that froze is not being repeated."""
    phase = workflow.phase(state.phase or "")
    is_frozen_anew = phase is not None and phase.scope == "targets" and not state.exited
    return not is_frozen_anew and not may_end_here(state, workflow)


def _is_of(root: Path, state_folder: Path, state: State) -> bool:
    """Return whether the task belongs to this root: a state folder elsewhere may serve several."""
    if not relative_id(state_folder, root).startswith(".."):
        return True
    return state.evaluation is not None and state.evaluation.root == str(root)


def _find_altered(
    neighbour: Neighbour,
    project: Project,
    inventory: Inventory,
    after: Tree,
    facts: Document,
    is_output: Callable[[str], bool],
) -> list[Finding]:
    """Return the differences from the tests that the task froze, with the task's name."""
    name, frozen = neighbour.name, neighbour.frozen
    if frozen is None:
        detail = f"the frozen tests of task {name} can't be compared: {neighbour.problem}"
        return [Finding(slug=_GUARD, tier="hard", detail=detail)]
    # From the sources, not from the tests that ran: a narrow run must not bypass the check.
    known = frozen.inventory
    found = take_inventory(frozenset(known.ids()), root=project.root, contents=after.files, known=known)
    meaning = take_meaning(
        project,
        Criteria(),
        Inventory({**inventory.files, **found.files}),
        after,
        facts,
        frozen=frozen,
        at_start=neighbour.at_start,
        is_output=is_output,
    )
    altered = find_altered(frozen, found, meaning)
    if covered_by(neighbour.waivers, _GUARD, altered, at=now()):
        return []
    suffix = f"; frozen by task {name}, whose cycle is open"
    return [replace(finding, detail=f"{finding.detail}{suffix}") for finding in altered]
