"""The negative control: does a target fail by its own check? And what is left of emptied functions."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from phase_gate.proof.inside import nothing
from phase_gate.proof.inside.nothing import FALSE, TRUE, Nothing
from phase_gate.proof.model import Proof
from phase_gate.proof.negative import empty
from phase_gate.proof.running import NOTHING
from tests.proof.stories import prove

pytestmark = [pytest.mark.processes, pytest.mark.sampled(6)]

STUB = "def sub(a, b):\n    raise NotImplementedError\n"
SUB = "def sub(a, b):\n    return a - b\n"
TARGET = "test_calc.py::test_sub"


def tried(root: Path, body: str, code: str = SUB, *, stub: str = STUB, files: Mapping[str, str] | None = None) -> Proof:
    """Return the proof of a test with this body, red by a stub."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    test = f"import pytest\n\nimport calc\n\n\ndef test_sub():\n{lines}"
    return prove(root, {"test_calc.py": test, "calc.py": stub, **(files or {})}, {"calc.py": code}, [TARGET])


def test_a_stub_that_raised_is_no_check(tmp_path: Path) -> None:
    (target,) = tried(tmp_path, "assert str(calc.sub(5, 3))").targets
    assert (target.verdict, target.closes(required=False)) == ("checks-nothing", True)


#: Honest ones, red by the same stub.
HONEST = {
    "compares": "assert calc.sub(5, 3) == 2",
    "unpacks": "low, high = calc.sub(5, 3), calc.sub(3, 5)\nassert low > high",
    "a-type": "assert isinstance(calc.sub(5, 3), int)",
    "parses": "assert int(calc.sub(5, 3)) == 2",
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_test_fails_by_its_check(name: str, tmp_path: Path) -> None:
    proof = tried(tmp_path, HONEST[name])
    (target,) = proof.targets
    assert (target.verdict, target.notices) == ("proven", ("calc.py::sub",))
    assert proof.starts == (4 if "==" in HONEST[name] else 3), "there may be nothing to alter"


SORT_STUB = "def tidy(rows):\n    raise NotImplementedError\n"
SORT = "def tidy(rows):\n    rows.sort()\n"


def test_a_test_that_nothing_happens_here_notices_when_something_does(tmp_path: Path) -> None:
    body = "rows = [1, 2]\nbefore = list(rows)\ncalc.tidy(rows)\nassert rows == before"
    (target,) = tried(tmp_path, body, SORT, stub=SORT_STUB).targets
    assert (target.verdict, target.notices) == ("proven", ("calc.py::tidy",))


@pytest.mark.parametrize("body", ["calc.sub(5, 3)", "print(calc.sub(5, 3))", "calc.sub(5, 3)\nassert True"])
def test_without_any_check_it_shows_only_that_nothing_is_raised(body: str, tmp_path: Path) -> None:
    proof = tried(tmp_path, body)
    (target,) = proof.targets
    assert (target.verdict, proof.unnoticed, proof.starts) == ("nothing-raised", (), 3)
    assert (target.closes(required=False), target.closes(required=True)) == (False, True)


def test_a_unit_that_is_called_like_a_check_is_none(tmp_path: Path) -> None:
    code = "def verify(a):\n    if a is None:\n        raise ValueError\n"
    stub = "def verify(a):\n    raise NotImplementedError\n"
    (target,) = tried(tmp_path, "calc.verify(1)", code, stub=stub).targets
    assert target.verdict == "nothing-raised"


def test_a_check_in_a_helper_of_the_tests_is_one(tmp_path: Path) -> None:
    helper = {"test_help.py": "def same(a, b):\n    assert a == b\n"}
    (target,) = tried(tmp_path, "import test_help\ntest_help.same(calc.sub(5, 3), 2)", files=helper).targets
    assert target.verdict == "proven"


#: What can't be emptied, and what stands in for it.
UNITS = {
    "a-lambda": "sub = lambda a, b: a - b\n",
    "of-a-library": "from operator import sub\n",
    "made-in-a-function": "def _make():\n    def sub(a, b):\n        return a - b\n    return sub\n\n\nsub = _make()\n",
    "made-by-exec": 'exec("def sub(a, b):\\n    return a - b")\n',
    "a-class": "class sub(int):\n    def __new__(cls, a, b):\n        return int.__new__(cls, a - b)\n",
    "a-mock": "from unittest.mock import Mock\n\nsub = Mock(return_value=2)\n",
}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(
    ("body", "verdict"), [("assert calc.sub(5, 3) == 2", "proven"), ("assert [calc.sub(5, 3)]", "checks-nothing")]
)
def test_what_can_not_be_emptied_has_a_stand_in(name: str, body: str, verdict: str, tmp_path: Path) -> None:
    (target,) = tried(tmp_path, body, UNITS[name]).targets
    assert target.verdict == verdict
    assert target.notices == (("calc.py::sub",) if verdict == "proven" else ())


#: Code that nothing can stand in for, and a test of it.
LEFT_ALONE = {
    "a-constant": ("LIMIT = 3\n", "assert calc.LIMIT == 3"),
    "an-exception": (
        "class Wrong(ValueError):\n    pass\n",
        "with pytest.raises(calc.Wrong):\n    raise calc.Wrong(1)",
    ),
    "a-type": ("class Point:\n    x = 1\n", "assert isinstance(calc.Point(), calc.Point)"),
    "only-looked-at": ("sub = lambda a, b: a - b\n", "assert callable(calc.sub)"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_was_not_tried_is_unknown(name: str, tmp_path: Path) -> None:
    code, body = LEFT_ALONE[name]
    (target,) = tried(tmp_path, body, code, stub="\n").targets
    assert (target.verdict, target.why) == ("unknown", "nothing of the new code could be emptied for it")
    assert (target.closes(required=False), target.closes(required=True)) == (False, True)


def test_what_failed_by_its_check_before_the_change_needs_nothing_more(tmp_path: Path) -> None:
    proof = tried(tmp_path, "assert calc.LIMIT == 3", "LIMIT = 3\n", stub="LIMIT = 2\n")
    assert (proof.targets[0].verdict, proof.starts) == ("proven", 3)


def test_what_a_test_puts_in_the_place_of_the_unit_says_nothing_of_it(tmp_path: Path) -> None:
    body = "from unittest import mock\nwith mock.patch('calc.sub', return_value=2):\n    assert calc.sub(5, 3) == 2"
    (target,) = tried(tmp_path, body, "import operator\n\nsub = operator.sub\n", stub="\n").targets
    # Its check can fail, so that is advice.
    assert (target.verdict, target.closes(required=False)) == ("checks-nothing", False)


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
