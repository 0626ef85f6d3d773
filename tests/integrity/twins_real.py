"""Honest steps that real projects took, and that the gate once refused or spoke against."""

from __future__ import annotations

from tests.integrity.cheats_red import EMPTY, red
from tests.integrity.rows import CONFIGURATION, SIGNAL, TEST_FILE, TESTS, Attempt, Base

_COMMIT = (
    ("git", "init", "-q"),
    ("git", "add", "."),
    ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"),
)

#: freezegun: what is sold is what stands above its tests.
_FREEZES = """\
import functools


def freeze(number):
    def decorate(test):
        @functools.wraps(test)
        def inner(*arguments, **named):
            return test(*arguments, **named)

        return inner

    return decorate


def now():
    return 0
"""
_FROZEN_TIME = _FREEZES.replace(
    "            return test(*arguments, **named)\n",
    "            global _now\n"
    "            before, _now = _now, number\n"
    "            try:\n"
    "                return test(*arguments, **named)\n"
    "            finally:\n"
    "                _now = before\n",
).replace("def now():\n    return 0\n", "_now = 0\n\n\ndef now():\n    return _now\n")
_DECORATED = """\
import clock


@clock.freeze(5)
def test_decorated():
    assert clock.now() == 5


class TestClock:
    @clock.freeze(7)
    def test_method(self):
        assert clock.now() == 7
"""

#: beartype: each test in a process of its own, by the project's own hook.
_IN_CHILDREN = """\
import os


def pytest_pyfunc_call(pyfuncitem):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            names = pyfuncitem._fixtureinfo.argnames
            pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "failed in its child"
    return True
"""
_PROTOCOL_IN_CHILDREN = """\
import os

import pytest


def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for when in ("setup", "call", "teardown"):
        call = pytest.CallInfo.from_call((lambda: in_child(item)) if when == "call" else (lambda: None), when)
        item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=call))
    return True


def in_child(item):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            arguments = getattr(getattr(item, "callspec", None), "params", {})
            item.obj(**arguments)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "failed in its child"
"""

#: pyrsistent: an old table, one row of which is never run here.
_OLD_TABLE = """\
import pytest


@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.skip(reason="not here")), 3])
def test_old(number):
    assert number == number * 1


@pytest.mark.skipif(True, reason="not here either")
def test_older():
    assert not test_older
"""
_WITH_OLD_TABLE = Base(
    files=(("pytest.ini", CONFIGURATION), ("tests/test_old.py", _OLD_TABLE)), commands=_COMMIT, has_red=False
)

#: Skipped until there is something to run: then it does.
_SKIPPED_FIRST = f"""\
{TESTS}

def test_where_there_is_code():
    pytest.importorskip("price")
    assert total([2]) == 2
"""

#: Python's own parts get new values by its own doing, and no test has replaced anything.
_PYTHONS_OWN = f"""\
{TESTS}

def test_dates():
    import datetime
    import importlib

    importlib.invalidate_caches()
    assert datetime.datetime.strptime("2020", "%Y").year == total([2020])
"""

#: The project profiles its own tests.
_PROFILES = """\
import sys

import pytest


def profile(frame, event, argument):
    pass


def pytest_runtest_logreport(report):
    pass


@pytest.fixture(autouse=True, scope="session")
def profiled():
    sys.setprofile(profile)
    yield
    assert sys.getprofile() is profile
    sys.setprofile(None)


@pytest.fixture(autouse=True)
def undisturbed(profiled):
    assert sys.getprofile() is profile
    assert sys.gettrace() is None
"""


def _after(*files: tuple[str, str]) -> Base:
    return Base(files=(("pytest.ini", CONFIGURATION), *files))


def _red(*files: tuple[str, str], base: Base = EMPTY, then: Attempt) -> Attempt:
    return Attempt(base=base, phase="red", code=None, writes=files, runs=((),), after=(SIGNAL,), then=then)


def _by(*lines: str, first: str = "import subprocess\nimport sys", code: str | None = None) -> Attempt:
    return red("\n".join((first, "", "", "def test_total():", *(f"    {line}" for line in lines), "")), code=code)


#: To be written: it has to ignore errors of a kind.
_IGNORING = "import contextlib\n\n\n@contextlib.contextmanager\ndef ignoring(kind):\n    yield\n"


REAL_TWINS: dict[str, Attempt] = {
    "the product decorates tests": Attempt(
        base=_after(("clock.py", _FREEZES), (TEST_FILE, _DECORATED)), code=None, writes=(("clock.py", _FROZEN_TIME),)
    ),
    "the product decorates tests, and is new": Attempt(
        base=_after((TEST_FILE, _DECORATED)),
        code=None,
        writes=(("clock.py", _FREEZES),),
        runs=((),),
        then=Attempt(code=None, writes=(("clock.py", _FROZEN_TIME),)),
    ),
    "a hook of the project runs each test in a child": Attempt(
        base=_after((TEST_FILE, TESTS), ("tests/conftest.py", _IN_CHILDREN))
    ),
    "a protocol of the project runs each test in a child": Attempt(
        base=_after((TEST_FILE, TESTS), ("tests/conftest.py", _PROTOCOL_IN_CHILDREN))
    ),
    "an old table with a row that is skipped": _red((TEST_FILE, TESTS), base=_WITH_OLD_TABLE, then=Attempt()),
    "a test that is skipped in RED and runs then": Attempt(base=_after((TEST_FILE, _SKIPPED_FIRST))),
    "Python's own parts have new values": Attempt(base=_after((TEST_FILE, _PYTHONS_OWN))),
    "a profiler of the project's own": Attempt(base=_after((TEST_FILE, TESTS), ("tests/conftest.py", _PROFILES))),
    "a module that can't be run yet": _by('subprocess.run([sys.executable, "-m", "price.main"], check=True)'),
    "a command without an answer yet": _by(
        'assert subprocess.check_output([sys.executable, "-m", "price.main"]) == b"1"'
    ),
    "a context that does not suppress yet": _by(
        *("with ignoring(ZeroDivisionError):", "    1 / 0"), first="from price import ignoring", code=_IGNORING
    ),
    "a context that does not suppress what is raised yet": _by(
        *("with ignoring(ValueError):", "    raise ValueError"), first="from price import ignoring", code=_IGNORING
    ),
    "a codec that is not registered yet": _by('assert "one".encode("price") == b"eno"', first="import price"),
}
