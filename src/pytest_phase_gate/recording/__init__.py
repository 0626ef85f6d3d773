"""What pytest shows us about a run, turned into one record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_phase_gate.recording.controller import Controller

__all__ = ["start"]


def start(config: pytest.Config) -> Controller | None:
    """Begin to record: on a worker send what only it sees, elsewhere keep the record.

    Returns None where there is no verdict to wait for.
    """
    if hasattr(config, "workerinput"):
        from pytest_phase_gate.recording.worker import WorkerWitness

        config.pluginmanager.register(WorkerWitness(config), "phase_gate_worker")
        return None
    if config.option.phase is None:
        from pytest_phase_gate.recording.baseline import BaselineRecorder

        BaselineRecorder.configure(config)
        return None
    from pytest_phase_gate.recording.controller import Controller

    return Controller.configure(config)
