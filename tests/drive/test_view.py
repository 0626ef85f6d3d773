"""The live view, on a terminal that a test reads; and the question that a person answers there."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from phase_gate.drive.iteration import read_said
from phase_gate.drive.view import Board, Happening, Kind, Tail, Working, render_lines, render_screen
from phase_gate.values import replace
from tests.drive.conftest import RIGHT, Terminal, Track

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


# --- the end of an agent's output: lines as they are, and what events tell


RUNS = {"type": "item.started", "item": {"type": "command_execution", "command": "pytest -q"}}
SAYS = {"type": "item.completed", "item": {"type": "agent_message", "text": "All done."}}


def lines(*rows: object, most: int = 5) -> list[str]:
    tail = Tail()
    for row in rows:
        tail.write((row if isinstance(row, str) else json.dumps(row)).encode() + b"\n")
    return tail.lines(most)


def test_events_are_told_and_lines_are_shown() -> None:
    assert lines("a warning", {"type": "turn.started"}, RUNS, "", SAYS) == ["a warning", "pytest -q", "All done."]
    assert lines(RUNS, SAYS, most=1) == ["All done."]


def test_half_an_event_is_not_shown() -> None:
    large = {"type": "item.completed", "item": {"type": "command_execution", "aggregated_output": "x" * (1 << 17)}}
    assert lines(large, SAYS) == ["All done."]


def test_a_line_without_an_end_is_shown_all_the_same() -> None:
    tail = Tail()
    tail.write(b"." * (1 << 17))
    assert tail.lines(1)[0].startswith("...")


def test_only_messages_are_claims_where_events_are_printed() -> None:
    events = "\n".join(map(json.dumps, ({"type": "turn.started"}, RUNS, SAYS)))
    assert read_said(events) == ("All done.",)
    assert read_said("EXIT_SIGNAL: true\n") == ("EXIT_SIGNAL: true\n",)
    assert read_said("") == ("",)


# --- with a real one


Opens = Callable[..., Terminal]
DONE_BECAUSE = "done, because: "


@pytest.mark.processes
def test_a_person_is_asked_and_answers(track: Begin, at_terminal: Opens) -> None:
    driven = track("red-exited").plan(
        {"write": {"calc.py": RIGHT}, "say": "working \x1b[31mred\n", "until": ".phase-gate/seen"},
        {"expect": ["dev says that it is not done: more tests"]},
    )
    terminal = at_terminal(driven.root, "--", *driven.agent)
    shown = terminal.read_until("working \\x1b[31mred")
    assert "agent works" in shown, "the live view is there"
    (driven.desk.folder / "seen").touch()
    assert "\x1b[31m" not in shown + terminal.answers("no, more tests", to=DONE_BECAUSE)
    assert "iteration 2: GREEN" in terminal.answers("both pass, I looked", to=DONE_BECAUSE)
    assert terminal.end() == 0, terminal.shown
    assert "drive ends: done" in terminal.shown
    answers = [(row["answer"], row["reason"]) for row in driven.events("signal-spent") if row["phase"] == "GREEN"]
    assert answers[-1] == ("done", "both pass, I looked")
    assert driven.iterations()[-1].get("code", 0) == 0, "the agent was told what is missing"


@pytest.mark.processes
@pytest.mark.parametrize(
    ("number", "code"),
    [(None, 13), (signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130)],
    ids=["no-answer", "SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_question_without_an_answer(
    track: Begin, at_terminal: Opens, number: signal.Signals | None, code: int
) -> None:
    driven = track("green").plan({})
    terminal = at_terminal(driven.root, "--", *driven.agent)
    if number is None:
        terminal.answers("", to=DONE_BECAUSE)
    else:
        terminal.read_until(DONE_BECAUSE)
        terminal.process.send_signal(number)
    assert terminal.end() == code
