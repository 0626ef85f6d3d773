"""What honest projects do with the hooks and tools of rows 11 to 16: the gate opens, and nothing is said against it."""

from __future__ import annotations

from phase_gate.values import replace
from tests.integrity.rows import GOOD, Attempt, conftest

#: pytest-asyncio warns of a setting that nobody made.
_QUIET = (("PYTHONWARNINGS", "ignore"),)


def _conftest(text: str, *arguments: str, environment: tuple[tuple[str, str], ...] = ()) -> Attempt:
    return replace(conftest(text, code=GOOD, arguments=arguments), environment=environment)


def _more_tests(text: str, *arguments: str, environment: tuple[tuple[str, str], ...] = (), **files: str) -> Attempt:
    writes = (("tests/test_more.py", text), *((f"tests/{stem}.py", code) for stem, code in files.items()))
    return Attempt(writes=writes, arguments=arguments, environment=environment)


_SLOW = """\
import pytest


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes long")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs --slow"))
    left_out = [item for item in items if "very" in item.name]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
"""

_COROUTINES = """\
import asyncio
import inspect

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        asyncio.run(pyfuncitem.obj())
        return True
"""

_UNITTEST = """\
import unittest
from unittest import mock

import price


class TestPrice(unittest.TestCase):
    def test_total(self):
        self.assertEqual(price.total([1]), 1)

    @mock.patch("price.total", return_value=3)
    def test_patched(self, total):
        self.assertEqual(price.total([]), 3)

    def test_parts(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.assertEqual(price.total([number]), number)


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def test_total(self):
        self.assertEqual(price.total([1]), 1)
"""

_DECORATED = """\
import functools

import pytest


def raises(kind):
    def decorate(test):
        @functools.wraps(test)
        def wrapper():
            with pytest.raises(kind):
                test()
        return wrapper
    return decorate


def elsewhere(test):
    @functools.wraps(test)
    def wrapper():
        import os
        child = os.fork()
        if child == 0:
            try:
                test()
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    return wrapper


@raises(TypeError)
def test_wrong_kind():
    from price import total
    total(5)


@elsewhere
def test_in_a_child():
    from price import total
    assert total([1]) == 1


def test_own_patches_of_pytest(monkeypatch):
    import _pytest.runner
    with monkeypatch.context() as patch:
        patch.setattr(_pytest.runner, "call_and_report", lambda *args, **more: None)
        assert _pytest.runner.call_and_report() is None


def test_that_profiles():
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
    sum(range(10))
    profile.disable()
"""

#: A hook of every kind that only looks: whatever it costs, it is no reason for an alarm.
_LOOKS = """\
import functools
import logging
import sys

import pytest

log = logging.getLogger(__name__)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    log.info("before %s", item.name)
    result = yield
    log.info("after %s", item.name)
    return result


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    outcome = yield
    log.info("%s", outcome.excinfo)


def pytest_runtest_logreport(report):
    report.seen_by_us = True


class Counter:
    def __init__(self):
        self.number = 0

    def pytest_runtest_teardown(self, item):
        self.number += 1


def pytest_configure(config):
    config.pluginmanager.register(Counter(), "counter")


# From 3.14 on pytest takes it for a hook, and does not start.
if sys.version_info < (3, 14):
    pytest_runtest_logstart = functools.partial(print, "start")


def pytest_sessionfinish(session, exitstatus):
    log.info("%s", session.testsfailed)
"""

TWINS: dict[str, Attempt] = {
    "makereport adds an attribute, as in pytest's docs": _conftest(
        "import pytest\n\nkey = pytest.StashKey()\n\n\n@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        "def pytest_runtest_makereport(item, call):\n    report = yield\n"
        "    item.stash.setdefault(key, {})[report.when] = report\n    return report\n"
    ),
    "makereport by an old wrapper that changes the text of a failure": _conftest(
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    outcome = yield\n    report = outcome.get_result()\n    report.sections.append(('notes', item.name))\n"
    ),
    "hooks that only look": _conftest(_LOOKS),
    "modifyitems reorders and marks": _conftest(
        "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    items.reverse()\n"
        "    for item in items:\n        item.add_marker(pytest.mark.usefixtures('tmp_path'))\n"
    ),
    "slow tests are skipped or deselected by an option": Attempt(
        writes=(
            ("tests/conftest.py", _SLOW),
            (
                "tests/test_slow.py",
                "import pytest\n\n\n@pytest.mark.slow\ndef test_slow():\n    pass\n\n\ndef test_very():\n    pass\n",
            ),
        ),
    ),
    "setup skips on another platform": Attempt(
        writes=(
            (
                "tests/conftest.py",
                "import pytest\n\n\ndef pytest_runtest_setup(item):\n"
                "    if 'windows' in item.name:\n        pytest.skip('only there')\n",
            ),
            ("tests/test_platform.py", "def test_windows():\n    raise OSError\n\n\ndef test_here():\n    pass\n"),
        ),
    ),
    "coroutines are run by a hook of the project": _more_tests(
        "async def test_total():\n    from price import total\n    assert total([1]) == 1\n", conftest=_COROUTINES
    ),
    "unittest beside a hook": _more_tests(_UNITTEST, conftest=_LOOKS),
    "decorated tests, children, own patches that are undone": _more_tests(_DECORATED, conftest=_LOOKS),
    "a test of a plugin, by pytester": _more_tests(
        'pytest_plugins = "pytester"\n\n\ndef test_plugin(pytester):\n'
        "    pytester.makeconftest('def pytest_runtest_protocol(item): return True')\n"
        "    pytester.makepyfile('def test_a(): assert 0')\n    pytester.runpytest_inprocess().assert_outcomes()\n",
    ),
    "a session fixture that patches pytest and puts it back": _conftest(
        "import pytest\nimport _pytest.runner\n\n\n@pytest.fixture(scope='session', autouse=True)\n"
        "def counted():\n    real = _pytest.runner.CallInfo.__repr__\n"
        "    with pytest.MonkeyPatch.context() as patch:\n"
        "        patch.setattr(_pytest.runner.CallInfo, '__repr__', lambda self: real(self))\n        yield\n"
    ),
    "a collector of the project's own for its own files": Attempt(
        writes=(
            (
                "tests/conftest.py",
                "import pytest\n\n\ndef pytest_collect_file(parent, file_path):\n"
                "    if file_path.suffix == '.sum':\n        return File.from_parent(parent, path=file_path)\n\n\n"
                "class File(pytest.File):\n    def collect(self):\n"
                "        yield Sum.from_parent(self, name='sum')\n\n\n"
                "class Sum(pytest.Item):\n    def runtest(self):\n        assert eval(self.path.read_text())\n",
            ),
            ("tests/one.sum", "1 + 1 == 2"),
        ),
    ),
    "installed plugins that patch and wrap": _conftest(
        _LOOKS,
        *(
            word
            for name in ("pytest_asyncio.plugin", "pytest_timeout", "pytest_cov.plugin", "pytest_randomly")
            for word in ("-p", name)
        ),
        *("-p", "_hypothesis_pytestplugin", "-p", "pytest_rerunfailures", "--timeout=60", "--cov=price"),
        "--cov-report=",
        environment=_QUIET,
    ),
    "hypothesis beside a hook": _more_tests(
        "from hypothesis import assume, given, strategies as st\n\n\n@given(st.integers())\n"
        "def test_total(number):\n    from price import total\n    assume(number % 2)\n"
        "    assert total([number]) == number\n",
        "-p",
        "_hypothesis_pytestplugin",
        conftest=_LOOKS,
    ),
    "asyncio beside a hook": _more_tests(
        "import asyncio\n\nimport pytest\n\n\n@pytest.mark.asyncio\nasync def test_total():\n"
        "    await asyncio.sleep(0)\n    from price import total\n    assert total([1]) == 1\n",
        *("-p", "pytest_asyncio.plugin"),
        environment=_QUIET,
        conftest=_LOOKS,
    ),
}

#: With two workers, too.
IN_WORKERS = ("hooks that only look", "unittest beside a hook")
