"""Values as JSON and back: what is written is read, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

import pytest

from phase_gate.agents.agent_table import read_tool
from phase_gate.codec import from_json, parse_foreign, reader, spell_out, to_json
from phase_gate.gate.state import PARTS, State, load_part
from phase_gate.values import Value, annotation_of, field, fields

Size = Literal["small", "large"]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Value, kw_only=False):
    name: str
    weight: float = 1.0


class Thing(Value):
    name: str
    count: int = 0
    is_new: bool = False
    colour: Colour = Colour.RED
    size: Size = "small"
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    pairs: tuple[tuple[str, int], ...] = ()
    old: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    mixed: int | str = 0
    anything: Any = None


class Larger(Thing):
    more: str = ""


FULL = Larger(
    name="n",
    count=1,
    is_new=True,
    colour=Colour.BLUE,
    size="large",
    part=Part("p", 2),
    parts=(Part("q"),),
    pairs=(("a", 1),),
    old={"x": ("1", "2")},
    mixed="m",
    anything={"z": [1]},
    more="m",
)


@pytest.mark.parametrize("write", [to_json, spell_out])
@pytest.mark.parametrize("value", [Larger(name="n"), FULL], ids=["bare", "full"])
def test_what_is_written_is_read(value: Larger, write: Any) -> None:
    assert from_json(Larger, json.loads(json.dumps(write(value)))) == value


def test_defaults_are_left_out_and_spelled_out() -> None:
    assert to_json(Larger(name="n")) == {"name": "n"}
    assert list(spell_out(Larger(name="n"))) == list(fields(Larger))


@pytest.mark.parametrize(
    ("row", "error"),
    [
        pytest.param({"count": True}, TypeError, id="a-truth-is-no-number"),
        pytest.param({"count": 1.0}, TypeError, id="a-fraction-is-no-count"),
        pytest.param({"name": None}, TypeError, id="nothing-is-no-text"),
        pytest.param({"colour": []}, ValueError, id="a-list-is-no-member"),
        pytest.param({"size": "huge"}, ValueError, id="another-literal"),
        pytest.param({"part": "p"}, TypeError, id="a-text-is-no-value"),
        pytest.param({"part": {}}, TypeError, id="a-field-is-missing"),
        pytest.param({"part": {"name": "p", "x": 1}}, ValueError, id="a-field-too-many"),
        pytest.param({"parts": {"name": "p"}}, TypeError, id="an-object-is-no-list"),
        pytest.param({"pairs": [["a"]]}, TypeError, id="half-a-pair"),
        pytest.param({"old": ["x"]}, TypeError, id="a-list-is-no-object"),
        pytest.param({"mixed": 1.5}, TypeError, id="none-of-two-types"),
    ],
)
def test_anything_else_is_refused(row: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_json(Larger, {"name": "n", **row})


def test_an_error_names_the_field() -> None:
    with pytest.raises(TypeError, match=r"Thing\.count: str instead of int"):
        from_json(Thing, {"name": "n", "count": "1"})


# --- the kinds that are stored


def kinds(kind: type[Value], known: set[type[Value]]) -> Iterator[type[Value]]:
    """Yield the kind and all that its fields are made of."""
    import sys

    if kind in known:
        return
    known.add(kind)
    yield kind
    for name in fields(kind):
        text, module = annotation_of(kind, name)
        for word in text.replace("[", " ").replace("]", " ").replace(",", " ").split():
            found = vars(sys.modules[module]).get(word)
            if isinstance(found, type) and issubclass(found, Value):
                yield from kinds(found, known)


@pytest.mark.parametrize("kind", [State, *(load_part(name).kind for name in PARTS)], ids=lambda kind: kind.__name__)
def test_every_field_of_the_state_can_be_read(kind: type[Value]) -> None:
    for each in kinds(kind, set()):
        for name in fields(each):
            assert callable(reader(each, name)), f"{each.__name__}.{name}"


def test_foreign_json_is_not_nested_too_deep() -> None:
    for depth in (99, *range(150, 1050), 5000, 100_000):
        text = "[" * depth + "]" * depth
        if depth < 100:
            assert json.dumps(parse_foreign(text)) == text
        else:
            with pytest.raises(ValueError, match="nested too deep"):
                parse_foreign(text)
        # A call of a tool, as some agents write it.
        assert read_tool({"toolName": "edit", "toolArgs": text}).tool == "edit"
