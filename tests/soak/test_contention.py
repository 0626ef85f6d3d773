"""A short sample of contention: the same functions as in the full soak, with small numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.contention import BASE, WAYS, compare, render
from tests.soak.contention import runs_at_once, updates_at_once, waiting_is_bounded


def test_no_update_is_lost(tmp_path: Path) -> None:
    updates_at_once(tmp_path, processes=8, updates=5)


def test_no_run_is_lost_on_one_task(tmp_path: Path) -> None:
    runs_at_once(tmp_path, runs=3, tasks=1)


@pytest.mark.sweep
def test_runs_on_tasks_of_their_own_do_not_touch_each_other(tmp_path: Path) -> None:
    runs_at_once(tmp_path, runs=3, tasks=3)


def test_whoever_waits_in_vain_gives_up_and_names_the_holder(tmp_path: Path) -> None:
    waiting_is_bounded(tmp_path, waiters=3)


@pytest.mark.sweep
def test_the_comparison_measures_every_way() -> None:
    found = compare(processes=2, updates=2, rounds=1)
    assert set(found) == set(WAYS)
    assert found[BASE]["time"] == 1.0
    assert "| phase-gate |" in render(found, "title")
