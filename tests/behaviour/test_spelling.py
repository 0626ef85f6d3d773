"""Values as source code: what can be pasted gives the same value again."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import PurePosixPath

import pytest

from phase_gate.behaviour.forms import form_of
from phase_gate.behaviour.spelling import Spelling
from tests.behaviour.test_comparing import Colour, Plain, Point


class Sized:
    def __init__(self, size: int) -> None:
        self.size = size

    def __repr__(self) -> str:
        return f"Sized of {self.size}"  # an address would give the test another id in each process


class Hidden:
    def __init__(self, size: int) -> None:
        self.size = abs(size) + 1


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, -1, 1.5, float("inf"), float("nan"), 1j, "a'b\n", b"\x00", bytearray(b"a")),
        *([1, [2]], (1,), (), {"a": {1}}, set(), frozenset({1}), frozenset(), range(3)),
        *(Decimal("1.0"), datetime.date(2000, 1, 1), PurePosixPath("a"), Colour.RED, Point(1), [Sized(2)]),
    ],
    ids=repr,
)
def test_source_code_gives_the_same_value(value: object) -> None:
    spelling = Spelling()
    text = spelling.write(value)
    space: dict[str, object] = {}
    exec("\n".join(spelling.imports), space)
    assert spelling.is_exact
    assert form_of(eval(text, space)) == form_of(value)


@pytest.mark.parametrize("value", [Plain(a=1), Hidden(1), object(), len], ids=lambda value: type(value).__name__)
def test_what_has_no_source_code_is_said(value: object) -> None:
    spelling = Spelling()
    spelling.write(value)
    assert not spelling.is_exact


def test_a_number_with_too_many_digits_is_no_fault() -> None:
    spelling = Spelling()
    assert spelling.write([10**5000]) == "[<int>]"
    assert not spelling.is_exact
