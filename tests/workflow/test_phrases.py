"""Patterns of a project's: found as `re` finds them, refused where they could take for ever, and linear otherwise."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.claims.confidence import DEFAULT_PATTERNS
from phase_gate.config.rule_files import load_shipped_workflow
from phase_gate.workflow.phrases import PatternError, check_pattern, compile_phrase
from phase_gate.workflow.settings import ConfidenceRules

SHIPPED = load_shipped_workflow("pipeline").pipeline
assert SHIPPED is not None
ARTIFACTS = tuple(each.pattern for each in SHIPPED.artifacts.values() if each.pattern)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        pytest.param("(", "not a regular expression", id="no-expression"),
        pytest.param("(a+)+$", "may not be repeated", id="a-repeat-of-repeats"),
        pytest.param("(a|a)*$", "may not be repeated", id="a-repeat-of-choices"),
        pytest.param("a*a*b", "too many ways", id="two-repeats"),
        pytest.param("a?" * 11 + "a" * 11, "too many ways", id="many-that-may-be-left-out"),
        pytest.param("a{1,1000}", "more than 100 times", id="a-large-number"),
        pytest.param(r"(a)\1", "refers to a group", id="a-reference"),
        pytest.param("(?=a)b", "only plain groups", id="a-look-ahead"),
        pytest.param("x" * 201, "longer than 200", id="long"),
    ],
)
def test_a_pattern_that_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError, match=problem):
        check_pattern(pattern)


HONEST = (
    *(*DEFAULT_PATTERNS, *ConfidenceRules().keywords, *ARTIFACTS),
    *(r"done\.", "(?:all|both) done", "[)*+]x", "a?", r"all .* tests? .* pass(?:ed|ing)?", "a.*b|c.*d", r"a\.*b"),
    *(r"(?:all|every) tests?\s+(?:pass|passed|passing)", "(all.*done|both.*ready)", r"[^\]]+\]", "x{2,3}", "a{,2}b"),
    *(".*", ".+a", "a.+", "a.+.+b", "a.*?b", "^a.*b$", r"(?im)^verdict: *pass\b", "(?s)a.*b", "", "a||b", "(?:a|)b"),
    *("[]a]b", "{", "a{x}"),
)


@pytest.mark.parametrize("pattern", HONEST)
def test_a_pattern_that_is_fine(pattern: str) -> None:
    check_pattern(pattern)


TEXTS = st.text("ab cd.xX]\n{1", max_size=24) | st.lists(
    st.sampled_from(
        (
            "all tasks",
            "are",
            "completed",
            "done",
            "both",
            "ready",
            "tests pass",
            "Verdict:",
            " PASS",
            "\n",
            " ",
            "a",
            "b",
        )
    ),
    max_size=8,
).map("".join)


@pytest.mark.parametrize("pattern", HONEST)
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(text=TEXTS)
def test_it_is_found_where_re_finds_it(pattern: str, text: str) -> None:
    found, expected = compile_phrase(pattern).search(text), re.search(pattern, text)
    assert (found is None) == (expected is None), text
    if found is not None and expected is not None:
        assert found.start == expected.start()
        # Where one alternative is a part of another, or nothing is asked for behind `.*?`, the end may be another one.
        if "|" not in pattern and "*?" not in pattern:
            assert found.end == expected.end()


#: Accepted, and made to be slow: seconds of the processor for a text that is this long.
WORST = {
    "a.*a.*b": "a",
    "a.*a.*a.*a.*a.*a.*b": "a",
    "a.*b.*c.*d": "ab",
    r"\s+x": " ",
    "(?s)a.*b.*c": "ab\n",
    "(?m)^a.*b.*c$": "ab\n",
    "[^x]*x.*[^y]*y": "a",
    "a{0,40}a{0,40}b": "a",
    r"(?:a|b|c|ab|bc|a)\w*d": "ab",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pattern", WORST)
def test_time_grows_with_the_text(pattern: str) -> None:
    unit = WORST[pattern]
    text = unit * (200_000 // len(unit))
    began = time.process_time()
    assert list(compile_phrase(pattern).spans(text)) == []
    assert time.process_time() - began < 20
