"""A task on disk: what a transaction writes, what opening trusts, and what it refuses without touching it."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.errors import StateError, TamperedError
from phase_gate.gate import brief
from phase_gate.gate.state import SCHEMA, WORK, state_to_json
from phase_gate.storage import opening
from phase_gate.storage.ledger import canonical, digest
from phase_gate.storage.opening import Opened, Place
from phase_gate.storage.store import TaskStore
from tests.conftest import ROOT
from tests.storage.stores import (
    assert_refused,
    begin,
    contents,
    declare,
    edit_json,
    fact,
    facts,
    lines_of,
    open_store,
)


@pytest.fixture
def store(tmp_path: Path) -> TaskStore:
    """A task with four transactions: six lines."""
    return declare(begin(open_store(tmp_path / "state")), "one", "two", "three")


def stored(store: TaskStore) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(store.state_file.read_bytes())
    return document


# --- writing


def test_nothing_is_there_before_the_first_write(tmp_path: Path) -> None:
    opened = open_store(tmp_path / "state").read()
    assert (opened.exists, opened.serial, opened.state.phase) == (False, 0, None)
    assert os.listdir(tmp_path) == []


def test_a_transaction_writes_events_and_state(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    assert [line.event.kind for line in store.lines()] == ["created", "cycle-began", "phase-entered"]
    opened = store.read()
    assert (opened.serial, opened.state.phase, opened.state.cycle) == (3, "RED", 1)
    assert stored(store) == opened.shown()
    assert json.loads(store.checkpoint_file.read_bytes())["state"] == state_to_json(opened.state)


def test_every_key_of_the_state_is_on_its_page() -> None:
    page = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)`", page.partition("\n## state.json")[2].partition("\n## ")[0]))
    shows = (Opened.shown, brief.show_state, brief._show_last_run, brief._show_verdict)
    keys = {key for show in shows for key in re.findall(r'"(\w+)"(?:: |\] =)', inspect.getsource(show))}
    assert {"schema", "phase", "circuit", "why", "unmet"} <= keys, "they are found in the code"
    assert {*keys, WORK} - told == set()


def test_the_ignore_file_of_all_tasks_comes_before_anything_else(tmp_path: Path) -> None:
    store = TaskStore(Place(tmp_path / "state" / "tasks" / "one", "one", state_folder=tmp_path / "state"))
    with store.transaction():
        assert (tmp_path / "state" / ".gitignore").exists()
    begin(store)
    assert not (store.folder / ".gitignore").exists()


@pytest.mark.parametrize("exists", [False, True], ids=["no-task-yet", "a-task"])
def test_an_exception_writes_nothing(tmp_path: Path, exists: bool) -> None:
    store = open_store(tmp_path / "state")
    if exists:
        begin(store)
    before = contents(tmp_path)

    def record_and_fail() -> None:
        with store.transaction() as change:
            change.record(fact("lost"))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        record_and_fail()
    assert contents(tmp_path) == before
    assert store.read().exists is exists


def test_looking_writes_nothing(store: TaskStore) -> None:
    before = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")}
    store.read()
    list(store.lines())
    assert {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")} == before


# --- opening: state.json lags, or is gone


@pytest.mark.parametrize("behind", [0, 1, 3], ids=["gone", "one-behind", "three-behind"])
def test_a_state_that_lags_is_made_up_for_by_replay(tmp_path: Path, behind: int) -> None:
    store = begin(open_store(tmp_path / "state"))
    declare(store, *(["old"] if behind else []))
    kept = store.state_file.read_bytes()
    declare(store, *[f"new-{number}" for number in range(behind)])
    expected = store.read().state
    store.state_file.unlink()
    if behind:
        store.state_file.write_bytes(kept)
    assert store.read().state == expected
    declare(store, "next")
    assert stored(store) == store.read().shown()
    assert facts(store)[-1] == "next"


# --- opening: the end is unfinished


GARBAGE = b"\0" * 64 + b'garbage"}\n{"more":\n'


def unfinished_transaction(store: TaskStore) -> bytes:
    """Return the bytes of a transaction of three lines, without the last of them."""
    size = store.ledger_file.stat().st_size
    saved = contents(store.folder)
    with store.transaction() as change:
        change.record(fact("x"), fact("y"), fact("z"))
    written = store.ledger_file.read_bytes()[size:]
    for name in ("ledger.jsonl", "state.json"):
        (store.folder / name).write_bytes(saved[name])
    return b"".join(written.splitlines(keepends=True)[:2])


TAILS: dict[str, Callable[[TaskStore], bytes]] = {
    "a-torn-line": lambda store: lines_of(store)[-1][:40],
    "two-lines-of-a-transaction-of-three": unfinished_transaction,
    "a-line-and-a-torn-one": lambda store: unfinished_transaction(store)[:-7],
    "zeros-as-a-crashed-disk-leaves-them": lambda store: b"\0" * 512,
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
@pytest.mark.parametrize("state", ["state-is-there", "state-is-gone"])
def test_an_unfinished_end_is_cut_off_and_kept_aside(store: TaskStore, tail: Callable[..., bytes], state: str) -> None:
    good, end = store.ledger_file.read_bytes(), tail(store)
    store.ledger_file.write_bytes(good + end)
    if state == "state-is-gone":
        store.state_file.unlink()
    opened = store.read()
    assert (opened.serial, opened.unfinished) == (6, end)
    assert store.ledger_file.read_bytes() == good + end, "looking changes nothing"
    declare(store, "four")
    assert facts(store) == ["one", "two", "three", "four"]
    assert (store.folder / "ledger.unfinished-6").read_bytes() == end
    assert store.ledger_file.read_bytes().startswith(good)
    assert [line.seq for line in store.lines()] == [1, 2, 3, 4, 5, 6, 7]


def test_a_first_transaction_that_never_ended_is_no_task(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    end = b"".join(lines_of(store)[:2])
    store.ledger_file.write_bytes(end)
    store.state_file.unlink()
    assert not store.read().exists
    begin(store)
    assert [line.seq for line in store.lines()] == [1, 2, 3]
    assert (store.folder / "ledger.unfinished-0").read_bytes() == end


def test_garbage_at_the_beginning_of_a_longer_ledger_is_damage(store: TaskStore) -> None:
    store.state_file.unlink()
    store.ledger_file.write_bytes(b"".join([GARBAGE, *lines_of(store)[1:]]))
    assert_refused(store, TamperedError, "ledger.jsonl:1: ")


# --- opening: cost


def test_opening_reads_one_line_of_the_ledger_however_long_it_is(
    store: TaskStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "read_chain", lambda *_, **__: pytest.fail("every line is read"))
    assert store.read().serial == 6


# --- opening: tampering

DIFFERS = "state.json does not match the ledger, which ends at line "

Edit = Callable[[dict[str, Any]], object]

#: Edits of what people see.
STATE_EDITS: dict[str, Edit] = {
    "the-phase": lambda stored: stored.update(phase="GREEN"),
    "the-lineage": lambda stored: stored.update(lineage="0" * 32),
    "the-head": lambda stored: stored.update(head="f" * 64),
    "the-serial-lowered": lambda stored: stored.update(serial=5),
    "the-serial-raised": lambda stored: stored.update(serial=7),
    "the-schema-of-another-type": lambda stored: stored.update(schema="1"),
    "no-head": lambda stored: stored.pop("head"),
}

#: Edits of the checkpoint, which only saves time.
CHECKPOINT_EDITS: dict[str, Edit] = {
    "the-phase": lambda stored: stored["state"].update(phase="GREEN"),
    "a-field-of-another-type": lambda stored: stored["state"].update(facts=3),
    "the-state-of-another-type": lambda stored: stored.update(state=[]),
    "another-schema": lambda stored: stored.update(schema=SCHEMA - 1),
    "a-place-in-the-middle": lambda stored: stored.update(last=3),
    "other-times": lambda stored: stored["stat"].update(mtime_ns=1),
}


@pytest.mark.parametrize("way", ["by-checkpoint", "by-replay"])
@pytest.mark.parametrize("edit", STATE_EDITS.values(), ids=STATE_EDITS)
def test_a_state_edited_by_hand_is_refused(store: TaskStore, edit: Edit, way: str) -> None:
    edit_json(store.state_file, edit)
    if way == "by-replay":
        os.utime(store.ledger_file, ns=(1, 1))
    assert_refused(store, TamperedError, f"{DIFFERS}6")


@pytest.mark.parametrize("edit", CHECKPOINT_EDITS.values(), ids=CHECKPOINT_EDITS)
def test_a_damaged_checkpoint_changes_nothing(store: TaskStore, edit: Edit) -> None:
    state = store.read().state
    edit_json(store.checkpoint_file, edit)
    assert store.read().state == state
    assert facts(declare(store, "four")) == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\xff\xfe", id="binary"),
        pytest.param(b"[" * 10_000_000, id="10-mb-of-brackets"),
    ],
)
def test_a_state_that_is_none_is_refused(store: TaskStore, content: bytes) -> None:
    store.state_file.write_bytes(content)
    assert_refused(store, TamperedError, "state.json is damaged")


def forged_line(lines: list[bytes], kind: str) -> bytes:
    """Return a line that follows, with a hash that is right, and says nothing that an event has to say."""
    last = json.loads(lines[-1])
    body = {"seq": last["seq"] + 1, "at": "", "kind": kind, "data": {}, "prev": last["hash"], "state": "?"}
    return canonical({**body, "hash": digest(body)}) + b"\n"


LEDGER_EDITS: dict[str, tuple[str, Callable[[list[bytes]], list[bytes]]]] = {
    "the-last-line-removed": (f"{DIFFERS}5", lambda lines: lines[:-1]),
    "an-event-appended-that-nobody-writes": (
        "ledger.jsonl:7: malformed phase-entered event",
        lambda lines: [*lines, forged_line(lines, "phase-entered")],
    ),
    "the-end-of-the-last-line-removed": (
        f"{DIFFERS}5",
        lambda lines: [*lines[:-1], lines[-1][:-1]],
    ),
}


@pytest.mark.parametrize(("problem", "edit"), LEDGER_EDITS.values(), ids=LEDGER_EDITS)
def test_a_ledger_edited_by_hand_is_refused(
    store: TaskStore, problem: str, edit: Callable[[list[bytes]], list[bytes]]
) -> None:
    store.ledger_file.write_bytes(b"".join(edit(lines_of(store))))
    assert_refused(store, TamperedError, problem)


# --- opening: other versions


@pytest.mark.parametrize("schema", [SCHEMA + 1, SCHEMA - 1], ids=["newer", "older"])
def test_a_state_of_another_version_is_refused_and_untouched(store: TaskStore, schema: int) -> None:
    edit_json(store.state_file, lambda stored: stored.update(schema=schema, field="of another day"))
    assert_refused(store, StateError, f"state.json has schema {schema}, but this version supports {SCHEMA}")
