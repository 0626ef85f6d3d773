"""Row 26, and what else looks like a test for each criterion: in RED, and after it."""

from __future__ import annotations

from tests.integrity.rows import CONFIGURATION, GOOD, TEST_FILE, Attempt, Base, Row
from tests.integrity.shared import cheat

CRITERIA = """\
# Prices

- [ ] AC-1 Prices add up
- [ ] AC-2 Nothing costs nothing
"""
_RULES = "run:\n  criteria: criteria.md\n"

_SUM = '@pytest.mark.criterion("AC-1")\ndef test_sum():\n    assert total([1, 2]) == 3\n'
_NOTHING = '@pytest.mark.criterion("AC-2")\ndef test_nothing():\n    assert total([]) == 0\n'
_HEAD = "import pytest\n\nfrom price import total\n\n\n"
MARKED = f"{_HEAD}{_SUM}\n\n{_NOTHING}"

_FILES = (("pytest.ini", CONFIGURATION), ("phase-gate.yaml", _RULES), ("criteria.md", CRITERIA))
#: Before anything was recorded; there is code, and it does too little.
LISTED = Base(files=(*_FILES, ("price.py", "def total(prices):\n    return None\n")), has_red=False)
#: After an honest RED.
_FROZEN = Base(files=(*_FILES, (TEST_FILE, MARKED)))


def _red(*tests: str, head: str = _HEAD, arguments: tuple[str, ...] = (), **files: str) -> Attempt:
    """Tests in one file, and in others whose names are given without `.py`."""
    writes = ((TEST_FILE, head + "\n\n".join(tests)), *((f"tests/{name}.py", text) for name, text in files.items()))
    return Attempt(base=LISTED, phase="red", code=None, writes=writes, runs=(arguments,))


HONEST = _red(_SUM, _NOTHING)
_EACH = "a test for each criterion"


def _row(name: str, attempt: Attempt, told_by: str = "AC-2", *, twin_name: str = _EACH, twin: Attempt = HONEST) -> Row:
    return cheat(name, attempt, told_by, twin_name=twin_name, twin=twin)


_CLONE = _NOTHING.replace("total([]) == 0", "total([1, 2]) == 3")
_IN_CLASSES = """\
@pytest.mark.criterion("AC-1")
class TestOne:
    def test_sum(self):
        assert total([1, 2]) == 3


class TestTwo:
    pytestmark = pytest.mark.criterion("AC-2")

    def test_sum(self):
        assert total([1, 2]) == 3
"""
_OTHER_CODE = _IN_CLASSES.replace("    def test_sum", "    prices = [1]\n\n    def test_sum", 1)
_PARAMETERS = """\
@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        pytest.param([1, 2], 3, marks=pytest.mark.criterion("AC-1")),
        pytest.param([], 0, marks=pytest.mark.criterion("AC-2")),
    ],
)
def test_total(prices, expected):
    assert total(prices) == expected
"""

_IN_RED: tuple[Row, ...] = (
    _row("a clone under another id", _red(_SUM, _CLONE), "test_sum is a copy of"),
    _row(
        "a clone with a docstring, laid out otherwise",
        _red(_SUM, _CLONE.replace("    assert", '    """Nothing."""\n\n    assert').replace("[1, 2]", "[1,2]")),
        "is a copy of",
    ),
    _row(
        "a clone in another file",
        _red(_SUM, test_other=_HEAD + _CLONE),
        "is a copy of",
        twin_name="the same words about other code, in another file",
        twin=_red(_SUM, test_other=(_HEAD + _CLONE).replace("from price import", "from price import discount as")),
    ),
    _row(
        "a clone in another class",
        _red(_IN_CLASSES),
        "is a copy of",
        twin_name="the same words in a class with other code",
        twin=_red(_OTHER_CODE),
    ),
    _row(
        "a clone in a module that can't be imported",
        _red(_SUM, _CLONE, head=_HEAD.replace("price", "cost")),
        "is a copy of",
        twin_name="tests in a module that can't be imported",
        twin=_red(_SUM, _NOTHING, head=_HEAD.replace("price", "cost")),
    ),
    _row("a clone, and a bare number", _red(_SUM, _CLONE, arguments=("--phase-criteria=2",)), "1 different test"),
    _row("no marks", _red(*(each.partition("\n")[2] for each in (_SUM, _NOTHING))), "AC-1 no test is marked with it"),
    _row("an id that is not in the list", _red(_SUM, _NOTHING.replace("AC-2", "AC-3")), "which is not in criteria.md"),
    _row(
        "one test for all",
        _red(_SUM.replace('"AC-1"', '"AC-1", "AC-2"')),
        "1 test for 2 criteria",
        twin_name="a test that shows two, and another one",
        twin=_red(_SUM.replace('"AC-1"', '"AC-1", "AC-2"'), _NOTHING),
    ),
    _row(
        "a mark on a test that passes",
        _red(_SUM, _NOTHING.replace("== 0", "is None")),
        "1 test already passes, but a new test must fail first",
        twin_name="a mark for each parameter",
        twin=_red(_PARAMETERS),
    ),
    _row(
        "a mark on a test that is skipped",
        _red(_SUM, f"@pytest.mark.skip\n{_NOTHING}"),
        "AC-2 none of its tests is new and fails",
    ),
    _row(
        "a mark on a test that is expected to fail",
        _red(_SUM, f"@pytest.mark.xfail\n{_NOTHING}"),
        "AC-2 none of its tests is new and fails",
    ),
    _row("its test is left out", _red(_SUM, _NOTHING, arguments=("-k", "sum")), "AC-2 no test is marked with it"),
)


def _list(text: str, *arguments: str) -> Attempt:
    return Attempt(base=_FROZEN, writes=(("criteria.md", text),), arguments=arguments)


_TICKED = _list(CRITERIA.replace("[ ]", "[x]").replace("Prices add up", "The sum of all prices"))
_LINE = "- [ ] AC-2 Nothing costs nothing\n"
_MOVED = (("prices.yaml", "AC-2: Nothing costs nothing\nAC-1: Prices add up\n"),)
_TAKES_MARKS = """\
def pytest_collection_modifyitems(items):
    for item in items:
        item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "criterion"]
"""


def _after(name: str, attempt: Attempt, told_by: str = "rules-unchanged") -> Row:
    return cheat(name, attempt, told_by, twin_name="boxes ticked and texts reworded", twin=_TICKED)


_AFTER_RED: tuple[Row, ...] = (
    _after("a criterion is dropped", _list(CRITERIA.replace(_LINE, ""))),
    _after("a criterion is put into a comment", _list(CRITERIA.replace(_LINE, f"<!-- {_LINE} -->\n"))),
    _after("a criterion gets another id", _list(CRITERIA.replace("AC-2", "AC-1.1"))),
    _after("a number instead of the list", Attempt(base=_FROZEN, arguments=("--phase-criteria=1",))),
    _after("the rules do not name the list any more", Attempt(base=_FROZEN, removes=("phase-gate.yaml",))),
    cheat(
        "a shorter list is named",
        Attempt(
            base=_FROZEN, writes=(("short.md", "- AC-1 Prices add up\n"),), arguments=("--phase-criteria=short.md",)
        ),
        "rules-unchanged",
        twin_name="the list moves to another file",
        twin=Attempt(
            base=_FROZEN,
            removes=("criteria.md",),
            writes=(*_MOVED, ("phase-gate.yaml", _RULES.replace("criteria.md", "prices.yaml"))),
        ),
    ),
    _after(
        "a mark is moved to another test",
        Attempt(base=_FROZEN, edits=(('"AC-2")\n', '"AC-1")\n'),)),
        "tests-unchanged",
    ),
    _after(
        "marks are taken off by a hook",
        Attempt(base=_FROZEN, writes=(("tests/conftest.py", _TAKES_MARKS),)),
        "AC-1 no test is marked with it",
    ),
    _after(
        "the test of a criterion is deleted",
        Attempt(base=_FROZEN, edits=((_NOTHING, ""),)),
        "AC-2 no test is marked with it",
    ),
    _after(
        "the test of a criterion is skipped",
        Attempt(
            base=_FROZEN,
            code=f"import pytest\n\n\n{GOOD.replace('return sum', 'return prices or pytest.skip() or sum')}",
        ),
        "AC-2 not all of its tests pass",
    ),
)

CRITERIA_ROWS: tuple[Row, ...] = (*_IN_RED, *_AFTER_RED)

#: For whom the guard alone does the refusing.
UNSHOWN = _red(_SUM, _NOTHING.replace("AC-2", "AC-3"))
