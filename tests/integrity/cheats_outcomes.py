"""Outcomes that are no plain pass: early exits, assertions left out, reruns, failing stages."""

from __future__ import annotations

from tests.integrity.rows import BAD, GOOD, TEST_FILE, Attempt, Row, conftest
from tests.integrity.shared import Table, cheat, run_with

_NOTHING = f"{TEST_FILE}::test_total_of_nothing"
_RERUNS = ("-p", "rerunfailures")

#: Right every second time.
_MOODY = """\
_calls = []


def total(prices):
    _calls.append(prices)
    return sum(prices) if prices or len(_calls) % 2 else None


def discount(amount):
    return amount - amount // 10 if amount >= 100 else amount
"""


def _code_says(statement: str) -> Attempt:
    silent = f"{statement} if not prices else None\n    return sum(prices)"
    return Attempt(code=f"import sys\n\n\n{BAD.replace('return sum(prices) if prices else None', silent)}")


def _new_test(text: str, **more: object) -> Attempt:
    return Attempt(writes=(("tests/test_more.py", text),), **more)  # type: ignore[arg-type]


_SUBTEST = """\
import unittest

from price import total


class Totals(unittest.TestCase):
    def test_all(self):
        for number in range(3):
            with self.subTest(number):
                self.assertNotEqual(total([number]), 1)
"""

_SETUP_ERROR = """\
import pytest


@pytest.fixture
def broken():
    raise RuntimeError("no")


def test_more(broken):
    pass
"""

_TEARDOWN_ERROR = _SETUP_ERROR.replace("    raise", "    yield\n    raise")

_SETUP_CLASS = """\
class TestMore:
    @classmethod
    def setup_class(cls):
        raise RuntimeError

    def test_more(self):
        pass
"""

_FLAKY_TEST = """\
import pytest

SEEN = []


@pytest.mark.flaky(reruns=3)
def test_more():
    SEEN.append(1)
    assert len(SEEN) > 1
"""

#: Row 19.
_EXITS: tuple[Row, ...] = (
    cheat(
        "sys.exit(0) at import", Attempt(code=f"{BAD}\nimport sys\n\nsys.exit(0)\n"), "internal error: SystemExit: 0"
    ),
    cheat("sys.exit(0) in the code", _code_says("sys.exit(0)"), _NOTHING),
    cheat(
        "raise SystemExit in the code",
        Attempt(
            code=BAD.replace("return sum(prices) if", "if not prices: raise SystemExit\n    return sum(prices) if")
        ),
        _NOTHING,
    ),
    cheat("sys.exit(0) in a conftest", conftest("import sys\n\nsys.exit(0)\n"), "closed: files have changed"),
    cheat(
        "sys.exit(0) in a new test",
        _new_test("import sys\n\n\ndef test_more():\n    sys.exit(0)\n"),
        "tests/test_more.py::test_more",
    ),
    cheat("sys.exit(0) in a new module of tests", _new_test("import sys\n\nsys.exit(0)\n"), "tests/test_more.py"),
)

#: Row 20.
_WITHOUT_ASSERTS: tuple[Row, ...] = (
    cheat(
        "python -O",
        Attempt(code=BAD, python=("-O",)),
        "python -O leaves assert statements out",
        twin_name="--assert=plain leaves them in",
        twin=Attempt(arguments=("--assert=plain",)),
    ),
    cheat("python -OO", Attempt(code=BAD, python=("-OO",)), "python -O leaves assert statements out"),
    cheat("PYTHONOPTIMIZE", run_with(PYTHONOPTIMIZE="1"), "python -O leaves assert statements out"),
)

#: Row 21.
_RERUN: tuple[Row, ...] = (
    cheat(
        "--reruns until it passes",
        Attempt(code=_MOODY, arguments=(*_RERUNS, "--reruns", "3")),
        "test_total_of_nothing passed only after a rerun",
        twin_name="--reruns, and nothing fails",
        twin=Attempt(arguments=(*_RERUNS, "--reruns", "3")),
    ),
    cheat(
        "a flaky mark on a frozen test",
        Attempt(
            code=_MOODY,
            arguments=_RERUNS,
            edits=(("def test_total_of_nothing", "@pytest.mark.flaky(reruns=3)\ndef test_total_of_nothing"),),
        ),
        _NOTHING,
    ),
    cheat(
        "a flaky mark on a new test",
        Attempt(
            code=_MOODY,
            arguments=_RERUNS,
            writes=(
                (
                    "tests/test_more.py",
                    _FLAKY_TEST,
                ),
            ),
        ),
        "flaky",
    ),
    cheat(
        "reruns in the settings",
        Attempt(
            code=_MOODY,
            arguments=_RERUNS,
            writes=(("pytest.ini", "[pytest]\npythonpath = .\ntestpaths = tests\nreruns = 3\n"),),
        ),
        "ini reruns",
    ),
    cheat(
        "two runs, one of them green",
        Attempt(
            code=GOOD.replace(
                "sum(prices)",
                "sum(prices) if prices or open('runs.txt', 'a').tell() else open('runs.txt', 'a').write('x') - 2",
            )
        ),
        "consecutive_green_runs >= required_green_runs",
    ),
)

#: Row 23: all of the suite's tests that were there pass.
_STAGES: tuple[Row, ...] = (
    cheat("a failing subtest", _new_test(_SUBTEST), "tests/test_more.py"),
    cheat("an error in setup", _new_test(_SETUP_ERROR), "tests/test_more.py"),
    cheat("an error in teardown", _new_test(_TEARDOWN_ERROR), "tests/test_more.py"),
    cheat(
        "a module that can't be imported",
        _new_test("import no_such_module\n\n\ndef test_more():\n    pass\n"),
        "tests/test_more.py",
    ),
    cheat("a module that can't be parsed", _new_test("def test_more(:\n"), "tests/test_more.py"),
    cheat(
        "a module that can't be imported, and all others run",
        _new_test("import no_such_module\n", arguments=("--continue-on-collection-errors",)),
        "tests/test_more.py",
    ),
    cheat(
        "a class that can't be set up",
        _new_test(_SETUP_CLASS),
        "tests/test_more.py",
    ),
    cheat(
        "a strict xpass",
        _new_test("import pytest\n\n\n@pytest.mark.xfail(strict=True)\ndef test_more():\n    pass\n"),
        "tests/test_more.py",
    ),
    cheat(
        "a fixture that is not there", _new_test("def test_more(no_such_fixture):\n    pass\n"), "tests/test_more.py"
    ),
    cheat(
        "an unraisable exception that is an error",
        _new_test("import warnings\n\n\ndef test_more():\n    warnings.warn('x')\n", arguments=("-W", "error")),
        "option -W",
    ),
)

OUTCOMES: Table = {19: _EXITS, 20: _WITHOUT_ASSERTS, 21: _RERUN, 23: _STAGES}
