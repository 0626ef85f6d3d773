"""Mutants in rooms: side by side, within a budget, ended where the caller ends, and in copied rooms too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.mutation import trying
from phase_gate.mutation.engine import make_mutants
from phase_gate.mutation.model import Baseline
from phase_gate.mutation.trying import BaselineError, Ground, make_baseline, try_mutant, try_mutants
from phase_gate.rooms import room as rooms
from phase_gate.rooms.room import NoRoomError
from phase_gate.rooms.testing import Report, Reports, RoomRun
from phase_gate.source.new_code import find_new

SOURCE = "def is_adult(age):\n    return age >= 18\n"
TEST = "from calc import is_adult\n\n\ndef test_adults():\n    assert is_adult(30) is True\n"
GROUND = Ground(root=Path("/project"), sources={"calc.py": SOURCE}, test_files=("test_calc.py",))
BASELINE = Baseline(tests={"test_calc.py::test_adults": 0.0})
MUTANTS = make_mutants("calc.py", SOURCE, find_new({}, {"calc.py": SOURCE})["calc.py"].statements)


def pretend(monkeypatch: pytest.MonkeyPatch, run: Callable[..., RoomRun]) -> None:
    monkeypatch.setattr(trying, "run_in_room", run)


def test_several_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=60)

    def run(*_: Any, **__: Any) -> RoomRun:
        both.wait()  # alone, no one would come
        return RoomRun(kind="mounted", seconds=0.0, reports=Reports(t=Report(has_passed=True)), has_ended=True)

    pretend(monkeypatch, run)
    tried = list(try_mutants(GROUND, BASELINE, MUTANTS[:4], workers=2, ends_at=float("inf")))
    assert [each.verdict for each in tried] == ["survived"] * 4


def test_what_the_budget_does_not_reach_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    hours = iter(range(100))

    def run(*_: Any, give_up: Callable[[], bool], **__: Any) -> RoomRun:
        while not give_up():
            pass
        return RoomRun(kind="mounted", seconds=9.0, problem="late", is_late=True)

    pretend(monkeypatch, run)
    found = list(try_mutants(GROUND, BASELINE, MUTANTS, workers=1, ends_at=50, clock=lambda: next(hours)))
    assert found == [], "given up is no timeout"


def test_all_ends_where_the_caller_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    before = threading.active_count()

    def run(room: Any, *_: Any, give_up: Callable[[], bool], **__: Any) -> RoomRun:
        if not ended:
            ended.append("first")
            return RoomRun(kind="mounted", seconds=0.0, reports=Reports(t=Report(has_passed=True)), has_ended=True)
        while not give_up():
            time.sleep(0.01)
        ended.append("given up")
        return RoomRun(kind="mounted", seconds=0.0, problem="late", is_late=True)

    pretend(monkeypatch, run)
    working = try_mutants(GROUND, BASELINE, MUTANTS, workers=2, ends_at=float("inf"))
    next(working)
    working.close()  # type: ignore[attr-defined]
    assert set(ended[1:]) <= {"given up"}
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param({"problem": "x"}, "the tests can't be run in a room: x", id="nothing-is-told"),
        pytest.param({"problem": "x", "is_late": True}, "longer than 9 s in a room", id="too-long"),
        pytest.param({"reports": {"t.py::a": "fails"}}, "t.py::a fails in a room without any mutant", id="one-fails"),
        pytest.param({"reports": {"old": "fails"}}, "no test passes", id="one-that-failed-before-tells-nothing"),
        pytest.param({"reports": {}}, "no test passes", id="no-test"),
    ],
)
def test_a_baseline_that_is_none(monkeypatch: pytest.MonkeyPatch, run: dict[str, Any], expected: str) -> None:
    reports = Reports({name: Report(has_passed=False) for name in run.pop("reports", {})})
    given = RoomRun(kind="mounted", seconds=1.0, reports=reports, has_ended=True, **run)
    pretend(monkeypatch, lambda *_, **__: given)
    ground = Ground(root=Path("/p"), sources={}, test_files=(), excused=frozenset({"old"}))
    with pytest.raises(BaselineError, match=expected):
        make_baseline(ground, seconds=9.0)


def test_no_room_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> RoomRun:
        raise NoRoomError("no space")

    pretend(monkeypatch, refuse)
    with pytest.raises(BaselineError, match="no space"):
        list(try_mutants(GROUND, BASELINE, MUTANTS, workers=1, ends_at=float("inf")))


@pytest.mark.processes
def test_a_copied_room_does_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "_refused", {"mounted"})
    (tmp_path / "calc.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "test_calc.py").write_text(TEST, encoding="utf-8")
    ground = Ground(root=tmp_path, sources={"calc.py": SOURCE}, test_files=("test_calc.py",))
    baseline = make_baseline(ground, seconds=300.0)
    assert (baseline.room, list(baseline.tests)) == ("copied", ["test_calc.py::test_adults"])
    assert baseline.lines["calc.py"]["2"] == ("test_calc.py::test_adults",)
    wrong = next(each for each in MUTANTS if each.text == "age < 18")
    tried = try_mutant(ground, baseline, wrong)
    assert tried is not None
    assert (tried.verdict, tried.by) == ("killed", "test_calc.py::test_adults")
    assert (tmp_path / "calc.py").read_text(encoding="utf-8") == SOURCE
