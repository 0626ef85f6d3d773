"""Read the request of a session from pytest's command line. This module does not look at the project."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

import pytest

from phase_gate.bound import time
from phase_gate.errors import PhaseGateError, UsageError
from phase_gate.gate.verdict import Signal
from phase_gate.project import Project
from phase_gate.recording.witness import Process
from phase_gate.runs.hello import PHASE_VARIABLE, Hello, waiting_signal
from phase_gate.storage.root import SIGNAL_FILE
from phase_gate.values import Value, replace

#: Options with which pytest opens a session without running tests.
_VOID_OPTIONS = {
    "collectonly": "--collect-only",
    "setupplan": "--setup-plan",
    "showfixtures": "--fixtures",
    "show_fixtures_per_test": "--fixtures-per-test",
    "cacheshow": "--cache-show",
}

#: Options of pytest and its plugins that name an output file or an output folder, by `dest`.
_WRITES_FILE = (
    *("xmlpath", "log_file", "report_log", "htmlpath", "json_report_file", "csv_path"),
    *("md_report_output", "resultlog", "benchmark_json"),
)
_WRITES_FOLDER = ("allure_report_dir", "basetemp")
#: Report types of pytest-cov that are folders.
_COVERAGE_FOLDERS = ("html", "annotate")


class Beginning(Value, kw_only=False):
    """The process, the time and the signal, recorded once per process before any conftest is loaded."""

    at: float
    process: Process
    run: str
    #: None if there is an error in it, which is reported when the run is configured.
    project: Project | None = None
    signal: Signal | None = None


_key: pytest.StashKey[Beginning] = pytest.StashKey()


def beginning(config: pytest.Config) -> Beginning:
    """Return the beginning; recorded now if the plugin was loaded too late to do it before."""
    if _key not in config.stash:
        found: list[Any] = []
        with contextlib.suppress(PhaseGateError):
            found.append(_look_for_project(config))
            found.append(waiting_signal(found[0].folder / SIGNAL_FILE))
        config.stash[_key] = Beginning(time.time(), Process(), os.urandom(8).hex(), *found)
    return config.stash[_key]


def find_project(config: pytest.Config) -> Project:
    """Return the project that is given by the options, the environment and the current folder."""
    return beginning(config).project or _look_for_project(config)


def _look_for_project(config: pytest.Config) -> Project:
    # Before conftests are loaded, only a part of the command line is parsed; it includes these two.
    known = config.known_args_namespace
    options = known if hasattr(known, "phase_task") else config.option
    return Project.find(
        config.invocation_params.dir,
        environment=dict(os.environ),
        task=options.phase_task,
        folder=options.phase_dir,
    )


def read_hello(config: pytest.Config) -> Hello:
    """Return the request of this session. Raises UsageError for an invalid command line."""
    option, began, verifies = config.option, beginning(config), _is_verifying(config)
    hello = Hello(
        phase=option.phase or "",
        start=config.invocation_params.dir,
        arguments=tuple(map(str, config.invocation_params.args)),
        exit_meaning=option.phase_exit,
        confirms=option.phase_confirm,
        exit_signal=_read_exit_signal(config),
        criteria=option.phase_criteria,
        reports=tuple(option.phase_report or ()),
        workflow=option.phase_workflow,
        confirming=_read_confirming(option.phase_confirming),
        verifies=verifies,
        writes=find_written(config),
        run=began.run,
        at=began.at,
        signal=began.signal,
        pytest=pytest.__version__,
    )
    if not is_extended(config):
        return hello
    from phase_gate.recording.extensions import gather_guards, gather_workflows

    return replace(hello, guards=gather_guards(config), workflows=gather_workflows(config))


def is_extended(config: pytest.Config) -> bool:
    """Return whether a plugin implements one of our hooks; few do."""
    return any(name.startswith("pytest_phase_gate_") for name in vars(config.pluginmanager.hook))


def void_option(config: pytest.Config) -> str:
    """Return the option that keeps tests from running; empty if there is none."""
    return next((flag for name, flag in _VOID_OPTIONS.items() if getattr(config.option, name, None)), "")


def find_written(config: pytest.Config) -> tuple[tuple[Path, str], ...]:
    """Return the files that the run writes because of an option; folders end with a slash."""
    option = config.option
    files: list[Any] = [getattr(option, name, None) for name in _WRITES_FILE]
    folders: list[Any] = [getattr(option, name, None) for name in _WRITES_FOLDER]
    coverage = getattr(option, "cov_report", None)
    for kind, place in coverage.items() if isinstance(coverage, Mapping) else ():
        (folders if kind in _COVERAGE_FOLDERS else files).append(place)
    # If an option opens the file itself, its value has the name.
    named = [(getattr(file, "name", file), "") for file in files] + [(folder, "/") for folder in folders]
    here = config.invocation_params.dir
    return tuple((here / os.path.expanduser(os.path.expandvars(name)), end) for name, end in named if _is_name(name))


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _is_verifying(config: pytest.Config) -> bool:
    return os.environ.get(PHASE_VARIABLE) == config.option.phase and not _is_typed(config, "--phase")


def _is_typed(config: pytest.Config, option: str) -> bool:
    return any(str(each).partition("=")[0] == option for each in config.invocation_params.args)


def _read_exit_signal(config: pytest.Config) -> str | None:
    reason: str | None = config.option.exit_signal
    if reason is None:
        return None
    if not _is_typed(config, "--exit-signal"):
        # In addopts or the environment it would sign every run, so it would not be a deliberate signal.
        raise UsageError(
            "--exit-signal came from addopts, PYTEST_ADDOPTS or a file, not from the command line",
            remedy="remove it there, and type it for the one run that it is meant for",
        )
    from phase_gate.visible import check_sentence

    reason = check_sentence("--exit-signal", reason)
    if reason in ("", "...", "REASON"):  # the last two are copied from a message or from help
        raise UsageError("--exit-signal needs a reason", remedy="put your own words behind --exit-signal")
    return reason


def _read_confirming(text: str | None) -> tuple[int, int]:
    if text is None:
        return 0, 0
    index, _, total = text.partition("/")
    if not (index.isdecimal() and total.isdecimal()):
        raise UsageError(f"--phase-confirming={text}: not I/N", remedy="use --phase-confirm instead")
    return int(index), int(total)
