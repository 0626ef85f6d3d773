"""Tests that are still there and check less: their bodies, or what gives the bodies their meaning."""

from __future__ import annotations

from tests.integrity.rows import TEST_FILE, Attempt, Row
from tests.integrity.shared import Table, cheat
from tests.integrity.wide import CONFTEST, EASY_HELPERS, WIDE, change, change_file, write

_HELPERS, _CONFTEST = "tests/helpers.py", "tests/conftest.py"
_NOTHING = f"{TEST_FILE}::test_total_of_nothing"
_ASSERT = "    assert total([]) == 0\n"


def _body(*lines: str) -> Attempt:
    return change((_ASSERT, "".join(f"    {line}\n" for line in lines)))


#: Row 10, in the test's own body. The code is good: nothing but the edit closes the gate.
_BODIES: tuple[Row, ...] = (
    cheat("the body is emptied", _body("pass"), _NOTHING),
    cheat("the body is a docstring", _body('"""Nothing costs nothing."""'), _NOTHING),
    cheat("the assert is removed", _body("total([])"), _NOTHING),
    cheat("the assert is a comment", _body("total([])  # assert == 0"), _NOTHING),
    cheat("the assert is constant", _body("assert True"), _NOTHING),
    cheat("the assert is of a tuple", _body("assert (total([]) == 0, 'nothing')"), _NOTHING),
    cheat("the assert has `or True`", _body("assert total([]) == 0 or True"), _NOTHING),
    cheat("the assert compares a thing with itself", _body("assert total([]) == total([])"), _NOTHING),
    cheat("the comparison is loosened", _body("assert total([]) in (0, None)"), _NOTHING),
    cheat("the comparison is `!=`", _body("assert total([]) != 1"), _NOTHING),
    cheat("the comparison is `>=`", _body("assert total([]) >= 0"), _NOTHING),
    cheat("the expected value is another", _body("assert total([]) == False"), _NOTHING),
    cheat("the expected value is any", _body("from unittest.mock import ANY", "assert total([]) == ANY"), _NOTHING),
    cheat("the argument is another", _body("assert total([0]) == 0"), _NOTHING),
    cheat("a tolerance is widened", change(("abs=TOLERANCE", "abs=100")), f"{TEST_FILE}::test_close"),
    cheat("a return comes first", _body("return", "assert total([]) == 0"), _NOTHING),
    cheat(
        "the check comes after a yes", _body("if total([]) is None:", "    return", "assert total([]) == 0"), _NOTHING
    ),
    cheat("the assert is under a false condition", _body("if False:", "    assert total([]) == 0"), _NOTHING),
    cheat("the assert is in a loop over nothing", _body("for _ in ():", "    assert total([]) == 0"), _NOTHING),
    cheat(
        "the assert is in a function that nobody calls", _body("def check():", "    assert total([]) == 0"), _NOTHING
    ),
    cheat("the assert waits for a lambda", _body("lambda: total([]) == 0"), _NOTHING),
    cheat(
        "the failure is swallowed",
        _body("try:", "    assert total([]) == 0", "except AssertionError:", "    pass"),
        _NOTHING,
    ),
    cheat(
        "the failure is suppressed",
        _body("import contextlib", "with contextlib.suppress(AssertionError):", "    assert total([]) == 0"),
        _NOTHING,
    ),
    cheat(
        "the failure is expected", _body("with pytest.raises(AssertionError):", "    assert total([]) == 1"), _NOTHING
    ),
    cheat("the test yields and is not run", _body("assert total([]) == 0", "yield"), _NOTHING),
    cheat("the test waits and is not run", change(("def test_total_of", "async def test_total_of")), _NOTHING),
    cheat(
        "the test has a default for a fixture", change(("adds_up(prices)", "adds_up(prices=[6])")), "test_total_adds_up"
    ),
    cheat("the expected exception is any", change(("raises(TypeError)", "raises(Exception)")), "test_refuses_text"),
    cheat("the exception is raised by the test", change(('total("12")', "raise TypeError")), "test_refuses_text"),
    cheat(
        "a decorator stands in for the test",
        change(("def test_close", "@(lambda f: lambda: None)\ndef test_close")),
        "test_close",
    ),
    cheat(
        "assertEqual is loosened",
        change(("assertEqual(total(self.prices), 7)", "assertTrue(total(self.prices))")),
        "TotalCase::test_one",
    ),
    cheat(
        "assertEqual is of one thing",
        change(("assertEqual(total([8]), 8)", "assertEqual(8, 8)")),
        "WaitingCase::test_one",
    ),
)

#: Row 10, in what the body uses. No body is touched.
_AROUND: tuple[Row, ...] = (
    cheat("a helper in the file is emptied", change(("    assert left == right", "    pass")), TEST_FILE),
    cheat(
        "a helper in another file is emptied",
        change_file(_HELPERS, "assert total(prices) == expected", "pass"),
        _HELPERS,
    ),
    cheat("a tolerance in another file is widened", change_file(_HELPERS, "1e-9", "1e9"), _HELPERS),
    cheat("a constant in the file is another", change(("LIMIT = 100", "LIMIT = 90")), TEST_FILE),
    cheat("a fixture in the file gives something else", change(("return [1, 2, 3]", "return [6]")), TEST_FILE),
    cheat(
        "a fixture in a conftest gives what is always equal",
        change_file(_CONFTEST, "return 90", "from unittest.mock import ANY\n\n    return ANY"),
        _CONFTEST,
    ),
    cheat(
        "a fixture of the file hides one of the conftest",
        change(("LIMIT = 100", "LIMIT = 100\n\n\n@pytest.fixture(name='wanted')\ndef other():\n    return 90")),
        TEST_FILE,
    ),
    cheat(
        "a fixture of the conftest hides one of the file's asks",
        Attempt(base=WIDE, writes=((_CONFTEST, CONFTEST + "\n\n@pytest.fixture\ndef prices():\n    return [6]\n"),)),
        _CONFTEST,
    ),
    cheat(
        "a module in a folder that comes first hides the helpers",
        Attempt(
            base=WIDE,
            writes=(
                ("tests/a/helpers.py", EASY_HELPERS),
                ("tests/a/test_a.py", "import helpers\n\n\ndef test_a():\n    assert helpers\n"),
            ),
        ),
        "tests/a/helpers.py",
    ),
    cheat("an attribute of a class is another", change(("rate = 10", "rate = 11")), TEST_FILE),
    cheat("setup_method makes something else", change(("self.amount = 50", "self.amount = 5")), TEST_FILE),
    cheat("setUp makes something else", change(("self.prices = [7]", "self.prices = [1, 6]")), TEST_FILE),
    cheat(
        "a class of unittest is given its own assertEqual",
        change(("    def setUp(", "    def assertEqual(self, *ignored):\n        pass\n\n    def setUp(")),
        TEST_FILE,
    ),
    cheat(
        "the code under test is replaced in the file",
        change(("LIMIT = 100", "LIMIT = 100\n\n\ndef total(prices):\n    return 0")),
        TEST_FILE,
    ),
    cheat(
        "the code under test is patched in the file",
        change(("LIMIT = 100", "LIMIT = 100\npytest.approx = lambda *ignored, **more: 0.3")),
        TEST_FILE,
    ),
    cheat(
        "the import is from somewhere easier",
        Attempt(
            base=WIDE,
            writes=(("easy.py", "from price import discount, total\n"),),
            edits=(("from price import", "from easy import"),),
        ),
        TEST_FILE,
    ),
    cheat(
        "the import of a helper is from somewhere easier",
        Attempt(
            base=WIDE,
            writes=(("tests/easy.py", "TOLERANCE = 1\n"),),
            edits=(
                ("import TOLERANCE, check_total", "import check_total"),
                ("LIMIT =", "from easy import TOLERANCE\nLIMIT ="),
            ),
        ),
        TEST_FILE,
    ),
    cheat(
        "pytest.approx is patched in the conftest",
        change_file(_CONFTEST, "import pytest\n", "import pytest\n\npytest.approx = lambda *ignored, **more: 0.3\n"),
        _CONFTEST,
    ),
    cheat(
        "an autouse fixture patches the code",
        change_file(
            _CONFTEST,
            "@pytest.fixture\n",
            "@pytest.fixture(autouse=True)\ndef _(monkeypatch):\n    monkeypatch.undo()\n\n\n@pytest.fixture\n",
        ),
        _CONFTEST,
    ),
    cheat(
        "data that tests read is another",
        write("tests/data/cases.json", "[[10, 10], [30, 30]]\n"),
        "tests/data/cases.json",
    ),
    cheat("a new conftest above", write("conftest.py", "import price\n\nprice.total = sum\n"), "conftest.py"),
    cheat("the conftest is emptied", write("tests/conftest.py", ""), _CONFTEST),
    cheat(
        "helpers become a package",
        Attempt(
            base=WIDE,
            removes=(_HELPERS,),
            writes=(
                (
                    "tests/helpers/__init__.py",
                    EASY_HELPERS,
                ),
            ),
        ),
        _HELPERS,
    ),
    cheat(
        "a package hides the helpers",
        Attempt(
            base=WIDE,
            writes=(
                (
                    "tests/helpers/__init__.py",
                    EASY_HELPERS,
                ),
            ),
        ),
        "tests/helpers",
    ),
    cheat(
        "a module of the project hides the helpers",
        Attempt(
            base=WIDE,
            writes=(
                ("pytest.ini", "[pytest]\npythonpath = . fakes\ntestpaths = tests\n"),
                ("fakes/helpers.py", "TOLERANCE = 1\n"),
            ),
        ),
        "ini pythonpath",
    ),
)

WEAKENED: Table = {10: (*_BODIES, *_AROUND)}
