"""Which words are a sign of completion, and which are not."""

from __future__ import annotations

import pytest

from phase_gate.claims.agent_output import read_claim_text, sentences
from phase_gate.claims.confidence import (
    DEFAULT_PATTERNS,
    Sign,
    find_patterns,
    plan_is_ticked,
)
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
