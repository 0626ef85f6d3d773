"""What a task costs that has a long history: a run, the state folder, a report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bench.installed import count, run, usage
from bench.kit import ACTIVE, Kit, Row, commit, millions, warm_up
from bench.varied import count_runs, take_steps, write_project

#: Runs that came before.
_RUNS = 10_000
#: Records the last run so many times more, without waiting for the disk.
_AGE = """\
import os, sys
from pathlib import Path
from phase_gate.project import Project
from phase_gate.storage.files import FileSystem
from phase_gate.values import replace

FileSystem.fsync = FileSystem.fsync_folder = lambda self, place: None
store = Project.find(Path.cwd(), environment=dict(os.environ)).store("bench")
events = [line.event for line in store.lines()]
first = max(number for number, event in enumerate(events) if event.kind == "run-started")
for number in range(int(sys.argv[1])):
    for part in (events[first : first + 1], events[first + 1 :]):
        with store.transaction() as change:
            for event in part:
                known = {"run": f"{number:016x}"} if "run" in event.data else {}
                change.record(replace(event, data={**event.data, **known}, at=""))
"""
#: Calls of pytest after a change each.
_STEPS = 60


def growth(kit: Kit) -> Iterable[Row]:
    """What a run, and a report, cost after very many runs."""
    folder, command = kit.suite(20, "old"), kit.command("ours", *ACTIVE)
    python = kit.environments.python("ours")
    warm_up(command, folder)
    young = count(command, folder)
    run([python, "-c", _AGE, str(_RUNS)], folder)
    warm_up(command, folder)
    old = count(command, folder)
    yield Row(f"a run after {_RUNS:,} others", millions(young), "", f"{old / young:.3f}", "1.01", old / young <= 1.01)
    gate = str(Path(python).with_name("phase-gate"))
    page = folder / "out.html"
    used = usage([gate, "report", "-o", str(page)], folder)
    shown = f"{used.seconds:.1f} s, {used.memory:.0f} MiB, a page of {page.stat().st_size / 1024:,.0f} KB"
    yield Row(f"`report` over {_RUNS:,} runs, processor time", "", "", shown, "")


def varied(kit: Kit) -> Iterable[Row]:
    """What runs leave that are not alike: of several phases, failing and passing, on changing tests and sources."""
    folder, python = kit.place("varied"), kit.environments.python("ours")
    write_project(folder)
    commit(folder)
    take_steps(python, folder, _STEPS)
    state, runs = folder / ".phase-gate", count_runs(python, folder)
    lines = _size_of(state / "ledger.jsonl") / runs
    yield Row("ledger of a run, varied runs", "", "", f"{lines:,.0f} bytes", "")
    objects = _size_of(state / "objects") / runs
    yield Row("stored objects of a run, until they are old", "", "", f"{objects:,.0f} bytes", "")


def _size_of(place: Path) -> int:
    files = place.rglob("*") if place.is_dir() else (place,)
    return sum(path.stat().st_size for path in files if path.is_file())
