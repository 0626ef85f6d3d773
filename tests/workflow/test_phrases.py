"""Patterns of a project: found as `re` finds them, refused if they could take too long, and linear otherwise."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.claims.confidence import DEFAULT_PATTERNS
from phase_gate.workflow.phrases import PatternError, compile_phrase
from phase_gate.workflow.sections import ConfidenceRules


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        pytest.param("(", "not a regular expression", id="no-expression"),
        pytest.param("a+b", "only `.*` outside of a group", id="a-repeat"),
        pytest.param("(a|a)*$", "only `.*` outside of a group", id="a-repeat-of-choices"),
        pytest.param("a{1,1000}", "only `.*` outside of a group", id="a-large-number"),
        pytest.param("(a.*b)c", "only `.*` outside of a group", id="anything-in-a-group"),
        pytest.param("a?" * 11, "more than 10 choices", id="many-that-may-be-left-out"),
        pytest.param("(a|a)" * 11, "more than 10 choices", id="many-alternatives"),
        pytest.param(r"(a)\1", "refers to a group", id="a-reference"),
        pytest.param("(?=a)b", "only plain groups", id="a-look-ahead"),
        pytest.param("x" * 201, "longer than 200", id="long"),
    ],
)
def test_a_pattern_that_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError, match=problem):
        compile_phrase(pattern)


HONEST = (
    *(*DEFAULT_PATTERNS, *ConfidenceRules().keywords),
    *(r"done\.", "(?:all|both) done", "[)*+]x", "a?", r"all .* tests? .* pass(?:ed|ing)?", "a.*b|c.*d", r"a\.b"),
    *(".*", "a.*?b", "^a.*b$", "", "a||b", "(?:a|)b", "[]a]b", "(all|both) (done|ready)"),
)
WORDS = ("all tasks", "are", "completed", "done", "both", "ready", "tests pass", " PASS", " ", "a", "b")
TEXTS = st.text("ab cd.xX]1", max_size=24) | st.lists(st.sampled_from(WORDS), max_size=8).map("".join)


@pytest.mark.parametrize("pattern", HONEST)
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(text=TEXTS)
def test_it_is_found_where_re_finds_it(pattern: str, text: str) -> None:
    expected = re.search(rf"(?i)(?<!\w)(?:{pattern})", text) is not None
    assert any(True for _ in compile_phrase(pattern).ends(text)) is expected


#: Accepted, and made to be slow.
WORST = {
    "a.*a.*b": "a",
    "a.*a.*a.*a.*a.*a.*b": "a",
    "a.*b.*c.*d": "ab",
    "(?:a|b|c|ab|bc|a).*(?:a|b|ab|abab)?d": "ab",
    "a?a?a?a?a?a?a?a?a?a?b": "a",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pattern", WORST)
def test_time_grows_with_the_text(pattern: str) -> None:
    unit = WORST[pattern]
    text = unit * (200_000 // len(unit))
    began = time.process_time()
    assert [*compile_phrase(pattern).ends(text)] == []
    assert time.process_time() - began < 20
