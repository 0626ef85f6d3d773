"""Many machines on one shared store: nothing acknowledged is lost, nothing is there twice, no gate opens by it.

The functions take the numbers and a place; the suite calls them with small ones, `python -m tests.stores` with large.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from phase_gate.stores.address import parse_address
from phase_gate.stores.choosing import open_address
from phase_gate.stores.shared import Head, SharedStore
from tests.conftest import ROOT
from tests.storage.stores import assert_intact
from tests.stores.writing import Found, open_task
from tests.support import OURS

#: Long enough that runs which are started together do overlap.
SLOW_TEST = "import time\n\n\ndef test_slow():\n    time.sleep(0.3)\n"


class Place(NamedTuple):
    """Where a store is, as a user's environment says it."""

    store: str
    environment: Mapping[str, str] = {}

    def names(self, folder: Path) -> dict[str, str]:
        """Return the whole environment of a machine."""
        gone = ("PHASE_GATE_", "PYTEST_", "PG")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(gone) and name != "CI"}
        own = {"XDG_STATE_HOME": str(folder / "user-state"), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PHASE_GATE_STORE": self.store, "PYTHONPATH": path}
        return {**kept, **own, **plain, **self.environment}

    def open(self, folder: Path) -> SharedStore:
        """Return the store in this process; its environment has to be set."""
        return open_address(parse_address(self.store), folder, os.environ)


class Machine:
    """A process of a machine that adds to a task."""

    def __init__(self, place: Place, folder: Path, *words: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.stores.writing", str(folder), *words],
            env=place.names(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, *, killed: bool = False) -> list[str]:
        """Wait for its end, and return what it said."""
        out, err = self.process.communicate(timeout=900)
        assert killed or self.process.returncode == 0, out + err
        return out.splitlines()


def start(place: Place, folder: Path, orders: Sequence[Sequence[str]]) -> list[Machine]:
    """Start machines that begin at the same time."""
    machines = [Machine(place, folder / f"machine-{number}", *words) for number, words in enumerate(orders)]
    for each in machines:
        each.wait_until_ready()
    for each in machines:
        each.begin()
    return machines


def found_in(place: Place, folder: Path, said: Sequence[str]) -> Found:
    return Found(place.open(folder).read("default", Head()).rows, said)


def writers_at_once(place: Place, folder: Path, *, writers: int, changes: int) -> str:
    """Machines that read a number and write the next one: not one is lost, or there twice."""
    orders = [("--name", f"w{number}", "--changes", str(changes)) for number in range(writers)]
    machines = start(place, folder, orders)
    began = time.perf_counter()
    said = [line for machine in machines for line in machine.end()]
    seconds = time.perf_counter() - began
    found = found_in(place, folder, said)
    found.check()
    assert len(found.values) == writers * changes == len(found.acknowledged)
    _same_everywhere(place, folder, writers)
    return f"{writers} machines x {changes}: {found}; {len(found.values) / seconds:.0f} changes a second"


def clocks_apart(place: Place, folder: Path, *, changes: int, seconds: float = 3600) -> str:
    """Two machines whose clocks differ by an hour write at once."""
    orders = [("--name", f"c{index}", "--changes", str(changes), f"--clock={index * seconds}") for index in (0, 1)]
    said = [line for machine in start(place, folder, orders) for line in machine.end()]
    found = found_in(place, folder, said)
    found.check()
    assert len(found.values) == 2 * changes
    _same_everywhere(place, folder, 2)
    return f"two clocks {seconds:.0f} s apart: {found}"


def _same_everywhere(place: Place, folder: Path, machines: int) -> None:
    """Every machine's own copy holds, and all are the same."""
    seen = set()
    for number in range(machines):
        store = open_task(folder / f"machine-{number}")
        store.look()
        assert_intact(store)
        seen.add(store.ledger_file.read_bytes())
    assert len(seen) == 1


def runs_at_once(place: Place, folder: Path, *, runs: int) -> str:
    """Real runs of pytest on as many machines, started together, on one task: none is lost, and no gate opens."""
    roots = [make_project(folder / f"machine-{number}") for number in range(runs)]
    words = [sys.executable, "-m", "pytest", *OURS, "-q", "--phase=green"]
    started = [
        subprocess.Popen(
            words, cwd=root, env=place.names(root), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for root in roots
    ]
    for process in started:
        output = process.communicate(timeout=900)[0]
        # 10: the streak is short, for what overlaps another run proves nothing by itself.
        assert process.returncode in (0, 10), output
        assert "1 passed" in output, output
    seen = set()
    for root in roots:
        told = gate(place, root, "history")["runs"]
        assert sorted(run["kind"] for run in told) == ["complete"] * runs
        assert sorted(run["iteration"] for run in told) == list(range(1, runs + 1))
        assert len({run["id"] for run in told}) == runs
        assert gate(place, root, "audit")["intact"] is True
        status = gate(place, root, "status")
        seen.add(json.dumps([[run["id"] for run in told], status["streak"], status["open"]]))
    assert len(seen) == 1, "all machines say the same"
    ends = sorted((run["at"], run["ended_at"]) for run in told)
    overlapping = sum(later[0] < earlier[1] for earlier, later in pairwise(ends))
    assert overlapping, "they were to run at once"
    # What overlaps another run proves nothing: no more than what ran alone counts, and that opens nothing here.
    assert status["streak"] <= runs - overlapping
    assert status["open"] is False
    return (
        f"{runs} runs on {runs} machines, lost 0, doubled 0, falsely opened 0; {overlapping} overlapped,"
        f" streak {status['streak']}"
    )


def make_project(root: Path) -> Path:
    root.mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (root / "test_slow.py").write_text(SLOW_TEST, encoding="utf-8")
    return root


def gate(place: Place, root: Path, *words: str) -> Any:
    """Return what a command answers on a machine."""
    command = [sys.executable, "-m", "phase_gate.cli", *words, "--json"]
    done = subprocess.run(command, cwd=root, env=place.names(root), capture_output=True, text=True, check=False)
    return json.loads(done.stdout)
