"""Many writers at once: nothing is lost, nobody waits for ever, and whoever gives up knows whom they waited for.

The functions take the numbers; the suite calls them with small ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.contention import hammer
from phase_gate.gate.codec import state_to_json
from phase_gate.gate.events import apply
from phase_gate.gate.state import NEW_STATE
from phase_gate.storage.store import TaskStore
from phase_gate.workflow.settings import DEFAULT_LOCK_TIMEOUT
from tests.support import OURS

#: Long enough that runs which are started together do overlap.
SLOW_TEST = "import time\n\n\ndef test_slow():\n    time.sleep(0.3)\n"

#: Waits until it is told to let go.
HOLD = """\
import sys
from pathlib import Path
from phase_gate.storage.lock import hold_lock
with hold_lock(Path(sys.argv[1]), command="the long one"):
    print("held", flush=True)
    sys.stdin.readline()
"""
#: Tries once, and says how long that took.
WAIT = """\
import sys, time
from pathlib import Path
from phase_gate.errors import LockTimeoutError
from phase_gate.storage.lock import hold_lock
began = time.perf_counter()
try:
    with hold_lock(Path(sys.argv[1]), timeout=float(sys.argv[2])):
        said = "got it"
except LockTimeoutError as error:
    said = str(error)
print(f"{time.perf_counter() - began:.3f} {said}")
"""


def assert_intact(store: TaskStore) -> int:
    """The chain holds, and the state is what its events give; returns how many events there are."""
    state, number = NEW_STATE, 0
    for line in store.lines():
        state, number = apply(state, line.event), line.seq
    opened = store.look()
    assert (opened.serial, opened.state_lags, opened.unfinished) == (number, False, b"")
    assert json.loads(store.state_file.read_bytes())["state"] == state_to_json(state)
    leftovers = [path.name for path in store.folder.rglob("*") if path.suffix in (".tmp", ".holder")]
    assert leftovers == []
    return number


def updates_at_once(folder: Path, *, processes: int, updates: int) -> str:
    """Processes that read a number and write the next one: not one is lost."""
    result = hammer("phase-gate", folder, processes=processes, updates=updates)
    assert not result.errors, result.errors
    # Every update read what the one before it wrote; one more made the task.
    assert result.total == processes * updates + 1
    store = TaskStore(folder / "state", task="default")
    events = assert_intact(store)
    assert events == processes * updates + 2
    values = [line.event.data["value"] for line in store.lines() if line.event.kind == "fact-declared"]
    assert values == list(range(1, processes * updates + 2))
    writers = {line.event.data["by"] for line in store.lines() if line.event.kind == "fact-declared"}
    assert len(writers) >= processes
    assert result.slowest < DEFAULT_LOCK_TIMEOUT
    return f"{processes * updates} updates by {processes} processes, none lost; slowest {result.slowest:.2f} s"


def runs_at_once(root: Path, *, runs: int, tasks: int) -> str:
    """Real runs of pytest, started together, on one task or on a task each: none is lost."""
    (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (root / "test_slow.py").write_text(SLOW_TEST, encoding="utf-8")
    words = [sys.executable, "-m", "pytest", *OURS, "-q", "--phase=green"]
    started = [
        subprocess.Popen(
            [*words, f"--phase-task=task{number % tasks}"],
            cwd=root,
            env=_environment(root),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(runs)
    ]
    ended = [(process.communicate(timeout=300)[0], process.returncode) for process in started]
    for output, code in ended:
        # 10: the streak is short, for nobody else's run counts for this one.
        assert code in (0, 10), output
        assert "1 passed" in output, output
    overlapping = 0
    for number in range(tasks):
        task = f"task{number}"
        told = _gate(root, "history", task)["runs"]
        assert [run["kind"] for run in told] == ["complete"] * (runs // tasks)
        assert sorted(run["iteration"] for run in told) == list(range(1, runs // tasks + 1))
        assert len({run["id"] for run in told}) == runs // tasks
        assert _gate(root, "audit", task)["intact"] is True
        store = TaskStore(root / ".phase-gate" / "tasks" / task, task=task)
        assert_intact(store)
        state = store.look().state
        assert state.open_runs == ()
        assert list((store.folder / "runs").iterdir()) == []
        ends = sorted((run["at"], run["ended_at"]) for run in told)
        overlapping += sum(later[0] < earlier[1] for earlier, later in pairwise(ends))
        # Whatever overlaps proves nothing by itself, so the streak is at most what ran alone.
        assert state.streak.count <= runs // tasks - (overlapping > 0)
    assert tasks > 1 or overlapping, "they were to run at once"
    return f"{runs} runs at once on {tasks} task(s), none lost; {overlapping} overlapped on their task"


def waiting_is_bounded(folder: Path, *, waiters: int, timeout: float = 0.5) -> str:
    """Whoever waits in vain gives up in time and names the holder; after that the lock is as good as before."""
    path = folder / "state.json.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    answers = _wait(path, waiters, timeout)
    for seconds, said in answers:
        assert f"held by pid {holder.pid} on " in said, said
        assert "(the long one)" in said, said
        assert "try: wait for that run to end" in said, said
        assert timeout <= seconds < timeout + 5, said
    holder.communicate("\n", timeout=120)
    assert [said for _, said in _wait(path, waiters, 10.0)] == ["got it"] * waiters
    longest = max(seconds for seconds, _ in answers)
    return f"{waiters} waiters gave up after {longest:.2f} s at most ({timeout} s was allowed); then all got it"


def _wait(path: Path, waiters: int, timeout: float) -> list[tuple[float, str]]:
    processes = [
        subprocess.Popen([sys.executable, "-c", WAIT, str(path), str(timeout)], stdout=subprocess.PIPE, text=True)
        for _ in range(waiters)
    ]
    found = []
    for process in processes:
        seconds, _, said = process.communicate(timeout=120)[0].partition(" ")
        found.append((float(seconds), said.strip()))
    return found


def _gate(root: Path, command: str, task: str) -> Any:
    words = [sys.executable, "-m", "phase_gate.cli", command, "--task", task, "--json"]
    done = subprocess.run(words, cwd=root, env=_environment(root), capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def _environment(root: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("PHASE_GATE_", "PYTEST_"))}
    kept.pop("CI", None)
    user = {"XDG_STATE_HOME": str(root.parent / "user-state"), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **user, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
