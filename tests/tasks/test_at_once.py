"""Verify tasks under fire: a run that is killed, two reviewers at once, an edit beside a verdict, a thousand tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.tasks.verifying import RIGHT, TASK, WRONG, Gate, python

pytestmark = [
    pytest.mark.processes,
    pytest.mark.sampled(4),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL"),
]

COMMAND = (sys.executable, "-m", "phase_gate.cli")


def test_a_verify_run_that_is_killed_is_recorded_as_interrupted_by_the_next_command(gate: Gate) -> None:
    gate.project.write({"slow.py": "import time\nprint('it runs', flush=True)\ntime.sleep(60)\n"})
    gate.start(verify=python("slow.py"), files=["planner.py", "slow.py"])
    gate.executor()
    process = subprocess.Popen([*COMMAND, "verify", "run"], cwd=gate.root, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "it runs\n"
    second = gate.verify()
    assert second.code == 13
    assert second.has("is running since")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert gate.call("verify", "status", "--task", TASK).has("the verify run was killed")
    gate.project.write({"slow.py": "import check\n"})
    assert gate.verify().code == 0
    ends = [line["data"]["check"]["how"] for line in gate.ledger() if line["kind"] == "verify-ran"]
    assert ends == ["running", "interrupted", "running", "ended"]
    assert gate.review().code == 0


@pytest.mark.parametrize("other", ["APPROVED", "REJECTED"])
def test_of_two_reviewers_at_once_one_is_heard(gate: Gate, other: str) -> None:
    gate.reviewing()
    gate.paper("one.yaml", gate.verdict())
    gate.paper("two.yaml", gate.verdict(other))
    calls = [
        subprocess.Popen(
            [*COMMAND, "verify", "review", f"{paper}.yaml", "--by", name],
            cwd=gate.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for paper, name in (("one", "ann"), ("two", "bob"))
    ]
    said = [process.communicate()[0].decode() for process in calls]
    codes = sorted(process.returncode for process in calls)
    heard = [line["data"]["word"]["by"] for line in gate.ledger() if line["kind"] == "reviewed"]
    assert len(heard) == 1, said
    assert codes[-1] == 13, said
    assert gate.state == ("APPROVED" if heard == ["ann"] or other == "APPROVED" else "REJECTED")
    assert [line["kind"] for line in gate.ledger()].count("phase-exited") == (gate.state == "APPROVED")


@pytest.mark.parametrize("delay", [0.0, 0.15, 0.3, 0.45])
def test_an_edit_beside_a_verdict_is_never_committed_unverified(gate: Gate, delay: float) -> None:
    gate.in_git(planner=WRONG).start()
    gate.work(planner=RIGHT)
    gate.paper("verdict.yaml", gate.verdict())
    process = subprocess.Popen(
        [*COMMAND, "verify", "review", "verdict.yaml", "--by", "ann"],
        cwd=gate.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    time.sleep(delay)
    gate.project.write(planner=RIGHT + "import os\n")
    said = process.communicate()[0].decode()
    assert process.returncode in (0, 13), said
    assert gate.state == ("APPROVED" if process.returncode == 0 else "REVIEWING")
    refused = gate.call("verify", "commit")
    assert refused.code == 13, refused
    assert gate.project.git("show", "HEAD:planner.py") != RIGHT + "import os\n"
    assert gate.call("check", "--task", TASK).code == 10
