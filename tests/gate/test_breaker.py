"""The circuit breaker: one row a transition, and the stories that lead through them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phase_gate.gate.breaker import (
    Breaker,
    Status,
    at_time,
    blank,
    describe_open,
    fingerprint,
    observe_blocked_claim,
    observe_passed_claim,
    observe_run,
    reset,
)
from phase_gate.values import replace
from phase_gate.workflow.model import Limits

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
CLOSED, HALF_OPEN, OPEN = "closed", "half-open", "open"
THREE = Limits(no_progress=3, same_error=0, exit_blocked=3)


def at(minutes: float = 0.0) -> str:
    return (START + timedelta(minutes=minutes)).isoformat()


def seen(tree: object, *obstacles: str, passing: int = 0, **more: Any) -> dict[str, Any]:
    return {"tree": str(tree), "obstacles": frozenset(obstacles), "passing": passing, **more}


def follow(runs: Iterable[dict[str, Any]], limits: Limits = THREE, breaker: Breaker | None = None) -> list[Status]:
    """Return the status after each run, a minute apart."""
    now, states = breaker or Breaker(), []
    for minute, run in enumerate(runs):
        now = observe_run(now, limits, at=at(minute), **run)
        states.append(now.status)
    return states


def stuck(count: int, limits: Limits = THREE) -> Breaker:
    """Return a breaker after so many runs with the same failing test."""
    now = Breaker()
    for number in range(count):
        now = observe_run(now, limits, at=at(), **seen(number, "test_a"))
    return now


CLOSED_NOW, TRYING, OPEN_NOW = stuck(2), stuck(3), stuck(4)
ANY = Limits(no_progress=99, same_error=0)


@pytest.mark.parametrize(
    ("breaker", "obstacle", "limits", "after"),
    [
        pytest.param(CLOSED_NOW, "test_b", THREE, CLOSED, id="closed-progress"),
        pytest.param(CLOSED_NOW, "test_a", THREE, HALF_OPEN, id="closed-last-chance"),
        pytest.param(CLOSED_NOW, "test_a", Limits(no_progress=1), OPEN, id="closed-limit"),
        pytest.param(TRYING, "test_b", THREE, CLOSED, id="half-open-progress"),
        pytest.param(TRYING, "test_a", ANY, OPEN, id="half-open-stalled"),
        pytest.param(TRYING, "test_a", THREE, OPEN, id="half-open-limit"),
        pytest.param(OPEN_NOW, "test_b", THREE, OPEN, id="open-progress"),
    ],
)
def test_a_run_moves_it(breaker: Breaker, obstacle: str, limits: Limits, after: Status) -> None:
    assert observe_run(breaker, limits, at=at(), **seen("n", obstacle)).status == after


def test_rest_or_a_person_gives_one_more_chance() -> None:
    assert (CLOSED_NOW.status, TRYING.status, OPEN_NOW.status) == (CLOSED, HALF_OPEN, OPEN)
    assert at_time(OPEN_NOW, at(30)).status == reset(OPEN_NOW, at=at()).status == HALF_OPEN


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(["a", "a", "a", "a"], [CLOSED, CLOSED, HALF_OPEN, OPEN], id="the-same-failing-set"),
        pytest.param(["a", "b", "a", "b", "a"], [CLOSED, CLOSED, CLOSED, HALF_OPEN, OPEN], id="to-and-fro"),
    ],
)
def test_progress_is_a_failing_set_that_was_not_there_before(runs: list[str], expected: list[Status]) -> None:
    assert follow(seen(number, name) for number, name in enumerate(runs)) == expected


def test_more_tests_pass_than_ever() -> None:
    runs = [seen(number, "a", passing=number) for number in range(8)]
    assert follow(runs) == [CLOSED] * 8
    fewer = [seen(number, "a", passing=9 - number) for number in range(4)]
    assert follow(fewer) == [CLOSED, CLOSED, HALF_OPEN, OPEN], "fewer is no progress"


def test_a_run_on_the_same_tree_does_not_count() -> None:
    assert follow([seen("one", "a")] * 9) == [CLOSED] * 9


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"gate_is_open": True, "passing": 3}, id="waits-for-the-signal"),
        pytest.param({"needs_person": True}, id="said-that-a-person-is-needed"),
    ],
)
def test_waiting_is_no_stagnation(more: dict[str, bool]) -> None:
    assert follow(seen(number, "a", **more) for number in range(9)) == [CLOSED] * 9


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(1, [CLOSED, OPEN, OPEN, OPEN, OPEN, OPEN], id="one"),
        pytest.param(2, [CLOSED, HALF_OPEN, OPEN, OPEN, OPEN, OPEN], id="two"),
    ],
)
def test_limits(limit: int, expected: list[Status]) -> None:
    limits = Limits(no_progress=limit, same_error=0)
    assert follow([seen(number, "a") for number in range(6)], limits) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(2, [CLOSED, OPEN, OPEN, OPEN], id="two"),
        pytest.param(3, [CLOSED, HALF_OPEN, OPEN, OPEN], id="three"),
    ],
)
def test_the_same_error_in_other_tests(limit: int, expected: list[Status]) -> None:
    limits = Limits(no_progress=0, same_error=limit)
    assert follow([seen(number, f"test_{number}", errors="boom") for number in range(4)], limits) == expected


def test_exactly_one_trial_after_the_rest() -> None:
    assert at_time(OPEN_NOW, at(29.9)).status == OPEN
    failed = observe_run(OPEN_NOW, THREE, at=at(31), **seen("n", "test_a"))
    assert (failed.status, failed.opened_at) == (OPEN, at(31)), "the rest starts anew"
    assert at_time(failed, at(60)).status == OPEN
    saved = observe_run(OPEN_NOW, THREE, at=at(31), **seen("n", "test_b"))
    assert (saved.status, saved.no_progress, saved.reason, saved.opened_at) == (CLOSED, 0, "", "")


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        pytest.param(at(60 * 24 * 365), HALF_OPEN, id="a-year-ahead"),
        pytest.param("2026-01-01T12:31:00", HALF_OPEN, id="without-a-zone-it-is-utc"),
    ],
)
def test_clocks(moment: str, expected: Status) -> None:
    assert at_time(OPEN_NOW, moment).status == expected


def test_a_clock_that_went_back_does_not_keep_it_open_for_longer() -> None:
    back = observe_run(OPEN_NOW, THREE, at=at(-1000), **seen("n", "test_a"))
    assert at_time(back, at(-970)).status == HALF_OPEN


@pytest.mark.parametrize(
    ("minutes", "expected"), [(0, "30 min"), (15, "15 min"), (29.9, "less than a minute"), (-500, "30 min")]
)
def test_how_long_it_stays_open(minutes: float, expected: str) -> None:
    assert describe_open(OPEN_NOW, at(minutes)).endswith(f"; {expected} left")


def test_claims_that_are_blocked_again_and_again() -> None:
    now, states = Breaker(), []
    for _ in range(3):
        now = observe_blocked_claim(now, THREE, at=at())
        states.append(now.status)
    assert states == [CLOSED, HALF_OPEN, OPEN]
    assert now.reason == "3 claims in a row that the exit gate blocked"
    assert observe_passed_claim(replace(now, status=CLOSED)).exit_blocked == 0
    assert observe_blocked_claim(now, THREE, at=at()) == now, "open is open"


@pytest.mark.parametrize(("runs", "expected"), [(0, CLOSED), (2, HALF_OPEN)], ids=["of-claims", "of-runs"])
def test_a_claim_that_passes_ends_a_trial_of_claims_only(runs: int, expected: Status) -> None:
    trial = Breaker(status="half-open", limits=THREE, exit_blocked=2, no_progress=runs)
    after = observe_passed_claim(trial)
    assert (after.status, after.exit_blocked, after.no_progress) == (expected, 0, runs)


# --- the same error is told again, and another one is another one

SAME = [
    pytest.param("<Basket object at 0x7f31a0>", "<Basket object at 0x10ffab20>", id="addresses"),
    pytest.param("at 2026-01-01T10:00:00Z", "at 2026-02-03 11:12:13.5", id="times"),
    pytest.param("took 12:00:01", "took 13:59:59.25", id="clock-times"),
    pytest.param("timed out after 1.25 s", "timed out after 2.5 s", id="durations"),
    pytest.param("'/tmp/pytest-1/a/out.txt' is missing", "'/var/x9/out.txt' is missing", id="paths"),
    pytest.param("pid 4711 died", "pid 12 died", id="processes"),
    pytest.param("port=50123 in use", "port=50999 in use", id="ports"),
    pytest.param("no tmpab12cd34", "no tmpzz98yy76", id="temporary-names"),
    pytest.param(
        "key 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "key 00000000-2fa1-11d2-883f-0016d3cca427", id="universal-ids"
    ),
    pytest.param("\x1b[31mboom\x1b[0m", "boom", id="colours"),
    pytest.param("boom\nfirst\nsecond\nthird", "boom\nfirst\nsecond\nother", id="what-comes-late"),
]
DIFFERENT = [
    pytest.param("assert 3 == 4", "assert 3 == 5", id="numbers"),
    pytest.param("KeyError: 'a'", "KeyError: 'b'", id="names"),
    pytest.param("/x/a.py is missing", "/x/b.py is missing", id="the-end-of-a-path"),
    pytest.param("ValueError: boom", "TypeError: boom", id="kinds"),
    pytest.param("version 1.2", "version 1.3", id="versions"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_differs_from_run_to_run_is_blanked(one: str, other: str) -> None:
    assert blank(one) == blank(other)
    assert fingerprint([one]) == fingerprint([other])


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_means_something_stays(one: str, other: str) -> None:
    assert fingerprint([one]) != fingerprint([other])


def test_order_and_number_do_not_matter() -> None:
    assert fingerprint(["a", "b", "b"]) == fingerprint(["b", "a"])


def test_no_error_has_no_fingerprint() -> None:
    assert fingerprint([]) == fingerprint(["", "  "]) == ""
