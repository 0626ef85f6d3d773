"""The net catches: a guard that is lost shows in its table."""

from __future__ import annotations

import pytest

from tests.integrity.net import all_scenarios, compare, read, try_scenario
from tests.integrity.player import OPENS, ScenarioPlayer


def test_a_guard_that_is_lost_shows() -> None:
    assert [*compare("it", frozenset({"tests-unchanged"}), OPENS)] == ["it: lost tests-unchanged: OPENS"]


@pytest.mark.sweep
@pytest.mark.processes
def test_the_experiment_that_refuses_is_told(player: ScenarioPlayer, with_proof: None) -> None:
    entry, played = try_scenario(all_scenarios()["red-by-flag-file"], player)
    assert played.refused_by == {"targets-proven"}
    assert entry["proof"] == {"targets-proven", "control"}


def test_every_line_of_the_table_is_a_scenario_that_is_refused() -> None:
    assert read().keys() <= {name for name, each in all_scenarios().items() if each.refused_by}
