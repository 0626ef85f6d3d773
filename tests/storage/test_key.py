"""A key that is set is a key that is needed: keyed ledgers open with it, keyless ones do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phase_gate.errors import StateError
from tests.storage.stores import assert_refused, begin, declare, facts, open_store

KEY = b"kept elsewhere"


def made_with(folder: Path, key: bytes | None) -> Path:
    """Return a folder with a task in it, made with that key or without one."""
    return declare(begin(open_store(folder, key=key)), "one").folder


@pytest.mark.parametrize("way", ["by-checkpoint", "by-replay", "without-a-checkpoint"])
@pytest.mark.parametrize(
    ("made", "key", "problem"),
    [
        pytest.param(None, None, "", id="no-key-at-all"),
        pytest.param(KEY, KEY, "", id="the-key-from-the-beginning"),
        pytest.param(KEY, None, "PHASE_GATE_KEY, which is not set", id="the-key-is-left-out"),
        pytest.param(KEY, b"another", "PHASE_GATE_KEY is not the key", id="another-key"),
        pytest.param(None, KEY, "the ledger was made without a key", id="a-ledger-without-the-key"),
    ],
)
def test_key_and_ledger(tmp_path: Path, made: bytes | None, key: bytes | None, problem: str, way: str) -> None:
    folder = made_with(tmp_path / "state", made)
    if way == "by-replay":
        os.utime(folder / "ledger.jsonl", ns=(1, 1))
    elif way == "without-a-checkpoint":
        (folder / "state.json").unlink()
    store = open_store(folder, key=key)
    if problem:
        assert_refused(store, StateError, problem)
        with pytest.raises(StateError):
            list(store.lines())
    else:
        assert facts(declare(store, "two")) == ["one", "two"]


def test_a_first_write_that_was_cut_short_is_no_ledger_without_a_key(tmp_path: Path) -> None:
    folder = made_with(tmp_path / "state", None)
    (folder / "state.json").unlink()
    (folder / "ledger.jsonl").write_bytes((folder / "ledger.jsonl").read_bytes()[:50])
    assert facts(declare(begin(open_store(folder, key=KEY)), "mine")) == ["mine"]
