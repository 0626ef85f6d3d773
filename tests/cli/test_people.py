"""`phase-gate waive`, `force`, `breaker`: what a person decides against the measurements, on the record."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.cli.conftest import WRONG_CALC, Begin, CommandProject
from tests.cli.terminals import at_terminal, terminal
from tests.support import CALC, FAILING_TESTS, Result

# --- waive


ALTERED = FAILING_TESTS.replace("sub(3, 2) == 1", "sub(4, 2) == 2")
AGAIN = FAILING_TESTS.replace("sub(3, 2) == 1", "sub(40, 20) == 20")
BOTH = ALTERED.replace("add(1, 2) == 3", "add(10, 20) == 30")
GIVEN = ("waive", "tests-unchanged", "--reason", "four minus two", "--by", "ann")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")


def green(gated: CommandProject, *arguments: str) -> dict[str, Any]:
    """Run the suite; return its verdict."""
    gated.project.run("--phase=green", "--phase-report=verdict.json", *arguments)
    verdict: dict[str, Any] = gated.project.report()
    return verdict


def is_open(gated: CommandProject) -> bool:
    opened: bool = green(gated)["gate_1"]["open"]
    return opened


@pytest.fixture
def altered(begin: Begin) -> CommandProject:
    """A frozen test was changed in GREEN, and the gate says so; everything else is well."""
    gated = begin("green")
    gated.project.write(test_calc=ALTERED)
    green(gated)
    assert [guard["name"] for guard in green(gated)["gate_1"]["guards"] if not guard["met"]] == ["tests-unchanged"]
    return gated


def test_it_opens_the_gate_and_stands_in_every_record(altered: CommandProject) -> None:
    ran = at_terminal(altered, *GIVEN)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("tests-unchanged is waived for 1 finding, until the cycle ends\n")
    event = altered.json("history", "--events")["events"][-1]
    assert (event["kind"], event["guard"], event["by"], event["reason"]) == (
        "waived",
        "tests-unchanged",
        "ann",
        "four minus two",
    )
    verdict = green(altered)
    assert verdict["gate_1"]["satisfied"]
    assert verdict["metrics"]["tests_altered"] == 1, "no number is changed by it"
    assert [row["slug"] for row in verdict["findings"]] == ["tests-unchanged"], "and the finding is still named"
    # Every later verdict and report shows it.
    said = "tests-unchanged (1 finding) by ann, until the cycle ends: four minus two"
    for quiet in ((), ("-q",)):
        ran = altered.project.run("--phase=green", "--phase-report=verdict.md", *quiet, "-v")
        assert f"waived {said}" in " ".join(ran.out.split())
    assert ran.code == 0
    page = (altered.root / "verdict.md").read_text(encoding="utf-8")
    assert f"Waived:\n\n- {said}\n" in page
    assert "tests-unchanged (waived)" in page
    assert f"waived   {said}" in altered.gate("status").out
    assert f"waived {said}" in " ".join(altered.gate("explain").out.split())
    assert said in altered.gate("history").out.splitlines()[-1]
    (override,) = altered.json("status")["overrides"]
    assert green(altered)["overrides"] == [override]
    assert (override["kind"], override["guard"], override["by"]) == ("waive", "tests-unchanged", "ann")
    assert altered.json("history")["overrides"] == [{"cycle": 1, **override}]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        pytest.param(ALTERED, True, id="what-was-there"),
        pytest.param("# a comment\n\n\n" + ALTERED, True, id="what-was-there-reformatted"),
        pytest.param(FAILING_TESTS, True, id="the-change-is-taken-back"),
        pytest.param(AGAIN, False, id="the-same-test-once-more"),
        pytest.param(BOTH, False, id="another-test"),
        pytest.param("import os\n\nos.umask(0o22)\n\n\n" + ALTERED, False, id="the-code-around-it"),
    ],
)
def test_it_covers_exactly_what_was_found(altered: CommandProject, tests: str, expected: bool) -> None:
    at_terminal(altered, *GIVEN)
    assert is_open(altered)
    altered.project.write(test_calc=tests)
    green(altered)
    assert is_open(altered) is expected


def test_it_expires(altered: CommandProject, monkeypatch: pytest.MonkeyPatch) -> None:
    document = at_terminal(altered, *GIVEN, "--days", "2", "--json").document
    assert is_open(altered)
    assert document["expires"] in altered.gate("status").out
    # Two days later, as far as anybody here looks at a clock.
    for place in ("storage.store.now", "runs.ending.now", "cli.look.now"):
        monkeypatch.setattr(f"phase_gate.{place}", lambda: document["expires"])
    assert not is_open(altered)
    assert altered.json("status")["overrides"] == []
    assert len(altered.json("history")["overrides"]) == 1, "that it was given does not go away"


def test_it_ends_with_the_cycle(altered: CommandProject) -> None:
    at_terminal(altered, *GIVEN)
    altered.gate("signal", "--reason", "both pass")
    altered.project.write(test_more="def test_more():\n    from calc import more\n\n    assert more() == 1\n")
    assert altered.project.run("--phase=red", "--exit-signal=one fails", "--phase-exit=dual").code == 0
    assert altered.json("status")["overrides"] == []
    altered.project.write(calc=f"{CALC}\n\ndef more():\n    return 1\n", test_calc=AGAIN)
    green(altered)
    assert not is_open(altered), "the old waiver covers nothing of the new cycle"
    assert [row["cycle"] for row in altered.json("history")["overrides"]] == [1]


def test_outcomes_that_are_waived_count_for_the_streak(begin: Begin) -> None:
    gated = begin("")
    gated.project.write(conftest=REWRITES, test_flaky="def test_flaky():\n    assert 1 + 1 == 3\n")
    green(gated)
    assert [row["name"] for row in green(gated)["gate_1"]["guards"] if not row["met"]] == ["outcomes-genuine"]
    assert at_terminal(gated, "waive", "outcomes-genuine", "--reason", "known to be flaky", "--by", "ann").code == 0
    green(gated)
    assert is_open(gated), "two green runs, with nothing but what a person has let pass"


REWRITES = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    if item.name == "test_flaky":
        result.get_result().outcome = "passed"
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("--by ann", "a waiver needs a reason"),
        ("--reason so", "a waiver needs a name"),
        ("--reason so --by ann --days 0", "--days can't be '0': give a number above 0"),
        ("--reason so --by ann --days 400", "--days 400: not a time that a waiver may last"),
    ],
)
def test_reason_name_and_time(altered: CommandProject, options: str, problem: str) -> None:
    with terminal() as person, open(person, closefd=False) as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        assert altered.error("waive", "tests-unchanged", *options.split()) == (2, "bad-usage", problem)


def test_only_a_guard_that_closes_the_gate(altered: CommandProject) -> None:
    arguments = ("waive", "tests-kept", "--reason", "so", "--by", "ann")
    assert altered.error(*arguments) == (13, "not-allowed", "tests-kept is not what closes the gate")
    assert at_terminal(altered, *arguments).has("waive one of these: tests-unchanged")
    unknown = ("waive", "nonsense", "--reason", "so", "--by", "ann")
    assert altered.error(*unknown) == (13, "not-allowed", "no guard is called 'nonsense'")
    assert altered.gate(*unknown).has("name one of these: ", "tests-kept, ", "tests-unchanged")


def test_nobody_at_a_terminal(altered: CommandProject) -> None:
    assert altered.error(*GIVEN) == (13, "not-allowed", "a waiver is for a person at a terminal")
    assert altered.project.gate(*GIVEN).code == 13, "nor a process whose input is a pipe"
    # What the configuration says later does not count.
    altered.project.write({"phase-gate.yaml": "overrides:\n  allow_non_interactive: true\n"})
    assert altered.error(*GIVEN)[:2] == (13, "not-allowed")


# --- the circuit opens; a person lets it try again, or ends the phase


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


def test_explain_knows_the_word_of_the_report(stuck: CommandProject) -> None:
    assert stuck.gate("status").has("Stuck in GREEN")
    assert stuck.gate("explain", "stuck").has("stuck: ", "its circuit is open", "phase-gate status", "recoveries")


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


def test_a_skip_is_a_forced_exit(stuck: CommandProject) -> None:
    ran = at_terminal(stuck, *SKIP)
    assert ran.code == 0, ran.err
    assert "GREEN was skipped by ann (forced): the vendor's sandbox is down" in ran.out
    assert "next: pytest --phase=refactor  # or pytest --phase=red for the next cycle" in ran.out
    status = stuck.json("status")
    assert (status["exited"], status["forced_exit"]) == (True, True)
    assert status["evaluation"]["forced_exit"] is True
    assert stuck.gate("status").has("exited (forced)", "override ann skipped GREEN")
    assert stuck.gate("check").has("(forced)")
    later = stuck.project.run("--phase=refactor")
    assert later.has("person  ann skipped GREEN"), "every later verdict of the cycle shows it"


def test_only_a_person_may(stuck: CommandProject) -> None:
    for words, what in ((RESET, "a reset"), (SKIP, "a skip"), (FORCE, "a forced exit")):
        assert stuck.error(*words) == (13, "not-allowed", f"{what} is for a person at a terminal")


@pytest.mark.parametrize("excuse", ["it works", "trust me", "small change", "LGTM!", "x", "should work", "no time"])
def test_an_excuse_is_refused_and_spends_nothing(stuck: CommandProject, excuse: str) -> None:
    before = stuck.files()
    ran = at_terminal(stuck, "breaker", "skip", "--reason", excuse, "--by", "ann")
    assert (ran.code, stuck.files()) == (13, before)
    assert "is no reason to override what was measured" in ran.err
    assert at_terminal(stuck, *SKIP).code == 0, "a failed attempt spends nothing"


def test_force_ends_the_phase_with_the_word(red: CommandProject) -> None:
    attempt(red, 1)
    before = red.files()
    ran = at_terminal(red, *FORCE, typed="override\n")
    assert (ran.code, red.files()) == (13, before)
    assert "needs the word OVERRIDE, and nothing was changed" in ran.err
    ran = at_terminal(red, *FORCE, typed="OVERRIDE\n")
    assert ran.code == 0, ran.err
    assert "regardless of the gates" in ran.out
    status = red.json("status")
    assert (status["exited"], status["forced_exit"], status["overrides"][0]["kind"]) == (True, True, "force")
    assert "GREEN was forced by ann: " in red.gate("check").out


def test_force_before_any_complete_run(begin: Begin) -> None:
    gated = begin("")
    gated.project.write(test_calc=FAILING_TESTS)
    gated.project.run("--phase=red", "-k", "test_add")
    assert at_terminal(gated, *FORCE, "--word", "OVERRIDE").code == 0
    assert gated.json("status")["forced_exit"] is True
