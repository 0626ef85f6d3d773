"""A ledger that has grown for years: looking, starting and ending cost what they cost on the first day.

Work is counted, not timed: bytes that are read from the ledger and lines that are parsed.
"""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from phase_gate.cli import main
from phase_gate.gate.codec import state_to_json
from phase_gate.gate.events import apply
from phase_gate.gate.state import Event
from phase_gate.storage import files, ledger, opening
from phase_gate.storage.ledger import canonical, digest, encode_transaction
from phase_gate.storage.store import TaskStore
from tests.support import OURS


class Work(NamedTuple):
    """What was done with the ledger."""

    parsed: int
    read: int


def write_project(root: Path) -> None:
    """A project in GREEN after two real runs."""
    (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (root / "test_ok.py").write_text("def test_ok():\n    assert int('1') == 1\n", encoding="utf-8")
    for _ in range(2):
        assert run_in(root, "--phase=green") in (0, 10)


def run_in(root: Path, *arguments: str) -> int:
    """Run pytest in this process; its output is of no interest."""
    with _in(root), open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        return int(pytest.main([*OURS, "-q", "--import-mode=importlib", *arguments]))


def call_in(root: Path, *arguments: str, out: Path | None = None) -> int:
    """Call the command in this process."""
    with _in(root), open(out or os.devnull, "w", encoding="utf-8") as stream, redirect_stdout(stream):
        return main(list(arguments))


@contextmanager
def _in(root: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(root)
    try:
        yield
    finally:
        os.chdir(before)


def grow(root: Path, *, events: int) -> TaskStore:
    """Repeat the last real run in the ledger until it has that many events, as as many runs would have."""
    store = TaskStore(root / ".phase-gate", task="default")
    opened = store.look()
    if opened.serial >= events:
        return store
    # The last run is near the end, and a list of all lines would be long.
    lines = list(deque(store.lines(), maxlen=20))
    start = max(index for index, line in enumerate(lines) if line.event.kind == "run-started")
    real = [line.event for line in lines[start:]]
    state, head, serial, last = opened.state, opened.head, opened.serial, 0
    with open(store.ledger_file, "ab") as stream:
        while serial < events:
            run = f"{serial:016x}"
            for group in (real[:1], real[1:]):
                renamed = [_rename(event, run) for event in group]
                for event in renamed:
                    state = apply(state, event)
                # The digest of the state is what a transaction ends with; only the last one is looked at.
                is_last = serial + len(real) >= events
                vouched = digest(state_to_json(state)) if is_last else "0" * 64
                raw, line = encode_transaction(renamed, seq=serial + 1, prev=head, state_digest=vouched, key=None)
                last, head, serial = stream.tell() + line.start, line.hash, line.seq
                stream.write(raw)
    # Through the store, so that the checkpoint is the store's own.
    stored = json.loads(store.state_file.read_bytes())
    found = os.stat(store.ledger_file)
    times = {"size": found.st_size, "mtime_ns": found.st_mtime_ns, "ctime_ns": found.st_ctime_ns}
    stored |= {"serial": serial, "head": head, "state": state_to_json(state)}
    stored["ledger"] |= {"last": last, **times}
    store.state_file.write_text(json.dumps(stored), encoding="utf-8")
    return store


def _rename(event: Event, run: str) -> Event:
    data = json.loads(canonical(event.data))
    if "run" in data:
        data["run"] = run
    if "evaluation" in data:
        data["evaluation"]["run"] = run
    return Event(kind=event.kind, data=data, at=event.at)


@contextmanager
def counted(root: Path) -> Iterator[Callable[[], Work]]:
    """Count lines that are parsed and bytes that are read from the ledger."""
    parsed, read = 0, 0
    parse, open_file, read_bytes = ledger.parse_line, files.open_file, files.read_bytes

    def count_parse(raw: bytes, **named: Any) -> ledger.Line:
        nonlocal parsed
        parsed += 1
        return parse(raw, **named)

    class Counting:
        """A stream that tells how much of it was taken."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __enter__(self) -> Counting:
            return self

        def __exit__(self, *_: object) -> None:
            self._stream.close()

        def __iter__(self) -> Iterator[bytes]:
            while row := self.readline():
                yield row

        def readline(self, limit: int = -1) -> bytes:
            nonlocal read
            row: bytes = self._stream.readline(limit)
            read += len(row)
            return row

    def count_read(path: Path, *given: Any, **named: Any) -> bytes | None:
        nonlocal read
        data = read_bytes(path, *given, **named)
        if path.name == "ledger.jsonl":
            read += len(data or b"")
        return data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "parse_line", count_parse)
        patch.setattr(opening, "parse_line", count_parse)
        patch.setattr(opening, "open_file", lambda *given: Counting(stream) if (stream := open_file(*given)) else None)
        patch.setattr(opening, "read_bytes", count_read)
        yield lambda: Work(parsed, read)


def works(root: Path) -> dict[str, Work]:
    """Return what each everyday step does with the ledger."""
    steps: dict[str, Callable[[], int]] = {
        "status": lambda: call_in(root, "status"),
        "check": lambda: call_in(root, "check"),
        "a run": lambda: run_in(root, "--phase=green"),
    }
    found = {}
    for name, step in steps.items():
        with counted(root) as so_far:
            assert step() in (0, 10), name
            found[name] = so_far()
    return found


def peak_of(root: Path, *arguments: str) -> int:
    """Return how much memory a command took at most, in bytes."""
    assert call_in(root, *arguments) == 0  # whatever is imported is imported by now
    tracemalloc.start()
    try:
        assert call_in(root, *arguments) == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def seconds_of(root: Path, *arguments: str) -> float:
    """Return how many seconds of this process a command took: those of others are not its fault."""
    began = time.process_time()
    assert call_in(root, *arguments) == 0
    return time.process_time() - began


STREAMING = (
    ("history",),
    ("history", "--json"),
    ("history", "--events"),
    ("history", "--events", "--json"),
    ("audit",),
)


def a_long_life_costs_nothing(root: Path, *, events: int) -> str:
    """Compare a task with few events and one with many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CI", "1")  # no memory of folders that only live here
        patch.delenv("PHASE_GATE_RUN", raising=False)
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        write_project(root)
        young = works(root)
        peaks = {words: peak_of(root, *words) for words in STREAMING}
        # Long enough: were the rows held, these would take many times what is allowed.
        grow(root, events=min(events, 10_000))
        told = []
        for words, peak in peaks.items():
            now = peak_of(root, *words)
            assert now <= peak + 1_500_000, (words, peak, now)
            told.append(f"{' '.join(words)} {now / peak:.2f} x")
        store = grow(root, events=events)
        size = store.ledger_file.stat().st_size
        old = works(root)
        for name, work in old.items():
            assert work.parsed == young[name].parsed, (name, work, young[name])
            # Only the numbers in a line have grown longer.
            assert work.read <= young[name].read + 1_000, (name, work, young[name])
        spent = {words: seconds_of(root, *words) for words in STREAMING}
    parsed = ", ".join(f"{name} {work.parsed} lines of {work.read} bytes" for name, work in old.items())
    times = ", ".join(f"{' '.join(words)} {seconds:.1f} s" for words, seconds in spent.items())
    return f"{events} events, {size >> 20} MiB: {parsed}; {times}; memory beside a short ledger's: {', '.join(told)}"
