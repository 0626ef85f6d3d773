"""What pytest shows us about a run, turned into one record.

May touch pytest, files and the clock; judging is `gate`'s business. Begin with `controller`, then `run` and `closing`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from phase_gate.recording.controller import Controller

__all__ = ["look_ahead", "start"]


def look_ahead(config: pytest.Config) -> None:
    """Load what the session needs of us, and take the signal and the time, before the project's code runs.

    What our modules call is bound when they are imported: a test that leaves `os.replace` mocked does not reach it.
    """
    if sys.implementation.name != "cpython":
        _refuse_interpreter()
    from phase_gate.recording.early import early_signal, take_start_snapshot

    take_start_snapshot(config)
    # On a worker next to nothing is needed. A session that a test starts there finds the rest when it begins.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        import phase_gate.recording.controller  # noqa: F401  (it is needed when the tests have run)

        early_signal(config)


def _refuse_interpreter() -> None:
    from phase_gate.errors import PhaseGateError, require_cpython

    try:
        require_cpython()
    except PhaseGateError as error:
        raise pytest.UsageError(str(error)) from None


def start(config: pytest.Config) -> Controller | None:
    """Begin to record: on a worker send what only it sees, elsewhere keep the record.

    Returns None where there is no verdict to wait for. A shard records itself, in `phase_gate.shards`.
    """
    if hasattr(config, "workerinput"):
        from phase_gate.recording.worker import INPUT, WorkerWitness

        os.environ.pop("PHASE_GATE_PHASE", None)  # what the tests start is none of a verify command's runs
        told = config.workerinput.get(INPUT, {})
        marks = None
        if told.get("criteria"):
            from phase_gate.recording.criteria import CriterionMarks

            marks = CriterionMarks(config, told["criteria"])
            config.pluginmanager.register(marks, "phase_gate_criteria")
        config.pluginmanager.register(WorkerWitness(config, marks), "phase_gate_worker")
        if told.get("wants_reasons"):
            from phase_gate.recording.guarding import watch_guarding
            from phase_gate.recording.reasons import ReasonHooks

            config.pluginmanager.register(ReasonHooks(Path(told["root"])), "phase_gate_reasons")
            watch_guarding(config)
        return None
    if config.option.phase is None and config.option.phase_baseline.startswith("known="):
        from phase_gate.recording.baseline import KnownRecorder

        KnownRecorder.configure(config)
        return None
    if config.option.phase is None:
        from phase_gate.recording.baseline import BaselineRecorder

        BaselineRecorder.configure(config)
        return None
    from phase_gate.recording.controller import Controller

    return Controller.configure(config)
