"""Phrases of a project: found as a regular expression would find them, in linear time; refused if they are one."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.claims.confidence import DEFAULT_PATTERNS
from phase_gate.workflow.sections import ConfidenceRules, find_ends, is_phrase


@pytest.mark.parametrize("text", ["", "a+b", "(a|b)", "a{2}", "[ab]", r"\w", r"done\.", "^a", "a$", "a?", ".*?"])
def test_a_regular_expression_is_no_phrase(text: str) -> None:
    assert not is_phrase(text)


PHRASES = (*DEFAULT_PATTERNS, *ConfidenceRules().keywords, "a", ".*", "a.*b", r"a\b", r"\ba.*b\b", "1.5", "a.*a.*b")
WORDS = ("all tasks", "are", "completed", "done", "1.5", "1x5", "tests pass", " PASS", " ", "a", "b")
TEXTS = st.text("ab cd.xX]1", max_size=24) | st.lists(st.sampled_from(WORDS), max_size=8).map("".join)


@pytest.mark.parametrize("phrase", PHRASES)
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(text=TEXTS)
def test_it_is_found_where_re_finds_it(phrase: str, text: str) -> None:
    assert is_phrase(phrase)
    pattern = re.sub(r"\.(?!\*)", r"\\.", phrase)
    expected = re.search(rf"(?i)(?<!\w)(?:{pattern})", text) is not None
    assert any(True for _ in find_ends(phrase, text)) is expected


@pytest.mark.parametrize(("phrase", "unit"), [("a.*a.*a.*a.*a.*a.*b", "a"), ("a.*b.*c.*d", "ab")])
def test_time_grows_with_the_text(phrase: str, unit: str) -> None:
    began = time.process_time()
    assert [*find_ends(phrase, unit * (200_000 // len(unit)))] == []
    assert time.process_time() - began < 20
