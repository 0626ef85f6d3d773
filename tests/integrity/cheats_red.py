"""Reds that give no reason to write code. These begin before an honest RED: nothing was recorded."""

from __future__ import annotations

from tests.integrity.rows import CONFIGURATION, GOOD, SIGNAL, TEST_FILE, TESTS, Attempt, Base, Row
from tests.integrity.shared import Table, cheat

#: The project before anything was recorded; there is code, and it does too little.
_HALF = "def total(prices):\n    return None\n"
EMPTY = Base(files=(("pytest.ini", CONFIGURATION), ("price.py", _HALF)), has_red=False)

_REFUSED, _TEST = "red-for-a-reason", f"{TEST_FILE}::test_total"
_HONEST = "from price import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"


def red(text: str, *arguments: str, code: str | None = None, base: Base = EMPTY, name: str = TEST_FILE) -> Attempt:
    return Attempt(base=base, phase="red", code=code, writes=((name, text),), runs=(arguments,))


def _function(*lines: str, first: str = "from price import total", head: str = "def test_total():") -> Attempt:
    return red("\n".join((first, "", "", head, *(f"    {line}" for line in lines), "")))


HONEST = red(_HONEST)
_TWIN_NAME = "a test of what the code does not do yet"


def _row(name: str, attempt: Attempt, told_by: str = _TEST) -> Row:
    return cheat(name, attempt, told_by, twin_name=_TWIN_NAME, twin=HONEST)


_OLD_TESTS = """\
from old import double


def test_two():
    assert double(2) == 4


def test_three():
    assert double(3) == 6
"""

_PYPROJECT = """\
[project]
name = "price"
version = "1"
dependencies = ["no-such-thing"]
"""

_CASE = """\
import unittest

from price import total


class Case(unittest.TestCase):
    def test_total(self):
        self.CHECK
"""

_SLEEPS = """\
import time

from price import total


def test_total():
    time.sleep(5)
    assert total([1]) == 1
"""

#: Two tests of an older step, one of them failing, as `phase-gate baseline` found them.
_OLD = Base(
    files=(
        *EMPTY.files,
        ("old.py", "def double(number):\n    return number + 2\n"),
        (
            "tests/test_old.py",
            _OLD_TESTS,
        ),
    ),
    commands=(("phase-gate", "baseline"),),
    has_red=False,
    # `baseline` runs pytest itself, and the bench has autoloading off.
    environment=(("PYTEST_PLUGINS", "phase_gate.plugin"),),
)

#: Row 24.
_NO_REASON: tuple[Row, ...] = (
    _row("a syntax error", red("def test_total(:\n"), "syntax-error"),
    _row("a syntax error in the code", red(_HONEST, code="def total(:\n"), "syntax-error"),
    _row("an indentation error", red(f"{_HONEST}  x = 1\n"), "syntax-error"),
    _row(
        "a fixture that is not there",
        _function("assert total(prices)", head="def test_total(prices):"),
        "missing-fixture",
    ),
    _row(
        "a module of the standard library that has no such name",
        _function("assert total([1]) == 1", first="from os import no_such_name\nfrom price import total"),
        "foreign-module",
    ),
    _row(
        "an installed distribution that has no such module",
        _function("assert total([1]) == 1", first="import yaml.no_such_module\nfrom price import total"),
        "foreign-module",
    ),
    _row(
        "a declared distribution that is not installed",
        Attempt(
            base=EMPTY,
            phase="red",
            code=None,
            runs=((),),
            writes=(
                ("pyproject.toml", _PYPROJECT),
                (TEST_FILE, f"import no_such_thing\n{_HONEST}"),
            ),
        ),
        "foreign-module",
    ),
    _row("no tests", red("from price import total\n"), "tests_total > 0"),
    _row("no tests, and nothing collected", red("", "tests/test_other.py"), "closed"),
    _row("a usage error", red(_HONEST, "--no-such-option"), "no-such-option"),
    _row("a path that is not there", red(_HONEST, "no/such/path.py"), "no/such/path.py"),
    _row("assert False", _function("total([1])", "assert False"), "stub"),
    _row("assert 0, with a text", _function("assert 0, total([1])"), "stub"),
    _row("a constant comparison", _function("assert 1 == 2"), "stub"),
    _row("a constant under a name", _function("wanted = 1", "assert wanted == 2"), "stub"),
    _row("a constant from a built-in", _function("assert len([]) == 1"), "stub"),
    _row("a constant from a method of a constant", _function("assert 'total'.upper() == 'total'"), "stub"),
    _row("a constant from an item of a constant", _function("assert [1, 2][0] == 2"), "stub"),
    _row(
        "a constant comparison through unittest",
        red(_CASE.replace("CHECK", "assertEqual(1, 2)")),
        "stub",
    ),
    _row(
        "self.fail",
        red(_CASE.replace("CHECK", "fail('to do')")),
        "stub",
    ),
    _row("pytest.fail", _function("pytest.fail('to do')", first="import pytest\nfrom price import total"), "stub"),
    _row("raise NotImplementedError in the test", _function("raise NotImplementedError"), "stub"),
    _row("raise AssertionError in the test", _function("raise AssertionError('to do')"), "stub"),
    _row("an error in the test's own code", _function("1 / 0", first="import math"), "test-error"),
    _row("a name that the test itself lacks", _function("assert wanted == 1", first="import math"), "test-error"),
    _row(
        "a strict xpass",
        _function("assert True", head="@pytest.mark.xfail(strict=True)\ndef test_total():", first="import pytest"),
        _REFUSED,
    ),
    _row(
        "an error in teardown only",
        _function(
            "assert total([1]) is None",
            head="@pytest.fixture\ndef late():\n    yield\n    raise RuntimeError\n\n\ndef test_total(late):",
            first="import pytest\nfrom price import total",
        ),
        "teardown-only",
    ),
    _row(
        "a missing module, and a stub",
        red("from cost import total\n\n\ndef test_total():\n    total([1])\n    raise NotImplementedError\n"),
        "stub",
    ),
    _row(
        "a time-out",
        Attempt(
            base=EMPTY,
            phase="red",
            code=None,
            runs=(("-p", "timeout", "--timeout=0.3"),),
            writes=(
                (
                    TEST_FILE,
                    _SLEEPS,
                ),
            ),
        ),
        "timeout",
    ),
    cheat(
        "an old failure",
        red("", base=_OLD),
        "tests_total > 0",
        twin_name="a new test beside an old failure",
        twin=red(_HONEST, base=_OLD),
    ),
    _row(
        "an xfail mark",
        _function(
            "assert total([1]) == 1",
            head="@pytest.mark.xfail\ndef test_total():",
            first="import pytest\nfrom price import total",
        ),
        "tests_total > 0",
    ),
    _row(
        "only skips",
        _function("pytest.skip('later')", first="import pytest\nfrom price import total"),
        "tests_total > 0",
    ),
    _row(
        "one stub among honest ones",
        red(f"{_HONEST}\n\ndef test_stub():\n    assert False\n"),
        f"{TEST_FILE}::test_stub",
    ),
)

#: Row 25.
_PASSES: tuple[Row, ...] = (
    _row(
        "a test that passes",
        red("from price import total\n\n\ndef test_total():\n    assert total([1]) is None\n"),
        "tests_passing == 0",
    ),
    _row(
        "one that passes among those that fail",
        red(f"{_HONEST}\n\ndef test_passes():\n    assert total([]) is None\n"),
        "tests_passing == 0",
    ),
    _row("the code is there already", red(TESTS, code=GOOD), "tests_passing == 0"),
    _row(
        "the failing one is chosen",
        red(f"{_HONEST}\n\ndef test_passes():\n    assert total([]) is None\n", "-k", "test_passes"),
        "tests_passing == 0",
    ),
)

#: Row 33, and the ways around RED that begin in RED.
_ORDER: tuple[Row, ...] = (
    _row(
        "an easier phase before RED is over",
        Attempt(
            base=EMPTY,
            phase="red",
            code=None,
            writes=((TEST_FILE, "def test_total():\n    assert False\n"),),
            runs=((),),
            after=(SIGNAL,),
            then=Attempt(phase="green", code=GOOD),
        ),
        "phase",
    ),
)

RED: Table = {24: _NO_REASON, 25: _PASSES, 33: _ORDER}
