"""Find everything that is wrong with a workflow file, not only the first of it.

The reader that loads workflows is the one that finds faults here: it collects them, and goes on with stand-ins. What
it can't see is looked for in the workflow that it made: names that nothing measures where they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.config.reading import MAX_BYTES, STAND_IN, Fault, FaultyError, Reader
from phase_gate.config.workflow import build_workflow
from phase_gate.config.yaml import read_documents
from phase_gate.errors import DocumentError, WorkflowError
from phase_gate.gate.measured import wanted_names
from phase_gate.storage.tree.names import list_files
from phase_gate.values import Value, replace
from phase_gate.workflow.metrics import PIPELINE_METRICS, MetricType
from phase_gate.workflow.model import Guard, Phase, Workflow, requires_of

if TYPE_CHECKING:
    from phase_gate.project import Project


class Checked(Value):
    """What is wrong with a file, by line; and the workflow, as far as it could be read."""

    problems: tuple[Fault, ...]
    workflow: Workflow | None = None


def check_workflow(
    text: str | bytes,
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
    plugins: Plugins | None = None,
    commands: Collection[str] | None = None,
) -> Checked:
    """Return every problem of the text.

    :param name: what stands in front of the line in messages.
    :param guards: the guards that its phases may name.
    :param extra_metrics: what plugins and commands measure besides the metrics that we know.
    :param plugins: what plugins may offer; None if that is not known.
    :param commands: what the project runs by itself; None if it is not known which project this is for.
    """
    try:
        syntax = Reader(DocumentError, collects=True)
        documents = read_documents(text, name=name, limit=MAX_BYTES, faults=syntax)
    except FaultyError as error:
        return Checked(problems=(error.fault,))
    faults = Reader(WorkflowError, collects=True)
    workflow = None
    try:
        workflow = build_workflow(
            documents,
            name=name,
            guards=guards,
            extra_metrics=extra_metrics,
            faults=faults,
            offers=None if plugins is None else plugins.offers_guard,
        )
    except FaultyError as error:
        # What can't be read at all follows from what was found before.
        if not faults.found:
            faults.keep(error.fault)
    if workflow is not None:
        workflow = _with_offered(workflow)
        unprovided = () if plugins is None else plugins.find_unprovided(workflow)
        for phase in workflow.phases:
            _review_names(phase, workflow, unprovided, faults)
            if commands is not None:
                _review_checks(phase, commands, faults)
    problems = {(each.line, each.column, each.problem): each for each in faults.found}
    return Checked(problems=tuple(problems[key] for key in sorted(problems)), workflow=workflow)


def _with_offered(workflow: Workflow) -> Workflow:
    """Return the workflow with a stand-in for each guard that only its plugin knows."""
    named = {name for phase in workflow.phases for name in phase.gate_1.guards} - workflow.guards.keys()
    offered = {name: Guard(name=name, condition=STAND_IN, remedy="") for name in sorted(named)}
    return replace(workflow, guards={**workflow.guards, **offered})


# --- whether there is anything to judge by


def _review_names(phase: Phase, workflow: Workflow, unprovided: Collection[str], faults: Reader) -> None:
    place = phase.gate_1.condition.source
    for name in sorted(wanted_names(workflow, phase)):
        if name in unprovided:
            problem = f"nothing measures {name}, which the gate of {phase.name} asks for"
            faults.report(place, problem, _provide(name))
        elif name in PIPELINE_METRICS and workflow.pipeline is None:
            problem = f"nothing measures {name} in {phase.name}: this workflow is no pipeline"
            faults.report(place, problem, "leave the name out, or say what the phases require")


def _review_checks(phase: Phase, commands: Collection[str], faults: Reader) -> None:
    for name in requires_of(phase).checks:
        if name not in commands:
            problem = f"nothing runs the check {name}, which {phase.name} requires"
            remedy = f"describe the command {name} under `evidence: commands:` in the settings"
            faults.report(name, problem, remedy)


def _provide(name: str) -> str:
    hook = "install or write the plugin whose pytest_phase_gate_metrics gives it"
    command = name.removesuffix("_ok")
    if command == name:
        return hook
    return f"describe the command {command} under `evidence: commands:` in the settings, or {hook}"


# --- what plugins can give to a workflow: metrics and guards


class Plugins:
    """The sources of a project, and of the pytest plugins that are installed beside us.

    Only texts are read: nothing is imported, so nothing of the project runs. What a plugin gives is known when it is
    asked, in a run; whether there is one at all, and whether it has ever heard of a name, is known before.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def find_unprovided(self, workflow: Workflow) -> frozenset[str]:
        """Return the names that the workflow says are measured, and that neither a command nor a plugin measures."""
        left = frozenset(workflow.metrics) - {command.metric for command in self._project.configuration.commands}
        return left if left and not self._with_metrics else frozenset()

    def offers_guard(self, name: str) -> bool:
        """Tell whether the name stands in a source that offers guards."""
        return any(name.encode() in text for text in self._with_guards)

    @cached_property
    def _with_metrics(self) -> list[bytes]:
        return self._find(b"pytest_phase_gate_metrics")

    @cached_property
    def _with_guards(self) -> list[bytes]:
        return self._find(b"pytest_phase_gate_guards")

    def _find(self, hook: bytes) -> list[bytes]:
        texts = map(_read, (*self._own_sources(), *_installed_sources()))
        return [text for text in texts if hook in text]

    def _own_sources(self) -> Iterator[Path]:
        root = self._project.root
        names = list_files(root, state_folder=self._project.state_folder, keep=lambda name: name.endswith(".py"))
        return (root / name for name in names)


def _installed_sources() -> Iterator[Path]:
    """Yield the sources of installed pytest plugins: of the whole package, for its parts import each other."""
    from importlib.metadata import entry_points

    packages = {point.module.partition(".")[0] for point in entry_points(group="pytest11")}
    for package in sorted(packages - {"phase_gate"}):
        found = PathFinder.find_spec(package)
        if found is None:
            continue
        if found.submodule_search_locations is None:
            yield Path(found.origin or "")
        for folder in found.submodule_search_locations or ():
            yield from sorted(Path(folder).rglob("*.py"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
