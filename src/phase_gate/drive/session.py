"""What a whole drive shares: the project, the settings, those who watch, and the user's wish to end it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from phase_gate.agents.endings import describe_event
from phase_gate.evidence.process.output import hidden_in
from phase_gate.evidence.process.tree import PatientInterrupts
from phase_gate.project import Project
from phase_gate.storage import store
from phase_gate.task import Task
from phase_gate.values import Value, field, replace
from phase_gate.workflow.settings import DriveSettings

OWNER = "phase-gate drive"

#: Lines of an agent's output that a view is given.
_SHOWN = 8
#: Bytes of a command's output that a view may show: an event takes some thousands.
_TAIL = 1 << 16
#: Seconds: no client is busy for longer than it is worth to ask again.
_LONGEST_WAIT = 600.0
_PAUSE = 0.1

Kind = Literal[
    "drive-started",
    "iteration-started",
    "step-started",
    "agent-ended",
    "tests-ended",
    "claim-weighed",
    "answer",
    "waits",
    "iteration-ended",
    "step-ended",
    "task-ended",
    "committed",
    "person-needed",
    "decided",
    "note",
    "drive-ended",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Happening(Value):
    """What a drive tells while it goes on: a view shows it, and `--json` prints it."""

    kind: Kind
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """One line of `phase-gate drive --json`."""
        return {"event": self.kind, "at": self.at, **self.data}


class Working(Value):
    """Who is at work right now, several times a second."""

    #: `agent`, `tests`, `executor`, `verify`, `reviewer`, a voter's name, or `waits`.
    role: str
    #: The phase, or the task.
    where: str
    #: Of the iteration, or the attempt.
    number: int
    limit: float = 0.0
    seconds: float = 0.0
    #: Seconds that the drive has taken before.
    spent: float = 0.0
    lines: tuple[str, ...] = ()
    is_ending: bool = False


class Question(Value):
    """What a person is asked at a terminal."""

    text: str
    #: What may be typed, in rows.
    ways: tuple[str, ...]
    #: What stands in front of the answer.
    prompt: str


class Tail:
    """The end of what a command prints, for a view: written to like a file."""

    def __init__(self) -> None:
        self._data = b""

    def write(self, data: bytes) -> int:
        self._data += data
        if len(self._data) > _TAIL:
            # From the beginning of a line: half an event is no line that anyone could read.
            self._data = self._data[-_TAIL:].partition(b"\n")[2] or self._data[-_TAIL:]
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def clear(self) -> None:
        """Forget it: another command begins."""
        self._data = b""

    def lines(self, most: int) -> list[str]:
        """Return the last lines that say something; of events, what they tell."""
        rows = self._data.decode("utf-8", "replace").replace("\r", "\n").splitlines()
        shown: list[str] = []
        for row in reversed(rows):
            told = describe_event(row)
            text = row.rstrip() if told is None else told
            shown += [text] if text.strip() else []
            if len(shown) == most:
                break
        return shown[::-1]


class Watchers(Value):
    """Those who are told, and the one who is asked."""

    tell: Callable[[Happening], None]
    progress: Callable[[Working], None] = lambda working: None
    #: Returns what a person types; empty: no answer. Without it no person is there.
    ask: Callable[[Question], str] | None = None


class Session:
    """A drive while it goes on. What came of it stands in the ledger; this has what dies with the process."""

    def __init__(self, project: Project, settings: DriveSettings, watchers: Watchers, *, goal: str = "") -> None:
        self.project, self.settings, self.watchers, self.goal = project, settings, watchers, goal
        self.interrupts = PatientInterrupts()
        self.tail = Tail()
        #: Turns in a row for which the client was not free.
        self.waits = 0
        self._has_told_end = False

    @property
    def hidden(self) -> tuple[bytes, ...]:
        return hidden_in(self.project.environment)

    @property
    def is_asked_to_end(self) -> bool:
        """The user wants it to end when that does no harm."""
        return self.interrupts.is_asked_to_end

    def is_cut_off(self) -> bool:
        """The user wants it to end at once."""
        return bool(self.interrupts.number)

    def task(self) -> Task:
        return Task.open(self.project, command=OWNER)

    def relative(self, path: Path) -> str:
        root = self.project.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)

    def tell(self, kind: Kind, **data: Any) -> None:
        self.watchers.tell(Happening(kind=kind, at=store.now(), data=data))

    def note(self, text: str) -> None:
        self.tell("note", text=text)

    def show(self, working: Working, seconds: float) -> None:
        """Show who is at work; tell the user once that the first Ctrl-C was heard."""
        if self.is_asked_to_end and not self._has_told_end:
            self._has_told_end = True
            self.note("ends when this is done; Ctrl-C again ends it at once")
        lines = () if working.role == "waits" else tuple(self.tail.lines(_SHOWN))
        spent = working.spent + seconds
        self.watchers.progress(
            replace(working, seconds=seconds, spent=spent, lines=lines, is_ending=self.is_asked_to_end)
        )

    def wait_for_client(self, working: Working, left: float) -> float:
        """Wait for a client that is busy, longer each time in a row; return the seconds that it took.

        :param left: seconds of the budget.
        """
        seconds = self.settings.retry_wait * (1 << min(self.waits, 10))
        self.waits += 1
        return self.wait(working, max(0.0, min(seconds, _LONGEST_WAIT, left)), "the client is busy")

    def wait(self, working: Working, seconds: float, why: str) -> float:
        """Wait by the clock of the ledger, as long as the user allows; return the seconds that it took."""
        from phase_gate.tasks.rules import seconds_between

        self.tell("waits", where=working.where, number=working.number, seconds=round(seconds, 1), reason=why)
        began, waits = store.now(), replace(working, role="waits", limit=seconds)
        # A little longer: the rules must not see the last millisecond of it.
        while (left := seconds + 0.01 - seconds_between(began, store.now())) > 0 and not self.is_asked_to_end:
            self.show(waits, max(0.0, seconds - left))
            pause(min(_PAUSE, left))
        return round(seconds_between(began, store.now()), 3)

    def ask(self, question: Question) -> str:
        """Return what a person types; empty: no person is there, none answers, or the user ends it."""
        if self.watchers.ask is None or self.is_asked_to_end:
            return ""
        return self.watchers.ask(question)


def pause(seconds: float) -> None:
    """Wait a moment; a test lets its own clock go on instead."""
    time.sleep(seconds)
