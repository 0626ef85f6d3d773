"""Many processes that change one small record, by several ways side by side: `python -m bench.contention`.

Every way locks, reads a number, adds one and writes it so that it is on the disk. Times are given as ratios to a
hand-written `flock` loop that ran in the same round; starting the processes is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

BASE = "flock loop"
#: The name of the fact that our way counts in.
COUNTED = "updates"

Update = Callable[[], None]


class Hammered(NamedTuple):
    """How one way did."""

    seconds: float
    slowest: float
    #: What stands in the record at the end.
    total: int
    errors: list[str]


def _ours(folder: Path) -> Update:
    from phase_gate.gate.state import Event
    from phase_gate.storage.store import TaskStore

    store = TaskStore(folder / "state", task="default", command="contention")

    def update() -> None:
        with store.transaction() as change:
            value = next((fact.value for fact in change.state.facts), 0)
            assert isinstance(value, int)
            data = {"name": COUNTED, "value": value + 1, "reason": "one more", "by": f"pid {os.getpid()}"}
            change.record(Event(kind="fact-declared", data=data))

    return update


def _flock(folder: Path) -> Update:
    import fcntl

    record = folder / "record.json"

    def update() -> None:
        with open(folder / "record.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            value = json.loads(record.read_text()) if record.exists() else 0
            draft = folder / f"record.{os.getpid()}"
            with open(draft, "w") as stream:
                stream.write(json.dumps(value + 1))
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(draft, record)
            descriptor = os.open(folder, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

    return update


def _sqlite(journal: str) -> Callable[[Path], Update]:
    def connect(folder: Path) -> Update:
        import sqlite3

        base = sqlite3.connect(folder / "record.db", timeout=60, isolation_level=None)
        base.execute(f"PRAGMA journal_mode={journal}")
        base.execute("PRAGMA synchronous=FULL")
        base.execute("CREATE TABLE IF NOT EXISTS record (value INTEGER)")

        def update() -> None:
            base.execute("BEGIN IMMEDIATE")
            row = base.execute("SELECT value FROM record").fetchone()
            if row is None:
                base.execute("INSERT INTO record VALUES (1)")
            else:
                base.execute("UPDATE record SET value = ?", (row[0] + 1,))
            base.execute("COMMIT")

        return update

    return connect


WAYS: dict[str, Callable[[Path], Update]] = {
    BASE: _flock,
    "phase-gate": _ours,
    "SQLite, WAL": _sqlite("WAL"),
    "SQLite, journal": _sqlite("DELETE"),
}


def read_total(way: str, folder: Path) -> int:
    """Return the number that the updates have made."""
    if way == "phase-gate":
        from phase_gate.storage.store import TaskStore

        facts = TaskStore(folder / "state", task="default").look().state.facts
        return next((fact.value for fact in facts if isinstance(fact.value, int)), 0)
    if way == BASE:
        return int((folder / "record.json").read_text())
    import sqlite3

    with closing(sqlite3.connect(folder / "record.db")) as base:
        return int(base.execute("SELECT value FROM record").fetchone()[0])


def hammer(way: str, folder: Path, *, processes: int, updates: int) -> Hammered:
    """Let that many processes make that many updates each, all at once."""
    # In a process of its own, which has one thread: only such a one forks safely.
    words = [sys.executable, "-m", "bench.contention", "--child", way, str(folder), str(processes), str(updates)]
    root = Path(__file__).parents[1]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return Hammered(**found, total=read_total(way, folder))


def _child(way: str, folder: Path, processes: int, updates: int) -> None:
    WAYS[way](folder)()  # imports what is needed, and makes the record
    gate, starter = os.pipe()
    answers, answer = os.pipe()
    for _ in range(processes):
        if os.fork() == 0:
            os.close(starter)
            report = _hammer_alone(WAYS[way](folder), gate, updates)
            os.write(answer, (json.dumps(report) + "\n").encode())
            os._exit(0)
    os.close(answer)
    time.sleep(0.1)  # until all of them wait
    began = time.perf_counter()
    os.close(starter)
    with open(answers) as stream:
        reports = [json.loads(row) for row in stream]
    seconds = time.perf_counter() - began
    for _ in range(processes):
        os.wait()
    errors = [error for report in reports for error in report["errors"]]
    if len(reports) != processes:
        errors.append(f"{processes - len(reports)} processes died")
    print(json.dumps({"seconds": seconds, "slowest": max(each["slowest"] for each in reports), "errors": errors}))


def _hammer_alone(update: Update, gate: int, updates: int) -> dict[str, Any]:
    os.read(gate, 1)
    slowest, errors = 0.0, []
    for _ in range(updates):
        began = time.perf_counter()
        try:
            update()
        except Exception as error:  # told to whoever started it
            errors.append(f"{type(error).__name__}: {error}"[:300])
        slowest = max(slowest, time.perf_counter() - began)
    return {"slowest": slowest, "errors": errors[:3]}


def compare(*, processes: int, updates: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return for each way its time and its slowest update, beside the flock loop's time of the same round."""
    found: dict[str, list[Hammered]] = {way: [] for way in WAYS}
    names = list(WAYS)
    for number in range(rounds):
        shift = number % len(names)
        for way in names[shift:] + names[:shift]:
            with tempfile.TemporaryDirectory(prefix="phase-gate-contention-") as folder:
                result = hammer(way, Path(folder), processes=processes, updates=updates)
            assert not result.errors, (way, result.errors)
            assert result.total == processes * updates + 1, (way, result.total)
            found[way].append(result)
    base = found[BASE]
    return {
        way: {
            "time": statistics.median(one.seconds / two.seconds for one, two in zip(row, base, strict=True)),
            "slowest update": statistics.median(one.slowest / two.seconds for one, two in zip(row, base, strict=True)),
            "ms an update": statistics.median(one.seconds / (processes * updates) * 1000 for one in row),
        }
        for way, row in found.items()
    }


def render(found: dict[str, dict[str, float]], title: str) -> str:
    columns = list(next(iter(found.values())))
    rows = [f"| {title} | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    rows += [f"| {way} | {' | '.join(f'{row[name]:.2f}' for name in columns)} |" for way, row in found.items()]
    return "\n".join(rows)


def main(given: list[str] | None = None) -> int:
    given = sys.argv[1:] if given is None else given
    if given[:1] == ["--child"]:
        way, folder, processes, updates = given[1:]
        _child(way, Path(folder), int(processes), int(updates))
        return 0
    parser = argparse.ArgumentParser(prog="python -m bench.contention", description=__doc__)
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the values there, as JSON")
    arguments = parser.parse_args(given)
    found = compare(processes=arguments.processes, updates=arguments.updates, rounds=arguments.rounds)
    print(render(found, f"{arguments.processes} processes x {arguments.updates} updates: beside a {BASE}"))
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
