"""Call one command and print its result: the input and the result of every command.

Keep the imports here few: agents run `check`, `status` and `hook` at every step, and wait for them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from phase_gate import exit_codes
from phase_gate.cli._parser import find_topic, load_command, ours, parse, refuse_placeholders, with_command
from phase_gate.cli._streams import close_streams, open_streams, print_plain, print_rows, render_json, screen_width
from phase_gate.errors import PhaseGateError, UsageError, as_fault, require_cpython
from phase_gate.project import Project, who_am_i
from phase_gate.values import Value, field
from phase_gate.visible import show_line

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

    def person(self) -> Person:
        from phase_gate.gate.overrides import Person

        given = self.arguments
        return Person(by=given.by or "", reason=given.reason or "", is_at_terminal=self.interactive)


# --- the command can be installed alone: check for pytest and the plugin

#: Installs pytest, the plugin's entry point and this command.
INSTALL = "pip install pytest-phase-gate"


def require_plugin() -> None:
    """Raise UsageError if the command can't start pytest, or pytest would not load the plugin."""
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    if find_spec("pytest") is None:
        raise UsageError("pytest is not installed in this command's environment", remedy=INSTALL)
    if not entry_points(group="pytest11", name="phase_gate"):
        raise UsageError("the command is installed, the pytest plugin is not", remedy=INSTALL)


# --- one call


def dispatch(given: list[str]) -> int:
    """Run a command line, print the result and return its exit code."""
    open_streams()
    answer, options = _answer(given), ours(given)
    print_answer(answer, as_json="--json" in options, is_quiet="-q" in options)
    return close_streams(answer.code)


def _answer(given: list[str]) -> Done:
    try:
        require_cpython()
        return call_in(Path.cwd(), given, environment=dict(os.environ), interactive=_is_interactive())
    except KeyboardInterrupt:
        # Interrupted while a signal is being proven or a command runs: anything unrecorded stays unrecorded.
        text = "phase-gate: interrupted; phase-gate status shows what is recorded"
        return Done(text=text, document={"interrupted": True}, code=exit_codes.INTERRUPTED, is_error=True)
    except Exception as error:
        return _refuse(error)


def _refuse(error: Exception) -> Done:
    # A traceback would print ledger texts unescaped and end with an exit code that has another meaning.
    shown = as_fault(error, remedy="please report this line; phase-gate audit checks the state")
    return Done(
        code=shown.exit_code,
        document={"error": describe_error(shown)},
        text=f"phase-gate: {shown}",
        is_error=True,
    )


def describe_error(error: PhaseGateError) -> dict[str, str]:
    return {"slug": error.slug, "problem": error.problem, "remedy": error.remedy}


def call_in(start: Path, given: list[str], *, environment: Mapping[str, str], interactive: bool) -> Done:
    """Return the result of a command line typed in that folder. Raises the command's errors."""
    given = with_command(given)
    if given[0] == "--version":
        from phase_gate._version import __version__

        return Done(text=f"pytest-phase-gate {__version__}", document={"version": __version__})
    topic = find_topic(given)
    if topic is not None:
        from phase_gate.cli._help import render_help

        text = render_help(topic, screen_width() - 2)
        return Done(text=text, document={"help": text}, is_file=True)
    arguments = parse(given)
    refuse_placeholders(arguments.command, given)
    call = Call(arguments=arguments, start=start, environment=environment, interactive=interactive)
    answer: Done = load_command(arguments.command)(call)
    return answer


def print_answer(answer: Done, *, as_json: bool, is_quiet: bool) -> None:
    following = answer.next_command
    if as_json:
        if not answer.is_printed:
            document = {**answer.document, "next_command": following} if following else answer.document
            print_plain(render_json(document, indent=2))
        return
    if answer.text and (answer.is_error or not is_quiet):
        print_rows(answer.text.split("\n"), aside=answer.is_error, is_file=answer.is_file)
        if following:
            print_rows([f"  next: {show_line(following)}"], aside=answer.is_error)
    print_plain(*answer.orders)


def _is_interactive() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
