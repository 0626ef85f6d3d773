"""What pytest shows us about a run, turned into one record."""

from __future__ import annotations

from pathlib import Path
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
        from pytest_phase_gate.recording.worker import INPUT, WorkerWitness

        config.pluginmanager.register(WorkerWitness(config), "phase_gate_worker")
        told = config.workerinput.get(INPUT, {})
        if told.get("wants_reasons"):
            from pytest_phase_gate.recording.reason_hooks import ReasonHooks

            config.pluginmanager.register(ReasonHooks(Path(told["root"])), "phase_gate_reasons")
        return None
    if config.option.phase is None:
        from pytest_phase_gate.recording.baseline import BaselineRecorder

        BaselineRecorder.configure(config)
        return None
    from pytest_phase_gate.recording.controller import Controller

    return Controller.configure(config)
