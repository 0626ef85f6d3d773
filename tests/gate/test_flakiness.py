"""How many greens in a row a suite's own history asks for."""

from __future__ import annotations

import pytest

from phase_gate.gate.flakiness import FEWEST, MOST, Flakiness, after_run


def history(*runs: str) -> Flakiness:
    """Each run as `tree` and `+` or `-`."""
    found = Flakiness()
    for run in runs:
        found = after_run(found, run[:-1], is_green=run.endswith("+"))
    return found


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param((), FEWEST, id="nothing-known"),
        pytest.param(("a+", "a+", "b+", "b+"), FEWEST, id="never-red"),
        pytest.param(tuple(f"{number}-" for number in range(12)), FEWEST, id="red-is-always-red"),
        pytest.param(("a-", "a+", "b-", "b+", "c-", "c+"), 7, id="half-of-them-green"),
        pytest.param(("a+", "a+", "a+", "a+", "a+", "a-"), MOST, id="nearly-always-green"),
    ],
)
def test_greens_needed(runs: tuple[str, ...], expected: int) -> None:
    assert history(*runs).greens_needed() == expected


def test_only_bad_trees_count() -> None:
    found = history("a+", "a+", "b-", "b+", "c+")
    assert (found.bad_runs, found.bad_greens) == (2, 1)
    assert found.chance == pytest.approx(0.5)


def test_the_present_tree_counts_as_soon_as_it_is_bad() -> None:
    assert history("a+", "a+").chance == 0.5
    assert history("a+", "a+", "a-").chance == pytest.approx(0.6)


def test_a_lower_limit_asks_for_more() -> None:
    found = history("a-", "a+", "b-", "b+")
    assert found.greens_needed(limit=0.1) < found.greens_needed(limit=0.01)
