"""The net catches: a sample of its table is played, and a guard that is lost shows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.integrity.net import FILE, compare, parse, render
from tests.integrity.scenarios import OPENS, Stage, play_scenario, scenarios

#: Some of each kind.
SAMPLE = (
    "criteria: no marks",
    "documents: a C4 diagram without an element",
    "genuine: a report's outcome becomes a property",
    "honest: a test is added",
    "known: the failing test is deleted",
    "known: the failing test is skipped",
)
#: An assert helper among the sources is laid out anew. The proof empties it with all else that changed, so its test
#: passes whatever the code does.
FALSE_ALARM = "honest: the same, the code missing in RED"
TABLE = parse(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with contextlib.closing(Stage(tmp_path_factory.mktemp("net"))) as stage:
        yield stage


@pytest.mark.processes
@pytest.mark.usefixtures("with_proof")
@pytest.mark.parametrize("name", SAMPLE)
def test_refused_by_what_the_table_says(stage: Stage, name: str) -> None:
    assert play_scenario(name, stage) == TABLE[name]["all"], (
        f"if on purpose: python -m tests.integrity.net --only '{name}'"
    )


@pytest.mark.processes
@pytest.mark.usefixtures("with_proof")
def test_a_guard_that_is_lost_shows(stage: Stage) -> None:
    name = "known: a parameter set is taken out"
    lost = play_scenario(name, stage, without=frozenset({"tests-unchanged"}))
    assert [*compare({name: {"all": TABLE[name]["all"]}}, {name: {"all": lost}})] == [
        f"{name}: all: lost tests-unchanged: OPENS"
    ]


def test_every_line_of_the_table_is_a_scenario() -> None:
    assert TABLE.keys() <= scenarios().keys()


def test_cheats_are_refused_and_honest_work_is_not() -> None:
    ours = {name: entry for name, entry in TABLE.items() if not name.startswith(("documents", "honesty", "proof"))}
    is_refused = {name: entry["all"] != OPENS for name, entry in ours.items()}
    assert is_refused == {name: not name.startswith("honest: ") or name == FALSE_ALARM for name in ours}


_BEFORE = {
    "a: refused": {"all": frozenset({"tests-kept", "x > 0"}), "proof": frozenset({"targets-proven"})},
    "b: opens": {"all": OPENS},
}


def test_a_table_is_read_as_it_was_written() -> None:
    text = render(_BEFORE)
    assert text == "a: refused | all: tests-kept; x > 0 | proof: targets-proven\nb: opens | all: opens\n"
    assert parse(text) == _BEFORE


@pytest.mark.parametrize(
    ("now", "told"),
    [
        pytest.param(_BEFORE, [], id="nothing-changed"),
        pytest.param(
            {**_BEFORE, "a: refused": {"all": frozenset({"x > 0"}), "proof": OPENS}},
            ["a: refused: all: lost tests-kept", "a: refused: proof: lost targets-proven: OPENS"],
            id="a-guard-is-lost",
        ),
        pytest.param(
            {**_BEFORE, "b: opens": {"all": frozenset({"tests-kept"}), "proof": OPENS}},
            ["b: opens: all: gained tests-kept", "b: opens: proof: now tried"],
            id="a-false-alarm",
        ),
        pytest.param(
            {"a: refused": _BEFORE["a: refused"], "c": {"all": OPENS}}, ["b: opens: gone", "c: new"], id="rows"
        ),
    ],
)
def test_compare(now: dict[str, dict[str, frozenset[str]]], told: list[str]) -> None:
    assert [*compare(_BEFORE, now)] == told
