"""The live view of a driven list, and the lines of `--json`: values in, rows out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phase_gate.cli.workflow_schema import read_schema
from phase_gate.drive.list_session import LIST_KINDS, ListHappening, ListKind, Working
from phase_gate.drive.list_view import ListBoard, render_list_screen
from phase_gate.values import replace

LINES = tuple(f"line {number}" for number in range(5))


def after(board: ListBoard, kind: ListKind, **data: Any) -> ListBoard:
    return board.after(ListHappening(kind=kind, at="", data=data))


def begun() -> ListBoard:
    """Return the board of a list with a task at work."""
    board = after(ListBoard(), "list-started", tasks=["a", "b", "c"], finished=1, seconds=14400.0)
    board = after(board, "step-started", task="b", step="reviewer", attempt=2)
    return board.seen(Working(task="b", step="reviewer", attempt=2, seconds=62, limit=300, lines=("\x1b[2Jhello",)))


def test_the_rows_of_the_view() -> None:
    assert render_list_screen(begun(), spent=130.0, width=78) == [
        "phase gate verify drive · 1 of 3 tasks finished · 2m 10s of 4h",
        "b  attempt 2  reviewer works  1m 02s of 5m",
        "  | \\x1b[2Jhello",
        "Ctrl-C: ends after this step",
    ]


@pytest.mark.parametrize(
    ("outcome", "row"),
    [
        pytest.param("done", "2 of 3 tasks finished", id="a-task-is-finished"),
        pytest.param("person", "1 of 3 tasks finished", id="one-that-waits-is-not"),
    ],
)
def test_how_far_the_list_is(outcome: str, row: str) -> None:
    board = after(begun(), "task-ended", task="b", outcome=outcome)
    assert row in render_list_screen(board, spent=0.0, width=78)[0]
    assert board.working is None


def test_it_says_that_ctrl_c_was_heard() -> None:
    board = begun()
    assert board.working is not None
    board = board.seen(replace(board.working, is_ending=True))
    assert render_list_screen(board, spent=0.0, width=78)[-1] == "ends after this step; Ctrl-C again: at once"


@pytest.mark.parametrize("width", [10, 40, 78])
@pytest.mark.parametrize("rows", [5, 6, 13])
@pytest.mark.parametrize("working", [None, Working(task="task-1", step="verify", lines=LINES)], ids=["idle", "works"])
def test_it_fits_the_screen(width: int, rows: int, working: Working | None) -> None:
    board = ListBoard(tasks=1, seconds=60.0, working=working)
    shown = render_list_screen(board, spent=1.0, width=width, rows=rows)
    assert len(shown) <= rows
    assert all(len(row) <= width for row in shown)


def test_the_schema_has_every_kind_of_line() -> None:
    schema = json.loads(read_schema("verify-drive-line"))
    kinds = [row["properties"]["event"]["const"] for row in schema["oneOf"]]
    assert kinds == [*LIST_KINDS, "error"]
