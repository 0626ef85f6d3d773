"""The benchmark of gates: its labels can be wrong, and a sample of it judges as the table says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest

from bench.honesty.command import environment_here, is_contradicted, load_cases, main
from bench.honesty.gates import load_gates
from bench.honesty.page import KINDS, PAGE, fill
from bench.honesty.play import DONE, NOT_DONE, Answer, play
from bench.honesty.results import read
from phase_gate.values import replace
from tests.integrity.player import ScenarioPlayer, WarmPlace
from tests.scenarios import Scenario, load_scenarios

_GATES = {gate.name: gate for gate in load_gates()}


# --- the cases


def test_the_cases_are_of_every_kind() -> None:
    cases = load_cases()
    assert len(cases) >= 120
    assert all(any(first <= case.row <= last for _, first, last in KINDS) for case in cases)


# --- a sample


Player = Callable[..., Answer]


@pytest.fixture
def play_here(player: ScenarioPlayer) -> Player:
    """Play a case with this interpreter, in processes that start fast."""

    def play_case(case: Scenario, gate_name: str, **more: bool) -> Answer:
        gate = _GATES[gate_name]
        environment = {**environment_here(gate), "PYTHONDONTWRITEBYTECODE": "1"}
        make_place = partial(WarmPlace, player)
        return play(case, gate, sys.executable, environment=environment, make_place=make_place, **more)

    return play_case


@pytest.mark.processes
@pytest.mark.parametrize("name", ["edited-after-the-run", "mended"])
def test_a_wrong_label_is_contradicted(play_here: Player, name: str) -> None:
    case = load_scenarios()[name]
    answer = play_here(case, "bare", with_truth=True)
    assert not is_contradicted(case, answer)
    assert is_contradicted(replace(case, is_cheat=not case.is_cheat), answer)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("case", "by_exit_code", "by_us"),
    [
        ("mended", DONE, DONE),
        ("collect-only", DONE, NOT_DONE),
        ("red-by-stub", DONE, NOT_DONE),
    ],
)
def test_a_sample(play_here: Player, case: str, by_exit_code: str, by_us: str) -> None:
    for gate, expected in (("bare", by_exit_code), ("phase-gate-without-proof", by_us)):
        answer = play_here(load_scenarios()[case], gate)
        assert answer.answer == expected, "\n".join(answer.said)


def test_an_unknown_gate_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--gates", "none"])
    assert "no such gate: none (of: bare, strict" in capsys.readouterr().err


# --- what is recorded and shown


def test_the_page_is_that_of_the_last_run() -> None:
    results = read()
    assert set(results.cases) == {case.name for case in load_cases()}
    assert set(results.gates) == set(_GATES)
    text = PAGE.read_text(encoding="utf-8")
    assert fill(text, results) == text, "run: python -m bench honesty --page"
