"""Find the errors of a workflow file, not only the first one.

The reader that loads workflows collects them: all errors of form, or else all errors of meaning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.config.documents import read_documents
from phase_gate.config.nodes import MAX_BYTES
from phase_gate.config.reading import Fault, Reader, UnreadableError
from phase_gate.config.workflow_parser import build_workflow
from phase_gate.errors import DocumentError, WorkflowError
from phase_gate.values import Value
from phase_gate.workflow.metrics import MetricType
from phase_gate.workflow.model import Guard, Workflow, requires_of

if TYPE_CHECKING:
    from phase_gate.project import Project

#: More than a user fixes at once. The next check reports the rest.
MAX_FAULTS = 100


class Checked(Value):
    """The errors of a file, sorted by line, and the workflow, if it could be read."""

    problems: tuple[Fault, ...]
    workflow: Workflow | None = None


def check_workflow(
    text: str | bytes,
    *,
    name: str,
    guards: Mapping[str, Guard],
    extra_metrics: Mapping[str, MetricType] = {},
    plugins: bytes = b"",
    commands: Collection[str] | None = None,
) -> Checked:
    """Return all errors of a workflow file.

    :param name: the file name, for messages.
    :param guards: the guards that its phases may name.
    :param extra_metrics: metrics of plugins and commands, in addition to the built-in ones.
    :param plugins: the source code of plugins that offer guards.
    :param commands: commands that the project configures; None if the project is unknown.
    """
    syntax, faults = Reader(DocumentError, collects=True), Reader(WorkflowError, collects=True)
    workflow = None
    with suppress(UnreadableError):
        workflow = build_workflow(
            read_documents(text, name=name, limit=MAX_BYTES, faults=syntax),
            name=name,
            guards=guards,
            extra_metrics=extra_metrics,
            faults=faults,
            offers=lambda guard: guard.encode() in plugins,
        )
        for phase in workflow.phases:
            for check in requires_of(phase).checks:
                if commands is not None and check not in commands:
                    problem = f"nothing runs the check {check}, which {phase.name} requires"
                    remedy = f"describe the command {check} under `evidence: commands:` in the settings"
                    faults.report(check, problem, remedy)
    problems = {(each.line, each.column, each.problem): each for each in (*syntax.found, *faults.found)}
    return Checked(problems=tuple(problems[key] for key in sorted(problems)[:MAX_FAULTS]), workflow=workflow)


# --- guards of plugins


def read_plugins(project: Project) -> bytes:
    """Return the source code that offers guards: of the project, and of installed pytest plugins.

    Files are only read, never imported, so no code of the project runs. The guards of a plugin are known only during a
    run, but its source shows beforehand whether it contains a name.
    """
    texts = map(_read, _sources(project))
    return b"\n".join(text for text in texts if b"pytest_phase_gate_guards" in text)


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
