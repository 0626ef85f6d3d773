"""Rows 17, 18 and 22: the process, or a worker, does not live to tell. The record of its start does."""

from __future__ import annotations

import pytest

from tests.integrity.bench import Workbench
from tests.integrity.rows import BAD, GOOD, Attempt, Row, conftest
from tests.integrity.shared import numbered

_TWO_WORKERS = ("-p", "xdist.plugin", "-n", "2")
_LOST = "began and never ended"


def _code(body: str, *, more: str = "", arguments: tuple[str, ...] = ()) -> Attempt:
    """The code under test does it: no test and no setting was touched."""
    text = BAD.replace("    return sum(prices) if prices else None", f"    {body}\n    return 0")
    return Attempt(code=f"import os\nimport sys\n\n{more}\n{text}", arguments=arguments)


def _row(name: str, cheat: Attempt, told_by: str) -> Row:
    return Row(name=name, cheat=cheat, told_by=told_by, twin_name="")


#: Row 17.
IN_THE_MIDDLE = (
    _row("becomes another program", _code("os.execv(sys.executable, [sys.executable, '-c', 'pass'])"), _LOST),
    _row("is killed", _code("os.kill(os.getpid(), 9)"), _LOST),
    _row("crashes", _code("import ctypes; ctypes.string_at(0)"), _LOST),
    _row(
        "leaves from a thread",
        _code("import threading, time; threading.Timer(0, os._exit, (0,)).start(); time.sleep(5)"),
        _LOST,
    ),
    _row("leaves as it is imported", Attempt(code="import os\n\nos._exit(0)\n"), _LOST),
)

#: Row 18.
AT_THE_END = (
    _row(
        "leaves at exit",
        Attempt(code=f"import atexit\nimport os\n\natexit.register(os._exit, 0)\n{BAD}"),
        "- tests_failing == 0 1",
    ),
    _row(
        "leaves at the end of the session",
        conftest("import os\n\n\ndef pytest_unconfigure():\n    os._exit(0)\n"),
        "- tests_failing == 0 1",
    ),
    _row(
        "leaves before the record is written",
        conftest(
            "import os\n\nimport pytest\n\n\n@pytest.hookimpl(tryfirst=True)\n"
            "def pytest_sessionfinish():\n    os._exit(0)\n"
        ),
        _LOST,
    ),
)

#: In workers the controller lives on, and says what became of them.
IN_WORKERS = (
    _row("a worker leaves with 0", _code("os._exit(0)"), "tests_failing == 0"),
    _row(
        "a worker leaves, and none takes its place",
        _code("os._exit(0)", arguments=("--max-worker-restart=0",)),
        "tests_failing == 0",
    ),
    _row(
        "a worker leaves after its last test",
        conftest(
            "import os\n\n\ndef pytest_sessionfinish(session):\n"
            "    if 'PYTEST_XDIST_WORKER' in os.environ:\n        os._exit(0)\n",
            code=GOOD,
        ),
        "ended without telling what it saw",
    ),
)

TWINS = {
    "the code starts a child that leaves": Attempt(
        code=GOOD.replace(
            "    return sum(prices)",
            "    import os\n\n    child = os.fork()\n    if child == 0:\n        os._exit(0)\n"
            "    os.waitpid(child, 0)\n    return sum(prices)",
        )
    ),
    "the code kills a child": Attempt(
        code=GOOD.replace(
            "    return sum(prices)",
            "    import subprocess, sys\n\n    with subprocess.Popen([sys.executable, '-c', 'input()'],"
            " stdin=subprocess.PIPE) as child:\n        child.kill()\n    return sum(prices)",
        )
    ),
    "something is said at exit": Attempt(code=f"import atexit\n\natexit.register(print, 'bye')\n{GOOD}"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", numbered({17: IN_THE_MIDDLE, 18: AT_THE_END}))
def test_the_process(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row)


@pytest.mark.cheats(22)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", IN_WORKERS, ids=lambda row: row.name)
def test_a_worker(bench: Workbench, row: Row) -> None:
    bench.check_cheat(row, *_TWO_WORKERS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_honest(bench: Workbench, twin: Attempt) -> None:
    bench.check_twin(twin)


def test_honest_workers(bench: Workbench) -> None:
    bench.check_twin(Attempt(), *_TWO_WORKERS)
