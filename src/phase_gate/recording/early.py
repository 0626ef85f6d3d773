"""Snapshot taken before project code is imported: the process, the signal, the time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from phase_gate.bound import time
from phase_gate.errors import PhaseGateError
from phase_gate.recording.origin import Origin
from phase_gate.values import Value

if TYPE_CHECKING:
    import argparse

    from phase_gate.project import Project
    from phase_gate.storage.signal_file import SignalFile


class StartSnapshot(Value, kw_only=False):
    """Taken once a process, before any conftest is loaded."""

    at: float
    origin: Origin


_key: pytest.StashKey[StartSnapshot] = pytest.StashKey()
_signal_key: pytest.StashKey[SignalFile | None] = pytest.StashKey()


def take_start_snapshot(config: pytest.Config) -> StartSnapshot:
    """Take the snapshot, and keep it with the configuration."""
    snapshot = config.stash[_key] = StartSnapshot(time.time(), Origin())
    return snapshot


def start_snapshot(config: pytest.Config) -> StartSnapshot:
    """Return the snapshot; take it now if the plugin was loaded too late to take it before."""
    if _key not in config.stash:
        take_start_snapshot(config)
    return config.stash[_key]


def early_signal(config: pytest.Config) -> SignalFile | None:
    """Return the signal that lay there when this was first asked, before the project's code runs; None if none did."""
    if _signal_key not in config.stash:
        config.stash[_signal_key] = _signal(config)
    return config.stash[_signal_key]


def _signal(config: pytest.Config) -> SignalFile | None:
    from phase_gate.storage.signal_file import read_signal_file

    try:
        project = find_project(config, config.known_args_namespace)
        return read_signal_file(project.store("").signal_file)
    except PhaseGateError:
        return None  # said in its place, when the run is configured


def find_project(config: pytest.Config, options: argparse.Namespace) -> Project:
    """Return the project that these options, the environment and the current folder name."""
    from phase_gate.project import Project

    return Project.find(
        config.invocation_params.dir,
        environment=dict(os.environ),
        task=options.phase_task,
        folder=options.phase_dir,
    )
