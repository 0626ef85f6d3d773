"""Stored objects: named by what is in them, written once, and not believed if they are another."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from phase_gate.errors import TamperedError
from phase_gate.gate.state import Event
from phase_gate.storage.files import FileSystem
from phase_gate.storage.objects import ObjectStore
from phase_gate.storage.store import TaskStore
from tests.storage.stores import BEGIN, begin, open_store

DOCUMENT = {"files": {"test_a.py": ["test_one", "test_zwölf"]}, "n": 1}


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path / "objects", FileSystem())


def again(tmp_path: Path) -> ObjectStore:
    """The same objects for another process."""
    return ObjectStore(tmp_path / "objects", FileSystem())


def test_what_is_kept_is_loaded_by_its_name(objects: ObjectStore, tmp_path: Path) -> None:
    name = objects.keep(DOCUMENT)
    assert objects.load(name) == again(tmp_path).load(name) == DOCUMENT


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(zlib.compress(b'{"another":"document"}'), id="another-document"),
        pytest.param(b"not compressed", id="no-object-at-all"),
        pytest.param(b"", id="empty"),
        pytest.param(zlib.compress(b"{}" * 10)[:-4], id="torn"),
    ],
)
def test_another_content_under_its_name_is_tampering(objects: ObjectStore, tmp_path: Path, content: bytes) -> None:
    name = objects.keep(DOCUMENT)
    (tmp_path / "objects" / f"{name}.z").write_bytes(content)
    with pytest.raises(TamperedError, match=rf"^objects/{name[:12]} is damaged"):
        again(tmp_path).load(name)


def test_one_that_is_gone_is_tampering(objects: ObjectStore, tmp_path: Path) -> None:
    name = objects.keep(DOCUMENT)
    os.unlink(tmp_path / "objects" / f"{name}.z")
    with pytest.raises(TamperedError, match=rf"^objects/{name[:12]} is gone"):
        again(tmp_path).load(name)


# --- objects that only earlier cycles name


def _keep_old(store: TaskStore, document: object, *, days: int = 40) -> str:
    name = store.objects.keep(document)
    file = store.folder / "objects" / f"{name}.z"
    at = file.stat().st_mtime - days * 86_400
    os.utime(file, (at, at))
    return name


def _name(store: TaskStore, *names: str) -> None:
    with store.transaction() as change:
        change.record(*(Event(kind="rewound", data={"why": name}) for name in names))


def _aim(store: TaskStore, name: str) -> None:
    """Let the state name an object, as a run does that freezes the rules it was judged by."""
    with store.transaction() as change:
        change.record(
            Event(kind="run-started", data={"run": "r1", "phase": "RED", "tree": "t", "rules": name}),
        )


def _begin_next(store: TaskStore) -> None:
    with store.transaction() as change:
        change.record(Event(kind="phase-exited", data={"next": "DONE"}), *BEGIN)


def test_object_that_only_earlier_cycles_name_goes_after_a_time(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    old, young = _keep_old(store, {"a": 1}), _keep_old(store, {"b": 1}, days=20)
    _name(store, old, young)
    assert store.objects.has(old)
    _begin_next(open_store(tmp_path / "state"))
    fresh = open_store(tmp_path / "state")
    assert not fresh.objects.has(old)
    assert fresh.may_lack(old)
    assert fresh.objects.has(young)
    assert not fresh.may_lack(young)
    assert len(list(fresh.lines())) == fresh.read().serial


def test_object_that_the_state_leads_to_stays_however_old_it_is(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    inside = _keep_old(store, {"inner": 1}, days=400)
    outside = _keep_old(store, {"names": inside}, days=400)
    _aim(store, outside)
    _begin_next(store)
    fresh = open_store(tmp_path / "state")
    assert outside in fresh.checkpoint_file.read_text(encoding="utf-8")
    assert fresh.objects.load(outside) == {"names": inside}
    assert fresh.objects.has(inside)


def test_nothing_goes_while_an_object_is_damaged(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    old, damaged = _keep_old(store, {"a": 1}), _keep_old(store, {"b": 1})
    _aim(store, damaged)
    (store.folder / "objects" / f"{damaged}.z").write_bytes(b"no object")
    _begin_next(store)
    assert open_store(tmp_path / "state").objects.has(old)


def test_old_object_that_is_stored_again_is_young(tmp_path: Path) -> None:
    store = begin(open_store(tmp_path / "state"))
    name = _keep_old(store, {"a": 1})
    # A run that has not ended: no line names it yet.
    assert open_store(tmp_path / "state").objects.keep({"a": 1}) == name
    _begin_next(store)
    assert open_store(tmp_path / "state").objects.has(name)
