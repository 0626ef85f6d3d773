"""Values from the nodes of a file: typed, with every fault at its place."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.config.nodes import Node, Place, Text, find
from phase_gate.config.reading import Reader
from phase_gate.config.yaml import read_document
from phase_gate.errors import PhaseGateError, SignalError, WorkflowError
from phase_gate.values import Value, field
from phase_gate.workflow.metrics import MetricValue

Choice = Literal["any", "first"]


class Inner(Value):
    inner: str


class OfText(Value):
    k: str


class OfBoolean(Value):
    k: bool


class OfInteger(Value):
    k: int = field(minimum=1)


class OfNumber(Value):
    k: float = field(minimum=0)


class OfValue(Value):
    k: MetricValue


class OfChoice(Value):
    k: Choice


class OfList(Value):
    k: tuple[str, ...]


class OfListOrOne(Value):
    k: tuple[str, ...] = field(or_one=True)


class OfMapping(Value):
    k: Inner


KINDS: dict[str, Any] = {
    "text": OfText,
    "boolean": OfBoolean,
    "integer": OfInteger,
    "number": OfNumber,
    "value": OfValue,
    "choice": OfChoice,
    "list": OfList,
    "list_or_one": OfListOrOne,
    "mapping": OfMapping,
}


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
        pytest.param(".nan", ".nan", id="not-a-number-is-a-text"),
        pytest.param("١", "١", id="foreign-digits-are-a-text"),
        pytest.param("'1'", "1", id="quotes-make-a-text"),
    ],
)
def test_value_by_its_look(text: str, expected: object) -> None:
    node = find(document(f"k: {text}"), "k")
    assert isinstance(node, Text)
    assert (type(node.value), node.value) == (type(expected), expected)


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        pytest.param("text", "k: 1.10", "1.10", id="a-text-may-look-like-a-number"),
        pytest.param("number", "k: 7", 7, id="a-whole-number-is-a-number"),
        pytest.param("choice", "k: 'first'", "first", id="choice-in-quotes"),
        pytest.param("list", "k: [a, 1, no]", ("a", "1", "no"), id="list-of-texts"),
        pytest.param("list_or_one", "k: a", ("a",), id="one-text-for-a-list"),
        pytest.param("mapping", "k: {inner: x}", Inner(inner="x"), id="mapping"),
    ],
)
def test_typed_reading(reader: str, text: str, expected: object) -> None:
    value = Reader(WorkflowError).read(KINDS[reader], document(text))
    assert value == KINDS[reader](k=expected)


@pytest.mark.parametrize(
    ("reader", "text", "place", "problem", "remedy"),
    [
        pytest.param("text", "{}", "1:1", "the key 'k' is missing", "add it", id="missing"),
        pytest.param("text", "# a\nk:", "2:1", "k has no value", "quotes", id="text-of-nothing"),
        pytest.param("text", "k: '  '", "1:4", "k is blank", "give it a text", id="blank-text"),
        pytest.param("boolean", "k: yes", "1:4", "has to be a boolean, not 'yes'", "true or false", id="yes"),
        pytest.param("boolean", "k: 'true'", "1:4", "has to be a boolean", "without quotes", id="quoted-true"),
        pytest.param("integer", "k: 1.5", "1:4", "whole number", "digits", id="fraction-for-integer"),
        pytest.param("integer", "k: 0", "1:4", "k can't be 0", "1 or more", id="below-the-minimum"),
        pytest.param("integer", "k: 010", "1:4", "leading zero", "quotes", id="octal-or-decimal"),
        pytest.param("integer", f"k: {'9' * 5000}", "1:4", "too big", "shorter", id="5000-digits"),
        pytest.param("number", "k: 1e999", "1:4", "too big", "shorter", id="infinity"),
        pytest.param("value", "k: {}", "1:4", "one value, not a mapping", "one number", id="mapping-for-value"),
        pytest.param("choice", "k: frist", "1:4", "k can't be 'frist'", "first, any", id="closest-choice-first"),
        pytest.param("list", "k: a", "1:4", "k has to be a list, not 'a'", "[one, two]", id="text-for-list"),
        pytest.param("list", "k:\n- a\n- [b]", "3:3", "an item of k", "one text", id="list-in-list"),
        pytest.param("mapping", "k: a", "1:4", "k has to be a mapping, not 'a'", "key: value", id="text-for-mapping"),
        pytest.param("mapping", "k: {}", "1:4", "the key 'inner' is missing in k", "add it", id="path-in-words"),
    ],
)
def test_typed_reading_refuses(reader: str, text: str, place: str, problem: str, remedy: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        Reader(WorkflowError).read(KINDS[reader], document(text))
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
