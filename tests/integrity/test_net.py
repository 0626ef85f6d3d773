"""The net catches: a sample of its table is played, and a guard that is lost shows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import pytest

from phase_gate.config.files import load_shipped_guards
from tests.integrity.net import FILE, compare, next_play, parse, render
from tests.integrity.scenarios import OPENS, STREAK, Stage, play_scenario, scenarios

#: Some of each kind, and of each guard that refuses anything here; those that are refused without a proof cost least.
SAMPLE = (
    "bytecode: the code is there as bytecode only",
    "criteria: no marks",
    "documents: a C4 diagram without an element",
    "documents: the rules made easier meanwhile",
    "genuine: a report's outcome becomes a property",
    "honest: a protocol of the project runs each test in a child",
    "honest: a test is added",
    "honesty: criterion-without-test",
    "honesty: stop-at-first",
    "known: the failing test is deleted",
    "known: the failing test is skipped",
    "older: logreport rewrites the report of an old test",
    "open: a hook never calls the old test",
    "order: a signal instead of a green run",
    "outcomes: an error in setup",
    "outputs: helpers are weakened, and touched by a test",
    "outside: an autouse fixture does something else",
    "process: leaves as it is imported",
    "proof 44: the missing unit comes from PYTHONPATH",
    "proof twins: subtests",
    "red: a syntax error",
    "removal: a function is commented out",
    "selection: --noconftest",
    "selection: PYTEST_ADDOPTS has -k",
    "silence: a skip mark with a reason",
    "unseen: an excluded source is edited between two runs",
    "weakened: a tolerance is widened",
    "workers: modifyitems gives the test another class",
)
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


def test_the_sample_has_every_kind_of_scenario() -> None:
    assert {*map(_kind, SAMPLE)} == {*map(_kind, scenarios())}


def test_no_guard_can_be_lost_without_a_red_sample() -> None:
    guards = load_shipped_guards().keys()
    assert _refusing(SAMPLE) & guards == _refusing(TABLE) & guards


def _refusing(names: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(TABLE[name]["all"] for name in names))


def _kind(name: str) -> str:
    return name.partition(":")[0].rstrip("0123456789 ")


def test_every_line_of_the_table_is_a_scenario() -> None:
    assert TABLE.keys() <= scenarios().keys()


def test_cheats_are_refused_and_honest_work_is_not() -> None:
    ours = {name: entry for name, entry in TABLE.items() if not name.startswith(("documents", "honesty", "proof"))}
    is_refused = {name: entry["all"] != OPENS for name, entry in ours.items()}
    assert is_refused == {name: not name.startswith(("honest: ", "open: ")) for name in ours}


_BEFORE = {
    "a: refused": {"all": frozenset({"tests-kept", "x > 0"}), "proof": frozenset({"targets-proven"})},
    "b: opens": {"all": OPENS},
}


def test_a_table_is_read_as_it_was_written() -> None:
    text = render(_BEFORE)
    assert text == "a: refused | all: tests-kept; x > 0 | proof: targets-proven\nb: opens | all: opens\n"
    assert parse(text) == _BEFORE


_ONE, _TWO = frozenset({"tests-kept"}), frozenset({"tests-kept", "no-new-skips"})


@pytest.mark.parametrize(
    ("entry", "mode"),
    [
        pytest.param({}, "all", id="nothing-yet"),
        pytest.param({"all": OPENS}, None, id="opens"),
        pytest.param({"all": _ONE}, "proof", id="refused"),
        pytest.param({"all": _TWO, "proof": OPENS}, None, id="two-refuse"),
        pytest.param({"all": _ONE, "proof": OPENS}, "without tests-kept", id="one-refuses"),
        pytest.param({"all": frozenset({"tests_failing == 0"}), "proof": OPENS}, None, id="a-clause-refuses"),
        pytest.param({"all": _TWO, "proof": frozenset({STREAK})}, "proof, no streak", id="only-the-streak-is-left"),
        pytest.param({"all": _ONE, "proof": OPENS, "without tests-kept": OPENS}, None, id="all-played"),
    ],
)
def test_what_is_played_next(entry: dict[str, frozenset[str]], mode: str | None) -> None:
    left = next_play(entry)
    assert (left and left[0]) == mode


@pytest.mark.parametrize("entry", [{"all": _ONE}, {"all": OPENS}])
def test_a_short_table_is_played_once(entry: dict[str, frozenset[str]]) -> None:
    assert next_play({}, is_short=True) == ("all", OPENS)
    assert next_play(entry, is_short=True) is None


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
            ["b: opens: all: gained tests-kept"],
            id="a-false-alarm",
        ),
        pytest.param(
            {"a: refused": _BEFORE["a: refused"], "c": {"all": OPENS}}, ["b: opens: gone", "c: new"], id="rows"
        ),
    ],
)
def test_compare(now: dict[str, dict[str, frozenset[str]]], told: list[str]) -> None:
    assert [*compare(_BEFORE, now)] == told
