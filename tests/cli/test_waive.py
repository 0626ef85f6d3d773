"""`phase-gate waive`: a person at a terminal lets one guard's present findings pass, on the record."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.cli.conftest import Begin, CommandProject
from tests.cli.terminals import at_terminal, terminal
from tests.support import CALC, FAILING_TESTS

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


# --- given


def test_it_opens_the_gate_and_stands_in_the_ledger(altered: CommandProject) -> None:
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


# --- shown everywhere


def test_every_later_verdict_and_report_shows_it(altered: CommandProject) -> None:
    at_terminal(altered, *GIVEN)
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


# --- what it covers, and how long


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


# --- refused


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("--by", "ann"), (2, "bad-usage", "a waiver needs a reason"), id="no-reason"),
        pytest.param(("--reason", "so"), (2, "bad-usage", "a waiver needs a name"), id="no-name"),
        pytest.param(
            ("--reason", "so", "--by", "ann", "--days", "0"),
            (2, "bad-usage", "--days 0: not a time that a waiver may last"),
            id="no-time",
        ),
        pytest.param(
            ("--reason", "so", "--by", "ann", "--days", "400"),
            (2, "bad-usage", "--days 400: not a time that a waiver may last"),
            id="more-than-a-year",
        ),
    ],
)
def test_reason_name_and_time(
    altered: CommandProject, arguments: tuple[str, ...], expected: tuple[int, str, str]
) -> None:
    with terminal() as person, open(person, closefd=False) as stdin, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", stdin)
        assert altered.error("waive", "tests-unchanged", *arguments) == expected


def test_only_a_guard_that_closes_the_gate(altered: CommandProject) -> None:
    arguments = ("waive", "tests-kept", "--reason", "so", "--by", "ann")
    assert altered.error(*arguments) == (13, "not-allowed", "tests-kept is not what closes the gate")
    assert at_terminal(altered, *arguments).has("waive one of these: tests-unchanged")


def test_nobody_at_a_terminal(altered: CommandProject) -> None:
    assert altered.error(*GIVEN) == (13, "not-allowed", "a waiver is for a person at a terminal")
    assert altered.project.gate(*GIVEN).code == 13, "nor a process whose input is a pipe"


def test_what_the_configuration_says_later_does_not_count(altered: CommandProject) -> None:
    altered.project.write({"phase-gate.yaml": "overrides:\n  allow_non_interactive: true\n"})
    assert altered.error(*GIVEN)[:2] == (13, "not-allowed")
