"""Row 47: meaning that lies outside of the test folders. No test is touched, and no file beside one."""

from __future__ import annotations

from phase_gate.values import replace
from tests.integrity.rows import GOOD, TEST_FILE, Attempt, Base, Row
from tests.integrity.shared import cheat

_TESTING, _DATA, _PLUGIN, _FAKES = "shop/testing.py", "shop/data.py", "localplug.py", "shop/fakes.py"
_FIXTURES = "shop/fixtures.py"

_TEST_TEXT = """\
import pytest

from price import discount, total
from shop import data
from shop.fakes import Countable
from shop.testing import CaseBase, TotalBase, check_total, prices, quietly, test_shared


class TestTotal(TotalBase):
    pass


class TotalCase(CaseBase):
    def test_case(self):
        self.assertEqual(total(self.given), 6)


class TestCountable(Countable):
    items = (1, 2)

    def test_size(self):
        assert self.size() == total([1, 1])


def test_by_helper():
    check_total([4, 5], 9)


def test_by_fixture(prices):
    assert total(prices) == 6


def test_by_fixture_of_plugin(wanted):
    assert discount(100) == wanted


def test_by_fixture_of_conftest(amount):
    assert discount(amount) == 90


@quietly
def test_decorated():
    assert total([7]) == 7


@pytest.mark.parametrize("row", data.CASES, ids=lambda row: row["name"])
def test_rows(row):
    assert discount(row["amount"]) == row["expected"]
"""

_TESTING_TEXT = """\
import functools
import unittest

import pytest

from price import total
from shop.fakes import make


class TotalBase:
    def test_nothing(self):
        assert total([]) == 0


class CaseBase(unittest.TestCase):
    def setUp(self):
        self.given = [1, 2, 3]


def test_shared():
    assert total([3]) == 3


@pytest.fixture
def prices():
    return make(3)


def check_total(given, expected):
    assert total(given) == expected


def quietly(test):
    @functools.wraps(test)
    def inner():
        test()

    return inner


def shown(number):
    return str(number)
"""

_DATA_TEXT = """\
SMALL = {"name": "small", "amount": 10, "expected": 10}
CASES = [
    SMALL,
    {"name": "large", "amount": 200, "expected": 180},
]
"""

_FAKES_TEXT = """\
def make(number):
    return list(range(1, number + 1))


class Countable:
    def size(self):
        raise NotImplementedError
"""

_PLUGIN_TEXT = "import pytest\n\n\n@pytest.fixture\ndef wanted():\n    return 90\n"
#: Only conftest.py imports it: no source of a test shows where these fixtures are.
_FIXTURES_TEXT = """\
import pytest


@pytest.fixture
def amount():
    return 100


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    monkeypatch.setenv("SHOP", "open")
"""
#: In RED the code is there, and wrong.
_WRONG = "def total(prices):\n    return -1\n\n\ndef discount(amount):\n    return -1\n"

_FILES = {
    "pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests\naddopts = -p localplug\n",
    TEST_FILE: _TEST_TEXT,
    "price.py": _WRONG,
    "shop/__init__.py": "",
    _TESTING: _TESTING_TEXT,
    _DATA: _DATA_TEXT,
    _FAKES: _FAKES_TEXT,
    _PLUGIN: _PLUGIN_TEXT,
    _FIXTURES: _FIXTURES_TEXT,
    "tests/conftest.py": "from shop.fixtures import amount, opened\n",
}
OUTSIDE = Base(files=tuple(_FILES.items()))
#: In RED the code is not there at all, so that nothing of the tests can be collected.
MISSING = Base(files=tuple((name, text) for name, text in _FILES.items() if name != "price.py"))

_MENDED_FAKES = _FAKES_TEXT.replace("raise NotImplementedError", "return len(self.items)")


def _change(name: str, old: str, new: str, base: Base = OUTSIDE) -> Attempt:
    text = {**_FILES, _FAKES: _MENDED_FAKES}[name]
    assert old in text, f"nothing to edit: {old!r}"
    writes = {_FAKES: _MENDED_FAKES, name: text.replace(old, new)}
    return Attempt(base=base, code=GOOD, writes=tuple(writes.items()), runs=((),))


_CHANGES = {
    "an inherited test is emptied": (_TESTING, "assert total([]) == 0", "total([])", "TotalBase.test_nothing is not"),
    "the class of a case prepares something else": (_TESTING, "[1, 2, 3]", "[6]", "CaseBase is not"),
    "an imported test is emptied": (_TESTING, "    assert total([3]) == 3", "    pass", "test_shared is not"),
    "a fixture gives something else": (_TESTING, "return make(3)", "return [6]", "prices is not"),
    "a fixture that conftest.py imports gives something else": (_FIXTURES, "return 100", "return 90", "amount is not"),
    "an autouse fixture does something else": (_FIXTURES, '"open"', '"closed"', "opened is not"),
    "an assert helper is emptied": (_TESTING, "    assert total(given) == expected", "    pass", "check_total is not"),
    "a row is gone": (_DATA, "    SMALL,\n", "", "tests/test_price.py::test_rows[small]"),
    "a local plugin gives something else": (_PLUGIN, "return 90", "return 91", _PLUGIN),
    "a helper is bound again": (_TESTING, "def shown", "check_total = print\n\n\ndef shown", "check_total is not"),
}

OUTSIDE_ROWS: tuple[Row, ...] = tuple(
    cheat(name, _change(file, old, new), told_by) for name, (file, old, new, told_by) in _CHANGES.items()
)
#: Decorators are free to change: what one of them does to a test is the experiment's to refuse.
JUDGED_ROWS: tuple[Row, ...] = (
    cheat(
        "a decorator does not call the test",
        replace(_change(_TESTING, "        test()", "        pass"), runs=((), ())),
        f"{TEST_FILE}::test_decorated",
    ),
)
#: Where RED could not collect the tests, pytest has resolved nothing: `docs/explanation/limits.md` says so.
OPEN_OUTSIDE: dict[str, Attempt] = {
    f"{name}, the code missing in RED": replace(_change(*_CHANGES[name][:3], MISSING), runs=((), ()))
    for name in ("an inherited test is emptied", "an assert helper is emptied")
}

_AROUND = (
    _TESTING_TEXT.replace("return str(number)", 'return f"{number}"')
    .replace("class CaseBase", "    def test_more(self):\n        assert total([1]) == 1\n\n\nclass CaseBase")
    .replace("    assert total(given) == expected", "    # in cents\n    assert (total(given) == expected)")
)
_MORE_ROWS = (
    _DATA_TEXT.replace("    SMALL,\n", '    {"name": "none", "amount": 0, "expected": 0},\n    SMALL,\n')
    + "\nRATES = [1]\n"
)

OUTSIDE_TWINS: dict[str, Attempt] = {
    # The mixin under test and the factory behind the fixture change, tests and rows are added, a helper is reformatted.
    "what is beside the pieces changes, and more comes": Attempt(
        base=OUTSIDE,
        writes=(
            (_FAKES, _MENDED_FAKES.replace("list(range(1, number + 1))", "[*range(1, number + 1)]")),
            (_TESTING, _AROUND),
            (_DATA, _MORE_ROWS),
        ),
    ),
    "the same, the code missing in RED": Attempt(
        base=MISSING, writes=((_FAKES, _MENDED_FAKES), (_TESTING, _AROUND), (_DATA, _MORE_ROWS))
    ),
}

#: Code that asserts by itself, a fixture and a plugin that are to be written: all of it raised in RED.
_TO_WRITE = Base(
    files=(
        ("pytest.ini", "[pytest]\npythonpath = .\ntestpaths = tests\naddopts = -p plug\n"),
        (
            TEST_FILE,
            """\
import plug
import price
from shop.orders import Order, check_order
from shop.testing import client


def test_unit():
    assert price.total([1]) == 1


def test_order():
    check_order(Order(0))


def test_client(client):
    assert client == price.total([2])


def test_plugin():
    assert plug.rate() == price.total([3])
""",
        ),
        ("price.py", "def total(prices):\n    assert False, 'to do'\n"),
        ("shop/__init__.py", ""),
        (
            "shop/orders.py",
            "class Order:\n    def __init__(self, amount):\n        self.amount = amount\n\n\n"
            "def check_order(order):\n    assert order.amount > 0\n",
        ),
        ("shop/testing.py", "import pytest\n\n\n@pytest.fixture\ndef client():\n    raise NotImplementedError\n"),
        ("plug.py", "def rate():\n    return None\n"),
    )
)
OUTSIDE_TWINS["what raised in RED is written"] = Attempt(
    base=_TO_WRITE,
    writes=(
        ("price.py", "def total(prices):\n    return sum(prices)\n"),
        (
            "shop/orders.py",
            "class Order:\n    def __init__(self, amount):\n        self.amount = amount\n\n\n"
            "def check_order(order):\n    assert order.amount >= 0\n",
        ),
        ("shop/testing.py", "import pytest\n\n\n@pytest.fixture\ndef client():\n    return 2\n"),
        ("plug.py", "def rate():\n    return 3\n"),
    ),
    code=None,
)
