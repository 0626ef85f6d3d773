"""Kinds of run: one row a line of the design's table, and which of several wins."""

from __future__ import annotations

import pytest

from phase_gate.gate.runs import Kind, RunFacts, classify_run
from phase_gate.values import replace
from phase_gate.visible import count

WHOLE = RunFacts(collected=5, executed=5)


@pytest.mark.parametrize(
    ("facts", "kind", "why"),
    [
        pytest.param(WHOLE, Kind.COMPLETE, "", id="all-known-tests-ran-is-complete"),
        pytest.param(replace(WHOLE, executed=1), Kind.COMPLETE, "", id="one-executed-test-among-skips-is-complete"),
        pytest.param(
            replace(WHOLE, narrowed_by=("-k x",)),
            Kind.COMPLETE,
            "",
            id="a-narrow-run-that-leaves-nothing-known-out-is-complete",
        ),
        pytest.param(
            replace(WHOLE, is_void=True), Kind.VOID, "no test was meant to run", id="a-usage-error-is-no-run-at-all"
        ),
        pytest.param(
            replace(WHOLE, is_nested=True),
            Kind.NESTED,
            "it ran inside another run of this task",
            id="pytest-inside-a-test-is-nested",
        ),
        pytest.param(
            replace(WHOLE, interrupted="pytest.exit: enough"),
            Kind.INCOMPLETE,
            "pytest.exit: enough",
            id="a-session-that-was-stopped-is-incomplete-even-if-every-test-ran",
        ),
        pytest.param(
            replace(WHOLE, not_run=1), Kind.INCOMPLETE, "1 collected test did not run", id="one-test-without-a-result"
        ),
        pytest.param(
            replace(WHOLE, executed=0, not_run=5),
            Kind.INCOMPLETE,
            "5 collected tests did not run",
            id="setup-only-runs-no-test",
        ),
        pytest.param(
            replace(WHOLE, changed_sources=("a.py", "b.py")),
            Kind.INCOMPLETE,
            "sources changed while it ran: a.py, b.py",
            id="sources-that-change-meanwhile-are-named",
        ),
        pytest.param(
            replace(WHOLE, changed_sources=("a.py", "b.py", "c.py", "d.py", "e.py")),
            Kind.INCOMPLETE,
            "sources changed while it ran: a.py, b.py, c.py and 2 more",
            id="three-changed-sources-are-named-the-rest-counted",
        ),
        pytest.param(
            replace(WHOLE, unselected=1, narrowed_by=("-k 'add'", "test_a.py")),
            Kind.PARTIAL,
            "1 known test did not run (-k 'add'; test_a.py)",
            id="a-partial-run-says-how-it-was-narrowed",
        ),
        pytest.param(
            replace(WHOLE, unselected=2),
            Kind.PARTIAL,
            "2 known tests did not run",
            id="a-partial-run-by-ini-has-no-option-to-name",
        ),
        pytest.param(
            RunFacts(collected=0, executed=0, unselected=2, narrowed_by=("-k 'nothing'",)),
            Kind.PARTIAL,
            "2 known tests did not run (-k 'nothing')",
            id="nothing-selected-is-partial-not-empty",
        ),
        pytest.param(
            RunFacts(collected=0, executed=0), Kind.EMPTY, "no test was collected", id="no-test-at-all-is-empty"
        ),
        pytest.param(
            RunFacts(collected=3, executed=0), Kind.EMPTY, "every test was skipped", id="only-skips-are-empty"
        ),
        pytest.param(
            RunFacts(collected=0, executed=0, uncollectable=2),
            Kind.COMPLETE,
            "",
            id="a-module-that-cannot-be-imported-is-not-nothing",
        ),
        pytest.param(
            RunFacts(collected=3, executed=0, uncollectable=1),
            Kind.COMPLETE,
            "",
            id="skips-beside-a-module-that-cannot-be-imported-are-not-empty",
        ),
    ],
)
def test_kind_of_a_run(facts: RunFacts, kind: Kind, why: str) -> None:
    classified = classify_run(facts)
    assert (classified.kind, classified.why) == (kind, why)


#: What makes each kind, in the order in which they are tried.
MAKES = (
    (Kind.VOID, {"is_void": True}),
    (Kind.NESTED, {"is_nested": True}),
    (Kind.INCOMPLETE, {"interrupted": "interrupted"}),
    (Kind.INCOMPLETE, {"not_run": 1}),
    (Kind.INCOMPLETE, {"changed_sources": ("a.py",)}),
    (Kind.PARTIAL, {"unselected": 1}),
    (Kind.EMPTY, {"collected": 0, "executed": 0}),
)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            first, second, id=f"{MAKES[first][0]}-{first}-wins-over-{MAKES[second][0]}-{second}".replace("_", "-")
        )
        for first in range(len(MAKES))
        for second in range(first + 1, len(MAKES))
    ],
)
def test_the_first_kind_that_fits_wins(first: int, second: int) -> None:
    (wins, one), (_, other) = MAKES[first], MAKES[second]
    assert classify_run(replace(WHOLE, **{**other, **one})).kind is wins


def test_the_kinds_are_listed_in_the_order_of_the_table() -> None:
    assert list(Kind) == ["void", "nested", "lost", "incomplete", "partial", "empty", "complete"]


def test_the_reason_of_an_incomplete_run_is_the_first_that_fits() -> None:
    facts = replace(WHOLE, interrupted="interrupted", not_run=2, changed_sources=("a.py",))
    assert classify_run(facts).why == "interrupted"
    assert classify_run(replace(facts, interrupted="")).why == "2 collected tests did not run"
    assert classify_run(replace(facts, interrupted="", not_run=0)).why == "sources changed while it ran: a.py"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        pytest.param(0, "0 tests", id="none-is-many"),
        pytest.param(1, "1 test", id="one"),
        pytest.param(2, "2 tests", id="two"),
    ],
)
def test_numbers_with_their_noun(number: int, words: str) -> None:
    assert count(number, "test") == words
