"""`phase-gate verify drive --jobs`: tasks side by side, each in a git worktree of its own."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.drive.conftest import is_alive, wait_for
from tests.drive.team import Team, Turn, slug_of, works

pytestmark = [pytest.mark.processes, pytest.mark.sampled(2)]


def left_over(team: Team) -> list[str]:
    """Checkouts, refs and folders that a drive left behind."""
    trees = [row for row in team.git("worktree", "list", "--porcelain").splitlines() if row.startswith("worktree ")]
    refs = team.git("for-each-ref", "--format=%(refname)", "refs/phase-gate").split()
    folder = team.root.with_name(f"{team.root.name}.worktrees")
    return [*trees[1:], *refs, *([str(folder)] if folder.exists() else [])]


def test_six_tasks_in_three_waves_with_two_jobs(team: Team) -> None:
    wrong: Turn = {"write": {"part3.py": "PART = 0\n"}}
    both = {"shared.py": "BASE = 0\nPART = 1\nPART = 2\n"}
    script: dict[int, dict[str, list[Turn]]] = {
        number: {
            "executor": [
                {"write": {"shared.py": f"BASE = 0\nPART = {number}\n"}},
                {"write": both, "expect": ["other tasks changed the same lines meanwhile: shared.py"]},
            ]
        }
        for number in (1, 2)
    }
    script[3] = {"executor": [wrong, works(3, expect=["VERIFICATION FAILED"])]}
    shared = {number: {"files": ["shared.py"], "verify": f"grep -q 'PART = {number}' shared.py"} for number in (1, 2)}
    team.desk.sample.write({"shared.py": "BASE = 0\n"})
    team.plan((1, 2), (3, 4), (5, 6), script=script, more=shared)
    rows = team.rows("--jobs", "2", code=0)
    assert set(team.statuses().values()) == {"APPROVED"}
    assert rows[-1]["reason"] == "all tasks are finished"
    (conflict,) = [row for row in rows if row["event"] == "conflict"]
    assert "shared.py" in conflict["reason"]
    assert team.failures(3) == ["VERIFY_FAILURE"]
    assert (team.root / "shared.py").read_text() == both["shared.py"]
    assert all((team.root / f"part{number}.py").exists() for number in (3, 4, 5, 6))
    assert team.git("status", "--porcelain") == ""
    merged = [row["task"] for row in rows if row["event"] == "merged"]
    assert sorted(merged) == [slug_of(number) for number in range(1, 7)]
    first = {task: place for place, task in reversed(list(enumerate(merged)))}
    assert max(first[slug_of(1)], first[slug_of(2)]) < min(first[slug_of(3)], first[slug_of(4)]), "wave by wave"
    assert left_over(team) == []


@pytest.mark.sweep
def test_work_that_breaks_with_the_others_goes_back(team: Team) -> None:
    """Both merge without a conflict, and the verify command of the later one fails on the result."""
    verify = {"verify": "grep -rq 'PART = 2' part2.py && test ! -e part1.py", "shell": True}
    again = works(2, run=["rm -f part1.py"], expect=["PREVIOUS ATTEMPT FAILED"])
    team.plan((1, 2), script={2: {"executor": [works(2, sleep=3), again]}}, more={2: verify})
    rows = team.rows("--jobs", "2", code=13)
    conflicts = [row["reason"] for row in rows if row["event"] == "conflict" and row["task"] == slug_of(2)]
    assert conflicts[0].startswith("merged with what other tasks did meanwhile")
    assert conflicts[1].endswith("are not what the project has: part1.py"), "it is not its to remove"
    assert (team.root / "part1.py").exists()
    assert not (team.root / "part2.py").exists()


@pytest.mark.sweep
def test_what_waits_for_a_person_is_kept_for_later(team: Team) -> None:
    fails: Turn = {"write": {"part1.py": "half = 1\n"}, "report": None, "exit": 3}
    honest = works(1, run=["cp part1.py ../../before.txt"])
    team.plan((1, 2), script={1: {"executor": [fails, fails, fails, {**honest, "write": {}}, works(1)]}})
    team.rows("--jobs", "2", code=13)
    assert team.statuses() == {"1": "FAILED", "2": "APPROVED"}
    assert left_over(team) == [f"refs/phase-gate/{slug_of(1)}"], "no checkout is left, and the work is"
    assert not (team.root / "part1.py").exists()
    from tests.cli.terminals import at_terminal

    ran = at_terminal(
        team.desk, "verify", "resume", "--task", slug_of(1), "--reason", "it was the machine", "--by", "ann"
    )
    assert ran.code == 0, ran.err
    team.rows("--jobs", "2", code=0)
    assert (team.root.parent / "before.txt").read_text() == "half = 1\n"
    assert left_over(team) == []


def test_uncommitted_work_in_the_project_is_not_mixed_in(team: Team) -> None:
    team.plan((1, 2))
    (team.root / "part1.py").write_text("mine = 1\n")
    rows = team.rows("--jobs", "2", code=13)
    assert "has uncommitted work in the project itself" in rows[-1]["reason"]
    assert (team.root / "part1.py").read_text() == "mine = 1\n"
    assert team.status(2) == "APPROVED"


def test_without_a_repository_there_are_no_jobs(team: Team) -> None:
    team.plan((1, 2))
    subprocess.run(["rm", "-rf", str(team.root / ".git")], check=True)
    ran = team.drive("--jobs", "2")
    assert ran.code == 13
    assert "git init" in ran.err


@pytest.mark.sweep
@pytest.mark.parametrize("role", ["executor", "reviewer"])
def test_a_killed_driver_is_taken_over(team: Team, role: str, drivers: list[subprocess.Popen[str]]) -> None:
    slow: Turn = {"sleep": 600, "report": None}
    usual: list[Turn] = [works(1)] if role == "executor" else [{}]
    team.plan((1, 2), script={1: {"executor": [works(1)], "reviewer": [{}], role: [slow, *usual]}})
    driver = team.start("--jobs", "2")
    drivers.append(driver)
    mark = team.sleeps(role)
    pid = wait_for(lambda: int(mark.read_text() or 0) if mark.exists() else 0)
    driver.send_signal(signal.SIGKILL)
    driver.communicate(timeout=30)
    team.rows("--jobs", "2", code=0)
    assert not is_alive(pid), "the agent of the dead driver is ended"
    assert team.statuses() == {"1": "APPROVED", "2": "APPROVED"}
    assert left_over(team) == []
    assert team.turns(1, "executor") == (2 if role == "executor" else 1), (
        "and only the step that was lost is done again"
    )


def test_a_time_out_stops_one_job_and_not_the_others(team: Team, drivers: list[subprocess.Popen[str]]) -> None:
    slow: Turn = {"sleep": 600, "report": None}
    team.plan((1, 2), script={1: {"executor": [slow, works(1)]}}, more={1: {"timeouts": {"executor": 1}}})
    driver = team.start("--jobs", "2", "--json")
    drivers.append(driver)
    rows = hear(driver, lambda row: row["event"] == "waits", lambda row: row["event"] == "merged")
    (stopped,) = [row for row in rows if row["event"] == "agent-ended" and row["how"] == "timed-out"]
    assert stopped["task"] == slug_of(1)
    assert not is_alive(int(team.sleeps("executor").read_text())), "with all that it started"
    (waits,) = [row for row in rows if row["event"] == "waits"]
    assert 29 < waits["seconds"] <= 30, "a time-out is tried again after a while"
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 130, out
    assert team.failures(1) == ["TIMEOUT"]
    assert team.statuses() == {"1": "FAILED", "2": "APPROVED"}
    assert [row["data"]["how"] for row in team.ledger(1, "agent-worked")] == ["timed-out"]
    assert left_over(team) in ([], [f"refs/phase-gate/{slug_of(1)}"])


def test_ctrl_c_twice_leaves_nothing_running(team: Team, drivers: list[subprocess.Popen[str]]) -> None:
    """Both agents sleep, each with a child that has left its session."""
    spawn = "setsid sh -c 'echo $$ >> ../../children.txt; exec sleep 600' < /dev/null > /dev/null 2>&1 &"
    slow: Turn = {"run": [spawn], "sleep": 600, "report": None}
    team.plan((1, 2), script={number: {"executor": [slow, works(number)]} for number in (1, 2)})
    driver = team.start("--jobs", "2")
    drivers.append(driver)
    children = team.root.parent / "children.txt"
    wait_for(lambda: int(children.exists() and len(children.read_text().split()) == 2))
    driver.send_signal(signal.SIGINT)
    assert driver.stdout is not None
    assert any("Ctrl-C again ends them at once" in line for line in iter(driver.stdout.readline, ""))
    driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 130, out
    pids = [int(pid) for pid in children.read_text().split()]
    assert not any(map(is_alive, [*pids, int(team.sleeps("executor").read_text())]))
    assert not Path(f"{team.root}.worktrees").exists()
    for number in (1, 2):
        assert [row["data"]["failure"]["counts"] for row in team.ledger(number, "attempt-failed")] == [False]
        assert team.desk.gate("audit", "--task", slug_of(number)).code == 0, "nothing is half recorded"


def hear(driver: subprocess.Popen[str], *wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Return the lines of a driver until each that is wanted has come."""
    assert driver.stdout is not None
    rows: list[dict[str, Any]] = []
    for line in iter(driver.stdout.readline, ""):
        rows.append(json.loads(line))
        if all(any(map(each, rows)) for each in wanted):
            return rows
    raise AssertionError(f"it ended: {rows}")


def test_an_interrupt_ends_all_jobs_and_leaves_nothing(team: Team, drivers: list[subprocess.Popen[str]]) -> None:
    team.plan((1, 2), script={1: {"executor": [{"sleep": 600, "report": None}, works(1)]}})
    driver = team.start("--jobs", "2")
    drivers.append(driver)
    mark = team.sleeps("executor")
    pid = wait_for(lambda: int(mark.read_text() or 0) if mark.exists() else 0)
    driver.send_signal(signal.SIGINT)
    driver.send_signal(signal.SIGTERM)
    out, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130, out
    assert not is_alive(pid)
    assert not Path(f"{team.root}.worktrees").exists()
    team.rows("--jobs", "2", code=0)
    assert left_over(team) == []
