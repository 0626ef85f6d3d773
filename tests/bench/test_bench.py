"""A short sample of the benchmark: it measures what it says. Nothing here depends on how fast it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.__main__ import measure_all, render
from bench.contenders import ACTIVE, BARE
from bench.measure import interleave, ratios


def test_every_round_begins_with_another_one() -> None:
    order: list[str] = []

    def measure(name: str) -> float:
        order.append(name)
        return 1.0

    interleave({"a": lambda: measure("a"), "b": lambda: measure("b")}, rounds=2)
    assert order == ["a", "b", "a", "b", "b", "a"]


def test_a_ratio_is_the_median_of_ratios_within_a_round() -> None:
    assert ratios({"base": [1.0, 10.0, 1.0], "other": [2.0, 20.0, 5.0]}, "base") == {"base": 1.0, "other": 2.0}


def test_a_small_benchmark_runs_everybody(tmp_path: Path, clean_environment: pytest.MonkeyPatch) -> None:
    found = measure_all(tmp_path, tests=4, rounds=1, by_instructions=False)
    assert len(found) == 4
    whole = next(table for title, table in found.items() if title.startswith("a run of 4 tests"))
    assert {BARE.name, ACTIVE.name, "--junitxml"} <= set(whole)
    assert whole[BARE.name] == 1.0
    assert (tmp_path / "4" / "out.xml").exists()
    assert "| bare pytest | 1.000 |" in render(found)
