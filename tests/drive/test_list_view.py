"""The live view of a driven list, and the lines of `--json`: values in, rows out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phase_gate.cli.workflow_schema import read_schema
from phase_gate.drive.job_process import WORKING, Reporter
from phase_gate.drive.jobs import Job
from phase_gate.drive.list_session import LIST_KINDS, ListHappening, Working
from phase_gate.drive.list_view import ListBoard, render_list_screen
from phase_gate.values import replace

LINES = tuple(f"line {number}" for number in range(5))


def after(board: ListBoard, kind: str, **data: Any) -> ListBoard:
    return board.after(ListHappening(kind=kind, at="", data=data))


def begun() -> ListBoard:
    """Return the board of a list with two tasks at work."""
    board = after(ListBoard(), "list-started", tasks=["a", "b", "c"], finished=1, seconds=14400.0)
    board = after(board, "step-started", task="a", step="executor", attempt=1)
    board = after(board, "step-started", task="b", step="reviewer", attempt=2)
    return board.seen(Working(task="b", step="reviewer", attempt=2, seconds=62, limit=300, lines=("\x1b[2Jhello",)))


def test_the_rows_of_the_view() -> None:
    assert render_list_screen(begun(), spent=130.0, width=78) == [
        "phase gate verify drive · 1 of 3 tasks finished · 2m 10s of 4h",
        "a  attempt 1  executor works  0s",
        "b  attempt 2  reviewer works  1m 02s of 5m",
        "  | \\x1b[2Jhello",
        "Ctrl-C: ends after these steps",
    ]


@pytest.mark.parametrize(
    ("kind", "data", "row"),
    [
        pytest.param("task-ended", {"outcome": "done"}, "2 of 3 tasks finished", id="a-task-is-finished"),
        pytest.param("task-ended", {"outcome": "person"}, "1 of 3 tasks finished", id="one-that-waits-is-not"),
        pytest.param("conflict", {"reason": "x"}, "0 of 3 tasks finished", id="one-goes-back"),
    ],
)
def test_how_far_the_list_is(kind: str, data: dict[str, str], row: str) -> None:
    board = after(begun(), kind, task="b", **data)
    assert row in render_list_screen(board, spent=0.0, width=78)[0]
    assert ("b" in board.working) is (kind == "conflict")


def test_it_says_that_ctrl_c_was_heard() -> None:
    board = begun()
    board = board.seen(replace(board.working["a"], is_ending=True))
    assert render_list_screen(board, spent=0.0, width=78)[-1] == "ends after these steps; Ctrl-C again: at once"


@pytest.mark.parametrize("width", [10, 40, 78])
@pytest.mark.parametrize("rows", [5, 6, 13])
@pytest.mark.parametrize("jobs", [0, 1, 4, 30])
def test_it_fits_the_screen(width: int, rows: int, jobs: int) -> None:
    board = ListBoard(tasks=jobs, seconds=60.0)
    for number in range(jobs):
        board = board.seen(Working(task=f"task-{number}", step="verify", lines=LINES))
    shown = render_list_screen(board, spent=1.0, width=width, rows=rows)
    assert len(shown) <= rows
    assert all(len(row) <= width for row in shown)


def test_the_schema_has_every_kind_of_line() -> None:
    schema = json.loads(read_schema("verify-drive-line"))
    kinds = [row["properties"]["event"]["const"] for row in schema["oneOf"]]
    assert kinds == [*LIST_KINDS, "error"]


def test_a_job_reports_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    clock = [100.0]
    monkeypatch.setattr("phase_gate.drive.job_process.time.monotonic", lambda: clock[0])
    reporter = Reporter(told.append)
    for passed in (0.0, 0.1, 0.2, 1.0):
        clock[0] += passed
        reporter.tell(Working(task="a", step="executor", seconds=passed))
    assert [row["event"] for row in told] == [WORKING, WORKING]
    assert [row["working"].get("seconds", 0.0) for row in told] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("told", "code", "problem", "outcome", "reason"),
    [
        pytest.param(1, -2, "", "interrupted", "the user interrupted it", id="ctrl-c-while-it-starts"),
        pytest.param(2, -15, "", "interrupted", "the user interrupted it", id="the-second-one"),
        pytest.param(0, -9, "", "person", "its driver ended with -9", id="killed-by-another"),
        pytest.param(1, 11, "", "person", "its driver ended with 11", id="its-own-fault"),
        pytest.param(1, -2, "no", "person", "no", id="it-said-why"),
    ],
)
def test_a_job_that_ends_without_a_word(told: int, code: int, problem: str, outcome: str, reason: str) -> None:
    job = Job("a", None)  # type: ignore[arg-type]  # no process is asked
    job.told, job.problem = told, problem
    ended = job.judge_end(code)
    assert (str(ended.outcome), ended.reason) == (outcome, reason)
