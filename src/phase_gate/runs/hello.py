"""What a session asks for before its first test, and what its witness is to look at. Values only."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.errors import PhaseOrderError
from phase_gate.gate.parts import WORK
from phase_gate.project import Project
from phase_gate.report.files import REPORT_SUFFIXES, check_report
from phase_gate.report.panel import Line
from phase_gate.storage.root import is_in_environment, place_below, relative_id
from phase_gate.storage.signal_file import SignalFile
from phase_gate.values import Value, field
from phase_gate.visible import count
from phase_gate.workflow.model import Guard, Workflow
from phase_gate.workflow.model_json import name_rules
from phase_gate.workflow.settings import (
    ConfidenceRules,
    Configuration,
    ExitGate,
    ExitMeaning,
    ProofSettings,
    QualitySettings,
)

if TYPE_CHECKING:
    from phase_gate.gate.state import State
    from phase_gate.gate.verdict import Evaluation


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
    """Return the reports that were typed, else those of the project's file. Raises UsageError for an odd one."""
    reports = tuple(here / name for name in typed) or tuple(
        place_below(project.root, name, setting="run.report") for name in project.configuration.run.report
    )
    for path in reports:
        check_report(f"--phase-report={path.name}", path, REPORT_SUFFIXES)
    return reports


def written_below(root: Path, writes: Iterable[tuple[Path, str]], reports: Iterable[Path]) -> tuple[str, ...]:
    """Return the files below the root that the run writes because an option names them; folders with a slash."""
    found = {relative_id(place, root) + end for place, end in (*writes, *((path, "") for path in reports))}
    return tuple(sorted(path for path in found if not path.startswith(("../", "./", "/"))))


# --- our own rules, as far as they change what a test means or what a gate asks


def own_settings(own: Configuration, workflow: Workflow) -> dict[str, str]:
    """Return what may not change once the tests are frozen, by name."""
    settings = {f"workflow {name}": text for name, text in name_rules(workflow).items()}
    settings["setting docs"] = ", ".join(own.docs)
    settings |= {f"setting evidence.commands.{each.name}": each.rule for each in own.commands}
    if own.quality != QualitySettings():
        settings["setting evidence.quality"] = own.quality.rule
    settings |= {f"setting evidence.documents.{name}": text for name, text in own.documents.rules.items()}
    if own.proof.rule != ProofSettings().rule:
        settings["setting proof"] = own.proof.rule
    settings["setting freeze"] = ", ".join(own.freeze)
    settings["setting overrides.allow_non_interactive"] = str(own.allow_non_interactive).lower()
    for section, rules, usual in (
        ("exit_gate", own.exit_gate, ExitGate()),
        ("confidence", own.confidence, ConfidenceRules()),
    ):
        if rules != usual:
            settings[f"setting {section}"] = repr(rules)
    return settings


# --- what tests run in, as far as an honest condition of a skip may ask for it: platform, Python, installed packages


#: How a folder, or a file, with the metadata of an installed distribution ends.
_METADATA = (".dist-info", ".egg-info")


def take_surroundings(root: Path) -> str:
    """Return a text that is the same as long as platform, Python and packages are."""
    packages = hashlib.sha256("\n".join(sorted(_packages(os.path.realpath(root)))).encode("utf-8", "surrogatepass"))
    return f"{_platform()}; Python {platform.python_version()}; packages {packages.hexdigest()[:16]}"


def _platform() -> str:
    if not hasattr(os, "uname"):
        return f"{sys.platform} {platform.version()} {platform.machine()}"
    found = os.uname()
    return f"{sys.platform} {found.release} {found.machine}"


def _packages(top: str) -> Iterator[str]:
    """Yield the names and versions of what is installed; not what lies in the project, where tests may write it."""
    for entry in dict.fromkeys(sys.path):
        folder = os.path.realpath(entry)
        if (folder + os.sep).startswith(top + os.sep) and not is_in_environment(os.path.join(folder, "_"), top):
            continue
        try:
            yield from (name for name in os.listdir(folder) if name.endswith(_METADATA))
        except OSError:
            continue  # an archive, or nothing


# --- a run of pytest inside a verify command: recorded for that command's task, by that task's rules


#: Set for whatever a verify command starts; without a typed phase, such a run is recorded for the command's task.
PHASE_VARIABLE = "PHASE_GATE_PHASE"


def hide_from_tests() -> Callable[[], None]:
    """Let what the tests themselves start be none of the verify command's runs; return what takes that back."""
    hidden = os.environ.pop(PHASE_VARIABLE, None)
    return lambda: None if hidden is None else os.environ.update({PHASE_VARIABLE: hidden})


def refuse_outside_verify(state: State) -> None:
    """Refuse a run in a verify task that its verify command did not start."""
    if not state.is_verify_task:
        return
    verification = state.parts[WORK]
    if verification.check is None or verification.check.how != "running":
        raise PhaseOrderError(
            f"{state.task} is a verify task: only its verify command runs tests in it",
            remedy=f"phase-gate verify run --task {state.task}",
        )


def recorded_for(task: str, evaluation: Evaluation) -> list[Line]:
    """Return what stands in the panel's place: the verdict is the verification gate's, and comes later."""
    subject, metrics = evaluation.subject, evaluation.metrics
    total = metrics.get("tests_total")
    tests = f", {count(total, 'test')}" if isinstance(total, int) else ""
    why = f": {subject.run_note}" if subject.run_note else ""
    return [
        Line(f"phase gate: recorded for task {task}", {"bold": True}, is_title=True),
        Line(f"{subject.run_kind} run{tests}{why}"),
    ]
