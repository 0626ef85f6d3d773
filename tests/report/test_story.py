"""The story in parts: tests over time (which are listed, which are flaky), and runs as columns."""

from __future__ import annotations

import pytest

from phase_gate.report.story import tests as ids_over_time
from phase_gate.report.story.model import Happening, Run, bands_of, columns_of
from phase_gate.report.story.model import TestHistory as Tests
from tests.report.history import History
from tests.report.sample_story import build_sample

A, B = "tests/test_a.py::test_a", "tests/test_a.py::test_b"


def told(*runs: tuple[str, dict[str, str]]) -> Tests:
    history = History()
    for tree, outcomes in runs:
        history.run("GREEN", outcomes, tree=tree)
    return history.story().tests


@pytest.mark.parametrize(
    ("runs", "is_flaky"),
    [
        pytest.param([("t", "p"), ("t", "f")], True, id="passed-and-failed-on-one-tree"),
        pytest.param([("t", "f"), ("u", "p"), ("t", "p")], True, id="even-with-another-tree-between"),
        pytest.param([("t", "k")], True, id="passed-only-after-a-rerun"),
        pytest.param([("t", "f"), ("u", "p")], False, id="mended-by-a-change"),
        pytest.param([("t", "f"), ("t", "f")], False, id="fails-every-time"),
        pytest.param([("t", "s"), ("t", "p")], False, id="a-skip-is-no-failure"),
        pytest.param([("t", "f"), ("t", "e")], False, id="failing-in-two-ways-is-failing"),
    ],
)
def test_flaky(runs: list[tuple[str, str]], is_flaky: bool) -> None:
    tests = told(*((tree, {A: letter, B: "p"}) for tree, letter in runs))
    assert {row.id: row.is_flaky for row in tests.rows}[A] is is_flaky


def test_cells_and_order() -> None:
    tests = told(("1", {A: "p"}), ("2", {A: "p", B: "f"}), ("3", {A: "s", B: "f"}))
    assert [(row.id, row.cells, row.is_failing, row.failures) for row in tests.rows] == [
        (B, ".ff", True, 2),
        (A, "pps", False, 0),
    ]
    assert tests.runs == (1, 2, 3)


def test_flaky_ones_come_first() -> None:
    tests = told(("1", {A: "f", B: "p"}), ("2", {A: "f", B: "k"}))
    assert [row.id for row in tests.rows] == [B, A]


def test_the_list_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids_over_time, "LISTED", 4)
    monkeypatch.setattr(ids_over_time, "_CALM_LISTED", 2)
    failing = {f"tests/test_f.py::test_{number}": "f" for number in range(3)}
    calm = {f"tests/test_p.py::test_{number}": "p" for number in range(5)}
    tests = told(("1", {**failing, **calm}))
    assert (len(tests.rows), tests.quiet, tests.left_out) == (4, 4, 0)
    more = {f"tests/test_f.py::test_{number}": "f" for number in range(7)}
    tests = told(("1", {**more, **calm}))
    assert (len(tests.rows), tests.quiet, tests.left_out) == (4, 5, 3)


def test_only_the_last_runs_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids_over_time, "SHOWN", 2)
    tests = told(("1", {A: "f"}), ("1", {A: "p"}), ("2", {A: "p"}))
    assert (tests.runs, tests.rows[0].cells) == ((2, 3), "pp")
    # It was flaky before, and that is still known.
    assert tests.rows[0].is_flaky


def runs(*failed: int) -> list[Run]:
    return [
        Run(number=number, id=str(number), at="", phase="GREEN", cycle=1, failed=each, iteration=1)
        for number, each in enumerate(failed, start=1)
    ]


@pytest.mark.parametrize(
    ("number", "columns", "in_first"),
    [
        pytest.param(1, 1, 1, id="one"),
        pytest.param(200, 200, 1, id="as-many-as-there-is-room-for"),
        pytest.param(201, 101, 2, id="one-more-and-two-share-a-column"),
        pytest.param(10_000, 200, 50, id="ten-thousand"),
    ],
)
def test_how_many(number: int, columns: int, in_first: int) -> None:
    found = columns_of(runs(*[0] * number), ())
    assert (len(found), len(found[0].runs)) == (columns, in_first)
    assert [run.number for column in found for run in column.runs] == list(range(1, number + 1))


def test_the_worst_run_is_drawn() -> None:
    assert [column.worst.failed for column in columns_of(runs(0, 3, 1, 0), (), at_most=2)] == [3, 1]


def test_happenings_belong_to_the_run_that_began_last() -> None:
    happenings = [Happening(run=number, at="", kind="exited", text=str(number)) for number in (0, 1, 3, 4)]
    found = columns_of(runs(0, 0, 0, 0), happenings, at_most=2)
    assert [[each.text for each in column.happenings] for column in found] == [["1"], ["3", "4"]]


def test_runs_that_are_left_out_leave_their_happenings_out() -> None:
    found = columns_of(runs(0, 0, 0)[1:], [Happening(run=1, at="", kind="exited", text="gone")])
    assert [column.happenings for column in found] == [(), ()]


def test_bands() -> None:
    story = build_sample().story()
    bands = bands_of(columns_of(story.runs, story.happenings))
    assert [(band.phase, band.cycle, band.first, band.last) for band in bands] == [
        *(("GREEN", 1, 0, 1), ("RED", 2, 2, 3), ("GREEN", 2, 4, 12), ("REFACTOR", 2, 13, 17)),
        *(("RED", 3, 18, 18), ("GREEN", 3, 19, 28)),
    ]
