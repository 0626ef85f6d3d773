"""Tests that are not there any more: deleted, renamed, nested, hidden, or with fewer parameters."""

from __future__ import annotations

from phase_gate.selftest.rows import TEST_FILE, Attempt, Row, edit
from tests.integrity.shared import NOTHING_TEST, cheat
from tests.integrity.wide import WIDE, change, change_file

_LARGE = """\
    def test_large(self):
        assert discount(200) == 200 - 200 // self.rate
"""
_CASE = """\
class TotalCase(unittest.TestCase):
    def setUp(self):
        self.prices = [7]

    def test_one(self):
        self.assertEqual(total(self.prices), 7)
"""
_KEPT, _CLASS = "tests-kept", "class TestDiscount:\n"
_NOTHING, _OTHER = f"{TEST_FILE}::test_total_of_nothing", f"{TEST_FILE}::TestDiscount::test_large"
_ONE = f"{TEST_FILE}::TotalCase::test_one"

#: Row 5.
_GONE: tuple[Row, ...] = (
    cheat(
        "the file is deleted",
        Attempt(removes=(TEST_FILE,), writes=(("tests/test_b.py", "def test_b(): pass\n"),)),
        _NOTHING,
    ),
    cheat(
        "the file is renamed away",
        Attempt(
            removes=(TEST_FILE,),
            before=(("git", "--version"),),
            writes=(("tests/price_checks.py", "def test_total_of_nothing():\n    assert 1\n"),),
        ),
        _KEPT,
    ),
    cheat(
        "the file is emptied", Attempt(writes=((TEST_FILE, ""), ("tests/test_b.py", "def test_b(): pass\n"))), _NOTHING
    ),
    cheat("a function is renamed", edit("def test_total_of_nothing", "def test_total_of_anything"), _NOTHING),
    cheat(
        "a function is renamed to what is no test",
        edit("def test_total_of_nothing", "def check_total_of_nothing"),
        _NOTHING,
    ),
    cheat(
        "a function is commented out",
        edit(NOTHING_TEST, "".join(f"# {line}\n" for line in NOTHING_TEST.splitlines())),
        _NOTHING,
    ),
    cheat("a function becomes text", edit(NOTHING_TEST, f'"""\n{NOTHING_TEST}"""\n'), _NOTHING),
    cheat(
        "a function is nested in another",
        edit(NOTHING_TEST, "def around():\n" + "".join(f"    {line}\n" for line in NOTHING_TEST.splitlines())),
        _NOTHING,
    ),
    cheat(
        "a function is under a false condition",
        edit(NOTHING_TEST, "if False:\n\n" + "".join(f"    {line}\n" for line in NOTHING_TEST.splitlines())),
        "known test",
    ),
    cheat(
        "a function is deleted by del", edit(NOTHING_TEST, f"{NOTHING_TEST}\n\ndel test_total_of_nothing\n"), _NOTHING
    ),
    cheat(
        "a function is set to None", edit(NOTHING_TEST, f"{NOTHING_TEST}\n\ntest_total_of_nothing = None\n"), _NOTHING
    ),
    cheat("a function becomes a fixture", edit(NOTHING_TEST, f"@pytest.fixture\n{NOTHING_TEST}"), _NOTHING),
    cheat(
        "__test__ = False on a function",
        edit(NOTHING_TEST, f"{NOTHING_TEST}\n\ntest_total_of_nothing.__test__ = False\n"),
        "known test",
    ),
    cheat("__test__ = False in the module", edit("import pytest\n", "import pytest\n\n__test__ = False\n"), _NOTHING),
    cheat("a method is deleted", change((_LARGE, "")), _OTHER),
    cheat("a class is deleted", change((_CASE, "")), _ONE),
    cheat("a class is renamed", change((_CLASS, "class Discount:\n")), _OTHER),
    cheat(
        "a class is nested in a function",
        change((_CASE, "def around():\n" + "".join(f"    {line}\n" for line in _CASE.splitlines()))),
        _ONE,
    ),
    cheat("__test__ = False in a class", change((_CLASS, f"{_CLASS}    __test__ = False\n")), _OTHER),
    cheat(
        "a class is given a constructor", change((_CLASS, f"{_CLASS}    def __init__(self):\n        pass\n\n")), _OTHER
    ),
    cheat("a class of unittest has no base any more", change(("(unittest.TestCase)", "(object)")), "known test"),
)

#: Row 6: told by the body that runs, and shown as hidden.
_HIDDEN: tuple[Row, ...] = (
    cheat(
        "a second definition hides a function",
        edit(NOTHING_TEST, f"{NOTHING_TEST}\n\ndef test_total_of_nothing():\n    pass\n"),
        _NOTHING,
    ),
    cheat(
        "a second definition hides a method",
        change((_LARGE, f"{_LARGE}\n    def test_large(self):\n        pass\n")),
        _OTHER,
    ),
    cheat(
        "a second class hides the first",
        change((_CASE, f"{_CASE}\n\nclass TotalCase(unittest.TestCase):\n    def test_one(self):\n        pass\n")),
        _ONE,
    ),
    cheat(
        "an assignment hides a function",
        edit(NOTHING_TEST, f"{NOTHING_TEST}\n\ntest_total_of_nothing = lambda: None\n"),
        TEST_FILE,
    ),
    cheat(
        "an import hides a function",
        Attempt(
            writes=(("tests/easy.py", "def test_total_of_nothing():\n    pass\n"),),
            edits=((NOTHING_TEST, f"{NOTHING_TEST}\n\nfrom easy import test_total_of_nothing\n"),),
        ),
        TEST_FILE,
    ),
    cheat(
        "a loop over globals() hides a function",
        edit(NOTHING_TEST, f"{NOTHING_TEST}\n\nglobals()['test_total_of_nothing'] = lambda: None\n"),
        TEST_FILE,
    ),
    cheat(
        "setattr hides a method",
        change((_CASE, f"setattr(TestDiscount, 'test_large', lambda self: None)\n\n\n{_CASE}")),
        TEST_FILE,
    ),
)

_SETS = "(10, 10), (100, 90), (200, 180)"

#: Row 9.
_SHRUNK: tuple[Row, ...] = (
    cheat(
        "a parameter set is emptied",
        edit(_SETS, ""),
        "test_discount",
        twin_name="a parameter set is laid out anew",
        twin=edit(f"[{_SETS}]", "[\n    (10, 10),\n    (100, 90),\n    (200, 180),\n]"),
    ),
    cheat("a parameter set is shrunk", edit(_SETS, "(10, 10), (100, 90)"), "test_discount"),
    cheat("a parameter is changed", edit("(100, 90)", "(100, 100)"), "test_discount"),
    cheat(
        "a parameter is marked as skipped",
        edit("(100, 90)", "pytest.param(100, 90, marks=pytest.mark.skip)"),
        "test_discount",
    ),
    cheat(
        "a parameter keeps its id and changes its value",
        edit("(200, 180)", "pytest.param(10, 10, id='200-180')"),
        "test_discount",
    ),
    cheat(
        "the data of parameters is emptied",
        Attempt(base=WIDE, writes=(("tests/data/cases.json", "[]\n"),)),
        "tests/data/cases.json",
    ),
    cheat(
        "the data of parameters is shrunk",
        Attempt(base=WIDE, writes=(("tests/data/cases.json", "[[10, 10]]\n"),)),
        "tests/data/cases.json",
    ),
    cheat(
        "a helper gives fewer parameters",
        change_file("tests/helpers.py", "read_text())", "read_text())[:1]"),
        "tests/helpers.py",
    ),
    cheat("a constant feeds fewer parameters", change(("load_cases())", "load_cases()[:1])")), "test_cases"),
)

REMOVAL: tuple[Row, ...] = (*_GONE, *_HIDDEN, *_SHRUNK)
