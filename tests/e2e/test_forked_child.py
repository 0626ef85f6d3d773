"""A forked child that comes back into pytest never speaks for its parent's run (CHEATS row 41)."""

from __future__ import annotations

import json
import os
from os import _exit, getpid  # bound here: the tests below leave them patched
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.e2e.sessions import history_of, state_of
from tests.support import Project, Result, needs_fork

pytestmark = needs_fork

#: What a forked child that came through the whole inner session leaves for whoever looks.
SEEN = "child.json"

#: A test, and the code under test: `{child}` is what the child does, `{parent}` what the parent does after it.
TEST = "from work import work\n\n\ndef test_before():\n    pass\n\n\ndef test_work():\n    assert work() == 1\n"
WORK = """\
import os
import sys
{head}

def work():
    child = os.fork()
    if child == 0:
        {child}
        return 1
    os.waitpid(child, 0)
    return {parent}
"""


def run(project: Project, *arguments: str, plugins: tuple[str, ...] = ()) -> Result:
    """Run pytest; a child that comes out of the session ends here."""
    here = getpid()
    try:
        ran = project.run(*arguments, plugins=plugins)
        if getpid() != here:
            message = {"code": ran.code, "out": ran.out, "environment": sorted(os.environ)}
            Path(project.root, SEEN).write_text(json.dumps(message), encoding="utf-8")
    finally:
        if getpid() != here:
            _exit(0)
        mock.patch.stopall()
    return ran


def child_of(project: Project) -> dict[str, Any]:
    """Return what the child saw that came through the session."""
    message: dict[str, Any] = json.loads((project.root / SEEN).read_text(encoding="utf-8"))
    return message


_CALLS_BACK = """
import gc
import multiprocessing
from pathlib import Path
import pytest

def call_back():
    sessions = (each for each in gc.get_objects() if isinstance(each, pytest.Session))
    session = next(each for each in sessions if each.config.rootpath == Path.cwd())  # never the one around this test
    session.config.hook.pytest_sessionfinish(session=session, exitstatus=0)
    session.config._ensure_unconfigure()
"""


def _forking(child: str, *, parent: str = "1", head: str = "") -> str:
    return WORK.format(child=child, parent=parent, head=head)


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(_forking("pass", parent="2"), id="falls-through-and-passes"),
        pytest.param(_forking("pass"), id="forgets-to-leave"),
        pytest.param(_forking("raise KeyboardInterrupt"), id="is-interrupted"),
        pytest.param(
            _forking("pass", head="__import__('unittest.mock').mock.patch('os.getpid', return_value=1).start()"),
            id="has-a-patched-getpid",
        ),
        pytest.param(
            _forking("pass").replace("os.fork()", "__import__('ctypes').PyDLL(None).fork()"),
            id="was-forked-past-python",
        ),
        pytest.param(
            "import os\n\nif child := os.fork():\n    os.waitpid(child, 0)\n\n\ndef work():\n    return 1\n",
            id="was-forked-by-an-import",
        ),
        pytest.param(
            f"{_CALLS_BACK}\ndef work():\n    child = multiprocessing.get_context('fork').Process(target=call_back)\n"
            "    child.start()\n    child.join()\n    return 1\n",
            id="calls-back-into-pytest-from-multiprocessing",
        ),
    ],
)
def test_it_records_nothing_and_the_parent_s_outcomes_count(project: Project, work: str) -> None:
    project.write({"pytest.ini": "[pytest]\n"}, test_work=TEST, work=work)
    ran = run(project, "--phase=green", "-p", "no:randomly", "-v")
    parent_fails = "return 2" in work
    assert ran.code == (1 if parent_fails else 10)
    # One run, the parent's own; its lock is gone.
    (recorded,) = history_of(project)
    assert recorded["counts"] == ({"failed": 1, "passed": 1} if parent_fails else {"passed": 2})
    assert state_of(project).streak == (0 if parent_fails else 1)
    assert list((project.root / ".phase-gate" / "runs").iterdir()) == []


def test_the_child_says_nothing_of_ours(project: Project) -> None:
    project.write(test_work=TEST, work=_forking("pass", parent="2"))
    run(project, "--phase=green", "--phase-report=verdict.json", "--junitxml=junit.xml", "--phase-confirm")
    child = child_of(project)
    assert "2 passed" in child["out"]
    assert child["code"] == 0, "pytest's own status, not ours"
    assert "phase gate: GREEN ·" not in child["out"]
    assert "PHASE_GATE_RUN" in child["environment"], "what it starts is still part of the run"
    assert project.report()["metrics"]["tests_failing"] == 1
    assert len(history_of(project)) == 1, "the child confirms nothing"


# --- other recorders


def test_a_worker(project: Project) -> None:
    test = TEST.replace("test_before", "before")
    project.write({"pytest.ini": "[pytest]\n", "sub/test_work.py": test, "sub/work.py": _forking("pass", parent="2")})
    # It ends there, when it has told the controller that the worker is done: nothing would ever end it otherwise.
    leaves = "import os\n\nHERE = os.getpid()\n\n\ndef pytest_unconfigure():\n    os.getpid() == HERE or os._exit(0)\n"
    project.write(conftest=leaves)
    ran = project.run_process("--phase=green", "--rootdir=sub", "-n", "1", "-v", plugins=("xdist",))
    assert ran.code == 10, "the controller believes the child, which was faster than its parent"
    assert ran.has("1 passed", "gw0 ended without telling what it saw")
    assert len(history_of(project)) == 1
