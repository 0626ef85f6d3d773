"""Collect only, and keep which tests a command selects: what a task of the verification gate knows from its start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phase_gate.errors import PhaseGateError
from phase_gate.project import Project
from phase_gate.recording.early import own_work
from phase_gate.recording.inventory import take_inventory
from phase_gate.recording.origin import Origin
from phase_gate.recording.witness import SessionWitness
from phase_gate.storage.fork_marks import SUFFIX


class KnownRecorder:
    """Started by `phase-gate verify start`, which names the file that the inventory's digest is written to."""

    def __init__(self, config: pytest.Config, project: Project) -> None:
        self._config, self._project = config, project
        self._file = Path(str(config.option.phase_baseline).partition("=")[2])
        self._origin = Origin()
        self._origin.mark = self._file.with_suffix(SUFFIX)
        self.witness = SessionWitness(config, project.root, self._origin)

    @classmethod
    def configure(cls, config: pytest.Config) -> None:
        try:
            project = Project.find(
                config.invocation_params.dir,
                environment=dict(os.environ),
                task=config.option.phase_task,
                folder=config.option.phase_dir,
            )
        except PhaseGateError as error:
            raise pytest.UsageError(str(error)) from error
        recorder = cls(config, project)
        # One module that can't be imported yet must not hide the others.
        config.option.continue_on_collection_errors = True
        config.pluginmanager.register(recorder.witness, "phase_gate_witness")
        config.pluginmanager.register(recorder, "phase_gate_known")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        with own_work(self._config):
            self._record()

    def _record(self) -> None:
        outcomes = self.witness.outcomes()
        # What a forked child collected, or disturbed, is not what the command selects.
        if not outcomes or self._origin.is_left() or self._origin.doubts():
            return
        project = self._project
        inventory = take_inventory(outcomes, root=project.root, contents=project.take_tree().files, known=None)
        digest = project.store("phase-gate verify start").keep("inventory", inventory)
        self._file.write_text(digest, encoding="ascii")
