"""What is the same, value by value, without any process."""

from __future__ import annotations

import collections
import enum
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from phase_gate.behaviour.comparing import are_same
from phase_gate.behaviour.forms import form_of, unpack


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: int
    note: str = field(default="", compare=False)


class Money:
    def __init__(self, cents: int) -> None:
        self._cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self._cents == other._cents

    __hash__ = None  # type: ignore[assignment]


class Plain:
    def __init__(self, **named: Any) -> None:
        vars(self).update(named)


class Whole(int):
    pass


def cycle() -> list[object]:
    found: list[object] = [1]
    found.append(found)
    return found


def ask(one: str, other: str) -> bool | None:
    said = unpack(one) == unpack(other)
    return said if isinstance(said, bool) else None


NAN = float("nan")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (1, 1, True),
        (1, True, False),
        (1, 1.0, False),
        pytest.param(10**5000, 10**5000, True, id="more digits than Python prints"),
        (NAN, -NAN, True),
        (0.0, -0.0, True),
        (0j, complex(-0.0, -0.0), True),
        (0.1 + 0.2, 0.3, False),
        (complex(0, NAN), complex(0, NAN), True),
        ("\ud800", "\ud800", True),
        (b"a", bytearray(b"a"), False),
        ([1, [2.0]], [1, [2]], False),
        ((1,), [1], False),
        ({1, 2, 3}, {3, 2, 1}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1), False),
        ({"a": NAN}, {"a": NAN}, True),
        (Colour.RED, Colour.RED, True),
        (Colour.RED, Colour.BLUE, False),
        (Point(1, "a"), Point(1, "b"), True),
        (Point(1), Point(2), False),
        (Money(1), Money(1), True),
        (Money(1), Money(2), False),
        ([Money(1)], [Money(2)], False),
        (Decimal("1.0"), Decimal("1.00"), True),
        (Decimal("NaN"), Decimal("NaN"), True),
        (Plain(a=1, _b=1), Plain(a=1, _c=2), True),
        (Plain(a=1), Plain(a=2), False),
        (Plain(a=1), Plain(b=1), False),
        (Whole(1), Whole(1), True),
        (Whole(1), Whole(2), False),
        (Whole(1), 1, False),
        (ValueError("a"), ValueError("a"), True),
        (ValueError("a"), KeyError("a"), False),
        (int, int, True),
        (int, str, False),
        (iter([1, 2]), (each for each in (1, 2)), True),
        (iter([1, 2]), iter([1]), False),
        ({}.keys(), {}.keys(), True),
        (range(3), range(0, 3, 1), True),
        (re.compile("a"), re.compile("b"), False),
        (cycle(), cycle(), True),
        (object(), object(), True),
    ],
)
def test_what_is_the_same(one: object, other: object, is_same: bool) -> None:
    assert are_same(form_of(one), form_of(other), ask) is is_same


def test_a_large_value_is_compared_as_a_whole() -> None:
    assert are_same(form_of([0] * 30_000), form_of([0] * 30_000), ask)
    assert not are_same(form_of([0] * 30_000), form_of([0] * 29_999 + [1]), ask)
