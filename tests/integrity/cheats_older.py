"""Row 59: a hook that was there before RED lies about one older test, which the code of this step breaks.

The experiment is about the tests of the step, and the hook is part of what was frozen. What is left is what pytest
says: it calls `pytest_exception_interact` for each exception that it knows of, whatever the report says by then. What
it does not know of is open, and stands on the page about limits.
"""

from __future__ import annotations

from tests.integrity.rows import CONFIGURATION, GOOD, SIGNAL, TEST_FILE, TESTS, Attempt, Base, Row

OLD = "tests/test_old.py::test_double"
_OLD_TEST = "from old import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
_RIGHT = "def double(number):\n    return number * 2\n"
_BROKEN = "def double(number):\n    return number + 3\n"
_COMMIT = (
    ("git", "init", "-q"),
    ("git", "add", "."),
    ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"),
)


def _under(hook: str, *, broken: str = _BROKEN) -> Attempt:
    """An honest RED beside an old test, then code that is right for the step and breaks the old test."""
    files = (
        ("pytest.ini", CONFIGURATION),
        ("old.py", _RIGHT),
        ("tests/test_old.py", _OLD_TEST),
        ("tests/conftest.py", f"import pytest\n\n\n{hook}"),
    )
    return Attempt(
        base=Base(files=files, commands=_COMMIT, has_red=False),
        phase="red",
        code=None,
        writes=((TEST_FILE, TESTS),),
        runs=((),),
        after=(SIGNAL,),
        then=Attempt(code=GOOD, writes=(("old.py", broken),)),
    )


_MAKES_REPORT = """\
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.name == "test_double":
        report.outcome, report.longrepr = "passed", None
    return report
"""

_FROM_ITEM = """\
real = pytest.TestReport.from_item_and_call.__func__


def quiet(cls, item, call):
    report = real(cls, item, call)
    if item.name == "test_double":
        report.outcome, report.longrepr = "passed", None
    return report


pytest.TestReport.from_item_and_call = classmethod(quiet)
"""

_LOGS = """\
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if report.nodeid.endswith("test_double"):
        report.outcome, report.longrepr = "passed", None
"""

#: Without the exception that the report is about.
_FORGETS = """\
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if item.name == "test_double":
        call.excinfo = None
"""

_SWALLOWS = """\
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except AssertionError:
        if item.name != "test_double":
            raise
"""

_NEVER_CALLS = """\
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if pyfuncitem.name == "test_double":
        return True
"""

_AS_A_SKIP = """\
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.name == "test_double" and call.excinfo is not None:
        report.outcome, report.longrepr = "passed", None
        call.excinfo = pytest.CallInfo.from_call(lambda: pytest.skip("no"), "call").excinfo
    return report
"""

#: pytest asks when the report has been logged.
_AS_EXPECTED = """\
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.name == "test_double":
        report.outcome, report.longrepr = "passed", None
    return report


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.nodeid.endswith("test_double"):
        report.wasxfail = ""
"""


def _row(name: str, hook: str) -> Row:
    said = f"{OLD} raised AssertionError, reported as passed"
    return Row(
        name=name, cheat=_under(hook), told_by=said, twin_name="the old test passes", twin=_under(hook, broken=_RIGHT)
    )


OLDER: tuple[Row, ...] = (
    _row("makereport rewrites the report of an old test", _MAKES_REPORT),
    _row("the maker of reports is patched for an old test", _FROM_ITEM),
    _row("logreport rewrites the report of an old test", _LOGS),
)

#: What `docs/explanation/limits.md` names.
OPEN: dict[str, Attempt] = {
    "a hook takes the exception out of the call": _under(_FORGETS),
    "a hook swallows what the old test raises": _under(_SWALLOWS),
    "a hook never calls the old test": _under(_NEVER_CALLS),
    "a hook makes a skip of the exception": _under(_AS_A_SKIP),
    "a hook marks the report as an expected failure": _under(_AS_EXPECTED),
}
