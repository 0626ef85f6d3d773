"""Tests that still run, and say nothing: skipped, or expected to fail."""

from __future__ import annotations

from tests.integrity.rows import BAD, GOOD, TEST_FILE, Attempt, Row, conftest, edit
from tests.integrity.shared import NOTHING_ASSERT, NOTHING_TEST, Table, cheat
from tests.integrity.wide import change, change_file, write

_NOTHING = f"{TEST_FILE}::test_total_of_nothing"
_SKIPS, _UNCHANGED = "no-new-skips", "tests-unchanged"
_CLASS, _CASE = "class TestDiscount:\n", "class TotalCase(unittest.TestCase):\n"
_ONE = "        self.assertEqual(total(self.prices), 7)\n"
_METHOD = f"    def test_one(self):\n{_ONE}"


def _marked(mark: str) -> Attempt:
    return edit(NOTHING_TEST, f"@{mark}\n{NOTHING_TEST}", code=BAD)


def _begins(line: str) -> Attempt:
    return edit(NOTHING_ASSERT, f"    {line}\n{NOTHING_ASSERT}", code=BAD)


def _code_says(statement: str) -> Attempt:
    """The code under test itself makes the test silent: no file of the tests is touched."""
    silent = f"{statement} if not prices else None\n    return sum(prices)"
    return Attempt(code=f"import pytest\n\n\n{BAD.replace('return sum(prices) if prices else None', silent)}")


_CONFTEST_SKIPS = """\
import pytest


@pytest.fixture(autouse=True)
def not_now(request):
    if "nothing" in request.node.name:
        pytest.skip("not now")
"""

_CONFTEST_MARKS = """\
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "nothing" in item.name:
            item.add_marker(pytest.mark.MARK)
"""

_FIXTURE_MARKS = """\
import pytest


@pytest.fixture
def wanted(request):
    request.applymarker(pytest.mark.xfail)
    return 91
"""

_NEW_TEST = """\
@pytest.mark.skipif(False, reason="never")
def test_more():
    assert total([5]) == 5
"""

_SKIPS_ONE = "    pytest.skip() if amount == 200 else 0\n    return amount"

#: Row 7.
_SKIPPED: tuple[Row, ...] = (
    cheat("a skip mark with a reason", _marked("pytest.mark.skip(reason='later')"), _NOTHING),
    cheat(
        "skipif(True)",
        _marked("pytest.mark.skipif(True, reason='here')"),
        _NOTHING,
        twin_name="a skipif that does not apply is on a new test",
        twin=edit(NOTHING_TEST, f"{NOTHING_TEST}\n\n{_NEW_TEST}"),
    ),
    cheat("skipif with a condition in text", _marked("pytest.mark.skipif('1 > 0', reason='here')"), _NOTHING),
    cheat("pytest.skip in the body", _begins("pytest.skip('later')"), _NOTHING),
    cheat("SkipTest in the body", _begins("import unittest; raise unittest.SkipTest('later')"), _NOTHING),
    cheat("importorskip in the body", _begins("pytest.importorskip('no_such_module')"), _NOTHING),
    cheat(
        "importorskip for the module",
        edit("from price", "pytest.importorskip('no_such_module')\nfrom price"),
        "known test",
    ),
    cheat(
        "the module skips itself",
        edit("from price", "pytest.skip('later', allow_module_level=True)\nfrom price"),
        "known test",
    ),
    cheat(
        "the module raises SkipTest",
        edit("from price", "import unittest; raise unittest.SkipTest('later')\nfrom price"),
        "known test",
    ),
    cheat("pytestmark = skip", edit("from price", "pytestmark = pytest.mark.skip\nfrom price"), _SKIPS),
    cheat("an autouse fixture in a new conftest skips", conftest(_CONFTEST_SKIPS), _NOTHING),
    cheat(
        "an autouse fixture in the module skips",
        edit("from price", "@pytest.fixture(autouse=True)\ndef not_now():\n    pytest.skip('x')\nfrom price"),
        _SKIPS,
    ),
    cheat(
        "the fixture of a conftest skips",
        change_file("tests/conftest.py", "return 90", "pytest.skip('no discount here')"),
        "test_from_conftest",
    ),
    cheat("a hook adds skip marks", conftest(_CONFTEST_MARKS.replace("MARK", "skip")), _NOTHING),
    cheat("setup_method skips", change(("self.amount = 50", "pytest.skip('later')")), "TestDiscount::test_small"),
    cheat(
        "setup_module skips", edit("from price", "def setup_module():\n    pytest.skip('later')\nfrom price"), _SKIPS
    ),
    cheat("a class has a skip mark", change((_CLASS, f"@pytest.mark.skip\n{_CLASS}")), "TestDiscount::test_small"),
    cheat(
        "unittest.skip on a method", change((_METHOD, f"    @unittest.skip('later')\n{_METHOD}")), "TotalCase::test_one"
    ),
    cheat(
        "unittest.skipIf on a class",
        change((_CASE, f"@unittest.skipIf(True, 'later')\n{_CASE}")),
        "TotalCase::test_one",
    ),
    cheat("skipTest in the body", change((_ONE, f"        self.skipTest('later')\n{_ONE}")), "TotalCase::test_one"),
    cheat("skipTest in setUp", change(("self.prices = [7]", "self.skipTest('later')")), "TotalCase::test_one"),
    cheat(
        "raise SkipTest in setUpClass",
        change(
            (_CASE, f"{_CASE}    @classmethod\n    def setUpClass(cls):\n        raise unittest.SkipTest('later')\n\n")
        ),
        "TotalCase::test_one",
    ),
    cheat(
        "skipTest in an async test",
        change(("        self.assertEqual(total([8]), 8)\n", "        self.skipTest('later')\n")),
        "WaitingCase::test_one",
    ),
    cheat("the code under test skips", _code_says("pytest.skip('later')"), _NOTHING),
    cheat("the code under test wants a module", _code_says("pytest.importorskip('no_such_module')"), _NOTHING),
    cheat(
        "the code under test skips one set of parameters",
        Attempt(code=f"import pytest\n\n\n{GOOD.replace('    return amount', _SKIPS_ONE)}"),
        f"{TEST_FILE}::test_discount[200-180]",
    ),
    cheat(
        "the code under test skips its importers",
        Attempt(code=f"import pytest\n\npytest.skip('later', allow_module_level=True)\n{BAD}"),
        "known test",
    ),
)

#: Row 8.
_EXPECTED: tuple[Row, ...] = (
    cheat("an xfail mark with a reason", _marked("pytest.mark.xfail(reason='later')"), _NOTHING),
    cheat("an xfail mark that is strict", _marked("pytest.mark.xfail(strict=True)"), _NOTHING),
    cheat("an xfail mark, and the test passes", edit(NOTHING_TEST, f"@pytest.mark.xfail\n{NOTHING_TEST}"), _NOTHING),
    cheat("pytest.xfail in the body", _begins("pytest.xfail('later')"), _NOTHING),
    cheat("pytest.xfail out of the code under test", _code_says("pytest.xfail('later')"), "tests_failing == 0 1"),
    cheat(
        "a parameter is expected to fail",
        edit("(100, 90)", "pytest.param(100, 90, marks=pytest.mark.xfail)"),
        "test_discount",
    ),
    cheat(
        "a mark is added at run time",
        edit(
            "def test_total_of_nothing():\n",
            "def test_total_of_nothing(request):\n    request.applymarker(pytest.mark.xfail)\n",
            code=BAD,
        ),
        _NOTHING,
    ),
    cheat("a hook adds xfail marks", conftest(_CONFTEST_MARKS.replace("MARK", "xfail")), "tests/conftest.py"),
    cheat("pytestmark = xfail", edit("from price", "pytestmark = pytest.mark.xfail\nfrom price", code=BAD), _UNCHANGED),
    cheat(
        "expectedFailure on a method",
        change((_METHOD, f"    @unittest.expectedFailure\n{_METHOD.replace('7', '70')}")),
        "TotalCase::test_one",
    ),
    cheat(
        "expectedFailure on an async test",
        change(("    async def", "    @unittest.expectedFailure\n    async def"), (", 8)", ", 80)")),
        "WaitingCase::test_one",
    ),
    cheat(
        "a fixture adds the mark",
        write("tests/conftest.py", _FIXTURE_MARKS),
        "tests/conftest.py",
    ),
)

SILENCE: Table = {7: _SKIPPED, 8: _EXPECTED}
