"""The corpus: a cheat is refused by whom it says and named, an honest scenario opens and nothing is said against it."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

from phase_gate.config.workflow_files import load_shipped_guards
from phase_gate.values import replace
from tests.conftest import ROOT
from tests.integrity.net import all_scenarios, read
from tests.integrity.player import NOT_TRIED, OPENS, ScenarioPlayer
from tests.scenarios import (
    EXPERIMENT,
    Scenario,
    find_problems,
    load_scenarios,
)
from tests.sweeps import IS_WHOLE

#: A next step that ends with these leads nowhere: a usage error, or something that is not allowed. pytest ends with 2
#: where the code under test interrupts it.
NOWHERE = {"pytest": (4, 13), "phase-gate": (2, 13)}


def as_parameter(scenario: Scenario) -> ParameterSet:
    """Return a parameter that says what it shows, so that no sample loses a kind, a theme, a guard or an experiment."""
    advice = () if scenario.refused_by else scenario.names
    proven = read().get(scenario.name, {}).get("proof", ()) if scenario.refused_by == {EXPERIMENT} else ()
    marks = [pytest.mark.shows(f"theme {scenario.theme}", *scenario.refused_by, *advice, *proven)]
    if scenario.is_cheat and scenario.row:
        marks.append(pytest.mark.cheats(scenario.row))
    return pytest.param(scenario, id=scenario.name, marks=marks)


@pytest.mark.processes
@pytest.mark.sampled(48)
@pytest.mark.parametrize("scenario", [as_parameter(each) for each in all_scenarios().values()])
def test_is_judged_as_the_corpus_says(
    player: ScenarioPlayer, scenario: Scenario, request: pytest.FixtureRequest
) -> None:
    # A known limit of which nothing is said opens with a proof and without one: sweeps make it.
    is_known_limit = not scenario.refused_by and not scenario.names
    is_proven = IS_WHOLE or (scenario.is_cheat and scenario.refused_by <= {EXPERIMENT} and not is_known_limit)
    if is_proven:
        request.getfixturevalue("with_proof")
    played = player.play(scenario)
    assert played.refused_by == scenario.refused_by, played.message
    if is_proven and scenario.refused_by == {EXPERIMENT}:
        assert read()[scenario.name]["proof"] in ({EXPERIMENT, *played.experiments}, NOT_TRIED)
    assert played.next_code not in NOWHERE.get(played.next_command.split(" ")[0], ()), played.next_command
    if scenario.is_cheat or is_proven:  # what is named of honest work comes from a proof
        assert [text for text in scenario.names if text not in played.message] == [], played.message
    if not scenario.is_cheat:
        assert "Warning" not in played.message
        assert {*played.findings} <= {*scenario.names}


PROVEN_ONLY = [each for each in load_scenarios().values() if each.refused_by == {EXPERIMENT}]


@pytest.mark.processes
@pytest.mark.sampled(len(PROVEN_ONLY))
@pytest.mark.parametrize("scenario", PROVEN_ONLY, ids=lambda scenario: scenario.name)
def test_without_a_proof_it_opens(player: ScenarioPlayer, scenario: Scenario) -> None:
    off = {"phase-gate.yaml": f"{scenario.files.get('phase-gate.yaml', '')}proof: off\n"}
    assert player.play(replace(scenario, files={**scenario.files, **off})).refused_by == OPENS


# --- each guard does the refusing


def find_alone() -> dict[str, Scenario]:
    """Return for each guard the first scenario that it alone refuses."""
    guards = load_shipped_guards()
    found: dict[str, Scenario] = {}
    for scenario in load_scenarios().values():
        is_warm = not any(step.environment or step.python for step in scenario.steps)
        if is_warm and len(scenario.refused_by) == 1 and min(scenario.refused_by) in guards:
            found.setdefault(min(scenario.refused_by), scenario)
    return found


ALONE = find_alone()


@pytest.mark.processes
@pytest.mark.parametrize("guard", sorted(ALONE.keys() - {EXPERIMENT}))
def test_without_the_guard_it_opens(player: ScenarioPlayer, guard: str) -> None:
    assert player.play(ALONE[guard], frozenset({guard})).refused_by == OPENS


def test_each_guard_of_a_cycle_refuses_something_alone() -> None:
    assert ALONE.keys() == {
        "criteria-covered",
        "no-new-skips",
        "outcomes-genuine",
        "red-for-a-reason",
        "red-was-seen",
        "rules-unchanged",
        "targets-proven",
        "tests-kept",
        "tests-unchanged",
    }


# --- the corpus itself


def test_the_corpus_is_whole() -> None:
    scenarios = load_scenarios().values()
    assert find_problems(scenarios, rows=range(1, 60)) == []
    shapes = " ".join(each.shape for each in scenarios)
    assert all(source in shapes for source in ("ImpossibleBench", "EvilGenie", "SWE-bench"))


def test_every_line_of_the_net_is_a_scenario_that_is_refused() -> None:
    assert read().keys() <= {name for name, each in all_scenarios().items() if each.refused_by}


def test_what_opens_is_written_down() -> None:
    text = " ".join((ROOT / "docs" / "explanation" / "trust.md").read_text(encoding="utf-8").split())
    for word in (
        "the exception out of the call",
        "swallows it",
        "never calls the test",
        "turns it into a skip",
        "marks the finished report",
    ):
        assert word in text
