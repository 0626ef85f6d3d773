"""Tests over time: which are listed, which are flaky."""

from __future__ import annotations

import pytest

from phase_gate.report import outcome_rows
from phase_gate.report.story import TestHistory as Tests
from tests.report.history import History

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
    # Flaky ones come first.
    tests = told(("1", {A: "f", B: "p"}), ("2", {A: "f", B: "k"}))
    assert [row.id for row in tests.rows] == [B, A]


def test_the_list_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_rows, "LISTED", 4)
    monkeypatch.setattr(outcome_rows, "_CALM_LISTED", 2)
    failing = {f"tests/test_f.py::test_{number}": "f" for number in range(3)}
    calm = {f"tests/test_p.py::test_{number}": "p" for number in range(5)}
    tests = told(("1", {**failing, **calm}))
    assert (len(tests.rows), tests.quiet, tests.left_out) == (4, 4, 0)
    more = {f"tests/test_f.py::test_{number}": "f" for number in range(7)}
    tests = told(("1", {**more, **calm}))
    assert (len(tests.rows), tests.quiet, tests.left_out) == (4, 5, 3)


def test_only_the_last_runs_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_rows, "SHOWN", 2)
    tests = told(("1", {A: "f"}), ("1", {A: "p"}), ("2", {A: "p"}))
    assert (tests.runs, tests.rows[0].cells) == ((2, 3), "pp")
    # It was flaky before, and that is still known.
    assert tests.rows[0].is_flaky
