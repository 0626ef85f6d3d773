"""A key that is set is a key that is needed: keyed ledgers open with it, keyless ones only once they are adopted."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from phase_gate.errors import (
    KeylessError,
    KeyMismatchError,
    NotAllowedError,
    PhaseGateError,
    StorageError,
    TamperedError,
)
from phase_gate.gate.state import NEW_STATE, Event
from phase_gate.storage.adoption import adopt_key
from phase_gate.storage.files import FileSystem
from phase_gate.storage.ledger import GENESIS, digest, encode_transaction, read_chain
from phase_gate.storage.memory import Memory
from phase_gate.storage.opening import apply_line
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore
from tests.storage.stores import (
    BEGIN,
    begin,
    contents,
    declare,
    edit_json,
    fact,
    facts,
    open_store,
    overwrite,
    pass_once,
)

KEY = b"kept elsewhere"
SAID = {"reason": "the key is new", "by": "dev"}


def made_with(folder: Path, key: bytes | None) -> Path:
    """Return a folder with a task in it, made with that key or without one."""
    return declare(begin(open_store(folder, key=key)), "one").folder


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    return made_with(tmp_path / "keyed", KEY)


@pytest.fixture
def keyless(tmp_path: Path) -> Path:
    return made_with(tmp_path / "keyless", None)


def assert_refused(store: TaskStore, problem: str, error: type[PhaseGateError]) -> None:
    """Looking, reading and writing all refuse, say how to go on, and change no byte."""
    before = contents(store.folder)
    with pytest.raises(error) as looked:
        store.look()
    with pytest.raises(error):
        list(store.lines())
    with pytest.raises(error), store.transaction() as change:
        change.record(fact("lost"))
    assert problem in looked.value.problem
    assert looked.value.remedy
    assert looked.value.exit_code == 11
    assert contents(store.folder) == before


@pytest.mark.parametrize("way", ["by-checkpoint", "by-replay", "without-a-checkpoint"])
@pytest.mark.parametrize(
    ("made", "key", "error", "problem"),
    [
        pytest.param(None, None, None, "", id="no-key-at-all"),
        pytest.param(KEY, KEY, None, "", id="the-key-from-the-beginning"),
        pytest.param(KEY, None, KeyMismatchError, "PHASE_GATE_KEY, and that is not set", id="the-key-is-left-out"),
        pytest.param(KEY, b"another", KeyMismatchError, "PHASE_GATE_KEY is not the key that", id="another-key"),
        pytest.param(None, KEY, KeylessError, "the ledger was made without a key", id="a-ledger-without-the-key"),
    ],
)
def test_key_and_ledger(
    tmp_path: Path, made: bytes | None, key: bytes | None, error: type[PhaseGateError] | None, problem: str, way: str
) -> None:
    folder = made_with(tmp_path / "state", made)
    if way == "by-replay":
        os.utime(folder / "ledger.jsonl", ns=(1, 1))
    elif way == "without-a-checkpoint":
        (folder / "state.json").unlink()
    store = open_store(folder, key=key)
    if error is not None:
        assert_refused(store, problem, error)
    else:
        assert facts(declare(store, "two")) == ["one", "two"]


def test_a_new_folder_is_begun_with_the_key(tmp_path: Path) -> None:
    store = open_store(tmp_path / "new", key=KEY)
    assert not store.look().exists
    assert list(store.lines()) == []
    assert facts(declare(begin(store), "one")) == ["one"]
    assert store.look().key_check is not None


def test_a_first_write_that_was_cut_short_is_no_ledger_without_a_key(tmp_path: Path) -> None:
    folder = made_with(tmp_path / "state", None)
    (folder / "state.json").unlink()
    (folder / "ledger.jsonl").write_bytes((folder / "ledger.jsonl").read_bytes()[:50])
    assert facts(declare(begin(open_store(folder, key=KEY)), "mine")) == ["mine"]


def test_a_keyed_state_edited_by_hand_is_refused(keyed: Path) -> None:
    edit_json(keyed / "state.json", lambda stored: stored["state"].update(streak={"count": 9}))
    with pytest.raises(TamperedError, match=r"state\.json is not what the ledger gives"):
        open_store(keyed, key=KEY).look()


@pytest.mark.parametrize("key", [None, KEY], ids=["without-the-key", "with-it"])
def test_a_key_taken_out_of_the_state_does_not_unlock_it(keyed: Path, key: bytes | None) -> None:
    edit_json(keyed / "state.json", lambda stored: stored.update(key_check=None))
    with pytest.raises(TamperedError, match=r"the last line of ledger\.jsonl: its hash is wrong"):
        open_store(keyed, key=key).look()


def test_a_ledger_that_claims_a_key_in_a_line_too_long_to_look_at(tmp_path: Path) -> None:
    lineage = "a" * 32
    created = {"task": "default", "lineage": lineage, "key_check": digest(lineage)[:32], "more": "x" * 70_000}
    raw, _ = encode_transaction(
        [Event(kind="created", data=created, at="now"), *BEGIN], seq=1, prev=GENESIS, state_digest="0" * 64, key=None
    )
    (tmp_path / "ledger.jsonl").write_bytes(raw)
    assert_refused(open_store(tmp_path, key=KEY), "the ledger was made without a key", KeylessError)


# --- adopting


def adopted(folder: Path, **more: Any) -> TaskStore:
    store = open_store(folder, key=KEY, **more)
    adopt_key(store, SAID)
    return store


@pytest.mark.parametrize("way", ["by-checkpoint", "by-replay"])
def test_an_adopted_ledger_is_a_keyed_one(keyless: Path, way: str) -> None:
    before = (keyless / "ledger.jsonl").read_bytes()
    lineage = open_store(keyless).look().lineage
    store = adopted(keyless)
    if way == "by-replay":
        os.utime(store.ledger_file, ns=(1, 1))
    assert facts(declare(store, "two")) == ["one", "two"]
    assert store.look().lineage == lineage
    assert_refused(open_store(keyless), "that is not set", KeyMismatchError)
    # The whole chain is under the key, and the old one is where the event says, with the head that it names.
    lines = list(read_chain(store.ledger_file.read_bytes().splitlines(keepends=True), key=KEY))
    event = lines[-2].event
    assert (event.kind, event.data["reason"], event.data["by"]) == ("key-adopted", "the key is new", "dev")
    kept = keyless / event.data["copy"]
    assert kept.read_bytes() == before
    old = list(read_chain(before.splitlines(keepends=True)))
    assert old[-1].hash == event.data["head"]
    assert [each.event.data for each in old[1:]] == [each.event.data for each in lines[1:-2]]


def test_what_was_proved_without_a_key_has_to_be_proved_anew(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    pass_once(begin(open_store(folder)), "first")
    assert open_store(folder).look().state.streak.count == 1
    state = adopted(folder).look().state
    assert (state.streak.count, state.measurement, state.trees.green, state.phase) == (0, None, None, "RED")
    assert [(each["kind"], each["by"], each["reason"]) for each in state.overrides.others] == [
        ("key-adopt", "dev", "the key is new")
    ]


def test_an_unfinished_end_is_not_adopted(keyless: Path) -> None:
    with (keyless / "ledger.jsonl").open("ab") as stream:
        stream.write(b'{"torn')
    store = adopted(keyless)
    assert facts(store) == ["one"]
    assert (keyless / "ledger.keyless-1").read_bytes().endswith(b'{"torn')
    os.utime(store.ledger_file, ns=(1, 1))
    assert facts(declare(store, "two")) == ["one", "two"]


def test_replaying_an_adopted_ledger_gives_the_same_state(keyless: Path) -> None:
    store = declare(adopted(keyless), "two")
    state = NEW_STATE
    for line in store.lines():
        state = apply_line(state, line)
    assert state == store.look().state


def test_it_is_no_rollback_for_who_adopted_it(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    memory = Memory.for_folder(folder, {"XDG_STATE_HOME": str(tmp_path / "home")})
    declare(begin(open_store(folder, memory=memory)), "one")
    store = adopted(folder, memory=memory)
    assert facts(declare(store, "two")) == ["one", "two"]
    os.utime(store.ledger_file, ns=(1, 1))
    assert facts(store) == ["one", "two"]


@pytest.mark.parametrize(
    ("made", "key", "error"),
    [
        pytest.param(KEY, KEY, NotAllowedError, id="it-has-the-key"),
        pytest.param(KEY, b"another", KeyMismatchError, id="it-has-another-key"),
        pytest.param(None, None, PhaseGateError, id="no-key-is-set"),
    ],
)
def test_what_is_not_keyless_is_not_adopted(
    tmp_path: Path, made: bytes | None, key: bytes | None, error: type[PhaseGateError]
) -> None:
    folder = made_with(tmp_path / "state", made)
    before = contents(folder)
    with pytest.raises(error):
        adopt_key(open_store(folder, key=key), SAID)
    assert contents(folder) == before


def test_nothing_is_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with pytest.raises(NotAllowedError):
        adopt_key(open_store(tmp_path / "state", key=KEY), SAID)


def test_a_damaged_one_is_repaired_first_and_stays_keyless_until_it_is_adopted(keyless: Path) -> None:
    store = open_store(keyless, key=KEY)
    with pytest.raises(KeylessError):
        repair(store)
    overwrite(store.ledger_file, b'"name":"one"', b'"name":"two"')
    with pytest.raises(TamperedError):
        adopt_key(store, SAID)
    assert repair(store).kept_lines == 3
    with pytest.raises(KeylessError):
        store.look()
    assert facts(declare(adopted(keyless), "one")) == ["one"]


class FailsAt(FileSystem):
    """A disk on which the Nth change fails."""

    def __init__(self, number: int) -> None:
        self.left = number

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError(errno.EIO, "it broke")

    def write(self, descriptor: int, data: bytes) -> int:
        self._count()
        return super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self._count()
        super().fsync(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        self._count()
        super().replace(source, target)

    def fsync_folder(self, folder: Path) -> None:
        self._count()
        super().fsync_folder(folder)


def test_a_fault_leaves_the_old_ledger_or_the_new_one(tmp_path: Path) -> None:
    seen = set()
    for number in range(1, 100):
        folder = made_with(tmp_path / f"state-{number}", None)
        files = FailsAt(number)
        failed = False
        try:
            adopt_key(open_store(folder, key=KEY, files=files), SAID)
        except StorageError:
            failed = True
        try:
            assert facts(open_store(folder, key=KEY)) == ["one"]
            seen.add("new")
        except KeylessError:
            assert failed, "what was acknowledged is there"
            assert facts(open_store(folder)) == ["one"]
            seen.add("old")
        if files.left > 0:
            break
    assert files.left > 0, "one of them came to its end"
    assert seen == {"old", "new"}
