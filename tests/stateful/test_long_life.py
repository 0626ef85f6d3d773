"""A ledger that has grown for years is read line by line: commands that show none of it need no more memory."""

from __future__ import annotations

import os
import tracemalloc
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from phase_gate.cli import main
from phase_gate.gate.state import Event
from phase_gate.storage.store import TaskStore
from tests.storage.stores import begin

#: Bytes. The rows of the longer ledger, all held at once, take several times as much.
_MORE = 1_000_000


@pytest.mark.sweep
@pytest.mark.parametrize("words", ["audit", "check"])
def test_a_long_ledger_needs_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "1")  # the user's memory of this folder is not what is measured
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    store = begin(TaskStore(tmp_path / ".phase-gate", task="default"))
    peaks = []
    for runs in (range(20), range(20, 1_500)):
        for number in runs:
            _record_run(store, f"{number:016x}")
        _peak(words)  # everything is imported after this
        peaks.append(_peak(words))
    assert peaks[1] <= peaks[0] + _MORE, peaks


def _record_run(store: TaskStore, run: str) -> None:
    name = store.objects.keep({})
    given = {"arguments": list[str](), "python": "3", "pytest": "9"}
    started = {"run": run, "phase": "RED", "tree": "t", "rules": None, **given}
    ended = {"run": run, "kind": "complete", "green": "green", "tree": "t", "iteration": 1, "metrics": {"a": 1}}
    told = {
        "findings": list[str](),
        "notes": list[str](),
        "why": "",
        "exit_status": 0,
        "tally": {"passed": 1},
        "duration_s": 0.1,
    }
    kept = {"inventory": name, "outcomes": name, "known": name}
    with store.transaction() as change:
        change.record(Event(kind="run-started", data=started), Event(kind="run-ended", data=ended | told | kept))


def _peak(words: str) -> int:
    tracemalloc.start()
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            assert main(words.split()) == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
