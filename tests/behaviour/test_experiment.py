"""Real processes: what differs is found, and what a refactoring may do is no difference."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from phase_gate.behaviour.comparing import Kind
from phase_gate.behaviour.model import Compared
from tests.behaviour.stories import compare, joined

pytestmark = pytest.mark.processes

HEAD = """
import asyncio, functools, itertools, os, random, subprocess, time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NamedTuple, NewType, TypedDict


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    name: str
    number: int


class Pair(NamedTuple):
    left: int
    right: str


UserId = NewType("UserId", int)


class Plain:
    def __init__(self, size: int) -> None:
        self.size = size


class Picky:
    def __init__(self, size: int) -> None:
        if size < 0:
            raise ValueError(size)
        self.size = size


class Unhinted:
    def __init__(self, socket):
        self.socket = socket
"""


class Story(NamedTuple):
    """A function before and now. What differs: a kind; else none, or why it was not compared."""

    before: str
    now: str
    kind: Kind | None = None
    left_out: str = ""
    call: str = ""


DIFFERENT = {
    "value": Story(
        "def value(n: int) -> int:\n    return n * 2",
        "def value(n: int) -> int:\n    return n * 2 if n < 1000 else 0",
        "value",
        call="value(1000)",
    ),
    "number_type": Story(
        "def number_type(n: int) -> float:\n    return n / 1",
        "def number_type(n: int) -> float:\n    return n",
        "type",
        call="number_type(0)",
    ),
    "nested_type": Story(
        "def nested_type(n: int) -> list[object]:\n    return [n, (n, n)]",
        "def nested_type(n: int) -> list[object]:\n    return [n, [n, n]]",
        "value",
        call="nested_type(0)",
    ),
    "raises": Story(
        "def raises(text: str) -> str:\n    return text[0]",
        "def raises(text: str) -> str:\n    return text[:1]",
        "raises",
        call="raises('')",
    ),
    "other_error": Story(
        "def other_error(n: int) -> int:\n    if n < 0:\n        raise ValueError('n')\n    return n",
        "def other_error(n: int) -> int:\n    if n < 0:\n        raise KeyError('n')\n    return n",
        "raises",
        call="other_error(-1)",
    ),
    "exits": Story(
        "def exits(n: int) -> int:\n    return n",
        "def exits(n: int) -> int:\n    if n == 7:\n        raise SystemExit(2)\n    return n",
        "raises",
        call="exits(7)",
    ),
    "mutates": Story(
        "def mutates(rows: list[int]) -> int:\n    return max(rows, default=0)",
        "def mutates(rows: list[int]) -> int:\n    rows.sort()\n    return rows[-1] if rows else 0",
        "arguments",
        call="mutates([0, -1])",
    ),
    "mutates_object": Story(
        "def mutates_object(point: Point) -> int:\n    return point.x",
        "def mutates_object(point: Point) -> int:\n    point.y += 1\n    return point.x",
        "arguments",
        call="mutates_object(Point(x=0, y=0))",
    ),
    "prints": Story(
        "def prints(n: int) -> None:\n    print(n)",
        "def prints(n: int) -> None:\n    print(n, end='')",
        "output",
        call="prints(0)",
    ),
    "generates": Story(
        "def generates(n: int) -> Iterator[int]:\n    yield from range(n)",
        "def generates(n: int) -> Iterator[int]:\n    yield from range(min(n, 50))",
        "value",
        call="generates(51)",
    ),
    "breaks_off": Story(
        "def breaks_off(n: int) -> Iterator[int]:\n    yield 1\n    yield 2",
        "def breaks_off(n: int) -> Iterator[int]:\n    yield 1\n    raise ValueError",
        "value",
        call="breaks_off(0)",
    ),
    "hangs": Story(
        "def hangs(n: int) -> int:\n    return n",
        "def hangs(n: int) -> int:\n    while n == 12:\n        pass\n    return n",
        "hangs",
        call="hangs(12)",
    ),
    "dies": Story(
        "def dies(n: int) -> int:\n    return n",
        "def dies(n: int) -> int:\n    if n == 12:\n        os._exit(3)\n    return n",
        "dies",
        call="dies(12)",
    ),
    "optional": Story(
        "def optional(n: int | None) -> int:\n    return n or 1",
        "def optional(n: int | None) -> int:\n    return 1 if n is None else n",
        "value",
        call="optional(0)",
    ),
    "typed_dict": Story(
        "def typed_dict(row: Row) -> str:\n    return row['name'] or 'nobody'",
        "def typed_dict(row: Row) -> str:\n    return row['name']",
        "value",
        call="typed_dict({'name': '', 'number': 0})",
    ),
    "new_type": Story(
        "def new_type(user: UserId) -> bool:\n    return user > 0",
        "def new_type(user: UserId) -> bool:\n    return user >= 0",
        "value",
        call="new_type(0)",
    ),
    "enumeration": Story(
        "def enumeration(colour: Colour) -> str:\n    return colour.name",
        "def enumeration(colour: Colour) -> str:\n    return 'RED'",
        "value",
        call="enumeration(Colour.BLUE)",
    ),
    "returns_object": Story(
        "def returns_object(n: int) -> Plain:\n    return Plain(n)",
        "def returns_object(n: int) -> Plain:\n    return Plain(abs(n))",
        "value",
        call="returns_object(-1)",
    ),
    "exact_float": Story(
        "def exact_float(n: int) -> float:\n    return 0.1 * 3 * n",
        "def exact_float(n: int) -> float:\n    return 0.3 * n",
        "value",
        call="exact_float(1)",
    ),
    "decimal": Story(
        "def decimal(n: int) -> Decimal:\n    return Decimal(n)",
        "def decimal(n: int) -> Decimal:\n    return Decimal(n) + Decimal('0.1')",
        "value",
        call="decimal(0)",
    ),
    "waits": Story(
        "async def waits(n: int) -> int:\n    await asyncio.sleep(0)\n    return n",
        "async def waits(n: int) -> int:\n    await asyncio.sleep(0)\n    return -n",
        "value",
        call="waits(1)",
    ),
    "streams": Story(
        "async def streams(n: int) -> AsyncIterator[int]:\n    yield n",
        "async def streams(n: int) -> AsyncIterator[int]:\n    yield n\n    yield n",
        "value",
        call="streams(0)",
    ),
    "smallest": Story(
        "def smallest(points: list[Point], point: Point) -> None:\n    points.append(point)",
        "def smallest(points: list[Point], point: Point) -> None:\n    points.insert(0, point)",
        "arguments",
        call="smallest([Point(x=0, y=0)], Point(x=1, y=0))",
    ),
    "chosen": Story(
        "def chosen(mode: Literal['up', 'down'], *rest: int, key: int = 0) -> int:\n    return sum(rest) + key",
        "def chosen(mode: Literal['up', 'down'], *rest: int, key: int = 0) -> int:\n"
        "    return sum(rest) + (key if mode == 'up' else 0)",
        "value",
        call="chosen('down', key=1)",
    ),
    "Box": Story(
        "class Box:\n    def __init__(self, size: int) -> None:\n        self.size = size\n\n"
        "    def grow(self, by: int) -> int:\n        self.size += by\n        return self.size",
        "class Box:\n    def __init__(self, size: int) -> None:\n        self.size = size\n\n"
        "    def grow(self, by: int) -> int:\n        return self.size + by",
        "arguments",
        call="Box(size=0).grow(1)",
    ),
}

SAME = {
    "renamed_locals": Story(
        "def renamed_locals(n: int) -> int:\n    a = n + 1\n    return a",
        "def renamed_locals(n: int) -> int:\n    successor = n + 1\n    return successor",
    ),
    "extracted": Story(
        "def extracted(rows: list[int]) -> int:\n    return sum(each for each in rows if each > 0)",
        "def _positive(rows: list[int]) -> list[int]:\n    return [each for each in rows if each > 0]\n\n\n"
        "def extracted(rows: list[int]) -> int:\n    return sum(_positive(rows))",
    ),
    "memoised": Story(
        "def memoised(n: int) -> int:\n    return n * n",
        "@functools.cache\ndef memoised(n: int) -> int:\n    return n * n",
    ),
    "set_order": Story(
        "def set_order(rows: list[str]) -> set[str]:\n    return set(rows)",
        "def set_order(rows: list[str]) -> set[str]:\n    return set(reversed(rows))",
    ),
    "dict_order": Story(
        "def dict_order(a: int, b: int) -> dict[str, int]:\n    return {'a': a, 'b': b}",
        "def dict_order(a: int, b: int) -> dict[str, int]:\n    return {'b': b, 'a': a}",
    ),
    "not_a_number": Story(
        "def not_a_number(n: int) -> float:\n    return float('nan')",
        "def not_a_number(n: int) -> float:\n    return float('inf') - float('inf')",
    ),
    "other_message": Story(
        "def other_message(n: int) -> int:\n    raise ValueError('bad')",
        "def other_message(n: int) -> int:\n    raise ValueError(f'bad: {n}')",
    ),
    "to_map": Story(
        "def to_map(rows: list[int]) -> Iterator[int]:\n    for each in rows:\n        yield each + 1",
        "def to_map(rows: list[int]) -> Iterator[int]:\n    return map(lambda each: each + 1, rows)",
    ),
    "endless": Story(
        "def endless(n: int) -> Iterator[int]:\n    while True:\n        yield n",
        "def endless(n: int) -> Iterator[int]:\n    return itertools.repeat(n)",
    ),
    "same_decimal": Story(
        "def same_decimal(n: int) -> Decimal:\n    return Decimal(n)",
        "def same_decimal(n: int) -> Decimal:\n    return Decimal(n) + Decimal('0.00')",
    ),
    "private_state": Story(
        "class Jar:\n    def __init__(self, n: int) -> None:\n        self.n = self._n = n\n\n"
        "def private_state(n: int) -> Jar:\n    return Jar(n)",
        "class Jar:\n    def __init__(self, n: int) -> None:\n        self.n = self._number = n\n\n"
        "def private_state(n: int) -> Jar:\n    return Jar(n)",
    ),
    "iterative": Story(
        "def iterative(n: int) -> int:\n    return 0 if n <= 0 else 1 + iterative(n - 1)",
        "def iterative(n: int) -> int:\n    return max(n, 0)",
    ),
    "anything": Story(
        "def anything(value: Any) -> str:\n    return str(value)",
        "def anything(value: Any) -> str:\n    return f'{value}'",
    ),
    "picky": Story(
        "def picky(one: Picky) -> int:\n    return one.size + 1",
        "def picky(one: Picky) -> int:\n    return 1 + one.size",
    ),
    "more_parameters": Story(
        "def more_parameters(n: int) -> int:\n    return n",
        "def more_parameters(n: int, more: int = 0) -> int:\n    return n + more",
    ),
    "hints_added": Story(
        "def hints_added(n, other=2):\n    return n + other",
        "def hints_added(n: int, other: int = 2) -> int:\n    return other + n",
    ),
}

LEFT_OUT = {
    "by_chance": Story(
        "def by_chance(n: int) -> float:\n    return random.random()",
        "def by_chance(n: int) -> float:\n    return 1 - random.random()",
        left_out="it is not deterministic: the same input has two answers",
    ),
    "by_hash": Story(
        "def by_hash(text: str) -> int:\n    return hash(text + 'x') % 1000",
        "def by_hash(text: str) -> int:\n    return hash(text + 'y') % 1000",
        left_out="it is not deterministic: another process gets another answer",
    ),
    "takes_long": Story(
        "def takes_long(n: int) -> int:\n    while True:\n        pass",
        "def takes_long(n: int) -> int:\n    while 1:\n        pass",
        left_out="it takes too long",
    ),
    "writes": Story(
        "def writes(name: str) -> None:\n    open('made-by-behaviour', 'w').close()",
        "def writes(name: str) -> None:\n    with open('made-by-behaviour', 'w'):\n        pass",
        left_out="it writes files: that is not tried with made-up input",
    ),
    "starts": Story(
        "def starts(name: str) -> None:\n    subprocess.run(['true'])",
        "def starts(name: str) -> None:\n    subprocess.run(['true'], check=False)",
        left_out="it starts processes: that is not tried with made-up input",
    ),
    "callback": Story(
        "def callback(do: Callable[[int], int]) -> int:\n    return do(1)",
        "def callback(do: Callable[[int], int]) -> int:\n    result = do(1)\n    return result",
        left_out="its arguments can't be sent to another process",
    ),
    "unbuildable": Story(
        "def unbuildable(one: Unhinted) -> int:\n    return 1",
        "def unbuildable(one: Unhinted) -> int:\n    return 1 + 0",
        left_out="no input can be made from its hints",
    ),
    "parameters_changed": Story(
        "def parameters_changed(n: int) -> int:\n    return n",
        "def parameters_changed(n: int, other: int) -> int:\n    return n",
        left_out="its arguments don't fit both versions",
    ),
    "closure": Story(
        "def closure(n: int) -> Callable[[], int]:\n    return lambda: n",
        "def closure(n: int) -> Callable[[], int]:\n    def give() -> int:\n        return n\n    return give",
        left_out="what it returns can't be compared",
    ),
}

STORIES = {**DIFFERENT, **SAME, **LEFT_OUT}


@pytest.fixture(scope="module")
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compared]:
    """Compare the functions that the tests of this session ask for, in one go."""
    items: list[Any] = [each for each in request.session.items if _asks(each)]
    wanted = {each.callspec.params["name"] for each in items}
    stories = {name: story for name, story in STORIES.items() if name in wanted}
    return compare(tmp_path_factory.mktemp("project"), _module("before", stories), _module("now", stories))


def _asks(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and "compared" in item.fixturenames and hasattr(item, "callspec")


def _module(which: str, stories: Mapping[str, Story] = STORIES) -> str:
    return joined(HEAD, {name: getattr(story, which) for name, story in stories.items()})


def _qualified(name: str) -> str:
    return {"Box": "Box.grow"}.get(name, name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DIFFERENT)
def test_a_difference_is_found(compared: dict[str, Compared], name: str) -> None:
    difference = compared[_qualified(name)].difference
    assert difference is not None, compared[name]
    assert (difference.kind, difference.call) == (STORIES[name].kind, STORIES[name].call)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SAME)
def test_an_honest_change_is_no_difference(compared: dict[str, Compared], name: str) -> None:
    found = compared[name]
    assert (found.difference, found.left_out) == (None, "")
    assert found.inputs


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_not_compared_is_said(compared: dict[str, Compared], name: str) -> None:
    found = compared[name]
    assert found.difference is None
    assert found.left_out.startswith(STORIES[name].left_out)
    assert found.left_out


#: What can't be run in the process of the tests.
DEADLY = {"hangs", "dies"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DIFFERENT)
def test_the_test_passes_before_and_fails_now(
    compared: dict[str, Compared], name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    difference = compared[_qualified(name)].difference
    assert difference is not None
    run_test(difference.test, _module("before"), monkeypatch, capsys)
    if name not in DEADLY:
        with pytest.raises((Exception, SystemExit, pytest.fail.Exception)):
            run_test(difference.test, _module("now"), monkeypatch, capsys)


def run_test(text: str, source: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("code_here")
    monkeypatch.setitem(sys.modules, "code_here", module)
    exec(source, vars(module))
    space: dict[str, Any] = {}
    exec(text, space)
    (test,) = [value for key, value in space.items() if key.startswith("test_")]
    test(*([capsys] if test.__code__.co_argcount else []))
