"""Old lines of a ledger are packed: all of them can be read and verified, and opening needs none of them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.errors import TamperedError
from phase_gate.gate.codec import state_to_json
from phase_gate.gate.state import Event
from phase_gate.storage import segments
from phase_gate.storage.adoption import adopt_key
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore
from tests.storage.stores import BEGIN, begin, declare, open_store

NAMES = [f"fact-{number}" for number in range(40)]


@pytest.fixture
def store(tmp_path: Path) -> TaskStore:
    return packed_store(tmp_path / "state")


def packed_store(folder: Path, *, key: bytes | None = None) -> TaskStore:
    return declare(begin(open_store(folder, ledger_size=2, key=key)), *NAMES)


def told(store: TaskStore) -> list[tuple[str, object]]:
    return [(line.event.kind, line.event.data.get("name")) for line in store.lines()]


def files_of(store: TaskStore) -> list[Path]:
    return sorted((store.folder / "packed").iterdir())


def test_every_line_is_still_told_in_order(store: TaskStore, tmp_path: Path) -> None:
    plain = declare(begin(open_store(tmp_path / "plain")), *NAMES)
    assert len(files_of(store)) > 3
    assert store.ledger_file.stat().st_size <= 3 * 1024
    assert told(store) == told(plain)
    assert [line.seq for line in store.lines()] == list(range(1, len(told(plain)) + 1))
    assert not (plain.folder / "packed").exists()


def test_opening_reads_nothing_that_is_packed(store: TaskStore) -> None:
    before = store.look()
    for file in files_of(store):
        file.unlink()
    assert open_store(store.folder).look() == before
    with pytest.raises(TamperedError, match="is gone"):
        list(store.lines())


def test_state_is_folded_from_all_lines(store: TaskStore) -> None:
    before = state_to_json(store.look().state)
    store.state_file.unlink()
    opened = open_store(store.folder).look()
    assert state_to_json(opened.state) == before
    assert opened.lineage == next(iter(store.lines())).event.data["lineage"]
    declare(open_store(store.folder), "more")
    assert told(store)[-1] == ("fact-declared", "more")


def test_checkpoint_may_lag_behind_a_packing(store: TaskStore) -> None:
    kept = store.state_file.read_bytes()
    declare(store, "one", "two", "three", "four", "five", "six")
    after = state_to_json(store.look().state)
    store.state_file.write_bytes(kept)
    assert state_to_json(open_store(store.folder).look().state) == after


@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_torn_end_behind_a_packing_is_cut_off(store: TaskStore, has_checkpoint: bool) -> None:
    kept = store.state_file.read_bytes()
    while len(files_of(store)) < 9:
        declare(store, "another")
    before = state_to_json(store.look().state)
    if has_checkpoint:
        store.state_file.write_bytes(kept)  # it could not be written since, and the ledger was another file then
    else:
        store.state_file.unlink()
    with store.ledger_file.open("ab") as file:
        file.write(b"\0\0garbage\n\0\0")
    assert state_to_json(open_store(store.folder).look().state) == before
    declare(open_store(store.folder), "more")
    assert told(store)[-1] == ("fact-declared", "more")


def test_large_ledger_is_packed_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = declare(begin(open_store(tmp_path / "state")), *NAMES)
    before = told(store)
    monkeypatch.setattr(segments, "PIECE", 3000)
    declare(open_store(store.folder, ledger_size=1), "more")
    assert len(files_of(store)) > 2
    assert told(store) == [*before, ("fact-declared", "more")]


def test_transaction_is_never_cut_in_two(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state", ledger_size=1))
    for _ in range(6):
        with store.transaction() as change:
            change.record(*(Event(kind="rewound", data={"why": "x" * 400}) for _ in range(3)))
    for file in files_of(store):
        last = zlib.decompress(file.read_bytes()).splitlines()[-1]
        assert b'"state":' in last


# --- damage


def flip(file: Path) -> None:
    content = bytearray(zlib.decompress(file.read_bytes()))
    place = content.index(b'"name":"fact-')
    content[place + 13 : place + 14] = b"x"
    file.write_bytes(zlib.compress(bytes(content)))


def tear(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [0, 2, -1], ids=["first", "third", "last"])
@pytest.mark.parametrize("harm", [flip, tear, Path.unlink], ids=["flipped", "torn", "gone"])
def test_damage_is_noticed_and_what_comes_before_is_kept(
    store: TaskStore, harm: Callable[[Path], None], number: int
) -> None:
    whole = told(store)
    harm(files_of(store)[number])
    with pytest.raises(TamperedError, match="packed/"):
        list(store.lines())
    store.state_file.unlink()
    with pytest.raises(TamperedError):
        store.look()
    repair(open_store(store.folder, ledger_size=2))
    kept = told(open_store(store.folder))
    assert kept[-1][0] == "repaired"
    if number != 0:
        assert len(kept) > 4
        assert kept[:-1] == whole[: len(kept) - 1]
    declare(open_store(store.folder, ledger_size=2), "afterwards")
    assert told(open_store(store.folder))[-1] == ("fact-declared", "afterwards")


def test_row_that_names_another_segment_is_refused(store: TaskStore) -> None:
    raw = store.ledger_file.read_bytes()
    first, last = files_of(store)[0], files_of(store)[-1]
    store.ledger_file.write_bytes(raw.replace(last.name.encode(), first.name.encode()))
    with pytest.raises(TamperedError, match=r"ledger\.jsonl:1"):
        list(store.lines())


def test_name_of_a_segment_leads_nowhere_else(store: TaskStore) -> None:
    with pytest.raises(TamperedError, match="segment"):
        store.packed.content("../../x.z")


def test_segment_that_unpacks_to_too_much_is_refused(store: TaskStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_SIZE", 100)
    with pytest.raises(TamperedError, match="damaged"):
        list(store.lines())


# --- keys


def test_key_signs_what_names_a_segment(tmp_path: Path) -> None:
    store = packed_store(tmp_path / "state", key=b"secret")
    assert len(told(store)) == len(NAMES) + 3
    store.state_file.unlink()
    assert open_store(store.folder, key=b"secret").look().serial == len(NAMES) + 3
    raw = store.ledger_file.read_bytes()
    place = raw.index(b'"hash":"') + 8
    store.ledger_file.write_bytes(raw[:place] + b"0" * 64 + raw[place + 64 :])
    with pytest.raises(TamperedError):
        list(open_store(store.folder, key=b"secret").lines())


def test_packed_ledger_is_adopted_whole(store: TaskStore) -> None:
    before = told(store)
    adopt_key(open_store(store.folder, key=b"secret", ledger_size=2), {"reason": "so", "by": "ann"})
    keyed = open_store(store.folder, key=b"secret", ledger_size=2)
    assert told(keyed)[:-1] == before
    declare(keyed, "more")
    assert told(keyed)[-1] == ("fact-declared", "more")


# --- objects that nothing names any more


def _keep_old(store: TaskStore, document: object, *, days: int = 40) -> str:
    name = store.objects.keep(document)
    file = store.folder / "objects" / f"{name}.z"
    at = file.stat().st_mtime - days * 86_400
    os.utime(file, (at, at))
    return name


def _name(store: TaskStore, *names: str) -> None:
    with store.transaction() as change:
        change.record(*(Event(kind="rewound", data={"why": name}) for name in names))


def _end_cycle(store: TaskStore) -> None:
    with store.transaction() as change:
        change.record(Event(kind="phase-exited", data={"next": "DONE"}), *BEGIN)


def _pack(store: TaskStore) -> None:
    before = len(files_of(store)) if (store.folder / "packed").exists() else 0
    while not (store.folder / "packed").exists() or len(files_of(store)) < before + 2:
        declare(store, "another")


def test_object_that_only_earlier_cycles_name_goes_after_a_time(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    inside = _keep_old(store, {"inner": 1})
    named = {
        "old": _keep_old(store, {"a": 1}),
        "young": _keep_old(store, {"b": 1}, days=20),
        "old-and-named-by-a-later-one": inside,
    }
    _name(store, *named.values())
    _end_cycle(store)
    present = _keep_old(store, {"names": inside})
    _name(store, present)
    _pack(open_store(tmp_path / "state", ledger_size=2))
    fresh = open_store(tmp_path / "state")
    assert not fresh.objects.has(named["old"])
    assert fresh.objects.has(named["young"])
    assert fresh.objects.load(present) == {"names": inside}
    assert fresh.objects.has(inside)
    assert fresh.may_lack(named["old"])
    assert not fresh.may_lack(present)
    assert len(told(fresh)) == fresh.look().serial


def test_object_of_the_present_cycle_stays_however_long_it_takes(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state", ledger_size=2))
    name = _keep_old(store, {"a": 1}, days=400)
    _name(store, name)
    _pack(store)
    _pack(store)
    assert b'"kind":"cycle-began"' not in store.ledger_file.read_bytes()
    assert open_store(tmp_path / "state").objects.has(name)


def test_nothing_goes_while_an_object_is_damaged(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state", ledger_size=2))
    old = _keep_old(store, {"a": 1})
    _end_cycle(store)
    damaged = _keep_old(store, {"b": 1})
    (store.folder / "objects" / f"{damaged}.z").write_bytes(b"no object")
    _name(store, damaged)
    _pack(store)
    assert open_store(tmp_path / "state").objects.has(old)


def test_old_object_that_is_stored_again_is_young(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state", ledger_size=2))
    name = _keep_old(store, {"a": 1})
    _end_cycle(store)
    other = open_store(tmp_path / "state", ledger_size=2)
    assert other.objects.keep({"a": 1}) == name  # a run that has not ended: no line names it yet
    _pack(store)
    assert open_store(tmp_path / "state").objects.has(name)


def test_objects_may_be_kept_for_ever(tmp_path: Path) -> None:
    store = begin(TaskStore(tmp_path / "state", task="default", ledger_size=2, keep_objects=0))
    old = _keep_old(store, {"a": 1})
    _end_cycle(store)
    _pack(store)
    assert store.objects.has(old)
