"""`audit` on a shared store: it verifies the whole of it, and a person may accept that it was rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from phase_gate.cli.audit import accept_rollback, audit
from phase_gate.errors import MovedError, NotAllowedError, RollbackError, StateError, TamperedError
from phase_gate.gate.overrides import Person
from phase_gate.storage.memory import Memory
from phase_gate.stores.shared import Head, Tail
from phase_gate.stores.task_store import SharedTaskStore
from phase_gate.values import replace
from tests.storage.stores import begin, declare, facts, open_store, overwrite, share_task
from tests.stores.kinds import KINDS, Server

ADA = Person(by="Ada", reason="the remote was restored from last night", is_at_terminal=True)


@pytest.fixture(params=[name for name in KINDS if name in ("memory", "git-file")])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "server").mkdir()
    with KINDS[request.param](tmp_path / "server") as found:
        yield found


def machine(server: Server, folder: Path) -> SharedTaskStore:
    memory = Memory(folder.with_suffix(".memory"), folder)
    return share_task(server.open(folder.with_suffix(".cache")), folder, memory=memory)


@pytest.fixture
def here(server: Server, tmp_path: Path) -> SharedTaskStore:
    store = begin(machine(server, tmp_path / "a"))
    store.keep("evidence", {"lines": 3})
    return declare(store, "first", "second")


def test_the_store_is_audited_as_a_whole(here: SharedTaskStore, server: Server, tmp_path: Path) -> None:
    found = audit(here)
    assert (found.events, found.problem) == (5, None)
    assert audit(machine(server, tmp_path / "b")).events == 5


def test_a_store_that_tells_new_machines_another_story_is_seen(
    here: SharedTaskStore, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = begin(open_store(tmp_path / "c"))
    rows = declare(other, "first", "another").ledger_file.read_bytes()
    shared = here.shared
    read = shared.read

    def tell(task: str, after: Head) -> Tail:
        return replace(read(task, after), rows=rows, objects={}) if after == Head() else read(task, after)

    monkeypatch.setattr(shared, "read", tell)
    # Without a memory, as in CI: only the copy tells.
    assert isinstance(audit(share_task(shared, tmp_path / "a")).problem, TamperedError)


def test_a_damaged_copy_is_taken_anew(here: SharedTaskStore, server: Server, tmp_path: Path) -> None:
    overwrite(here.ledger_file, b'"first"', b'"wrong"')
    again = machine(server, tmp_path / "a")
    assert isinstance(audit(again).problem, TamperedError)
    assert again.repair_copy().lines == 5
    assert facts(again) == ["first", "second"]
    assert b'"wrong"' in (tmp_path / "a" / "ledger.damaged-1").read_bytes()
    assert audit(machine(server, tmp_path / "a")).problem is None
    with pytest.raises(NotAllowedError, match="nothing is damaged"):
        again.repair_copy()


def test_an_object_that_is_gone_comes_back(here: SharedTaskStore, server: Server, tmp_path: Path) -> None:
    for path in (tmp_path / "a" / "objects").iterdir():
        path.write_bytes(b"damaged")
    here.state_file.write_text("{}", encoding="utf-8")
    again = machine(server, tmp_path / "a")
    again.repair_copy()
    assert all(again.objects.load(name) for name in again.objects.names())


def test_repair_that_was_broken_off_goes_on(
    here: SharedTaskStore, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwrite(here.ledger_file, b'"first"', b'"wrong"')
    again = machine(server, tmp_path / "a")
    monkeypatch.setattr(again, "_take_over", lambda opened: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        again.repair_copy()
    assert facts(machine(server, tmp_path / "a")) == ["first", "second"]


def test_a_store_that_was_cut_back_is_accepted_by_a_person(
    here: SharedTaskStore, server: Server, tmp_path: Path
) -> None:
    server.cut_back("default", 1)
    again = machine(server, tmp_path / "a")
    assert isinstance(audit(again).problem, RollbackError)
    with pytest.raises(NotAllowedError, match="for a person at a terminal"):
        accept_rollback(again, replace(ADA, is_at_terminal=False))
    assert accept_rollback(again, ADA)["serial"] == 4
    assert facts(again) == ["first"]
    # It is on record, for all machines.
    other = machine(server, tmp_path / "b")
    other.look()
    assert [*other.lines()][-1].event.kind == "rollback-accepted"
    assert (tmp_path / "a" / "ledger.damaged-1").exists()
    with pytest.raises(NotAllowedError, match="nothing was rolled back"):
        accept_rollback(machine(server, tmp_path / "a"), ADA)


def test_another_ledger_in_its_place_is_accepted_by_a_person(
    here: SharedTaskStore, server: Server, tmp_path: Path
) -> None:
    stranger = share_task(server.open(tmp_path / "c.cache"), tmp_path / "c")
    server.remove("default")
    begin(stranger)
    again = machine(server, tmp_path / "a")
    assert isinstance(audit(again).problem, StateError)
    assert accept_rollback(again, ADA)["serial"] == 3
    assert again.look().lineage == stranger.look().lineage


def test_another_machine_is_first_while_it_is_accepted(
    here: SharedTaskStore, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phase_gate.stores.shared.time.sleep", lambda seconds: None)
    server.cut_back("default", 1)
    again = machine(server, tmp_path / "a")
    shared = again.shared
    append, calls = shared.append, iter((True, False, False))

    def be_late(*given: object) -> None:
        if next(calls):
            raise MovedError("moved", remedy="again")
        append(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(shared, "append", be_late)
    assert accept_rollback(again, ADA)["serial"] == 4
