"""Repair: a copy is kept, the last good transaction stays, and nothing that was damaged counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, StorageError
from phase_gate.gate.state import SCHEMA
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore
from tests.storage.stores import begin, contents, declare, edit_json, facts, lines_of, open_store, pass_once


@pytest.fixture
def store(tmp_path: Path) -> TaskStore:
    """Three lines of beginning, two of a green run, one fact."""
    return declare(pass_once(begin(open_store(tmp_path / "state")), "first"), "one")


Damage = Callable[[TaskStore], object]

DAMAGES: dict[str, tuple[int, Damage]] = {
    "the-state-edited": (
        6,
        lambda store: edit_json(store.state_file, lambda doc: doc.update(streak=9)),
    ),
    "the-state-unreadable": (6, lambda store: store.state_file.write_bytes(b"\xff")),
    "the-last-line-changed": (5, lambda store: rewrite(store, lambda lines: [*lines[:5], b"{}\n"])),
    "a-line-in-a-transaction-changed": (0, lambda store: rewrite(store, lambda lines: [lines[0], b"{}\n", *lines[2:]])),
    "a-line-removed": (3, lambda store: rewrite(store, lambda lines: [*lines[:3], *lines[4:]])),
    "the-end-removed": (4, lambda store: rewrite(store, lambda lines: lines[:4])),
    "the-ledger-emptied": (0, lambda store: store.ledger_file.write_bytes(b"")),
    "the-ledger-binary": (0, lambda store: store.ledger_file.write_bytes(b"\x00\xff\n")),
    "the-ledger-gone": (0, lambda store: store.ledger_file.unlink()),
}


def rewrite(store: TaskStore, change: Callable[[list[bytes]], list[bytes]]) -> None:
    store.ledger_file.write_bytes(b"".join(change(lines_of(store))))


@pytest.mark.parametrize(("kept", "damage"), DAMAGES.values(), ids=DAMAGES)
def test_it_goes_on_from_the_last_good_transaction(store: TaskStore, kept: int, damage: Damage) -> None:
    good = lines_of(store)[:kept]
    assert store.read().state.streak == 1
    damage(store)
    damaged = contents(store.folder)
    done = repair(store)
    dropped = len(damaged.get("ledger.jsonl", b"")) - len(b"".join(good))
    assert done[:2] == (kept, dropped)
    assert done[2].read_bytes() == damaged.get("ledger.jsonl", b"")
    assert (store.folder / "state.damaged-1").read_bytes() == damaged["state.json"]
    assert lines_of(store)[:kept] == good
    *_, last = store.lines()
    assert last.event.kind == "repaired"
    assert last.event.data == {"kept_lines": kept, "dropped_bytes": dropped, "copy": "ledger.damaged-1"}
    state = store.read().state
    assert (state.streak, state.measurement, state.exited) == (0, None, False), "it starts anew"
    assert facts(declare(store, "new"))[-1] == "new"


def test_a_transaction_without_its_evidence_is_not_a_good_one(store: TaskStore) -> None:
    (store.folder / "objects" / f"{store.read().state.known_tests}.z").unlink()
    again = open_store(store.folder)
    done = repair(again)
    assert done[0] == 4, "the run's end named it"
    assert facts(declare(again, "new")) == ["new"]
    again.check_objects(again.read().state)


def other_schema(store: TaskStore) -> None:
    edit_json(store.state_file, lambda doc: doc.update(schema=SCHEMA + 1))


def state_is_a_folder(store: TaskStore) -> None:
    store.state_file.unlink()
    store.state_file.mkdir()


REFUSED: dict[str, tuple[type[PhaseGateError], Damage]] = {
    "nothing-is-damaged": (NotAllowedError, lambda store: None),
    "only-unfinished": (NotAllowedError, lambda store: rewrite(store, lambda lines: [*lines, b"torn"])),
    "of-another-version": (StateError, other_schema),
    "a-folder-instead-of-a-file": (StorageError, state_is_a_folder),
}


@pytest.mark.parametrize(("error", "damage"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_damaged_is_not_repaired(store: TaskStore, error: type[PhaseGateError], damage: Damage) -> None:
    damage(store)
    before = contents(store.folder)
    with pytest.raises(error):
        repair(store)
    assert contents(store.folder) == before


def test_a_damaged_object_is_put_aside_so_that_it_can_be_stored_again(store: TaskStore) -> None:
    path = store.folder / "objects" / f"{store.read().state.known_tests}.z"
    path.write_bytes(b"damage")
    again = open_store(store.folder)
    repair(again)
    assert path.with_suffix(".damaged").read_bytes() == b"damage"
    pass_once(again, "second")
    later = open_store(store.folder)
    later.check_objects(later.read().state)
