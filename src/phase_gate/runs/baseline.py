"""A baseline: the tests and their outcomes before a cycle begins. It has no phase, gate or iteration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phase_gate.errors import NotAllowedError, PhaseGateError
from phase_gate.gate.inventory import Inventory
from phase_gate.gate.measured import Wanted
from phase_gate.gate.order import refuse_baseline
from phase_gate.gate.outcomes import FAILING
from phase_gate.gate.record import Document
from phase_gate.gate.state import Event, State
from phase_gate.project import Project
from phase_gate.report.panel import Line
from phase_gate.runs.hello import take_surroundings
from phase_gate.runs.meaning import take_inventory
from phase_gate.runs.sessions import RecordedSession, Screen
from phase_gate.storage.lock import again_if_moved
from phase_gate.task import Task
from phase_gate.visible import count


class BaselineSession(RecordedSession):
    """Started by `phase-gate baseline`, the only command that uses the hidden option."""

    if_nothing = "there is no baseline"

    def __init__(self, project: Project, revision: str) -> None:
        self.project, self._revision = project, revision
        self._store = project.store("phase-gate baseline")
        self._surroundings = take_surroundings(project.root)
        self._shown, self._status = "", 0
        self.wanted = Wanted(root=str(project.root))
        self._refuse(self._store.read().state)

    def _refuse(self, state: State) -> None:
        refuse_baseline(state, Task(self.project, self._store, state).rules)

    def end(self, document: Document, screen: Screen, coverage: object) -> None:
        try:
            self._record(document)
        except PhaseGateError as error:
            self._shown, self._status = f"no baseline: {error}", error.exit_code

    @again_if_moved
    def _record(self, document: Document) -> None:
        tree = self.project.take_tree()
        inventory = take_inventory(document.outcomes, root=self.project.root, contents=tree.files, known=None)
        with self._store.transaction() as change:
            self._refuse(change.state)
            data = self._describe(document, inventory)
            change.record(Event(kind="baseline-taken", data=data))
        self._shown = f"baseline: {count(data['total'], 'test')}, {count(data['failing'], 'known failure')}"

    def _describe(self, document: Document, inventory: Inventory) -> dict[str, Any]:
        """Return the data to record. Raises NotAllowedError for a session that proves nothing."""
        odd = {test: bucket for test, bucket in sorted(document.outcomes.items()) if bucket != "passed"}
        not_run = sum(bucket == "not-run" for bucket in odd.values())
        if document.interrupted or not_run or not document.outcomes:
            why = document.interrupted or (f"{not_run} tests did not run" if not_run else "no test was collected")
            raise NotAllowedError(why, remedy="run the whole suite to its end")
        return {
            "inventory": self._store.keep("inventory", inventory),
            "outcomes": self._store.keep("outcomes", odd),
            "total": len(document.outcomes),
            "failing": sum(bucket in FAILING for bucket in odd.values()),
            "revision": self._revision,
            "narrowed_by": list(document.narrowed_by),
            "surroundings": self._surroundings,
        }

    def panel(self, screen: Screen) -> list[Line]:
        return [Line("phase gate: baseline", is_title=True), *map(Line, self._shown.splitlines())]

    def exit_status(self, pytest_status: int, *, has_collection_errors: bool) -> int:
        return self._status


class KnownTests(RecordedSession):
    """The tests that the command of a verify task selects, known from its start. They are collected, not run.

    Started by `phase-gate verify start`, which names the file for the inventory's digest.
    """

    if_nothing = "no test is known"
    takes_collection = True
    has_panel = False

    def __init__(self, project: Project, file: str) -> None:
        self.project, self._file = project, Path(file)
        self.wanted = Wanted(root=str(project.root))

    def end(self, document: Document, screen: Screen, coverage: object) -> None:
        if not document.outcomes:
            return
        project, outcomes = self.project, document.outcomes
        inventory = take_inventory(outcomes, root=project.root, contents=project.take_tree().files, known=None)
        digest = project.store("phase-gate verify start").keep("inventory", inventory)
        self._file.write_text(digest, encoding="ascii")

    def panel(self, screen: Screen) -> list[Line]:
        return []

    def exit_status(self, pytest_status: int, *, has_collection_errors: bool) -> int:
        return pytest_status
