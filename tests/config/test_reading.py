"""Values from the nodes of a file: typed, with every fault at its place."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.config.documents import read_document
from phase_gate.config.reading import Node, Place, Reader, Text, find
from phase_gate.errors import PhaseGateError, WorkflowError
from phase_gate.storage.signal_file import SignalError
from phase_gate.values import Value, field
from phase_gate.workflow.metrics import MetricValue

Choice = Literal["any", "first"]


class Inner(Value):
    inner: str


class Kinds(Value):
    """A field of each kind."""

    text: str = ""
    boolean: bool = False
    integer: int = field(default=1, minimum=1, maximum=9)
    number: float = field(default=0.0, minimum=0)
    value: MetricValue = None
    choice: Choice = "any"
    list: tuple[str, ...] = ()
    list_or_one: tuple[str, ...] = field(default=(), or_one=True)
    mapping: Inner | None = field(default=None, short="inner")
    span: float = field(default=0.0, span=True)


class Form(Value):
    reason: str = ""
    phase: str = ""


def document(text: str) -> Node:
    return read_document(text, name="file.yaml", limit=100_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1.10", 1.1, id="float"),
        pytest.param("1e3", 1000.0, id="exponent"),
        pytest.param("true", True, id="true"),
        pytest.param("False", False, id="yaml-1.2-allows-a-capital"),
        pytest.param("on", "on", id="on-is-a-text"),
        pytest.param("null", None, id="null"),
        pytest.param("2026-01-13", "2026-01-13", id="date-is-a-text"),
        pytest.param("1_000", "1_000", id="underscores-make-a-text"),
        pytest.param("١", "١", id="foreign-digits-are-a-text"),
        pytest.param("'1'", "1", id="quotes-make-a-text"),
    ],
)
def test_value_by_its_look(text: str, expected: object) -> None:
    node = find(document(f"k: {text}"), "k")
    assert isinstance(node, Text)
    assert (type(node.value), node.value) == (type(expected), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("number: 7", Kinds(number=7), id="a-whole-number-is-a-number"),
        pytest.param("choice: 'first'", Kinds(choice="first"), id="choice-in-quotes"),
        pytest.param("list_or_one: a", Kinds(list_or_one=("a",)), id="one-text-for-a-list"),
        pytest.param("mapping: {inner: x}", Kinds(mapping=Inner(inner="x")), id="mapping"),
        pytest.param("mapping: x", Kinds(mapping=Inner(inner="x")), id="text-for-a-mapping"),
        pytest.param("span: 2m", Kinds(span=120.0), id="span-of-time"),
    ],
)
def test_typed_reading(text: str, expected: Kinds) -> None:
    assert Reader(WorkflowError).read(Kinds, document(text)) == expected


@pytest.mark.parametrize(
    ("text", "place", "problem", "remedy"),
    [
        pytest.param("# a\ntext:", "2:1", "text has no value", "quotes", id="text-of-nothing"),
        pytest.param("text: '  '", "1:7", "text is blank", "give it a text", id="blank-text"),
        pytest.param("boolean: yes", "1:10", "has to be a boolean, not 'yes'", "true or false", id="yes"),
        pytest.param("boolean: 'true'", "1:10", "has to be a boolean", "without quotes", id="quoted-true"),
        pytest.param("integer: 1.5", "1:10", "whole number", "digits", id="fraction-for-integer"),
        pytest.param("integer: 0", "1:10", "integer can't be 0", "1 or more", id="below-the-minimum"),
        pytest.param("integer: 10", "1:10", "integer can't be 10", "9 or less", id="above-the-maximum"),
        pytest.param("integer: 010", "1:10", "leading zero", "quotes", id="octal-or-decimal"),
        pytest.param(f"integer: {'9' * 5000}", "1:10", "too big", "shorter", id="5000-digits"),
        pytest.param("number: 1e999", "1:9", "too big", "shorter", id="infinity"),
        pytest.param("value: {}", "1:8", "one value, not a mapping", "one number", id="mapping-for-value"),
        pytest.param("choice: frist", "1:9", "choice can't be 'frist'", "first, any", id="closest-choice-first"),
        pytest.param("list: a", "1:7", "list has to be a list, not 'a'", "[one, two]", id="text-for-list"),
        pytest.param("list:\n- a\n- [b]", "3:3", "an item of list", "one text", id="list-in-list"),
        pytest.param("mapping: [a]", "1:10", "mapping has to be a mapping, not a list", "key: value", id="list"),
        pytest.param("mapping: {}", "1:10", "the key 'inner' is missing in mapping", "add it", id="path-in-words"),
    ],
)
def test_typed_reading_refuses(text: str, place: str, problem: str, remedy: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        Reader(WorkflowError).read(Kinds, document(text))
    assert caught.value.problem.startswith(f"file.yaml:{place}: ")
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert caught.value.slug == "bad-workflow"


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        pytest.param(WorkflowError, "bad-workflow", id="workflow"),
        pytest.param(SignalError, "bad-signal", id="signal"),
    ],
)
def test_unknown_key_names_the_known_ones(error: type[PhaseGateError], slug: str) -> None:
    with pytest.raises(error) as caught:
        Reader(error).read(Form, document("reason: a\nphsae: b"), beside=("task",))
    assert caught.value.problem == "file.yaml:2:1: unknown key 'phsae'"
    assert caught.value.remedy == "use one of: phase, reason, task"
    assert caught.value.slug == slug


@given(st.text(st.sampled_from("0123456789.eE+-_xo"), max_size=30))
def test_whatever_looks_like_a_number_is_finite_or_refused(text: str) -> None:
    with suppress(ValueError):
        value = Text.of(text, Place.of("f", 1, 1), "k", is_plain=True).value
        assert value is None or isinstance(value, str) or abs(value) < float("inf")
