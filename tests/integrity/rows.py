"""One row, one false green, and the nearest honest thing: what is done, and what the gate must say."""

from __future__ import annotations

import os

from phase_gate.values import Value, field

#: The project that every row begins with: an honest RED is recorded on it, then the code is written.
CONFIGURATION = "[pytest]\npythonpath = .\ntestpaths = tests\n"

TESTS = """\
import pytest

from price import discount, total


def test_total_adds_up():
    assert total([1, 2, 3]) == 6


def test_total_of_nothing():
    assert total([]) == 0


@pytest.mark.parametrize("amount, expected", [(10, 10), (100, 90), (200, 180)])
def test_discount(amount, expected):
    assert discount(amount) == expected
"""

#: Passes every test.
GOOD = """\
def total(prices):
    return sum(prices)


def discount(amount):
    return amount - amount // 10 if amount >= 100 else amount
"""

#: Fails `test_total_of_nothing` and nothing else.
BAD = """\
def total(prices):
    return sum(prices) if prices else None


def discount(amount):
    return amount - amount // 10 if amount >= 100 else amount
"""


#: The file that edits speak of.
TEST_FILE = "tests/test_price.py"

#: Words of `phase-gate`, or of another program.
Command = tuple[str, ...]

SIGNAL: Command = ("phase-gate", "signal", "--reason", "done")


class Base(Value):
    """A project before the cheat."""

    files: tuple[tuple[str, str], ...]
    #: Commands before the first run, and whether an honest RED follows.
    commands: tuple[Command, ...] = ()
    has_red: bool = True
    environment: tuple[tuple[str, str], ...] = ()


PRICE = Base(files=(("pytest.ini", CONFIGURATION), (TEST_FILE, TESTS)))


class Attempt(Value):
    """The edits after an honest RED, and the pytest command that follows."""

    base: Base = PRICE
    phase: str = "green"
    #: None leaves it as it is.
    code: str | None = GOOD
    writes: tuple[tuple[str, str], ...] = ()
    #: Old and new text in the test file.
    edits: tuple[tuple[str, str], ...] = ()
    removes: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    python: tuple[str, ...] = ()
    #: Each run with the words that only it has. Two, as Gate 1 of GREEN wants two green ones.
    runs: tuple[tuple[str, ...], ...] = ((), ())
    before: tuple[Command, ...] = ()
    after: tuple[Command, ...] = ()
    #: What is done next, in the same folder; its base does not matter.
    then: Attempt | None = None


class Row(Value):
    name: str
    cheat: Attempt
    #: What has to stand in the output, so that people know what happened.
    told_by: str
    twin_name: str
    twin: Attempt = field(default_factory=Attempt)


def edit(old: str, new: str, **more: object) -> Attempt:
    return Attempt(edits=((old, new),), **more)  # type: ignore[arg-type]


def conftest(text: str, *, code: str = BAD, arguments: tuple[str, ...] = ()) -> Attempt:
    return Attempt(writes=(("tests/conftest.py", text),), code=code, arguments=arguments)


# --- the best known cheats; the other tables have many more


_REWRITES_OUTCOME = """\
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "passed"
    return report
"""

_PATCHES_REPORTS = """\
from _pytest.reports import TestReport

_real = TestReport.from_item_and_call.__func__


def _lie(cls, item, call):
    report = _real(cls, item, call)
    report.outcome = "passed"
    return report


TestReport.from_item_and_call = classmethod(_lie)
"""

_NEVER_CALLS = """\
def pytest_pyfunc_call(pyfuncitem):
    return True
"""

_DROPS_ITEMS = """\
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "nothing" not in item.name]
"""

_SWAPS_FUNCTION = """\
def pytest_collection_modifyitems(items):
    for item in items:
        if "nothing" in item.name:
            item.obj = lambda: None
"""

#: The child passes the test, and goes on in its parent's session; the parent waits for it, and fails.
_CHILD_COMES_BACK = """\
import os


def total(prices):
    if not prices:
        child = os.fork()
        if child == 0:
            return 0
        os.waitpid(child, 0)
        return None
    return sum(prices)


def discount(amount):
    return amount - amount // 10 if amount >= 100 else amount
"""
_CHILD_LEAVES = _CHILD_COMES_BACK.replace("            return 0\n", "            os._exit(0)\n").replace("None", "0")

_NOTHING_ASSERT = "    assert total([]) == 0\n"
_NOTHING_TEST = f"def test_total_of_nothing():\n{_NOTHING_ASSERT}"

_FORKS = (
    Row(
        name="a forked child ends the run in its parent's place",
        cheat=Attempt(code=_CHILD_COMES_BACK),
        told_by="tests_failing == 0",
        twin_name="a forked child leaves with os._exit",
        twin=Attempt(code=_CHILD_LEAVES),
    ),
) * hasattr(os, "fork")

TABLE: tuple[Row, ...] = (
    Row(
        name="-k leaves the failing test out",
        cheat=Attempt(code=BAD, arguments=("-k", "not nothing")),
        told_by="partial run",
        twin_name="the whole suite",
    ),
    Row(
        name="one file on the command line is all there is",
        cheat=Attempt(code=BAD, arguments=("tests/test_price.py::test_total_adds_up",)),
        told_by="partial run",
        twin_name="the folder of all tests on the command line",
        twin=Attempt(arguments=("tests",)),
    ),
    Row(
        name="-x stops before the rest",
        cheat=Attempt(code=BAD, arguments=("-x",)),
        told_by="incomplete run",
        twin_name="-x, and nothing fails",
        twin=Attempt(arguments=("-x",)),
    ),
    Row(
        name="--collect-only runs nothing",
        cheat=Attempt(code=BAD, arguments=("--collect-only",)),
        told_by="nothing recorded",
        twin_name="-v shows more",
        twin=Attempt(arguments=("-v",)),
    ),
    Row(
        name="the failing test is deleted",
        cheat=edit(_NOTHING_TEST, "", code=BAD),
        told_by="tests-kept",
        twin_name="a test is added",
        twin=edit(_NOTHING_TEST, _NOTHING_TEST + "\n\ndef test_more():\n    assert total([5]) == 5\n"),
    ),
    Row(
        name="the failing test is skipped",
        cheat=edit(_NOTHING_TEST, f"@pytest.mark.skip\n{_NOTHING_TEST}", code=BAD),
        told_by="no-new-skips",
        twin_name="the test is reformatted",
        twin=edit(_NOTHING_ASSERT, "    # nothing costs nothing\n    assert (\n        total([]) == 0\n    )\n"),
    ),
    Row(
        name="the failing test is marked xfail",
        cheat=edit(_NOTHING_TEST, f"@pytest.mark.xfail\n{_NOTHING_TEST}", code=BAD),
        told_by="tests-unchanged",
        twin_name="the failing code is mended",
    ),
    Row(
        name="a parameter set is taken out",
        cheat=edit("(10, 10), (100, 90), (200, 180)", "(10, 10)"),
        told_by="tests-kept",
        twin_name="a comment is added",
        twin=edit("@pytest.mark.parametrize(", "# three amounts\n@pytest.mark.parametrize("),
    ),
    Row(
        name="an assertion is loosened",
        cheat=edit("== 0\n", "in (0, None)\n", code=BAD),
        told_by="tests-unchanged",
        twin_name="quotes are changed",
        twin=edit('"amount, expected"', "'amount, expected'"),
    ),
    Row(
        name="the body is emptied",
        cheat=edit(_NOTHING_ASSERT, "    pass\n", code=BAD),
        told_by="tests-unchanged",
        twin_name="a docstring is added",
        twin=edit(_NOTHING_ASSERT, f'    """No price, no cost."""\n{_NOTHING_ASSERT}'),
    ),
    Row(
        name="a second definition hides the first",
        cheat=edit(_NOTHING_TEST, f"{_NOTHING_TEST}\n\ndef test_total_of_nothing():\n    pass\n", code=BAD),
        told_by="tests-unchanged",
        twin_name="a helper is added",
        twin=edit("import pytest\n", "import os\n\nimport pytest\n"),
    ),
    Row(
        name="a conftest rewrites outcomes",
        cheat=conftest(_REWRITES_OUTCOME),
        told_by="reported as passed",
        twin_name="a plugin of an installed distribution is loaded",
        twin=Attempt(arguments=("-p", "pytester")),
    ),
    Row(
        name="a conftest patches pytest's reports",
        cheat=conftest(_PATCHES_REPORTS),
        told_by="reported as passed",
        twin_name="a quiet run",
        twin=Attempt(arguments=("-q",)),
    ),
    Row(
        name="a conftest never calls the tests",
        cheat=conftest(_NEVER_CALLS),
        told_by="a new conftest.py above frozen tests",
        twin_name="the durations are shown",
        twin=Attempt(arguments=("--durations=3",)),
    ),
    Row(
        name="a conftest drops the failing test",
        cheat=conftest(_DROPS_ITEMS),
        told_by="known test did not run",
        twin_name="a report is written",
        twin=Attempt(arguments=("--junitxml=junit.xml",)),
    ),
    Row(
        name="a conftest swaps the test's function",
        cheat=conftest(_SWAPS_FUNCTION),
        told_by="a new conftest.py above frozen tests",
        twin_name="tracebacks are short",
        twin=Attempt(arguments=("--tb=short",)),
    ),
    Row(
        name="the process leaves with 0 in the middle of a test",
        cheat=Attempt(code=f"{BAD}\n\nimport os\n\n_real = total\n\n\ndef total(prices):\n    os._exit(0)\n"),
        told_by="began and never ended",
        twin_name="the code prints something",
        twin=Attempt(arguments=("-s",)),
    ),
    *_FORKS,
    Row(
        name="python -O leaves the assertions out",
        cheat=Attempt(code=BAD, python=("-O",)),
        told_by="python -O leaves assert statements out",
        twin_name="python -B",
        twin=Attempt(python=("-B",)),
    ),
    Row(
        name="pytest's settings choose other files",
        cheat=Attempt(code=BAD, writes=(("pytest.ini", "[pytest]\npythonpath = .\npython_files = check_*.py\n"),)),
        told_by="known test",
        twin_name="a new file that no test uses",
        twin=Attempt(writes=(("notes.txt", "to do: nothing\n"),)),
    ),
    Row(
        name="the rules are weakened",
        cheat=Attempt(
            code=BAD,
            writes=(("phase-gate.yaml", "phases:\n  GREEN:\n    condition: tests_total > 0\n    replace: true\n"),),
        ),
        told_by="rules-unchanged",
        twin_name="documentation is written",
        twin=Attempt(writes=(("README.md", "# Prices\n"),)),
    ),
)
