"""The breaker in real sessions: it opens, halts, tells what was tried, and a person lets it go on or gives up."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import WRONG_CALC, Begin, CommandProject
from tests.cli.terminals import at_terminal
from tests.support import CALC, FAILING_TESTS, Result

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")

RESET = ("breaker", "reset", "--reason", "the rounding was explained to me", "--by", "ann")
SKIP = ("breaker", "skip", "--reason", "the vendor's sandbox is down until Monday", "--by", "ann")
FORCE = ("force", "--reason", "the release must not wait for the vendor", "--by", "ann")


def attempt(gated: CommandProject, number: int, code: str = WRONG_CALC) -> Result:
    gated.project.write(calc=f"{code}\n\nTRY = {number}\n")
    return gated.project.run("--phase=green")


@pytest.fixture
def red(begin: Begin) -> CommandProject:
    """RED has exited."""
    return begin("red-exited")


@pytest.fixture
def stuck(begin: Begin) -> CommandProject:
    """Five runs in GREEN, each on a new tree, with the same error."""
    return begin("stuck-5")


# --- it opens


def test_one_run_before_the_limit_it_warns(red: CommandProject) -> None:
    said = [attempt(red, number).out for number in range(4)]
    assert ["\nbreaker " in out for out in said] == [False, False, False, True]
    assert "half-open: the same error 4 times; one more run without progress" in " ".join(said[3].split())


def test_tests_still_run_and_open_is_no_success(stuck: CommandProject) -> None:
    attempt(stuck, 6, CALC)
    ran = stuck.project.run("--phase=green", "--exit-signal=done now", "-v")
    assert ran.code == 12
    assert ran.has("2 passed", "Gate 1  All tests passing (stable)", "halt: the circuit is open")
    assert stuck.json("status")["exited"] is False
    ran = stuck.gate("signal", "--reason", "done now", "-v")
    assert ran.code == 12
    said = " ".join(ran.out.split())
    assert "Both gates would be open, but GREEN does not exit: signal again once the circuit is closed" in said
    assert "has exited" not in said


def test_a_limit_may_not_be_raised_in_mid_cycle(red: CommandProject) -> None:
    red.project.write({"phase-gate.yaml": "phases:\n  GREEN:\n    breaker: {same_error: 50}\n"})
    assert attempt(red, 1).has("rules-unchanged", "phases.GREEN.breaker")


# --- the report


def test_the_stuck_report(stuck: CommandProject) -> None:
    ran = stuck.gate("status")
    assert ran.code == 12
    for text in (
        "Stuck in GREEN: the same error 5 times",
        "5 failed iterations",
        "test_calc.py::test_add assert -1 == 3",
        "iteration 5, ",
        "1 failing, 1 passing; changed before it: calc.py",
        "What a person must decide",
        "phase-gate breaker skip",
    ):
        assert text in ran.out, text


def test_the_stuck_report_names_the_condition_where_no_test_fails(begin: Begin) -> None:
    gated = begin("")
    for number in range(6):
        gated.project.write(calc=f"{CALC}\n\nTRY = {number}\n", test_calc=FAILING_TESTS)
        gated.project.run("--phase=red")
    report = gated.json("status")["stuck"]
    assert (report["failing_now"], report["guards_now"], report["failed_iterations"]) == ({}, [], 6)
    assert gated.gate("status").has(
        "What fails now\n  tests_failing == tests_total is not met\n  tests_passing == 0 is not met\n"
    )


# --- a person lets it try again


def test_a_reset_lets_one_run_decide(stuck: CommandProject) -> None:
    ran = at_terminal(stuck, *RESET)
    assert ran.code == 0, ran.err
    assert "half-open: the next complete run on changed files decides" in ran.out
    assert attempt(stuck, 8).has("halt    the circuit is open"), "the one trial has failed"


def test_after_a_reset_progress_closes_it(stuck: CommandProject) -> None:
    at_terminal(stuck, *RESET)
    attempt(stuck, 9, CALC)
    ran = stuck.project.run("--phase=green", "--exit-signal=now it is done")
    assert ran.code == 0
    assert ran.has("person  ann let the breaker try again in GREEN", "both gates are open")


# --- a person gives the phase up


def test_a_skip_is_a_forced_exit(stuck: CommandProject) -> None:
    ran = at_terminal(stuck, *SKIP)
    assert ran.code == 0, ran.err
    assert "GREEN was skipped by ann (forced): the vendor's sandbox is down" in ran.out
    assert "next: pytest --phase=red  # starts the next cycle; REFACTOR asks for what GREEN did not reach" in ran.out
    status = stuck.json("status")
    assert (status["exited"], status["forced_exit"]) == (True, True)
    assert status["evaluation"]["forced_exit"] is True
    assert stuck.gate("status").has("exited (forced)", "override ann skipped GREEN")
    assert stuck.gate("check").has("(forced)")
    later = stuck.project.run("--phase=refactor")
    assert later.has("person  ann skipped GREEN"), "every later verdict of the cycle shows it"


@pytest.mark.parametrize("words", [RESET, SKIP, FORCE], ids=["reset", "skip", "force"])
def test_only_a_person_may(stuck: CommandProject, words: tuple[str, ...]) -> None:
    code, slug, problem = stuck.error(*words)
    assert (code, slug) == (13, "not-allowed")
    assert "is for a person at a terminal" in problem


@pytest.mark.parametrize("excuse", ["it works", "trust me", "small change", "LGTM!", "x", "should work", "no time"])
def test_an_excuse_is_refused_and_spends_nothing(stuck: CommandProject, excuse: str) -> None:
    before = stuck.files()
    ran = at_terminal(stuck, "breaker", "skip", "--reason", excuse, "--by", "ann")
    assert (ran.code, stuck.files()) == (13, before)
    assert "is no reason to override what was measured" in ran.err
    assert at_terminal(stuck, *SKIP).code == 0, "a failed attempt spends nothing"


# --- a person ends it against everything


def test_force_wants_the_word(red: CommandProject) -> None:
    attempt(red, 1)
    before = red.files()
    ran = at_terminal(red, *FORCE, typed="override\n")
    assert (ran.code, red.files()) == (13, before)
    assert "needs the word OVERRIDE, and nothing was changed" in ran.err


def test_force_ends_the_phase(red: CommandProject) -> None:
    attempt(red, 1)
    ran = at_terminal(red, *FORCE, typed="OVERRIDE\n")
    assert ran.code == 0, ran.err
    assert "regardless of the gates" in ran.out
    status = red.json("status")
    assert (status["exited"], status["forced_exit"], status["overrides"][0]["kind"]) == (True, True, "force")
    assert "(forced)" in red.gate("check").out


def test_force_before_any_complete_run(begin: Begin) -> None:
    gated = begin("")
    gated.project.write(test_calc=FAILING_TESTS)
    gated.project.run("--phase=red", "-k", "test_add")
    assert at_terminal(gated, *FORCE, "--word", "OVERRIDE").code == 0
    assert gated.json("status")["forced_exit"] is True
