"""Tests that are not there any more: deleted, renamed, nested, hidden, or with fewer parameters."""

from __future__ import annotations

from tests.integrity.rows import BAD, CONFIGURATION, GOOD, TEST_FILE, TESTS, Attempt, Base, Row, edit
from tests.integrity.shared import DISPROVEN, NOTHING_TEST, Table, cheat
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
        _KEPT,
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

_HEAD = TESTS[: TESTS.index("def test_total_adds_up")]
_WITHOUT = TESTS.replace(NOTHING_TEST, "")
_LIMIT = f"{_HEAD}NOTHING = 0\n\n\ndef test_nothing():\n    assert total([]) == NOTHING\n"


def _moved(text: str = TESTS, **more: object) -> Attempt:
    return Attempt(removes=(TEST_FILE,), writes=(("tests/test_cost.py", text),), **more)  # type: ignore[arg-type]


#: A test that moves keeps its history, where there is no doubt which one it is.
_MOVED: tuple[Row, ...] = (
    cheat(
        "an emptied test keeps the name of one that moves",
        edit(NOTHING_TEST, f"def test_total_of_nothing():\n    pass\n\n\n{NOTHING_TEST.replace('nothing', 'none')}"),
        _NOTHING,
        twin_name="a function is renamed",
        twin=edit("def test_total_of_nothing", "def test_total_of_none"),
    ),
    cheat(
        "a file is renamed, and a body in it emptied",
        _moved(TESTS.replace("    assert total([]) == 0\n", "    pass\n")),
        _NOTHING,
        twin_name="a file is renamed",
        twin=_moved(),
    ),
    cheat(
        "a file is renamed, and parameters are left out",
        _moved(TESTS.replace(_SETS, "(10, 10)")),
        f"{TEST_FILE}::test_discount",
        twin_name="a file is renamed, and a test is added",
        twin=_moved(f"{TESTS}\n\ndef test_more():\n    assert total([5]) == 5\n"),
    ),
    cheat(
        "a test moves to two places",
        Attempt(
            writes=(
                (TEST_FILE, _WITHOUT),
                ("tests/test_b.py", f"{_HEAD}{NOTHING_TEST}"),
                ("tests/test_c.py", f"{_HEAD}{NOTHING_TEST}"),
            )
        ),
        _NOTHING,
        twin_name="a test moves to another file",
        twin=Attempt(writes=((TEST_FILE, _WITHOUT), ("tests/test_b.py", f"{_HEAD}{NOTHING_TEST}"))),
    ),
    cheat(
        "a test moves, and another import stands above it",
        Attempt(
            code=BAD,
            writes=(
                (TEST_FILE, _WITHOUT),
                ("tests/test_b.py", f"{_HEAD.replace('price', 'easy')}{NOTHING_TEST}"),
                ("easy.py", GOOD),
            ),
        ),
        DISPROVEN,
        twin_name="a file moves into a folder",
        twin=Attempt(removes=(TEST_FILE,), writes=(("tests/unit/test_price.py", TESTS),)),
    ),
    cheat(
        "a test moves, and a value that it uses is another",
        Attempt(
            base=Base(files=(("pytest.ini", CONFIGURATION), (TEST_FILE, _LIMIT))),
            code=BAD,
            removes=(TEST_FILE,),
            writes=(("tests/test_cost.py", _LIMIT.replace("= 0", "= None")),),
        ),
        DISPROVEN,
    ),
    cheat(
        "a test moves below a conftest that was not there",
        Attempt(
            removes=(TEST_FILE,),
            writes=(
                ("tests/unit/test_price.py", TESTS),
                ("tests/unit/conftest.py", "import price\n\nprice.total = sum\n"),
            ),
        ),
        _NOTHING,
    ),
)

REMOVAL: Table = {5: (*_GONE, *_MOVED), 6: _HIDDEN, 9: _SHRUNK}
