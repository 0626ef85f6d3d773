"""What a user sees of a drive: a line for each happening, and the rows of the live view. Pure.

What an agent prints is made visible first: it can neither move the cursor nor pass for a row of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.drive.happenings import Happening, Progress
from phase_gate.values import Value, replace
from phase_gate.visible import count, show_line
from phase_gate.workflow.names import show_duration

_DOING = {"agent": "agent works", "tests": "tests run", "waits": "client is busy: waits"}


def render_line(happening: Happening) -> str:
    """Return a happening as one line for people; empty where there is nothing to say."""
    write = _LINES.get(happening.kind)
    return "" if write is None else show_line(write(happening.data))


def _started(data: Mapping[str, Any]) -> str:
    budget = f"at most {count(data['iterations'], 'iteration')}, {show_duration(data['seconds'])}"
    spent = f"; spent: {count(data['done'], 'iteration')}, {show_duration(data['spent'])}" if data["resumed"] else ""
    verb = "resumes" if data["resumed"] else "begins"
    return f"drive {verb}: {' '.join(data['agent'])} ({budget}; signal: {data['signal']}{spent})"


def _agent(data: Mapping[str, Any]) -> str:
    return f"  agent    {data['text']} after {show_duration(data['seconds'])} ({data['transcript']})"


def _tests(data: Mapping[str, Any]) -> str:
    if data["how"] != "ended":
        return f"  tests    {data['how']} after {show_duration(data['seconds'])} ({data['log']})"
    return f"  tests    {data['reason']} ({show_duration(data['seconds'])})"


def _ended(data: Mapping[str, Any]) -> str:
    spent = f"{count(data['iterations'], 'iteration')}, {show_duration(data['seconds'])}"
    return f"drive ends: {data['outcome']}: {data['reason']} ({spent})"


_LINES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "drive-started": _started,
    "iteration-started": lambda data: f"iteration {data['number']}: {data['phase']}",
    "agent-ended": _agent,
    "tests-ended": _tests,
    "claim-weighed": lambda data: f"  claim    {data['outcome']}: {data['reason']}",
    "answer": lambda data: f"  signal   {data['answer']}: {data['reason']}",
    "waits": lambda data: f"  waits    {show_duration(data['seconds'])}: the client is busy",
    "iteration-ended": lambda data: f"  verdict  {data['reason']}" if data["outcome"] == "go-on" else "",
    "note": lambda data: f"  note     {data['text']}",
    "drive-ended": _ended,
}


class Board(Value):
    """What the live view shows beside what goes on right now."""

    agent: str = ""
    iterations: int = 0
    seconds: float = 0.0
    gate_1: str = "not measured yet"
    reason: str = ""
    #: Who gives the signal, and what was answered in this iteration.
    giver: str = "a person"
    gate_2: str = ""

    def after(self, happening: Happening) -> Board:
        """Return the board after a happening."""
        data = happening.data
        if happening.kind == "drive-started":
            return replace(
                self,
                agent=" ".join(data["agent"]),
                iterations=data["iterations"],
                seconds=data["seconds"],
                giver="a person" if data["signal"] == "ask" else "the agent",
            )
        if happening.kind == "iteration-started":
            return replace(self, gate_2="")
        if happening.kind == "answer":
            return replace(self, gate_2=data["answer"])
        if happening.kind == "tests-ended":
            is_open = data["status"] in ("waiting", "open")
            return replace(self, gate_1="open" if is_open else "closed", reason=data["reason"])
        return self


def render_screen(board: Board, progress: Progress, *, width: int, rows: int = 12) -> list[str]:
    """Return the rows of the live view, each no wider than the screen."""
    where = f"{progress.phase} · " if progress.phase else ""
    head = f"phase gate drive · {where}iteration {progress.number} of {board.iterations}"
    spent = f"{show_duration(progress.spent)} of {show_duration(board.seconds)}"
    doing = f"{_DOING[progress.doing]}  {show_duration(progress.seconds)} of {show_duration(progress.limit)}"
    keys = (
        "ends after this iteration; Ctrl-C again: at once"
        if progress.is_ending
        else "Ctrl-C: ends after this iteration"
    )
    title = f"{head} · {spent}"
    shown = [
        title,
        f"Gate 1  {board.gate_1}" + (f": {board.reason}" if board.reason else ""),
        f"Gate 2  {board.gate_2 or f'absent: {board.giver} gives the signal'}",
        f"{doing}  ({board.agent})" if progress.doing == "agent" else doing,
        *(f"  | {line}" for line in progress.lines[max(0, len(progress.lines) - rows + 5) :]),
        keys,
    ]
    return [cut_row(show_line(row), width) for row in shown]


def cut_row(text: str, width: int) -> str:
    """Return a row no wider than the screen."""
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"
