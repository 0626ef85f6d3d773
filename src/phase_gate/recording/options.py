"""The command line, with the project's defaults below it, as one value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

import pytest

from phase_gate.errors import UsageError
from phase_gate.project import Project
from phase_gate.report.files import REPORT_SUFFIXES
from phase_gate.storage.root import place_below, relative_id
from phase_gate.values import Value
from phase_gate.workflow.settings import ExitMeaning

#: Set for whatever a verify command starts; without a typed phase, such a run is recorded for the command's task.
PHASE_VARIABLE = "PHASE_GATE_PHASE"


class Options(Value):
    phase: str
    exit_meaning: ExitMeaning
    confirms: bool
    exit_signal: str | None
    #: A number, or a file from the current folder, as typed.
    criteria: str | None
    reports: tuple[Path, ...]
    workflow: str | None
    #: Which confirming run this is, of how many; (0, 0) for a run that a person started.
    confirming: tuple[int, int]
    #: The verify command of a task started it, without `--phase`.
    verifies: bool = False
    #: Files that options of pytest, of its plugins and of ours name as reports, from the root; folders with a slash.
    written: tuple[str, ...] = ()


def read_options(config: pytest.Config, project: Project) -> Options:
    """Return what this run is to do. Raises UsageError for an invalid command line."""
    option, defaults = config.option, project.configuration.run
    verifies = _is_verifying(config)
    reports = choose_reports(option.phase_report, config.invocation_params.dir, project)
    return Options(
        phase=option.phase or "",
        verifies=verifies,
        exit_meaning=option.phase_exit or defaults.exit,
        # A verify command is run as often as its task says, and no more.
        confirms=not verifies and (option.phase_confirm or defaults.confirm),
        exit_signal=_read_exit_signal(config),
        criteria=option.phase_criteria,
        reports=reports,
        written=find_written(config, project.root, reports),
        workflow=option.phase_workflow,
        confirming=_read_confirming(option.phase_confirming),
    )


def choose_reports(typed: Iterable[str] | None, here: Path, project: Project) -> tuple[Path, ...]:
    """Return the reports that were typed, else those of the project's file. Raises UsageError for an odd suffix."""
    reports = tuple(here / name for name in typed or ()) or tuple(
        place_below(project.root, name, setting="run.report") for name in project.configuration.run.report
    )
    for path in reports:
        if path.suffix.lower() not in REPORT_SUFFIXES:
            raise UsageError(
                f"--phase-report={path.name}: the suffix says the format, and {path.suffix or 'none'} is not known",
                remedy=f"use one of: {', '.join(REPORT_SUFFIXES)}",
            )
    return reports


#: Options of pytest and of its plugins that name a file to be written, and those that name a folder, by `dest`.
_WRITES_FILE = (
    *("xmlpath", "log_file", "report_log", "htmlpath", "json_report_file", "csv_path"),
    *("md_report_output", "resultlog", "benchmark_json"),
)
_WRITES_FOLDER = ("allure_report_dir", "basetemp")
#: Of pytest-cov: the kinds of reports that are folders.
_COVERAGE_FOLDERS = ("html", "annotate")


def find_written(config: pytest.Config, root: Path, reports: Iterable[Path]) -> tuple[str, ...]:
    """Return the files below the root that the run writes because an option says so; folders with a slash."""
    option = config.option
    files: list[Any] = [getattr(option, name, None) for name in _WRITES_FILE]
    folders: list[Any] = [getattr(option, name, None) for name in _WRITES_FOLDER]
    coverage = getattr(option, "cov_report", None)
    for kind, place in coverage.items() if isinstance(coverage, Mapping) else ():
        (folders if kind in _COVERAGE_FOLDERS else files).append(place)
    # Where an option opens the file by itself, the file knows its name.
    named = [(getattr(file, "name", file), "") for file in files] + [(folder, "/") for folder in folders]
    here = config.invocation_params.dir
    places = [(here / os.path.expanduser(os.path.expandvars(name)), end) for name, end in named if _is_name(name)]
    found = {relative_id(place, root) + end for place, end in (*places, *((path, "") for path in reports))}
    return tuple(sorted(path for path in found if not path.startswith(("../", "./", "/"))))


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _is_verifying(config: pytest.Config) -> bool:
    typed = any(str(each).partition("=")[0] == "--phase" for each in config.invocation_params.args)
    return os.environ.get(PHASE_VARIABLE) == config.option.phase and not typed


def _read_exit_signal(config: pytest.Config) -> str | None:
    reason: str | None = config.option.exit_signal
    if reason is None:
        return None
    typed = any(str(each).partition("=")[0] == "--exit-signal" for each in config.invocation_params.args)
    if not typed:
        # In addopts or the environment it would sign every run: that is no signal on purpose.
        raise UsageError(
            "--exit-signal came from addopts, PYTEST_ADDOPTS or a file, not from the command line",
            remedy="remove it there, and type it for the one run that it is meant for",
        )
    from phase_gate.names import check_sentence

    reason = check_sentence("--exit-signal", reason)
    if not reason:
        raise UsageError("--exit-signal needs a reason", remedy='say why it is done: --exit-signal="..."')
    return reason


def _read_confirming(text: str | None) -> tuple[int, int]:
    if text is None:
        return 0, 0
    index, _, total = text.partition("/")
    if not (index.isdecimal() and total.isdecimal()):
        raise UsageError(f"--phase-confirming={text}: not I/N", remedy="use --phase-confirm instead")
    return int(index), int(total)


# --- how a run was narrowed, in words: so that the panel can say it


def describe_narrowing(config: pytest.Config, deselected: int) -> tuple[str, ...]:
    """Return the options and arguments that choose tests, as a user would have typed them."""
    option = config.option
    words: list[str] = []
    for name, flag in (("keyword", "-k"), ("markexpr", "-m")):
        value = getattr(option, name, "")
        if value:
            words.append(f"{flag} {value!r}")
    for name, flag in (("lf", "--lf"), ("stepwise", "--sw"), ("pyargs", "--pyargs")):
        if getattr(option, name, False):
            words.append(flag)
    for name, flag in (("deselect", "--deselect"), ("ignore", "--ignore"), ("ignore_glob", "--ignore-glob")):
        words += [f"{flag} {value}" for value in getattr(option, name, None) or ()]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [str(argument) for argument in config.args]
    if deselected and not words:
        words.append(f"{deselected} deselected by a hook")
    return tuple(words)


def sees_whole_files(config: pytest.Config) -> bool:
    """Tell whether every test of a collected file was looked at. `--lf` drops tests of a file without saying which."""
    return not getattr(config.option, "lf", False)


def narrowed_files(config: pytest.Config, root: Path) -> frozenset[str]:
    """Return the files of which only some tests were asked for."""
    base = config.invocation_params.dir
    return frozenset(
        relative_id(base / argument.partition("::")[0], root) for argument in map(str, config.args) if "::" in argument
    )
