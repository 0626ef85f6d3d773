"""The input and the result of every command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from phase_gate.errors import UsageError
from phase_gate.project import Project, who_am_i
from phase_gate.values import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace
    from typing import Any

    from phase_gate.gate.overrides import Person
    from phase_gate.storage.store import TaskStore
    from phase_gate.task import Task

    #: The parsed command line.
    Arguments = SimpleNamespace


class Done(Value):
    """The result of a command, printed as text or as JSON."""

    text: str
    document: Mapping[str, Any] = field(default_factory=dict)
    #: The command to type next, shown below the text.
    next_command: str = ""
    code: int = 0
    is_error: bool = False
    #: The text is a file or a script to save, printed unchanged.
    is_file: bool = False
    #: Workflow commands for the CI system, printed unchanged below the text.
    orders: tuple[str, ...] = ()
    #: The document is already printed, line by line. Only the text for people remains.
    is_printed: bool = False


class Call(Value):
    """A command line and the folder it was typed in."""

    arguments: Arguments
    start: Path
    environment: Mapping[str, str]
    interactive: bool

    def project(self) -> Project:
        return Project.find(
            self.start, environment=self.environment, task=self.arguments.task, folder=self.arguments.dir
        )

    def store(self, project: Project) -> TaskStore:
        return project.store(f"phase-gate {self.arguments.command}")

    def task(self, project: Project | None = None) -> Task:
        """Open the command's task. Call this once and pass the result on."""
        from phase_gate.task import Task

        return Task.open(project or self.project(), command=f"phase-gate {self.arguments.command}")

    def by(self) -> str:
        return getattr(self.arguments, "by", None) or who_am_i(self.environment)

    def handed(self, root: Path, name: str) -> tuple[str, ...]:
        """Return the path from the root of a file given to the command, which is not part of the task's work.

        Empty if the file is outside the root.
        """
        from phase_gate.storage.root import relative_id

        path = "../" if name == "-" else relative_id(self.start / name, root)
        return () if path.startswith("../") else (path,)

    def author(self, document: str, signed: str) -> str:
        """Return a document's author: its signature, or else --by. Raises NotAllowedError if the two differ."""
        from phase_gate.identities import author_of

        return author_of(document, signed=signed, given=self.arguments.by) or self.by()

    def person(self) -> Person:
        from phase_gate.gate.overrides import Person

        given = self.arguments
        return Person(by=given.by or "", reason=given.reason or "", is_at_terminal=self.interactive)


# --- the command can be installed alone: check for pytest and the plugin

#: Installs pytest, the plugin's entry point and this command.
INSTALL = "pip install pytest-phase-gate"


def require_pytest() -> None:
    """Raise UsageError if the command can't start pytest."""
    from importlib.util import find_spec

    if find_spec("pytest") is None:
        raise UsageError("pytest is not installed in this command's environment", remedy=INSTALL)


def require_plugin() -> None:
    """Raise UsageError if the pytest that the command starts would not load the plugin."""
    require_pytest()
    from importlib.metadata import entry_points

    if not entry_points(group="pytest11", name="phase_gate"):
        raise UsageError("the command is installed, the pytest plugin is not", remedy=INSTALL)
