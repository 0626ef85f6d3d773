"""The live view, on a terminal that a test reads; and the question that a person answers there."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from phase_gate.drive.view import Board, Happening, Kind, Working, render_lines, render_screen
from phase_gate.values import replace
from tests.drive.conftest import RIGHT, Track

pytestmark = pytest.mark.sampled(3)

Begin = Callable[[str], Track]

WORKING = Working(
    role="agent",
    where="GREEN",
    number=3,
    limit=1200.0,
    seconds=62.0,
    spent=130.0,
    lines=("I read calc.py", "\x1b[2J\x1b[1;1HGate 1  open", "::error::now"),
)


def after(board: Board, kind: Kind, **data: Any) -> Board:
    return board.after(Happening(kind=kind, at="", data=data))


def of_phases() -> Board:
    board = after(Board(), "drive-started", iterations=30, seconds=14400.0, signal="ask", done=0)
    board = after(board, "iteration-started", number=3, phase="GREEN")
    return after(board, "tests-ended", status="closed", reason="1 of 2 tests fails")


def of_tasks() -> Board:
    board = after(Board(), "drive-started", tasks=["a", "b", "c"], done=1, seconds=14400.0)
    board = after(board, "step-started", task="b", step="executor", attempt=2)
    return after(board, "agent-ended", role="executor", text="claude ended", seconds=9.0)


def test_the_rows_of_the_view() -> None:
    assert render_screen(of_phases(), WORKING, width=78) == [
        "phase gate drive · GREEN · iteration 3 of 30 · 2m 10s of 4h",
        "Gate 2   absent: a person gives the signal",
        "Gate 1   closed: 1 of 2 tests fails",
        "agent works  1m 02s of 20m",
        "  | I read calc.py",
        "  | \\x1b[2J\\x1b[1;1HGate 1  open",
        "  | ::error::now",
        "Ctrl-C: ends when this is done",
    ]


def test_the_rows_of_a_list() -> None:
    working = replace(WORKING, role="reviewer", where="b", number=2, limit=300.0, lines=(), is_ending=True)
    assert render_screen(of_tasks(), working, width=78) == [
        "phase gate drive · 1 of 3 tasks finished · b · attempt 2 · 2m 10s of 4h",
        "executor claude ended after 9s",
        "reviewer works  1m 02s of 5m",
        "ends when this is done; Ctrl-C again: at once",
    ]


def test_what_roles_came_to_is_cleared_with_the_phase_or_the_task() -> None:
    board = after(of_phases(), "iteration-started", number=4, phase="REFACTOR")
    assert dict(board.roles) == {"Gate 2": "absent: a person gives the signal"}
    assert not after(of_tasks(), "step-started", task="c", step="executor", attempt=1).roles
    assert after(of_tasks(), "task-ended", task="b", outcome="done").done == 2


@pytest.mark.parametrize("rows", [5, 6, 12])
@pytest.mark.parametrize("width", [10, 40, 78])
def test_it_fits_the_screen(width: int, rows: int) -> None:
    for board in (of_phases(), of_tasks()):
        shown = render_screen(board, WORKING, width=width, rows=rows)
        assert len(shown) <= rows
        assert all(len(row) <= width for row in shown)


def test_a_happening_without_a_line_says_nothing() -> None:
    assert render_lines(Happening(kind="person-needed", at="", data={"reason": "x"})) == ""


class Terminal:
    """A driver at a terminal, and the person who sits there."""

    def __init__(self, driven: Track) -> None:
        import pty

        words = [sys.executable, "-m", "phase_gate.cli", "drive", "--", *driven.agent]
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(driven.root)
            os.execvpe(sys.executable, words, {**os.environ, "TERM": "xterm", "COLUMNS": "78"})
        self.seen = ""
        self.code: int | None = None

    def read_until(self, text: str, *, seconds: float = 300.0) -> str:
        """Read on until this stands there, and return what came before it."""
        deadline = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < deadline:
            if select.select([self.screen], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.screen, 65536).decode("utf-8", "replace")
                except OSError:
                    break
        assert text in self.seen, self.seen
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def end(self) -> int:
        killer = threading.Timer(300.0, os.kill, (self.pid, signal.SIGKILL))  # a hang fails, and holds up nothing else
        killer.start()
        with contextlib.suppress(OSError):
            while data := os.read(self.screen, 65536):
                self.seen += data.decode("utf-8", "replace")
        killer.cancel()
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code


@pytest.fixture
def at_terminal() -> Iterator[Callable[[Track], Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(driven: Track) -> Terminal:
        opened.append(Terminal(driven))
        return opened[-1]

    yield open_terminal
    for each in opened:
        if each.code is None:
            os.kill(each.pid, signal.SIGTERM)  # so that it ends its agent, too
            each.end()
        os.close(each.screen)


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="pseudo terminals")
def test_a_person_is_asked_and_answers(track: Begin, at_terminal: Callable[[Track], Terminal]) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": RIGHT}, "say": "working \x1b[31mred\n", "until": ".phase-gate/seen"},
        {"expect": ["dev says that it is not done: more tests"]},
    )
    terminal = at_terminal(driven)
    shown = terminal.read_until("working \\x1b[31mred")
    assert "agent works" in shown, "the live view is there"
    (driven.desk.folder / "seen").touch()
    assert "\x1b[31m" not in shown + terminal.read_until("done, because: ")
    terminal.type("no, more tests\n")
    terminal.read_until("iteration 2: GREEN")
    terminal.read_until("done, because: ")
    terminal.type("both pass, I looked\n")
    assert terminal.end() == 0, terminal.seen
    assert re.search(r"drive ends: done", terminal.seen)
    answers = [(row["answer"], row["reason"]) for row in driven.events("signal-spent") if row["phase"] == "GREEN"]
    assert answers[-1] == ("done", "both pass, I looked")
    assert driven.iterations()[-1].get("code", 0) == 0, "the agent was told what is missing"


@pytest.mark.sweep
@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="pseudo terminals")
def test_a_person_who_does_not_answer(track: Begin, at_terminal: Callable[[Track], Terminal]) -> None:
    terminal = at_terminal(track("green").plan({}))
    terminal.read_until("done, because: ")
    terminal.type("\n")
    assert terminal.end() == 13


@pytest.mark.processes
@pytest.mark.skipif(os.name == "nt", reason="pseudo terminals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_a_question_can_be_interrupted(
    track: Begin, at_terminal: Callable[[Track], Terminal], number: signal.Signals
) -> None:
    terminal = at_terminal(track("green").plan({}))
    terminal.read_until("done, because: ")
    os.kill(terminal.pid, number)
    assert terminal.end() == 130
