"""Which functions are changed, and what is left of a source when they are emptied."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest

from phase_gate.proof.inside import nothing
from phase_gate.proof.inside.nothing import FALSE, TRUE, Nothing
from phase_gate.proof.negative import empty
from phase_gate.proof.running import NOTHING
from phase_gate.source.functions import find_changed, find_functions


@pytest.fixture(autouse=True)
def as_in_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NOTHING, nothing)


SOURCE = '''\
import functools


def plain(a, b=2, *rest, key=None, **more):
    """Say what it does."""
    if a:
        return a + b
    return b


def one_line(): return 1  # with a comment


@functools.lru_cache
def decorated(x):
    return x * 2


async def later(x):
    return x


def numbers():
    yield 1
    yield 2


class Account:
    def __init__(self, start):
        self.balance = start

    @property
    def doubled(self):
        return self.balance * 2

    def deposit(self, amount):
        @functools.wraps(print)
        def inner():
            return amount

        self.balance += inner()
        return self.balance
'''


def load(source: str | bytes) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "sample.py", "exec"), names)
    return names


def emptied(*names: str, stub: Any = "false") -> dict[str, Any]:
    return load(empty(SOURCE.encode(), names, stub))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        pytest.param("plain", lambda names: names["plain"](1), id="a-function"),
        pytest.param("one_line", lambda names: names["one_line"](), id="on-one-line"),
        pytest.param("decorated", lambda names: names["decorated"](1), id="decorated"),
        pytest.param("later", lambda names: asyncio.run(names["later"](1)), id="async"),
        pytest.param("Account.doubled", lambda names: names["Account"](1).doubled, id="a-property"),
        pytest.param("Account.deposit", lambda names: names["Account"](1).deposit(1), id="a-method-that-begins-with-@"),
    ],
)
def test_an_emptied_function_gives_nothing(name: str, call: Callable[[dict[str, Any]], Any]) -> None:
    assert not isinstance(call(load(SOURCE)), Nothing)
    assert call(emptied(name)) is FALSE
    assert call(emptied(name, stub="true")) is TRUE


def test_a_generator_stays_one() -> None:
    names = emptied("numbers")
    assert inspect.isgenerator(names["numbers"]())
    assert list(names["numbers"]()) == []
    assert list(emptied("numbers", stub="true")["numbers"]()) == [TRUE]


def test_a_constructor_gives_its_object_attributes_without_anything_in_them() -> None:
    assert emptied("Account.__init__")["Account"](1).balance is FALSE


def test_something_stands_in_for_what_is_no_function() -> None:
    source = b"# coding: latin-1\nfrom operator import add\n\nNAME = '\xfc'\n"
    names = load(empty(source, ["add"], "true"))
    assert (names["add"], names["NAME"]) == (TRUE, "\xfc")


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(None, "def f(): return 1", ["f"], id="a-new-file"),
        pytest.param("def f(): return 1", "def f(): return 2", ["f"], id="another-body"),
        pytest.param("def f(): return 1", "def f():\n    # why\n    return 1", [], id="reformatted"),
        pytest.param("def f(): return 1", "def f(): return 1\ndef g(): return 2", ["g"], id="one-more"),
        pytest.param("def g(): return 2\ndef f(): return 1", "def f(): return 1\ndef g(): return 2", [], id="moved"),
        pytest.param("class A:\n  def f(self): return 1", "class A:\n  def f(self): return 2", ["A.f"], id="a-method"),
        pytest.param("if X:\n  def f(): return 1", "if X:\n  def f(): return 2", ["f"], id="under-a-condition"),
        pytest.param("def f(): return 1", "def f(: return 2", [], id="no-python"),
        pytest.param("def f(:", "def f(): return 2", ["f"], id="was-no-python"),
    ],
)
def test_changed_functions(before: str | None, now: str, expected: list[str]) -> None:
    assert [each.name for each in find_changed(before, now)] == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import abc\nclass A:\n  @abc.abstractmethod\n  def f(self): return 1", id="abstract"),
        pytest.param("import typing\nclass A(typing.Protocol):\n  def f(self): return 1", id="a-protocol"),
        pytest.param("from typing import overload\n@overload\ndef f(x: int) -> int: ...", id="an-overload"),
        pytest.param("import pytest\n@pytest.fixture\ndef f(): return 1", id="a-fixture"),
        pytest.param("def f():\n  '''Nothing yet.'''", id="only-a-docstring"),
        pytest.param("def f(): raise NotImplementedError", id="not-implemented"),
        pytest.param("class A:\n  def __repr__(self): return 'A'", id="repr"),
    ],
)
def test_some_are_left_out_and_say_why(source: str) -> None:
    (function,) = find_functions(source).values()
    assert function.left_out


def test_nothing_raises_by_itself_and_equals_nothing() -> None:
    for value in (FALSE, TRUE):
        assert value != value
        assert value != 0
        assert (value == 0) is False
        assert list(value) == []
        assert value["key"].attribute(1)[2] is value
        assert value + 1 is value
        assert not value < 3
    assert not FALSE
    assert TRUE
