"""What every command gets and gives."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.project import Project, who_am_i
from phase_gate.values import Value, field

if TYPE_CHECKING:
    from phase_gate.storage.opening import Opened
    from phase_gate.storage.store import TaskStore


class Answer(Value):
    """One answer, printed as text or as JSON.

    Where it is long, the text is an iterator of rows, one line each, and values of the document are iterators of
    items: they are printed one by one, and never held all at once.
    """

    text: str | Iterator[str]
    document: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int = 0
    is_error: bool = False
    #: Lines below the text that the CI system is to obey: printed as they are.
    orders: tuple[str, ...] = ()


class Call(Value):
    """A command line, and where it was typed."""

    arguments: argparse.Namespace
    start: Path
    environment: Mapping[str, str]
    interactive: bool

    def project(self) -> Project:
        return Project.find(
            self.start, environment=self.environment, task=self.arguments.task, folder=self.arguments.dir
        )

    def store(self, project: Project) -> TaskStore:
        return project.store(f"phase-gate {self.arguments.command}")

    def by(self) -> str:
        return getattr(self.arguments, "by", None) or who_am_i(self.environment)

    def author(self, paper: str, signed: str) -> str:
        """Return who a paper is from: as it is signed, or as --by says. Raises NotAllowedError for two names.

        Else one could sign by the name that is allowed to, and hand in by the other.
        """
        from phase_gate.names import same_name

        given = self.arguments.by
        if given and signed and not same_name(given, signed):
            raise NotAllowedError(
                f"{paper} is signed by {signed}, and --by says {given}",
                remedy=f"leave --by out if it is {signed}'s; else let {given} write it",
            )
        return given or signed or self.by()

    def require_person(self, project: Project, opened: Opened, what: str, *, always: bool = False) -> None:
        """Refuse an override that nobody at a terminal asks for.

        :param always: whatever the state says about scripts: it is not to be believed.
        """
        if not (self.arguments.reason or "").strip():
            raise UsageError(f"{what} needs a reason", remedy='add --reason "..."')
        if not (self.arguments.by or "").strip():
            raise UsageError(f"{what} needs a name", remedy="add --by NAME")
        if not self.interactive and (always or not opened.state.allow_non_interactive):
            raise NotAllowedError(
                f"{what} is for a person at a terminal",
                remedy="type it yourself at a terminal"
                if always
                else "type it yourself; scripts may only do it where overrides.allow_non_interactive"
                " stood in phase-gate.yaml when the cycle began",
            )


def refuse_excuse(reason: str) -> None:
    """Refuse words that give no reason."""
    from phase_gate.gate.overrides import is_excuse

    if is_excuse(reason):
        raise NotAllowedError(
            f"{reason.strip()!r} is no reason to override what was measured",
            remedy="say what is known that the gate can't see",
        )


def refuse_while_running(store: TaskStore, opened: Opened) -> None:
    """Refuse to speak about a run that has not ended."""
    lost = store.lost_runs(opened.state)
    alive = [run for run in opened.state.open_runs if run.id not in lost and not run.nested]
    if alive:
        raise NotAllowedError(
            f"run {alive[0].id[:8]} is going on since {alive[0].at}", remedy="wait for it to end, then try again"
        )


def require_task(project: Project, store: TaskStore, *, verification: bool = False) -> None:
    """Refuse to change a task that does not exist yet. Looks first: a refused command writes nothing.

    :param verification: whether a task of the verification gate will do; its steps are those of `verify`.
    """
    state = store.look().state
    if state.phase is None:
        raise NotAllowedError(f"task {project.task} has no run yet", remedy=project.begin_command)
    if state.verification is not None and not verification:
        raise NotAllowedError(
            f"{project.task} is a task of the verification gate: executor, verify command and reviewer decide about it",
            remedy=f"phase-gate verify status --task {project.task}",
        )
