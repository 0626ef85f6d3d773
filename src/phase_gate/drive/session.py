"""What all iterations of a drive share: the project, the agent, the settings, and those who watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.drive.agent_process import Tail
from phase_gate.drive.happenings import Happening, Kind, Progress
from phase_gate.drive.model import DriveState, find_drive
from phase_gate.drive.roles import Roles
from phase_gate.evidence.process.output import hidden_in
from phase_gate.evidence.process.tree import PatientInterrupts
from phase_gate.gate.signals import Signal
from phase_gate.project import Project
from phase_gate.storage.store import now
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.settings import DriveSettings


class Question(Value):
    """What a person is asked at a terminal."""

    phase: str
    task: str
    reason: str


class Watchers(Value):
    """Those who are told, and the one who is asked."""

    tell: Callable[[Happening], None]
    progress: Callable[[Progress], None] = lambda progress: None
    #: Returns the person's signal; None: no answer, so the drive ends and waits. Without it no person is there.
    ask: Callable[[Question], Signal | None] | None = None
    #: Returns what a person says where a pipeline is stuck; None: no answer.
    guide: Callable[[Question], str | None] | None = None


class DriveSession:
    """A drive while it goes on. Its state is in the ledger; this has what dies with the process."""

    def __init__(self, project: Project, roles: Roles, settings: DriveSettings, goal: str, watchers: Watchers) -> None:
        self.project, self.roles, self.settings, self.goal = project, roles, settings, goal
        #: Who works in the present phase.
        self.client = roles.usual
        self.watchers = watchers
        self.interrupts = PatientInterrupts()
        self.tail = Tail()
        #: What there is to say to the agent in its next prompt.
        self.notes: tuple[str, ...] = ()
        #: The user was told that the first Ctrl-C was heard.
        self.has_told_end = False
        #: What a person was called for last: once is enough.
        self.called_for = ""
        #: The run that we made last; another one in the state is not ours.
        self.last_run: str | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """The user's own, all of it."""
        return self.project.environment

    @property
    def hidden(self) -> tuple[bytes, ...]:
        return hidden_in(self.environment)

    def is_cut_off(self) -> bool:
        """Tell whether the user wants it to end at once."""
        return bool(self.interrupts.number)

    def task(self) -> Task:
        return Task.open(self.project, command="phase-gate drive")

    def drive(self, task: Task) -> DriveState:
        drive = find_drive(task.state)
        assert drive is not None, "it was started"
        return drive

    def file(self, drive: str, number: int, name: str) -> Path:
        """Return a file of an iteration: each drive has a folder of its own."""
        return self.project.store("phase-gate drive").drive_folder / drive / f"{number:04}.{name}"

    def relative(self, path: Path) -> str:
        root = self.project.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def show_votes(self, seconds: float, limit: float, number: int) -> None:
        """Show that voters are at work."""
        is_ending = self.interrupts.is_asked_to_end
        progress = Progress(
            doing="agent", phase="votes", number=number, seconds=seconds, limit=limit, spent=0.0, is_ending=is_ending
        )
        self.watchers.progress(progress)

    def tell(self, kind: Kind, **data: Any) -> None:
        self.watchers.tell(Happening(kind=kind, at=now(), data=data))

    def note(self, text: str) -> None:
        self.tell("note", text=text)
