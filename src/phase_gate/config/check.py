"""Find the errors of a workflow file, not only the first one.

The reader that loads workflows collects them: all errors of form, or else all errors of meaning. A workflow without
errors is then searched for required names that nothing measures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.config.nodes import MAX_BYTES
from phase_gate.config.reading import Fault, Reader, UnreadableError
from phase_gate.config.workflow_parser import build_workflow
from phase_gate.config.yaml import read_documents
from phase_gate.errors import DocumentError, WorkflowError
from phase_gate.gate.measured import wanted_names
from phase_gate.values import Value
from phase_gate.workflow.metrics import PIPELINE_METRICS, MetricType
from phase_gate.workflow.model import Guard, Phase, Workflow, requires_of

if TYPE_CHECKING:
    from phase_gate.project import Project


#: More than a user fixes at once. The next check reports the rest.
MAX_FAULTS = 100

#: The names of our hooks, as plugins define them.
_METRICS, _GUARDS = b"pytest_phase_gate_metrics", b"pytest_phase_gate_guards"


class Checked(Value):
    """The errors of a file, sorted by line, and the workflow, as far as it could be read."""

    problems: tuple[Fault, ...]
    workflow: Workflow | None = None


def check_workflow(
    text: str | bytes,
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
    plugins: bytes | None = None,
    measured: Collection[str] = (),
    commands: Collection[str] | None = None,
) -> Checked:
    """Return all errors of a workflow file.

    :param name: the file name, for messages.
    :param guards: the guards that its phases may name.
    :param extra_metrics: metrics of plugins and commands, in addition to the built-in ones.
    :param plugins: the source code of plugins, which may offer more; None if it is unknown.
    :param measured: metrics that the project's commands provide.
    :param commands: commands that the project configures; None if the project is unknown.
    """
    syntax, faults = Reader(DocumentError, collects=True), Reader(WorkflowError, collects=True)
    workflow = None
    with suppress(UnreadableError):
        documents = read_documents(text, name=name, limit=MAX_BYTES, faults=syntax)
        workflow = build_workflow(
            documents,
            name=name,
            guards=guards,
            extra_metrics=extra_metrics,
            faults=faults,
            offers=None if plugins is None or _GUARDS not in plugins else lambda name: name.encode() in plugins,
        )
        is_known = plugins is not None and _METRICS not in plugins
        unprovided = workflow.metrics.keys() - measured if is_known else ()
        for phase in workflow.phases:
            _review_names(phase, workflow, unprovided, faults)
            if commands is not None:
                _review_checks(phase, commands, faults)
    problems = {(each.line, each.column, each.problem): each for each in (*syntax.found, *faults.found)}
    return Checked(problems=tuple(problems[key] for key in sorted(problems)[:MAX_FAULTS]), workflow=workflow)


# --- required metrics and checks that nothing provides


def _review_names(phase: Phase, workflow: Workflow, unprovided: Collection[str], faults: Reader) -> None:
    place = phase.gate_1.condition.source
    for name in sorted(wanted_names(workflow, phase)):
        if name in unprovided:
            problem = f"nothing measures {name}, which the gate of {phase.name} asks for"
            faults.report(place, problem, _provide(name))
        elif name in PIPELINE_METRICS and workflow.pipeline is None:
            problem = f"nothing measures {name} in {phase.name}: this workflow is not a pipeline"
            faults.report(place, problem, "remove the name, or add `requires:` to the phases")


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


# --- metrics and guards of plugins


def read_plugins(project: Project) -> bytes:
    """Return the source code that uses our hooks: of the project, and of installed pytest plugins.

    Files are only read, never imported, so no code of the project runs. The metrics and guards of a plugin are known
    only during a run. Its source shows beforehand whether a plugin exists, and whether it contains a name.
    """
    texts = map(_read, _sources(project))
    return b"\n".join(text for text in texts if b"pytest_phase_gate_" in text)


def _sources(project: Project) -> Iterator[Path]:
    from importlib.metadata import entry_points

    yield from (project.root / name for name in project.list_files(lambda name: name.endswith(".py")))
    for plugin in entry_points(group="pytest11"):
        if plugin.dist is None or plugin.dist.name == "phase-gate":
            continue
        for file in plugin.dist.files or ():
            if file.suffix == ".py":
                yield Path(str(file.locate()))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
