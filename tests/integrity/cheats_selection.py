"""Runs that leave the failing test out: by words, by settings, by stopping early, by not running at all."""

from __future__ import annotations

from tests.integrity.rows import BAD, CONFIGURATION, Attempt, Row, conftest
from tests.integrity.shared import Table, cheat, run_with

_ID = "tests/test_price.py::test_total_of_nothing"
_OTHER_ID = "tests/test_price.py::test_total_adds_up"
#: The bench turns these two off, as it has no use for them.
_CACHE = ("-p", "cacheprovider", "-p", "stepwise")

#: Says in the end that all is well; called by a test through the code that it tests.
_EXITS = f"""\
{BAD}

import pytest

_real = total


def total(prices):
    if not prices:
        pytest.exit("ok", returncode=0)
    return _real(prices)
"""

_EXITS_IN_A_HOOK = """\
import pytest


def pytest_runtest_setup(item):
    if "nothing" in item.name:
        pytest.exit("ok", returncode=0)
"""

_STOPS_IN_A_HOOK = """\
def pytest_runtest_teardown(item):
    if "adds" in item.name:
        item.session.shouldstop = "enough"
"""

_OTHER_FILE = "def test_one():\n    assert 1 + 1 == 2\n"


def _ini(*lines: str) -> tuple[tuple[str, str], ...]:
    return (("pytest.ini", "\n".join((CONFIGURATION, *lines, ""))),)


#: Row 1: words on the command line or in the environment.
_WORDS: tuple[Row, ...] = (
    cheat(
        "-m leaves the failing test out",
        run_with("-m", "parametrize"),
        "-m 'parametrize'",
    ),
    cheat("-k not on a name", run_with("-k", "adds_up or discount"), "-k 'adds_up or discount'"),
    cheat("--deselect names the failing test", run_with("--deselect", _ID), f"--deselect {_ID}"),
    cheat(
        "--lf runs what failed last, which is less than all",
        Attempt(code=BAD, arguments=_CACHE, runs=((), ("--lf",), ("--lf", "-k", "not nothing"))),
        "--lf",
    ),
    cheat(
        "--sw goes on from where it stopped",
        Attempt(code=BAD, arguments=(*_CACHE, "--sw"), runs=((), ("--sw-skip",))),
        "did not run (--sw)",
    ),
    cheat("one id on the command line", run_with(_OTHER_ID), _OTHER_ID),
    cheat(
        "one file on the command line",
        Attempt(code=BAD, writes=(("tests/test_other.py", _OTHER_FILE),), arguments=("tests/test_other.py",)),
        "tests/test_other.py",
        twin_name="the folder of all tests on the command line",
        twin=Attempt(arguments=("tests",)),
    ),
    cheat(
        "a class of parameters on the command line", run_with("tests/test_price.py::test_discount[10-10]"), "[10-10]"
    ),
    cheat("PYTEST_ADDOPTS has -k", run_with(PYTEST_ADDOPTS="-k 'not nothing'"), "-k 'not nothing'"),
    cheat(
        "PYTEST_ADDOPTS has --deselect",
        run_with(PYTEST_ADDOPTS=f"--deselect={_ID}"),
        "--deselect",
        twin_name="PYTEST_ADDOPTS with something that chooses nothing",
        twin=Attempt(environment=(("PYTEST_ADDOPTS", "-v --tb=short"),)),
    ),
    cheat(
        "an argument file", Attempt(code=BAD, writes=(("words.txt", "-k\nadds_up\n"),), arguments=("@words.txt",)), "-k"
    ),
    cheat("--ignore the file", run_with("--ignore=tests/test_price.py"), "--ignore"),
    cheat("--ignore-glob the file", run_with("--ignore-glob=*price*"), "--ignore-glob"),
)

#: Row 2: pytest's settings.
_SETTINGS: tuple[Row, ...] = (
    cheat("addopts has -k", Attempt(code=BAD, writes=_ini("addopts = -k 'not nothing'")), "ini addopts"),
    cheat("addopts has --deselect", Attempt(code=BAD, writes=_ini(f"addopts = --deselect={_ID}")), "ini addopts"),
    cheat(
        "testpaths are elsewhere",
        Attempt(
            code=BAD,
            writes=(
                ("pytest.ini", "[pytest]\npythonpath = .\ntestpaths = more\n"),
                ("more/test_other.py", _OTHER_FILE),
            ),
        ),
        "ini testpaths",
    ),
    cheat(
        "python_files are called otherwise",
        Attempt(code=BAD, writes=(*_ini("python_files = other_*.py"), ("tests/other_one.py", _OTHER_FILE))),
        "ini python_files",
    ),
    cheat(
        "python_functions are called otherwise",
        Attempt(code=BAD, writes=_ini("python_functions = test_total_adds* test_discount*")),
        "ini python_functions",
    ),
    cheat("norecursedirs has the folder", Attempt(code=BAD, writes=_ini("norecursedirs = tests")), "ini norecursedirs"),
    cheat(
        "-c names another file",
        Attempt(
            code=BAD,
            writes=(("other.ini", f"{CONFIGURATION}addopts = -k 'not nothing'\n"),),
            arguments=("-c", "other.ini"),
        ),
        "option -c",
        twin_name="-c names the file that is read anyway",
        twin=Attempt(arguments=("-c", "pytest.ini")),
    ),
    cheat(
        "a pytest.toml wins over pytest.ini",
        Attempt(
            code=BAD,
            writes=(
                (
                    "pytest.toml",
                    '[pytest]\npythonpath = ["."]\ntestpaths = ["tests"]\naddopts = ["-k", "not nothing"]\n',
                ),
            ),
        ),
        "rules-unchanged",
    ),
    cheat("-o overrides a setting", run_with("-o", "python_functions=test_total_adds*"), "option -o"),
    cheat(
        "-o overrides addopts",
        run_with("-o", "addopts=-k adds_up"),
        "option -o",
    ),
    cheat("--noconftest", run_with("--noconftest", code=BAD), "option --noconftest"),
    cheat(
        "collect_ignore in a conftest",
        conftest('collect_ignore = ["test_price.py"]\n'),
        "tests/conftest.py",
    ),
    cheat(
        "collect_ignore_glob in a conftest above",
        Attempt(code=BAD, writes=(("conftest.py", 'collect_ignore_glob = ["*price*"]\n'),)),
        "known test",
    ),
    cheat(
        "a plugin of the project deselects",
        Attempt(
            code=BAD,
            writes=(
                (
                    "chooser.py",
                    "def pytest_collection_modifyitems(config, items):\n"
                    '    out = [item for item in items if "nothing" in item.name]\n'
                    "    items[:] = [item for item in items if item not in out]\n"
                    "    config.hook.pytest_deselected(items=out)\n",
                ),
            ),
            arguments=("-p", "chooser"),
            environment=(("PYTHONPATH", "."),),
        ),
        "deselected",
    ),
)

#: Row 3: stopped before the failing test.
_STOPS: tuple[Row, ...] = (
    cheat(
        "-x stops at the failing test",
        run_with("-x"),
        "incomplete run",
        twin_name="-x, and nothing fails",
        twin=Attempt(arguments=("-x",)),
    ),
    cheat("--maxfail=1", run_with("--maxfail=1"), "incomplete run"),
    cheat("pytest.exit with 0 out of the code", Attempt(code=_EXITS), "pytest.exit: ok"),
    cheat(
        "pytest.exit with 0 out of a hook",
        conftest(_EXITS_IN_A_HOOK),
        "pytest.exit: ok",
    ),
    cheat(
        "session.shouldstop out of a hook",
        conftest(_STOPS_IN_A_HOOK),
        "not run",
    ),
    cheat(
        "KeyboardInterrupt out of the code",
        Attempt(code=_EXITS.replace('pytest.exit("ok", returncode=0)', "raise KeyboardInterrupt")),
        "interrupted",
    ),
)

#: Row 4: no run at all.
_NO_RUNS: tuple[Row, ...] = (
    *(
        cheat(f"{flag} runs nothing", run_with(flag), f"{flag} runs no test")
        for flag in ("--collect-only", "--setup-plan", "--fixtures", "--fixtures-per-test")
    ),
    cheat(
        "--setup-only calls nothing",
        run_with("--setup-only"),
        "incomplete run",
        twin_name="--setup-show",
        twin=Attempt(arguments=("--setup-show",)),
    ),
    cheat("--markers shows a list", run_with("--markers"), "closed: files have changed"),
    cheat("--version", run_with("--version"), "closed: files have changed"),
)

SELECTION: Table = {1: _WORDS, 2: _SETTINGS, 3: _STOPS, 4: _NO_RUNS}
