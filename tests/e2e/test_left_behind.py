"""What tests change under our hands while they run: the state folder, and what their own fixtures patch."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from phase_gate.recording.workers import CHANNEL, read_worker
from tests.e2e.sessions import history_of
from tests.support import FAILING_TESTS, Project

PATCHED = """\
import pytest


@pytest.fixture(autouse=True)
def without_files(monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("no files here")

    for name in ("os.path.realpath", "os.path.relpath", "pathlib.Path.read_bytes"):
        monkeypatch.setattr(name, fail)


"""


def test_what_a_fixture_patches_while_its_test_fails_does_not_reach_us(project: Project) -> None:
    project.write(test_calc=PATCHED + FAILING_TESTS)
    ran = project.run("--phase=red", "--tb=native", "-v")
    assert ran.code == 0, ran.out
    assert ran.has("2 failed", "red-for-a-reason")


def test_what_the_projects_set_up_patches_does_not_reach_us(project: Project) -> None:
    project.write(
        conftest="import json, os\n\njson.dumps = os.replace = os.fsync = None\n",
        test_calc=FAILING_TESTS,
    )
    ran = project.run_process("--phase=red")
    assert ran.code == 0, ran.out
    project.remove("conftest.py")
    assert project.gate("audit").code == 0


@pytest.mark.parametrize(
    "output",
    [
        pytest.param({}, id="nothing"),
        pytest.param({CHANNEL: "{"}, id="half a text"),
        pytest.param({CHANNEL: [None]}, id="a list whose content was lost"),
    ],
)
def test_a_worker_that_tells_nothing_readable_told_nothing(output: dict[str, object]) -> None:
    assert read_worker(SimpleNamespace(workeroutput=output)) is None


#: Changes a source that git does not track, if it is told to.
CHANGES = """\
import os
from pathlib import Path


def test_it():
    if "CHANGE" in os.environ:
        Path("calc.py").write_text("RATE = 2\\n")
"""


@pytest.mark.parametrize("phase", ["red", "green"])
def test_what_a_test_changes_is_seen_where_the_tree_was_known(
    project: Project, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    monkeypatch.setattr("phase_gate.storage.fingerprint.RACY_NS", 0)
    project.write(test_it=CHANGES).commit_all()
    project.write(calc="RATE = 1\n")
    for _ in range(2):  # the second one finds the tree that the first one kept
        project.run(f"--phase={phase}", "-q")
    project.environment.setenv("CHANGE", "yes")
    ran = project.run(f"--phase={phase}", "-v")
    assert ran.has("sources changed while it ran: calc.py")


# --- the output is lost while the panel is written

#: Takes the output away after everything that pytest itself says, before the panel.
CONFTEST = """\
import os
import signal
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    result = yield
    terminalreporter = session.config.pluginmanager.get_plugin("terminalreporter")
    terminalreporter.flush()
    {how}
    return result
"""
TAKE = "os.dup2({target}, terminalreporter._tw._file.fileno())"


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(TAKE.format(target="os.open('/dev/full', os.O_WRONLY)"), id="full"),
        pytest.param("os.close(terminalreporter._tw._file.fileno())", id="closed"),
        pytest.param("terminalreporter._tw._file.close()", id="closed-by-python"),
        pytest.param(
            "signal.signal(signal.SIGHUP, signal.SIG_IGN); m, s = os.openpty(); os.close(m);"
            " os.dup2(s, terminalreporter._tw._file.fileno())",
            id="terminal-hung-up",
        ),
    ],
)
def test_the_run_is_recorded(project: Project, how: str) -> None:
    project.write({"conftest.py": CONFTEST.format(how=how)}, test_ok="def test_ok():\n    assert 1 + 1 == 2\n")
    ran = project.run_process("--phase=green")
    assert "phase_gate" not in ran.out + ran.err, "no frame of ours"
    assert "INTERNALERROR" not in ran.out + ran.err
    assert [run["kind"] for run in history_of(project)] == ["complete"]
    assert ran.code in (1, 10, 120), "pytest's own word about its output, or ours about the gate; never 0"
