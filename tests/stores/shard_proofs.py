"""Shards of a suite on machines that share a store: real processes, a clone each, and one command that combines them.

The functions take the numbers and a place; the suite calls them with small ones, `python -m tests.stores` with large.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.stores.proofs import Place, gate
from tests.support import OURS

#: Each test takes a moment, so that a shard can be killed in the middle of it.
_SUITE = """\
import time

import pytest


@pytest.mark.parametrize("number", range({tests}))
def test_number(number):
    time.sleep(0.02)
    assert number >= 0
"""

_SPLIT = ("-p", "pytest_split.plugin")


class Shards:
    """The clones of one commit, and what runs in them."""

    def __init__(self, place: Place, folder: Path, total: int, tests: int) -> None:
        self._place, self._folder, self.total, self.tests = place, folder, total, tests
        self._started: list[subprocess.Popen[str]] = []
        self._origin = folder / "project"
        self._origin.mkdir(parents=True)
        (self._origin / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (self._origin / "test_numbers.py").write_text(_SUITE.format(tests=tests), encoding="utf-8")
        (self._origin / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "-m", "the suite")

    def _git(self, *words: str) -> None:
        subprocess.run(["git", "-C", str(self._origin), *words], check=True, capture_output=True)

    def machine(self, name: str) -> Path:
        clone = self._folder / name
        if not clone.exists():
            self._git("clone", "-q", str(self._origin), str(clone))
        return clone

    def start(self, index: int) -> subprocess.Popen[str]:
        split = ("--splits", str(self.total), "--group", str(index))
        words = ("-m", "pytest", *OURS, *_SPLIT, "-q", "--phase=green", f"--phase-shard={index}/{self.total}", *split)
        return self._start(f"machine-{index}", *words)

    def combine(self, name: str, *words: str) -> subprocess.Popen[str]:
        return self._start(name, "-m", "phase_gate.cli", "ci", "combine", *words)

    def _start(self, name: str, *words: str) -> subprocess.Popen[str]:
        machine = self.machine(name)
        home = self._folder / "homes" / name
        home.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=machine,
            env=self._place.names(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._started.append(process)
        return process

    def stop(self) -> None:
        """End what still runs: where one failed, others would wait for it."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def ask(self, name: str, *words: str) -> Any:
        return gate(self._place, self.machine(name), *words)


def end(process: subprocess.Popen[str], *codes: int) -> str:
    output = process.communicate(timeout=900)[0]
    assert process.returncode in codes, f"{process.returncode}: {output}"
    return output


def shards_combined(place: Place, folder: Path, *, shards: int, tests: int, kills: int = 0, rounds: int = 1) -> str:
    """Shards run at once while one command waits for them; those that were killed run again. Each round is one run."""
    machines = Shards(place, folder, shards, tests)
    try:
        for number in range(1, rounds + 1):
            _one_round(machines, number, kills)
    finally:
        machines.stop()
    assert machines.ask("another", "audit")["intact"] is True
    return (
        f"{rounds} rounds of {shards} shards on {shards} machines, {tests} tests: {rounds} runs, lost 0, doubled 0;"
        f" {kills * rounds} shards killed and run again"
    )


def _one_round(machines: Shards, number: int, kills: int) -> None:
    waiting = machines.combine("combining", "--wait", "10m")
    running = {index: machines.start(index) for index in range(1, machines.total + 1)}
    for index in range(1, kills + 1):
        running[index].send_signal(signal.SIGKILL)
        running[index].communicate()
        running[index] = machines.start(index)
    for index, process in running.items():
        assert f"shard {index}/{machines.total} of GREEN" in end(process, 0)
    # Two green runs in a row open the gate, as two of a machine alone do.
    assert f"{machines.tests} tests" in end(waiting, 10 if number == 1 else 0)
    assert "no shard that ran on commit" in end(machines.combine("another"), 11), "what was part of a run is spent"
    told = machines.ask("another", "history")
    assert [run["kind"] for run in told["runs"]] == ["complete"] * number
