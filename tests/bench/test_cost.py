"""The measures of cost, without valgrind: each counts bare pytest beside us."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import cost


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cost.Kit:
    def count(command: list[str], folder: Path, **more: object) -> int:
        tests = int(folder.name.partition("-")[0])
        return 1_000_000 * (10 + tests) + 1_000_000 * ("--phase=green" in command or "phase-gate" in command[0])

    monkeypatch.setattr(cost, "count", count)
    monkeypatch.setattr(cost, "warm_up", lambda command, folder: None)
    monkeypatch.setattr(cost, "take_memory", lambda command, folder: 80.0 + ("--phase=green" in command))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr(cost.Kit, "python", lambda self, kind, *more: f"{kind}/python")
    monkeypatch.setattr(cost.Kit, "suite", lambda self, tests, files=0: Path(f"{tests}-{files}"))
    return cost.Kit(tmp_path)


@pytest.mark.parametrize(
    ("name", "ours"),
    [("run-1", "1.091"), ("each-test", "+0.00 %"), ("workers", "+0.32 %"), ("memory", "+1.0 MiB")],
)
def test_a_measure_counts_bare_pytest_beside_us(kit: cost.Kit, name: str, ours: str) -> None:
    (row,) = cost.MEASURES[name](kit)
    assert (row.ours, row.reached) == (ours, True)


def test_every_command_that_agents_ask_has_a_row(kit: cost.Kit) -> None:
    rows = list(cost.MEASURES["commands-10"](kit))
    assert [row.what for row in rows] == [f"`{name}` in 10 files" for name in cost._ASKED]


def test_the_table_shows_what_was_reached() -> None:
    rows = [cost.Row("a run", "1 M", "", "+2 M", "+3 M", True), cost.Row("a walk", "1 M", "", "+9 M", "+3 M", False)]
    shown = cost.render(rows).splitlines()
    assert shown[-2:] == ["| a run | 1 M | | +2 M | +3 M: reached |", "| a walk | 1 M | | +9 M | +3 M: not reached |"]
