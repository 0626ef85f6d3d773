"""The output is lost while the panel is written: the run is recorded all the same, and no traceback is ours."""

from __future__ import annotations

import pytest

from tests.support import Project

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


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(TAKE.format(target="os.open('/dev/full', os.O_WRONLY)"), id="full"),
        pytest.param(
            "r, w = os.pipe(); os.close(r); os.dup2(w, terminalreporter._tw._file.fileno())", id="nobody-reads"
        ),
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
    assert [run["kind"] for run in project.runs()] == ["complete"]
    assert ran.code in (1, 10, 120), "pytest's own word about its output, or ours about the gate; never 0"
