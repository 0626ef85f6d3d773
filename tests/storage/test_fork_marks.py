"""Marks of forked children: what is written, what is read, and which of them wait for the next look."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phase_gate.errors import StorageError
from phase_gate.gate.state import Event
from phase_gate.storage.fork_marks import leave_mark, list_marked, read_mark
from phase_gate.storage.process_identity import ProcessIdentity
from tests.storage.stores import begin, declare, facts, open_store

RUN, OTHER = "0123456789abcdef", "fedcba9876543210"


def test_each_test_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "runs" / f"{RUN}.forked"
    assert read_mark(path) == ()
    for test in ("a.py::test_\N{SNOWMAN}[\n]", "b.py::test", "a.py::test_\N{SNOWMAN}[\n]", ""):
        leave_mark(path, test)
    assert read_mark(path) == ("a.py::test_\N{SNOWMAN}[\n]", "b.py::test", "")


@pytest.mark.parametrize("data", [b"", b'{"test": "a.p', b"\xff\n", b"[]\n", b"7\n"])
def test_a_mark_that_can_t_be_read_is_a_mark(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "mark").write_bytes(data)
    assert read_mark(tmp_path / "mark") == ("",)


def test_a_link_in_its_place_is_a_mark_too(tmp_path: Path) -> None:
    (tmp_path / "mark").symlink_to(tmp_path / "nowhere")
    assert read_mark(tmp_path / "mark") == ("",)
    leave_mark(tmp_path / "mark", "a.py::test")
    assert not (tmp_path / "nowhere").exists(), "nothing is written through it"


def test_a_child_that_can_t_write_goes_on(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    leave_mark(tmp_path / "runs" / "mark", "")
    assert read_mark(tmp_path / "runs" / "mark") == ()


def test_only_marks_of_ended_runs_are_listed(tmp_path: Path) -> None:
    assert list_marked(tmp_path / "absent") == []
    for name in (f"{RUN}.forked", f"{OTHER}.forked", f"{RUN}.lock", "notes.forked", f"{RUN}.forked.tmp"):
        (tmp_path / name).touch()
    assert list_marked(tmp_path) == [RUN, OTHER]
    assert list_marked(tmp_path, open_runs=[OTHER]) == [RUN]
    with pytest.raises(StorageError, match="is a file, not a folder"):
        list_marked(tmp_path / f"{RUN}.lock")


def test_a_late_mark_is_seen_at_once_and_recorded_with_the_next_change(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    with store.transaction() as change:
        started = {"run": OTHER, "phase": "RED", "tree": "t", "rules": "r"}
        change.record(Event(kind="run-started", data=started))
    for run in (RUN, OTHER):
        leave_mark(store.fork_mark_file(run), "a.py::test")
    before = store.ledger_file.read_bytes()
    assert [event.data["run"] for event in store.late_marks(store.look())] == [RUN]
    assert store.ledger_file.read_bytes() == before
    with pytest.raises(KeyError), store.transaction():
        raise KeyError
    assert store.fork_mark_file(RUN).exists(), "what was not written is still to be said"
    declare(store, "fact")
    (event,) = (line.event for line in store.lines() if line.event.kind == "run-forked")
    assert event.data == {"run": RUN, "tests": ["a.py::test"]}
    assert facts(store) == ["fact"]
    assert not store.fork_mark_file(RUN).exists()
    assert store.fork_mark_file(OTHER).exists(), "that run is open, and finds its own when it ends"


@pytest.mark.processes
def test_a_child_is_another_process_even_with_the_same_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phase_gate.storage.process_identity.getpid", lambda: 1)
    parent = ProcessIdentity()
    assert parent.is_this()
    child = os.fork()
    if child == 0:
        os._exit(int(parent.is_this()) + 2 * (not ProcessIdentity().is_this()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
