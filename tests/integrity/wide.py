"""A project with every kind of test: functions, classes, unittest, async, helpers, fixtures, data and a conftest."""

from __future__ import annotations

from tests.integrity.rows import CONFIGURATION, TEST_FILE, Attempt, Base

TESTS = """\
import unittest

import pytest
from helpers import TOLERANCE, check_total, load_cases

from price import discount, total

LIMIT = 100


@pytest.fixture
def prices():
    return [1, 2, 3]


def same(left, right):
    assert left == right


def test_total_adds_up(prices):
    assert total(prices) == 6


def test_total_of_nothing():
    assert total([]) == 0


def test_by_helper():
    same(total([4]), 4)


def test_by_helper_of_another_file():
    check_total([4, 5], 9)


def test_close():
    assert total([0.1, 0.2]) == pytest.approx(0.3, abs=TOLERANCE)


def test_refuses_text():
    with pytest.raises(TypeError):
        total("12")


def test_from_conftest(wanted):
    assert discount(LIMIT) == wanted


@pytest.mark.parametrize("amount, expected", load_cases())
def test_cases(amount, expected):
    assert discount(amount) == expected


class TestDiscount:
    rate = 10

    def setup_method(self):
        self.amount = 50

    def test_small(self):
        assert discount(self.amount) == 50

    def test_large(self):
        assert discount(200) == 200 - 200 // self.rate


class TotalCase(unittest.TestCase):
    def setUp(self):
        self.prices = [7]

    def test_one(self):
        self.assertEqual(total(self.prices), 7)


class WaitingCase(unittest.IsolatedAsyncioTestCase):
    async def test_one(self):
        self.assertEqual(total([8]), 8)
"""

HELPERS = """\
import json
from pathlib import Path

from price import total

TOLERANCE = 1e-9


def check_total(prices, expected):
    assert total(prices) == expected


def load_cases():
    return json.loads((Path(__file__).parent / "data" / "cases.json").read_text())
"""

#: What somebody would like the helpers to be.
EASY_HELPERS = """\
TOLERANCE = 1


def check_total(*ignored):
    pass


def load_cases():
    return [[10, 10], [300, 270]]
"""

CONFTEST = """\
import pytest


@pytest.fixture
def wanted():
    return 90
"""

CASES = "[[10, 10], [300, 270]]\n"

WIDE = Base(
    files=(
        ("pytest.ini", CONFIGURATION),
        (TEST_FILE, TESTS),
        ("tests/helpers.py", HELPERS),
        ("tests/conftest.py", CONFTEST),
        ("tests/data/cases.json", CASES),
    )
)

#: Where each piece stands, for edits of files that are not the test file.
_FILES = dict(WIDE.files)


def change(*edits: tuple[str, str], **more: object) -> Attempt:
    """Edit the test file. The code is good: whatever closes the gate is the edit itself."""
    return Attempt(base=WIDE, edits=edits, **more)  # type: ignore[arg-type]


def change_file(name: str, old: str, new: str) -> Attempt:
    assert old in _FILES[name], f"nothing to edit: {old!r}"
    return Attempt(base=WIDE, writes=((name, _FILES[name].replace(old, new)),))


def write(name: str, text: str, **more: object) -> Attempt:
    return Attempt(base=WIDE, writes=((name, text),), **more)  # type: ignore[arg-type]
