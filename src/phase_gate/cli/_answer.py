"""What every command gets and gives."""

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

    #: What a command line says.
    Arguments = SimpleNamespace


class Done(Value):
    """What a command did or found, printed as text or as JSON."""

    text: str
    document: Mapping[str, Any] = field(default_factory=dict)
    #: What to type now: shown below the text.
    next_command: str = ""
    code: int = 0
    is_error: bool = False
    #: The text is a file or a script to be kept: printed as it is.
    is_file: bool = False
    #: Lines below the text that the CI system is to obey: printed as they are.
    orders: tuple[str, ...] = ()
    #: The document was printed already, line by line: only the text is left to print, for people.
    is_printed: bool = False


class Call(Value):
    """A command line, and where it was typed."""

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
        """Open the task that the command is about: once, and hand it down."""
        from phase_gate.task import Task

        return Task.open(project or self.project(), command=f"phase-gate {self.arguments.command}")

    def by(self) -> str:
        return getattr(self.arguments, "by", None) or who_am_i(self.environment)

    def handed(self, root: Path, name: str) -> tuple[str, ...]:
        """Return a file that was given to the command, from the root, if it lies there: it is no work of the task."""
        from phase_gate.storage.root import relative_id

        path = "../" if name == "-" else relative_id(self.start / name, root)
        return () if path.startswith("../") else (path,)

    def author(self, document: str, signed: str) -> str:
        """Return who a document is from: as it is signed, or as --by says. Raises NotAllowedError for two names."""
        from phase_gate.names import author_of

        return author_of(document, signed=signed, given=self.arguments.by) or self.by()

    def person(self) -> Person:
        from phase_gate.gate.overrides import Person

        given = self.arguments
        return Person(by=given.by or "", reason=given.reason or "", is_at_terminal=self.interactive)


# --- the command is installed by itself, too: is pytest here, and does it find the plugin?

#: Brings pytest, the plugin's entry point and this command.
INSTALL = "pip install pytest-phase-gate"


def require_pytest() -> None:
    """Raise UsageError where the command can't start a pytest."""
    from importlib.util import find_spec

    if find_spec("pytest") is None:
        raise UsageError("pytest is not installed beside this command", remedy=INSTALL)


def require_plugin() -> None:
    """Raise UsageError where a pytest that the command starts does not know the plugin."""
    require_pytest()
    from importlib.metadata import entry_points

    if not entry_points(group="pytest11", name="phase_gate"):
        raise UsageError("the command is installed, the pytest plugin is not", remedy=INSTALL)
