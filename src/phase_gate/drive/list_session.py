"""What all tasks of a list share while it is driven: the project, executor and reviewer, and those who watch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from phase_gate.drive.agent_process import Tail
from phase_gate.drive.clients import Client
from phase_gate.errors import UsageError
from phase_gate.evidence.process.tree import MARK, PatientInterrupts
from phase_gate.project import Project
from phase_gate.storage.store import now
from phase_gate.values import Value, field, replace
from phase_gate.verification.board import TaskBoard, TaskSession
from phase_gate.verification.override import KINDS
from phase_gate.workflow.settings import DriveSettings

OWNER = "phase-gate verify drive"

#: What a person may decide about a task that waits for one; the document's three ways.
Way = Literal["retry", "skip", "investigate"]


class ListHappening(Value):
    """What a drive of a list tells while it goes on."""

    kind: str
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """One line of `phase-gate verify drive --json`."""
        return {"event": self.kind, "at": self.at, **self.data}


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
        #: Called several times a second while something goes on.
        self.tick: Callable[[], None] = lambda: None

    def board(self, task: str | None = None) -> TaskBoard:
        """Return all tasks as they are now."""
        return TaskBoard(self.project, wanted=task, owner=OWNER)

    def task(self, task: str) -> TaskSession:
        return self.board(task).session(task)

    def relative(self, path: Path) -> str:
        root = self.project.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def tell(self, kind: str, **data: Any) -> None:
        self.watchers.tell(ListHappening(kind=kind, at=now(), data=data))

    def note(self, task: str, text: str) -> None:
        self.tell("note", task=task, text=text)
