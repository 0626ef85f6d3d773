"""A baseline run: tests and outcomes as they are before a cycle begins. No phase, no gate, no iteration."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.errors import NotAllowedError, PhaseGateError, StoreUnreachableError
from phase_gate.gate.baseline import baseline_event, refuse_baseline
from phase_gate.gate.state import State
from phase_gate.project import Project
from phase_gate.recording.announce import show_lines
from phase_gate.recording.early import find_project
from phase_gate.recording.inventory import take_inventory
from phase_gate.recording.options import describe_narrowing
from phase_gate.recording.origin import Origin
from phase_gate.recording.witness import SessionWitness
from phase_gate.report.panel import Line
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.surroundings import take_surroundings
from phase_gate.task import Task
from phase_gate.visible import count
from phase_gate.workflow.model import Workflow


class BaselineRecorder:
    """Started by `phase-gate baseline`, which is the only one to give the hidden option."""

    def __init__(self, config: pytest.Config, project: Project) -> None:
        self._config, self._project = config, project
        self._revision: str = config.option.phase_baseline
        self._store = project.store("phase-gate baseline")
        self._origin = Origin()
        self._witness = SessionWitness(config, project.root)
        self._surroundings = take_surroundings(project.root)
        self._says = ""
        self._status = 0

    @classmethod
    def configure(cls, config: pytest.Config) -> None:
        try:
            project = find_project(config, config.option)
            recorder = cls(config, project)
            state = recorder._store.look().state
            refuse_baseline(state, recorder._rules(state))
        except (NotAllowedError, StoreUnreachableError) as error:
            pytest.exit(str(error), returncode=error.exit_code)
        except PhaseGateError as error:
            raise pytest.UsageError(str(error)) from error
        config.option.continue_on_collection_errors = True
        config.pluginmanager.register(recorder._witness, "phase_gate_witness")
        config.pluginmanager.register(recorder, "phase_gate_baseline")

    def _rules(self, state: State) -> Workflow:
        return Task(self._project, self._store, state).rules

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._origin.is_left():
            return
        try:
            self._record(session)
        except PhaseGateError as error:
            self._says, self._status = f"no baseline: {error}", error.exit_code
        session.exitstatus = self._status

    @again_if_moved
    def _record(self, session: pytest.Session) -> None:
        witness = self._witness
        outcomes = witness.outcomes()
        tree = self._project.take_tree()
        inventory = take_inventory(outcomes, root=self._project.root, contents=tree.files, known=None)
        with self._store.transaction() as change:
            refuse_baseline(change.state, self._rules(change.state))
            event = baseline_event(
                outcomes,
                inventory,
                interrupted=witness.interrupted,
                keep=self._store.keep,
                revision=self._revision,
                narrowed_by=describe_narrowing(self._config, len(witness.collection.deselected)),
                surroundings=self._surroundings,
            )
            change.record(event)
        failing = event.data["failing"]
        self._says = f"baseline: {count(event.data['total'], 'test')}, {count(failing, 'known failure')}"

    def pytest_terminal_summary(self) -> None:
        if self._origin.is_left():
            return
        show_lines(self._config, [Line("phase gate: baseline", is_title=True), Line(self._says)])


# --- collect only, and keep which tests a command selects: what a verify task knows from its start


class KnownRecorder:
    """Started by `phase-gate verify start`, which names the file that the inventory's digest is written to."""

    def __init__(self, config: pytest.Config, project: Project) -> None:
        self._config, self._project = config, project
        self._file = Path(str(config.option.phase_baseline).partition("=")[2])
        self._origin = Origin()
        self.witness = SessionWitness(config, project.root)

    @classmethod
    def configure(cls, config: pytest.Config) -> None:
        try:
            project = find_project(config, config.option)
        except PhaseGateError as error:
            raise pytest.UsageError(str(error)) from error
        recorder = cls(config, project)
        # One module that can't be imported yet must not hide the others.
        config.option.continue_on_collection_errors = True
        config.pluginmanager.register(recorder.witness, "phase_gate_witness")
        config.pluginmanager.register(recorder, "phase_gate_known")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._record()

    def _record(self) -> None:
        outcomes = self.witness.outcomes()
        if not outcomes or self._origin.is_left():
            return
        project = self._project
        inventory = take_inventory(outcomes, root=project.root, contents=project.take_tree().files, known=None)
        digest = project.store("phase-gate verify start").keep("inventory", inventory)
        self._file.write_text(digest, encoding="ascii")
