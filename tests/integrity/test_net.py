"""The net catches: a guard that is lost shows in its table."""

from __future__ import annotations

import pytest

from tests.integrity.net import all_scenarios, compare, next_play, read, try_scenario
from tests.integrity.stage import OPENS, STREAK, Stage


@pytest.mark.processes
def test_a_guard_that_is_lost_shows(stage: Stage) -> None:
    scenario = all_scenarios()["body-emptied"]
    lost = stage.play(scenario, frozenset({"tests-unchanged"})).refused_by
    assert [*compare("it", scenario.refused_by, lost)] == ["it: lost tests-unchanged: OPENS"]


@pytest.mark.processes
def test_the_experiment_that_refuses_is_told(stage: Stage, with_proof: None) -> None:
    entry, played = try_scenario(all_scenarios()["red-by-flag-file"], stage)
    assert played.refused_by == {"targets-proven"}
    assert entry["proof"] == {"targets-proven", "control"}


def test_every_line_of_the_table_is_a_scenario_that_is_refused() -> None:
    assert read().keys() <= {name for name, each in all_scenarios().items() if each.refused_by}


_ONE, _TWO = frozenset({"tests-kept"}), frozenset({"tests-kept", "no-new-skips"})


@pytest.mark.parametrize(
    ("refused_by", "entry", "mode"),
    [
        pytest.param(OPENS, {}, None, id="opens"),
        pytest.param(_ONE, {}, "proof", id="refused"),
        pytest.param(_TWO, {"proof": OPENS}, None, id="two-refuse"),
        pytest.param(_ONE, {"proof": OPENS}, "without tests-kept", id="one-refuses"),
        pytest.param(frozenset({"tests_failing == 0"}), {"proof": OPENS}, None, id="a-clause-refuses"),
        pytest.param(_TWO, {"proof": frozenset({STREAK})}, "proof, no streak", id="only-the-streak-is-left"),
        pytest.param(_ONE, {"proof": OPENS, "without tests-kept": OPENS}, None, id="all-played"),
    ],
)
def test_what_is_played_next(refused_by: frozenset[str], entry: dict[str, frozenset[str]], mode: str | None) -> None:
    left = next_play(refused_by, entry)
    assert (left and left[0]) == mode
