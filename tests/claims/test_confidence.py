"""Which words are a sign of completion, and which are not."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.claims.agent_output import read_claim_text, sentences
from phase_gate.claims.confidence import (
    DEFAULT_PATTERNS,
    Sign,
    calibrate,
    find_patterns,
    plan_is_ticked,
)
from phase_gate.gate.state import Event
from phase_gate.workflow.sections import ConfidenceRules

DEFAULT_KEYWORDS = ConfidenceRules().keywords


def found(text: str, patterns: tuple[str, ...] = DEFAULT_PATTERNS) -> list[str]:
    prose = sentences(read_claim_text([text]))
    return [each.name for each in find_patterns(patterns, prose) if each.met]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("All tasks complete!", r"all tasks complete\b"),
        ("The tests are green: 12 tests passing.", "tests passing"),
        ("**All tasks completed**", "all tasks.*completed"),
        ("- All tasks completed", "all tasks.*completed"),
        ("0 errors, 12 passed. All tasks are completed.", "all tasks.*completed"),
        ("No error is left and all tasks are completed.", "all tasks.*completed"),
        ("I do not know Perl. All tasks are completed.", "all tasks.*completed"),
        ("All the tests pass, and all tasks\nare completed.", "all tasks.*completed"),
    ],
)
def test_a_sign(text: str, pattern: str) -> None:
    assert found(text) == [pattern]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Not all tasks are completed.", id="not-all"),
        pytest.param("All tasks are not completed.", id="in-the-middle"),
        pytest.param("I can't say that all tasks are\ncompleted.", id="over-two-lines"),
        pytest.param("Are all tasks completed?", id="a-question"),
        pytest.param("If all tasks are completed, I stop.", id="a-condition"),
        pytest.param("All tasks are completed once the tests pass.", id="a-condition-behind-it"),
        pytest.param("Next, the implementation has to be finished.", id="a-plan"),
        pytest.param("It'll be ready for review.", id="will"),
        pytest.param("All tasks are completed except two.", id="except"),
        pytest.param("I am not outputting <promise>COMPLETE</promise>.", id="not-outputting"),
        pytest.param("When done, print <promise>COMPLETE</promise>.", id="an-order"),
        pytest.param("The phrase `all tasks completed` is what you look for.", id="inline-code"),
        pytest.param('He wants "all tasks completed" in it.', id="in-quotes"),
        pytest.param("```\nall tasks completed\n```", id="fenced"),
        pytest.param("> all tasks completed", id="quoted"),
        pytest.param("    all tasks completed", id="indented"),
        pytest.param("EXIT_REASON: ready for review", id="a-field-of-a-block"),
        pytest.param(f"all tasks {'and more ' * 200} completed", id="no-sentence"),
    ],
)
def test_no_sign(text: str) -> None:
    assert found(text) == []


def test_a_denied_sentence_does_not_hide_a_later_one() -> None:
    assert found("Not all tasks were completed yesterday. Now all tasks are completed.") == ["all tasks.*completed"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is done.", ["done"]),
        ("All 12 tests pass.", ["all.*pass"]),
        ("It is incomplete, unfinished and undone.", []),
        ("It is not done.", []),
        ("Completed and finished.", ["complete", "finished"]),
    ],
)
def test_keywords(text: str, words: list[str]) -> None:
    assert found(text, DEFAULT_KEYWORDS) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [x] one\n- [X] two\n", (True, "2 of 2 boxes are ticked")),
        ("* [x] one\n1. [x] two\n+ [✓] three\n  - [x] four\n2) [x] five\n[x] six", (True, "6 of 6 boxes are ticked")),
        ("- [x] one\n- [ ] two\n", (False, "1 of 2 boxes are ticked")),
        ("- [x] one\n- [] two\n", (False, "1 of 2 boxes are ticked")),
        ("- [x] one\n- [~] half\n", (False, "1 of 2 boxes are ticked")),
        ("nothing to do\n", (None, "no boxes in it")),
        ("", (None, "no boxes in it")),
        ("see [x](link) and [1]", (None, "no boxes in it")),
    ],
)
def test_a_plan(text: str, expected: tuple[bool | None, str]) -> None:
    assert plan_is_ticked(text) == Sign(*expected)


def claimed(score: int = 80, *, done: bool = True) -> Event:
    return Event(kind="claimed", data={"claim": {"confidence": score, "explicit": done}})


def ran(green: str, **more: Any) -> Event:
    return Event(kind="run-ended", data={"iteration": 1, "green": green, **more})


GREEN, RED, PARTIAL = ran("green"), ran("not-green"), ran("green", iteration=None)


EXIT = Event(kind="phase-exited", data={"forced": False})


FORCED = Event(kind="phase-exited", data={"forced": True})


REWOUND = Event(kind="rewound", data={})


@pytest.mark.parametrize(
    ("events", "truth", "left_open"),
    [
        pytest.param([claimed(), GREEN, EXIT], [True], 0, id="green-and-out"),
        pytest.param([claimed(), EXIT], [True], 0, id="out-at-once"),
        pytest.param([claimed(), RED, GREEN], [False], 0, id="red-after-it"),
        pytest.param([claimed(), GREEN, RED], [False], 0, id="red-later"),
        pytest.param([claimed(), REWOUND], [False], 0, id="somebody-went-back"),
        pytest.param([claimed(), FORCED], [False], 0, id="forced-out"),
        pytest.param([claimed()], [], 1, id="nothing-came"),
        pytest.param([claimed(), PARTIAL], [], 1, id="only-a-partial-run"),
        pytest.param([claimed(), GREEN, claimed(), RED], [True, False], 0, id="each-claim-by-itself"),
        pytest.param([claimed(), claimed(), EXIT], [True], 1, id="claimed-twice"),
        pytest.param([claimed(done=False), RED], [], 0, id="not-done-is-no-claim"),
        pytest.param([RED, claimed(), GREEN], [True], 0, id="what-was-before-does-not-count"),
    ],
)
def test_the_truth_comes_later(events: list[Event], truth: list[bool], left_open: int) -> None:
    found = calibrate(events)
    row = next(row for row in found["rows"] if row["low"] == 70)
    assert (row["claims"], row["true"], found["open"]) == (len(truth), sum(truth), left_open)


def test_the_table() -> None:
    scores = ((20, RED), (75, GREEN), (75, RED), (100, GREEN))
    found = calibrate(event for score, later in scores for event in (claimed(score), later))
    rows = [(row["low"], row["claims"], row["true"]) for row in found["rows"]]
    assert rows == [(0, 1, 0), (30, 0, 0), (50, 0, 0), (70, 2, 1), (85, 1, 1)]
