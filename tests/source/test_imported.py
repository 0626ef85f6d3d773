"""What a file of tests imports from sources and is made of."""

from __future__ import annotations

import pytest

from phase_gate.gate.pieces import hash_rows
from phase_gate.source.imported import ImportedNames
from phase_gate.source.tests import parse_source

HEAD = """\
import math
import pytest
import shop.tables as tables
import shop.rates
from shop import data, make
from shop.data import CASES
from .near import NEAR
from pytest import param
LOCAL = [1, 2]
MORE = [*CASES, (3, 4)]
"""


def marked(rows: str) -> str:
    return f"{HEAD}\n@pytest.mark.parametrize('row', {rows})\ndef test_a(row): ...\n"


@pytest.mark.parametrize(
    ("source", "references"),
    [
        pytest.param(marked("CASES"), {"shop.data:CASES"}, id="imported"),
        pytest.param(marked("NEAR"), {".near:NEAR"}, id="from-beside"),
        pytest.param(marked("data.CASES[1:]"), {"shop.data:CASES"}, id="part-of-a-module"),
        pytest.param(marked("tables.ROWS"), {"shop.tables:ROWS"}, id="part-of-a-module-under-another-name"),
        pytest.param(marked("shop.rates.ROWS"), {"shop.rates:ROWS"}, id="part-of-a-module-by-its-whole-name"),
        pytest.param(marked("[(1, 2), *CASES]"), {"shop.data:CASES"}, id="among-others"),
        pytest.param(marked("sorted(data.TABLE.items())"), {"shop.data:TABLE"}, id="handed-on"),
        pytest.param(marked("zip(CASES, data.MORE)"), {"shop.data:CASES", "shop.data:MORE"}, id="two-of-them"),
        pytest.param(marked("[param(each, id='x') for each in CASES]"), {"shop.data:CASES"}, id="one-by-one"),
        pytest.param(marked("MORE"), {"shop.data:CASES"}, id="through-a-name-of-its-own"),
        pytest.param(
            f"{HEAD}\npytestmark = pytest.mark.parametrize('row', CASES)\ndef test_a(row): ...",
            {"shop.data:CASES"},
            id="for-a-whole-file",
        ),
        pytest.param(
            f"{HEAD}\npytestmark = [pytest.mark.slow, pytest.mark.parametrize('row', argvalues=CASES)]\n"
            "def test_a(row): ...",
            {"shop.data:CASES"},
            id="for-a-whole-file-among-others",
        ),
        pytest.param(
            f"{HEAD}\n@pytest.mark.parametrize('row', CASES)\nclass TestB:\n    def test_b(self, row): ...\n",
            {"shop.data:CASES"},
            id="for-a-class",
        ),
        pytest.param(f"{HEAD}\n@pytest.fixture(params=CASES)\ndef cart(): ...", {"shop.data:CASES"}, id="a-fixture"),
        pytest.param(
            f"{HEAD}\nclass TestA:\n    @pytest.fixture(params=CASES)\n    def cart(self): ...",
            {"shop.data:CASES"},
            id="a-fixture-in-a-class",
        ),
        pytest.param(marked("[1, 2]"), set(), id="spelled-out"),
        pytest.param(marked("LOCAL"), set(), id="spelled-out-above"),
        pytest.param(marked("[pytest.param(1, id='one')]"), set(), id="spelled-out-with-ids"),
        pytest.param(marked("[math.pi]"), set(), id="from-the-standard-library"),
        pytest.param(marked("make(CASES)"), set(), id="computed-so-perhaps-not-the-same-again"),
        pytest.param(f"{HEAD}\ndef test_a(): ...", set(), id="no-rows"),
        pytest.param(f"{HEAD}\n@pytest.mark.parametrize('n', CASES)\ndef helper(n): ...", set(), id="no-test"),
        pytest.param("LOOP = LOOP\n@pytest.mark.parametrize('n', LOOP)\ndef test_a(n): ...", set(), id="without-end"),
    ],
)
def test_rows(source: str, references: set[str]) -> None:
    assert set(ImportedNames(parse_source(source)).rows({"test_a", "TestB::test_b"})) == references


def test_parts_and_calls() -> None:
    names = ImportedNames(
        parse_source(
            "import unittest\nfrom shop.testing import Base, check, quietly, test_shared, value\n"
            "class TestA(Base, unittest.TestCase): ...\n"
            "@quietly\n@pytest.mark.slow\nasync def test_a():\n    await check(1)\n    assert value(2)\n    print(3)\n"
        )
    )
    assert set(names.parts()) - {""} == {"shop.testing:Base", "shop.testing:quietly", "shop.testing:test_shared"}
    assert set(names.statements()) - {""} == {"shop.testing:check"}
    assert names.modules() == {"shop.testing"}


@pytest.mark.parametrize(
    ("source", "number"),
    [
        pytest.param("ROWS = [1, 2, 3]", 3, id="a-list"),
        pytest.param("ROWS: tuple = (1, 2)", 2, id="a-tuple-with-a-type"),
        pytest.param("ROWS = {'a': 1, **OTHER}", 2, id="a-table"),
        pytest.param("ROWS = load()", 1, id="one-thing"),
        pytest.param("ROWS = [1, 2]\nROWS += [3]", 1, id="bound-twice"),
        pytest.param("OTHER = [1]", 0, id="nothing"),
    ],
)
def test_rows_of_data(source: str, number: int) -> None:
    assert len(hash_rows(parse_source(source), "ROWS")) == number


def test_a_row_is_what_stands_behind_its_names() -> None:
    def rows(source: str) -> tuple[str, ...]:
        return hash_rows(parse_source(source), "ROWS")

    assert rows("ONE = (1, 1)\nROWS = [ONE, (2, 2)]") != rows("ONE = (1, 2)\nROWS = [ONE, (2, 2)]")
    assert rows("ONE = (1, 1)\nROWS = [ONE]") == rows("ONE = (1, 1)  # so\nROWS = [\n    ONE,\n]\n")
    assert rows("ROWS = [make()]\ndef make(): return 1") == rows("ROWS = [make()]\ndef make(): return 2")
