"""What a session asks for before its first test, and what its witness is to look at. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from phase_gate.errors import UsageError
from phase_gate.project import Project
from phase_gate.report.files import REPORT_SUFFIXES
from phase_gate.storage.root import place_below, relative_id
from phase_gate.storage.signal_file import SignalFile
from phase_gate.values import Value, field
from phase_gate.workflow.model import Guard
from phase_gate.workflow.settings import ExitMeaning


class Hello(Value):
    """The command line as it was typed, and what plugins offer."""

    phase: str
    #: The folder that the command was typed in.
    start: Path
    arguments: tuple[str, ...] = ()
    #: None: as the project's file says.
    exit_meaning: ExitMeaning | None = None
    confirms: bool | None = None
    exit_signal: str | None = None
    #: A number, or a file from the current folder.
    criteria: str | None = None
    reports: tuple[str, ...] = ()
    workflow: str | None = None
    #: Which confirming run this is, of how many; (0, 0) for a run that a person started.
    confirming: tuple[int, int] = (0, 0)
    #: The verify command of a task started it, without `--phase`.
    verifies: bool = False
    #: Files that options of pytest and of its plugins write, and folders, with a slash.
    writes: tuple[tuple[Path, str], ...] = ()
    guards: Mapping[str, Guard] = field(default_factory=dict)
    workflows: Mapping[str, Path] = field(default_factory=dict)
    #: The id of the run.
    run: str = ""
    #: When no code of the project had run yet, and the signal that was there then.
    at: float = 0.0
    signal: SignalFile | None = None
    pytest: str = ""


class Wanted(Value):
    """What a witness is to look at. It travels to the workers of xdist."""

    root: str
    #: Why tests fail, and which are marked as passing already.
    reasons: bool = False
    #: What tests are made of outside of their files.
    parts: bool = False
    #: Criteria that marks may name.
    criteria: tuple[str, ...] = ()
    #: Modules of which it matters where they are found.
    modules: tuple[str, ...] = ()
    #: It sees a part of the suite: what was collected before any hook chose, and which hook left out what.
    slices: bool = False


def choose_reports(typed: Iterable[str], here: Path, project: Project) -> tuple[Path, ...]:
    """Return the reports that were typed, else those of the project's file. Raises UsageError for an odd suffix."""
    reports = tuple(here / name for name in typed) or tuple(
        place_below(project.root, name, setting="run.report") for name in project.configuration.run.report
    )
    for path in reports:
        if path.suffix.lower() not in REPORT_SUFFIXES:
            raise UsageError(
                f"--phase-report={path.name}: the suffix says the format, and {path.suffix or 'none'} is not known",
                remedy=f"use one of: {', '.join(REPORT_SUFFIXES)}",
            )
    return reports


def written_below(root: Path, writes: Iterable[tuple[Path, str]], reports: Iterable[Path]) -> tuple[str, ...]:
    """Return the files below the root that the run writes because an option names them; folders with a slash."""
    found = {relative_id(place, root) + end for place, end in (*writes, *((path, "") for path in reports))}
    return tuple(sorted(path for path in found if not path.startswith(("../", "./", "/"))))
