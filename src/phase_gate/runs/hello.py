"""The request of a session before its first test, and the task of its witness. Values only."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phase_gate.bound import os
from phase_gate.codec import to_json
from phase_gate.errors import PhaseOrderError, StorageError
from phase_gate.gate.state import WORK
from phase_gate.gate.verdict import Signal
from phase_gate.project import Project
from phase_gate.storage.files import exists
from phase_gate.storage.root import is_in_environment, place_below, relative_id
from phase_gate.values import Value, field
from phase_gate.workflow.model import Guard, flatten, name_rules
from phase_gate.workflow.settings import Configuration, ExitMeaning

if TYPE_CHECKING:
    from phase_gate.gate.state import State


class Hello(Value):
    """The command line as typed, and the contributions of plugins."""

    phase: str
    #: The folder that the command was typed in.
    start: Path
    arguments: tuple[str, ...] = ()
    #: None: as in the project's file.
    exit_meaning: ExitMeaning | None = None
    confirms: bool | None = None
    exit_signal: str | None = None
    #: A number, or a file relative to the current folder.
    criteria: str | None = None
    reports: tuple[str, ...] = ()
    workflow: str | None = None
    #: The number of this confirming run, and their total; (0, 0) for a run that a user started.
    confirming: tuple[int, int] = (0, 0)
    #: Started by the verify command of a task, without `--phase`.
    verifies: bool = False
    #: Files that options of pytest and its plugins write; folders end with a slash.
    writes: tuple[tuple[Path, str], ...] = ()
    guards: Mapping[str, Guard] = field(default_factory=dict)
    workflows: Mapping[str, Path] = field(default_factory=dict)
    #: The id of the run.
    run: str = ""
    #: A time before any code of the project ran, and the signal that was there then.
    at: float = 0.0
    signal: Signal | None = None
    pytest: str = ""


def waiting_signal(path: Path, *, spent: str | None = None) -> Signal | None:
    """Return the signal in the file, None if it is missing. Most runs find none, and load nothing to read one."""
    # If the file system can't tell, the reader tries again, and reports why it failed.
    with contextlib.suppress(StorageError):
        if not exists(path):
            return None
    from phase_gate.storage.signal_file import read_signal_file

    return read_signal_file(path, spent=spent)


def choose_reports(typed: Iterable[str], here: Path, project: Project) -> tuple[Path, ...]:
    """Return the reports that were typed, or else those of the project's file. Raises UsageError for an invalid one."""
    reports = tuple(here / name for name in typed) or tuple(
        place_below(project.root, name, setting="run.report") for name in project.configuration.run.report
    )
    if reports:
        from phase_gate.report.report_files import REPORT_SUFFIXES, check_report
    for path in reports:
        check_report(f"--phase-report={path.name}", path, REPORT_SUFFIXES)
    return reports


def written_below(root: Path, writes: Iterable[tuple[Path, str]], reports: Iterable[Path]) -> tuple[str, ...]:
    """Return the files below the root that the run writes because of an option; folders end with a slash."""
    found = {relative_id(place, root) + end for place, end in (*writes, *((path, "") for path in reports))}
    return tuple(sorted(path for path in found if not path.startswith(("../", "./", "/"))))


# --- our own rules, as far as they change the meaning of a test or the requirements of a gate


#: The settings that must not change once the tests are frozen, and the keys in them that may.
_RULES = frozenset({"docs", "evidence", "proof", "freeze", "overrides", "exit_gate", "confidence"})
_NO_RULES = frozenset({"timeout", "seconds", "new_code"})


def own_settings(own: Configuration, rules: Mapping[str, Any]) -> dict[str, str]:
    """Return the rules of the workflow and of the settings, by name; without settings that have their defaults.

    :param rules: the workflow as JSON.
    """
    document = {name: held for name, held in to_json(own).items() if name in _RULES}
    settings = {name: text for name, text in flatten(document, "setting ") if name.rpartition(".")[2] not in _NO_RULES}
    return {**name_rules(rules, "workflow "), **settings}


# --- the environment of tests, as far as a legitimate skip condition can use it: platform, Python, installed packages


#: Python's version. `platform.python_version` takes it out of the same text with a regular expression.
PYTHON_VERSION = sys.version.partition(" ")[0]

#: Suffixes of a folder or file with the metadata of an installed distribution.
_METADATA = (".dist-info", ".egg-info")


def take_surroundings(root: Path) -> str:
    """Return a text that stays the same until the platform, Python or the packages change."""
    packages = hashlib.sha256("\n".join(sorted(_packages(os.path.realpath(root)))).encode("utf-8", "surrogatepass"))
    return f"{_platform()}; Python {PYTHON_VERSION}; packages {packages.hexdigest()[:16]}"


def _platform() -> str:
    if not hasattr(os, "uname"):
        return f"{sys.platform} {platform.version()} {platform.machine()}"
    found = os.uname()
    return f"{sys.platform} {found.release} {found.machine}"


def _packages(top: str) -> Iterator[str]:
    """Yield the names and versions of installed packages, except those inside the project, where tests may write."""
    for entry in dict.fromkeys(sys.path):
        folder = os.path.realpath(entry)
        if (folder + os.sep).startswith(top + os.sep) and not is_in_environment(os.path.join(folder, "_"), top):
            continue
        try:
            yield from (name for name in os.listdir(folder) if name.endswith(_METADATA))
        except OSError:
            continue  # an archive, or missing


# --- a run of pytest inside a verify command: recorded for that command's task, with that task's rules


#: Set for all processes of a verify command. Without a typed phase, such a run is recorded for the command's task.
PHASE_VARIABLE = "PHASE_GATE_PHASE"


def hide_from_tests() -> Callable[[], None]:
    """Remove the variable, so that processes of tests are not runs of the verify command; return an undo function."""
    hidden = os.environ.pop(PHASE_VARIABLE, None)
    return lambda: None if hidden is None else os.environ.update({PHASE_VARIABLE: hidden})


def refuse_outside_verify(state: State) -> None:
    """Refuse a run in a verify task that was not started by its verify command."""
    if not state.is_verify_task:
        return
    verification = state.parts[WORK]
    if verification.check is None or verification.check.how != "running":
        raise PhaseOrderError(
            f"{state.task} is a verify task: only its verify command runs tests in it",
            remedy=f"phase-gate verify run --task {state.task}",
        )
