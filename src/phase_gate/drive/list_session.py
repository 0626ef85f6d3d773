"""What all tasks of a list share while it is driven: the project, executor and reviewer, and those who watch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from phase_gate.drive.agent_process import Tail
from phase_gate.drive.clients import Client
from phase_gate.errors import UsageError
from phase_gate.evidence.process.tree import MARK, PatientInterrupts
from phase_gate.project import Project
from phase_gate.storage.store import now
from phase_gate.tasks.board import TaskBoard, TaskSession
from phase_gate.tasks.overrides import KINDS
from phase_gate.values import Value, field, replace
from phase_gate.workflow.settings import DriveSettings

OWNER = "phase-gate verify drive"

#: Lines of an agent's output that a view is given.
_SHOWN = 5

#: What a person may decide about a task that waits for one; the document's three ways.
Way = Literal["retry", "skip", "investigate"]


ListKind = Literal[
    "list-started",
    "step-started",
    "agent-ended",
    "step-ended",
    "waits",
    "task-ended",
    "committed",
    "person-needed",
    "investigated",
    "decided",
    "note",
    "list-ended",
]
LIST_KINDS: tuple[ListKind, ...] = get_args(ListKind)


class ListHappening(Value):
    """What a drive of a list tells while it goes on."""

    kind: ListKind
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """One line of `phase-gate verify drive --json`."""
        return {"event": self.kind, "at": self.at, **self.data}


class Working(Value):
    """Who is at work on a task right now, several times a second."""

    task: str
    #: `executor`, `verify`, `reviewer` or `waits`.
    step: str
    attempt: int = 0
    #: Of what goes on.
    seconds: float = 0.0
    limit: float = 0.0
    lines: tuple[str, ...] = ()
    is_ending: bool = False


class Escalated(Value):
    """What a person is asked at a terminal."""

    task: str
    reason: str
    kinds: tuple[str, ...] = tuple(KINDS)


class Choice(Value):
    """What a person decides."""

    way: Way
    reason: str = ""
    #: Of a skip.
    kind: str = ""
    by: str = ""


class ListWatchers(Value):
    tell: Callable[[ListHappening], None]
    progress: Callable[[Working], None] = lambda working: None
    #: Returns what a person decides; None: no answer. Without it no person is there.
    ask: Callable[[Escalated], Choice | None] | None = None


class Team(Value):
    """Executor and reviewer: two commands, never one."""

    executor: Client
    reviewer: Client

    def names(self) -> tuple[str, str]:
        """Return by which names they report and review."""
        return f"{self.executor.name} (executor)", f"{self.reviewer.name} (reviewer)"


def make_team(executor: Client, reviewer: Client) -> Team:
    """Return the two. Raises UsageError where they are one and the same command."""
    if executor.words == reviewer.words:
        raise UsageError(
            f"executor and reviewer are the same command: {executor.shown}",
            remedy='let another one review: phase-gate verify drive --reviewer "...", or drive.reviewer in'
            " phase-gate.yaml",
        )
    return Team(executor=executor, reviewer=reviewer)


class ListSession:
    """A drive of a list while it goes on. What came of it stands in the ledgers; this dies with the process."""

    def __init__(
        self,
        project: Project,
        team: Team,
        settings: DriveSettings,
        watchers: ListWatchers,
        *,
        interrupts: PatientInterrupts | None = None,
    ) -> None:
        self.mark = hashlib.sha256(os.fsencode(os.path.realpath(project.state_folder))).hexdigest()[:32]
        marks = ":".join(filter(None, (project.environment.get(MARK), self.mark)))
        self.project = replace(project, environment={**project.environment, MARK: marks})
        self.team, self.settings, self.watchers = team, settings, watchers
        self.interrupts = PatientInterrupts() if interrupts is None else interrupts
        self.tail = Tail()
        #: Steps in a row for which a client was not free.
        self.waits = 0
        #: The user was told that the first Ctrl-C was heard.
        self.has_told_end = False

    def board(self, task: str | None = None) -> TaskBoard:
        """Return all tasks as they are now."""
        return TaskBoard(self.project, wanted=task, owner=OWNER)

    def task(self, task: str) -> TaskSession:
        return self.board(task).session(task)

    def relative(self, path: Path) -> str:
        root = self.project.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def show(self, task: str, step: str, attempt: int, seconds: float, limit: float) -> None:
        """Show who is at work."""
        self._hear_user()
        lines = () if step == "waits" else tuple(self.tail.lines(_SHOWN))
        is_ending = self.interrupts.is_asked_to_end
        self.watchers.progress(
            Working(
                task=task,
                step=step,
                attempt=attempt,
                seconds=seconds,
                limit=limit,
                lines=lines,
                is_ending=is_ending,
            )
        )

    def _hear_user(self) -> None:
        """Tell the user once that the first Ctrl-C was heard."""
        if self.interrupts.is_asked_to_end and not self.has_told_end:
            self.has_told_end = True
            self.note("", "ends after the step that is at work; Ctrl-C again ends it at once")

    def tell(self, kind: ListKind, **data: Any) -> None:
        self.watchers.tell(ListHappening(kind=kind, at=now(), data=data))

    def note(self, task: str, text: str) -> None:
        self.tell("note", task=task, text=text)
