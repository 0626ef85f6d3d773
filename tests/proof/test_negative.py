"""The negative control: does a target fail by its own check? And what is left of emptied functions."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.proof.altering import alter
from phase_gate.proof.inside import sentinel
from phase_gate.proof.inside.sentinel import FALSE, TRUE, Nothing
from phase_gate.proof.negative import empty, read_target
from phase_gate.proof.sandbox_runs import SENTINEL
from phase_gate.source.functions import find_changed
from tests.proof.stories import prove

pytestmark = [pytest.mark.processes, pytest.mark.sampled(6)]

STUB = "def sub(a, b):\n    raise NotImplementedError\n"
SUB = "def sub(a, b):\n    return a - b\n"
TIDY = "def tidy(rows):\n    rows.sort()\n", "def tidy(rows):\n    raise NotImplementedError\n"
VERIFY = (
    "def verify(a):\n    if a is None:\n        raise ValueError\n",
    "def verify(a):\n    raise NotImplementedError\n",
)
#: What can't be emptied, so that something stands in for it.
UNITS = {
    "a-lambda": "sub = lambda a, b: a - b\n",
    "of-a-library": "from operator import sub\n",
    "made-in-a-function": "def _make():\n    def sub(a, b):\n        return a - b\n    return sub\n\n\nsub = _make()\n",
    "made-by-exec": 'exec("def sub(a, b):\\n    return a - b")\n',
    "a-class": "class sub(int):\n    def __new__(cls, a, b):\n        return int.__new__(cls, a - b)\n",
    "a-mock": "from unittest.mock import Mock\n\nsub = Mock(return_value=2)\n",
}
PATCHED = "from unittest import mock\nwith mock.patch('calc.sub', return_value=2):\n    assert calc.sub(5, 3) == 2"
RAISES = "with pytest.raises(calc.Wrong):\n    raise calc.Wrong(1)"
COMPARES, HOLDS = "assert calc.sub(5, 3) == 2", "assert str(calc.sub(5, 3))"
NO_CHANGE = "rows = [1, 2]\nbefore = list(rows)\ncalc.tidy(rows)\nassert rows == before"
IN_A_THREAD = (
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as pool:\n"
    "    assert pool.submit(calc.sub, 5, 3).result() == 2"
)
CLOSED, OPEN, REQUIRED = (True, True), (False, False), (False, True)


@pytest.mark.parametrize(
    ("body", "code", "stub", "verdict", "closes", "starts"),
    [
        pytest.param(COMPARES, SUB, STUB, "proven", OPEN, 4, id="compares"),
        pytest.param("assert int(calc.sub(5, 3)) == 2", SUB, STUB, "proven", OPEN, 4, id="parses"),
        pytest.param("assert isinstance(calc.sub(5, 3), int)", SUB, STUB, "proven", OPEN, 3, id="a-type"),
        pytest.param("a, b = calc.sub(5, 3), calc.sub(3, 5)\nassert a > b", SUB, STUB, "proven", OPEN, 3, id="unpacks"),
        pytest.param("import test_help\ntest_help.same(calc.sub(5, 3))", SUB, STUB, "proven", OPEN, 3, id="a-helper"),
        pytest.param(IN_A_THREAD, SUB, STUB, "proven", OPEN, 4, id="in-a-thread"),
        pytest.param(NO_CHANGE, *TIDY, "proven", OPEN, None, id="that-nothing-happens-here"),
        pytest.param("assert calc.LIMIT == 3", "LIMIT = 3\n", "LIMIT = 2\n", "proven", OPEN, 3, id="failed-so"),
        pytest.param(HOLDS, SUB, STUB, "checks-nothing", CLOSED, None, id="holds-for-any-answer"),
        # Its check can fail, so that is advice.
        pytest.param(PATCHED, "import operator\n\nsub = operator.sub\n", "\n", "checks-nothing", OPEN, None, id="mock"),
        pytest.param("calc.sub(5, 3)", SUB, STUB, "nothing-raised", REQUIRED, 3, id="only-calls"),
        pytest.param("calc.sub(5, 3)\nassert True", SUB, STUB, "nothing-raised", REQUIRED, 3, id="a-constant-check"),
        pytest.param("calc.verify(1)", *VERIFY, "nothing-raised", REQUIRED, None, id="a-unit-called-like-a-check"),
        *(pytest.param(COMPARES, UNITS[name], STUB, "proven", OPEN, None, id=f"{name}-compared") for name in UNITS),
        *(pytest.param(HOLDS, UNITS[name], STUB, "checks-nothing", CLOSED, None, id=f"{name}-held") for name in UNITS),
        pytest.param("assert calc.LIMIT == 3", "LIMIT = 3\n", "\n", "unknown", REQUIRED, None, id="a-new-constant"),
        pytest.param(RAISES, "class Wrong(ValueError):\n    pass\n", "\n", "unknown", REQUIRED, None, id="error"),
        pytest.param("assert callable(calc.sub)", UNITS["a-lambda"], "\n", "unknown", REQUIRED, None, id="looked-at"),
        pytest.param(COMPARES, f"{SUB}\n\nSUM = 0{600 * ' + 1'}\n", STUB, "unknown", REQUIRED, None, id="not-unparsed"),
    ],
)
def test_what_a_target_notices(
    tmp_path: Path, body: str, code: str, stub: str, verdict: str, closes: tuple[bool, bool], starts: int | None
) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    test = f"import pytest\n\nimport calc\n\n\ndef test_sub():\n{lines}"
    helper = "def same(a):\n    assert a == 2\n"
    red = {"test_calc.py": test, "test_help.py": helper, "calc.py": stub}
    proof = prove(tmp_path, red, {"calc.py": code}, ["test_calc.py::test_sub"])
    (target,) = proof.targets
    assert target.verdict == verdict, target
    assert (target.closes(required=False), target.closes(required=True)) == closes
    assert starts in (proof.starts, None)
    if verdict == "unknown":
        assert target.why == "nothing of the new code could be emptied for it"
    elif verdict == "proven" and "LIMIT" not in code:
        assert target.notices == (f"calc.py::{'tidy' if 'tidy' in code else 'sub'}",)
    if code == UNITS["made-in-a-function"]:
        assert [each.line for each in proof.functions if each.name == "sub"] == [7]


@pytest.fixture(autouse=True)
def as_in_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, SENTINEL, sentinel)


SOURCE = """\
import functools


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
"""


def load(source: str | bytes) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "sample.py", "exec"), names)
    return names


def emptied(*names: str, stub: Any = "false") -> dict[str, Any]:
    return load(empty(SOURCE.encode(), names, stub))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        pytest.param("decorated", lambda names: names["decorated"](1), id="decorated"),
        pytest.param("later", lambda names: asyncio.run(names["later"](1)), id="async"),
        pytest.param("Account.doubled", lambda names: names["Account"](1).doubled, id="a-property"),
    ],
)
def test_an_emptied_function_gives_nothing(name: str, call: Callable[[dict[str, Any]], Any]) -> None:
    assert not isinstance(call(load(SOURCE)), Nothing)
    assert call(emptied(name)) is FALSE
    assert call(emptied(name, stub="true")) is TRUE


def test_something_stands_in_for_what_is_no_function() -> None:
    source = b"# coding: latin-1\nfrom operator import add\n\nNAME = '\xfc'\n"
    names = load(empty(source, ["add"], "true"))
    assert (names["add"], names["NAME"]) == (TRUE, "\xfc")


def test_arguments_are_spoiled() -> None:
    class Account:
        def __init__(self) -> None:
            self.balance = 1

    given: dict[str, Any] = {"a": [1], "b": {"k": 1}, "c": {1}, "d": bytearray(b"x"), "e": Account(), "f": 1}
    assert sentinel.spoil(given) is FALSE
    assert given["a"][1] is TRUE
    assert (len(given["b"]), given["c"], given["d"]) == (2, {1, "spoiled"}, b"xspoiled")
    assert given["e"].balance is TRUE


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


@pytest.mark.parametrize("imports", ["from shop import calc", "import shop.calc as calc"])
def test_a_name_is_taken_from_its_module(imports: str) -> None:
    source = f"{imports}\n\n\ndef test_a():\n    check()\n\n\ndef check():\n    assert calc.two() == 2\n"
    assert read_target("test_a.py::test_a", lambda path: source.encode()).taken == ("shop.calc.two",)


def test_a_source_that_python_warns_about_is_read_in_silence() -> None:
    source = b"def sub(a):\n    return '\\d'\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [each.name for each in find_changed(None, source)] == ["sub"]
        assert b"return __import__" in empty(source, {"sub"}, "false")
        assert alter(source, {1}) == (source, {})
