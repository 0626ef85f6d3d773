"""What a user sees of a drive: lines for each happening, and the rows of the live view. Pure.

What an agent prints is made visible first: it can neither move the cursor nor pass for a row of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from phase_gate.agents.endings import describe_event
from phase_gate.values import Value, field, replace
from phase_gate.visible import count, show_line, show_rows
from phase_gate.workflow.names import show_duration

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

#: Bytes of a command's output that a view may show: an event takes some thousands.
_TAIL = 1 << 16


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


# --- lines that stay


_Data = Mapping[str, Any]

_DOING = {"tests": "tests run", "verify": "verify command runs", "waits": "waits"}
#: Statuses of a verify task that are worth a line; while it goes on, the next line says what follows.
_SAID = frozenset({"APPROVED", "FAILED", "REJECTED", "BLOCKED"})


def render_lines(happening: Happening) -> str:
    """Return a happening as lines for people; empty where there is nothing to say."""
    write = _LINES.get(happening.kind)
    return "" if write is None else show_rows(filter(None, write(happening.data)))


def _started(data: _Data) -> tuple[str, ...]:
    if "tasks" in data:
        rows = (f"  {role:<9} {' '.join(words)}" for role, words in data["agents"].items())
        return (f"drive begins: {count(len(data['tasks']), 'task')}", *rows)
    budget = f"at most {count(data['iterations'], 'iteration')}, {show_duration(data['seconds'])}"
    spent = f"; spent: {count(data['done'], 'iteration')}, {show_duration(data['spent'])}" if data["resumed"] else ""
    verb = "resumes" if data["resumed"] else "begins"
    return (f"drive {verb}: {' '.join(data['agents']['agent'])} ({budget}; signal: {data['signal']}{spent})",)


def _agent(data: _Data) -> tuple[str, ...]:
    took = f"{data['text']} after {show_duration(data['seconds'])}"
    if data["role"] in ("executor", "reviewer"):
        went_well = data["how"] == "ended" and data["code"] == 0
        return () if went_well else (f"{data['where']}: {took}: {data['transcript']}",)
    return (f"  agent    {took} ({data['transcript']})",)


def _tests(data: _Data) -> tuple[str, ...]:
    if data["how"] != "ended":
        return (f"  tests    {data['how']} after {show_duration(data['seconds'])} ({data['log']})",)
    return (f"  tests    {data['reason']} ({show_duration(data['seconds'])})",)


def _step(data: _Data) -> tuple[str, ...]:
    if data["status"] in _SAID:
        return (f"{data['task']}: attempt {data['attempt']}: {data['status']}: {data['reason']}",)
    return (f"{data['task']}: attempt {data['attempt']}: {data['reason']}",) if data["failed"] else ()


def _ended(data: _Data) -> tuple[str, ...]:
    took = show_duration(data["seconds"])
    if "tasks" in data:
        spent = f"{data['done']} of {count(len(data['tasks']), 'task')} finished, {took}"
    else:
        spent = f"{count(data['iterations'], 'iteration')}, {took}"
    return (f"drive ends: {data['outcome']}: {data['reason']} ({spent})",)


_LINES: Mapping[str, Callable[[_Data], tuple[str, ...]]] = {
    "drive-started": _started,
    "iteration-started": lambda data: (f"iteration {data['number']}: {data['phase']}",),
    "step-started": lambda data: (f"{data['task']}: attempt {data['attempt']}: {data['step']}",),
    "agent-ended": _agent,
    "tests-ended": _tests,
    "claim-weighed": lambda data: (f"  claim    {data['outcome']}: {data['reason']}",),
    "answer": lambda data: (f"  signal   {data['answer']}: {data['reason']}",),
    "waits": lambda data: (f"  waits    {show_duration(data['seconds'])}: {data['reason']}",),
    "iteration-ended": lambda data: (f"  verdict  {data['reason']}" if data["outcome"] == "go-on" else "",),
    "step-ended": _step,
    "task-ended": lambda data: (f"{data['task']}: waits for {data['reason']}" if data["outcome"] == "go-on" else "",),
    "committed": lambda data: (f"{data['task']}: committed as {data['commit'][:10]}",),
    "person-needed": lambda data: (f"{data['task']}: waits for a person: {data['reason']}" if "task" in data else "",),
    "decided": lambda data: (f"{data['task']}: {data['way']} by {data['by']}: {data['reason']}",),
    "note": lambda data: (f"  note     {data['text']}",),
    "drive-ended": _ended,
}


class Board(Value):
    """What the live view shows beside what goes on right now."""

    #: The phase or the task that the rows speak of.
    where: str = ""
    #: What each role came to there, in the order of the first time.
    roles: Mapping[str, str] = field(default_factory=dict)
    #: Of the budget.
    seconds: float = 0.0
    iterations: int = 0
    #: Of a list.
    tasks: int = 0
    done: int = 0
    giver: str = ""

    def after(self, happening: Happening) -> Board:
        """Return the board after a happening."""
        kind, data = happening.kind, happening.data
        if kind == "drive-started":
            return replace(
                self,
                seconds=data["seconds"],
                iterations=data.get("iterations", 0),
                tasks=len(data.get("tasks", ())),
                done=data["done"],
                giver={"ask": "a person", "agent": "the agent"}.get(data.get("signal", ""), ""),
            )
        if kind in ("iteration-started", "step-started"):
            where = data["phase"] if kind == "iteration-started" else data["task"]
            board = self if where == self.where else replace(self, where=where, roles={})
            return board.says("Gate 2", f"absent: {self.giver} gives the signal") if self.giver else board
        if kind == "tests-ended":
            is_open = data["status"] in ("waiting", "open")
            return self.says("Gate 1", f"{'open' if is_open else 'closed'}: {data['reason']}")
        if kind == "answer":
            return self.says("Gate 2", f"{data['answer']}: {data['reason']}")
        if kind == "agent-ended":
            return self.says(data["role"], f"{data['text']} after {show_duration(data['seconds'])}")
        if kind == "step-ended":
            return self.says("gate", f"{data['status']}: {data['reason']}")
        if kind == "task-ended":
            return replace(self, done=self.done + (data["outcome"] == "done"))
        return self

    def says(self, role: str, text: str) -> Board:
        return replace(self, roles={**self.roles, role: text})


def render_screen(board: Board, working: Working, *, width: int, rows: int = 12) -> list[str]:
    """Return the rows of the live view, each no wider than the screen: a status line for each role."""
    number = f"attempt {working.number}" if board.tasks else f"iteration {working.number} of {board.iterations}"
    parts = [f"{board.done} of {count(board.tasks, 'task')} finished"] if board.tasks else []
    parts += [working.where, number, f"{show_duration(working.spent)} of {show_duration(board.seconds)}"]
    doing = _DOING.get(working.role, f"{working.role} works")
    limit = f" of {show_duration(working.limit)}" if working.limit else ""
    roles = [f"{role:<8} {text}" for role, text in board.roles.items() if role != working.role]
    end = "ends when this is done; Ctrl-C again: at once" if working.is_ending else "Ctrl-C: ends when this is done"
    room = max(0, rows - 3)
    roles = roles[max(0, len(roles) - room) :]
    lines = [f"  | {line}" for line in working.lines]
    shown = [
        " · ".join(("phase gate drive", *parts)),
        *roles,
        f"{doing}  {show_duration(working.seconds)}{limit}",
        *lines[max(0, len(lines) - room + len(roles)) :],
        end,
    ]
    return [cut_row(show_line(row), width) for row in shown]


def cut_row(text: str, width: int) -> str:
    """Return a row no wider than the screen."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"
