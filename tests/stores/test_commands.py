"""`phase-gate store ...`: which store, agreeing to it, sending, copying, exporting."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phase_gate.cli import doctor, main
from phase_gate.cli._watch import PAUSE, store_clock
from phase_gate.errors import StoreUnreachableError
from phase_gate.storage.store import TaskStore
from tests.storage.stores import begin, declare, facts, lines_of, open_store
from tests.stores.in_memory import InMemoryStore, Server
from tests.stores.memory_plugin import SERVERS, install
from tests.support import Ran

Gate = Callable[..., Ran]
STORE = "memory:#shop"


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gate:
    """The command, called in a folder of its own."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)

    def call(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        out, err = capsys.readouterr()
        return Ran(code=code, out=out, err=err)

    return call


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return install(monkeypatch)


def folder() -> Path:
    return Path.cwd() / ".phase-gate"


def machine(server: Server, folder: Path, *, task: str = "default") -> TaskStore:
    store = open_store(folder, task=task)
    store.shared = InMemoryStore(server)
    return store


def name_in_file(text: str = STORE) -> None:
    Path("phase-gate.yaml").write_text(f"store: {text!r}\n", encoding="utf-8")


def at_terminal(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    given = iter(answers)
    monkeypatch.setattr("phase_gate.cli._dispatch._is_interactive", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt: next(given))


# --- status


def test_no_store(gate: Gate) -> None:
    ran = gate("store", "status", "--json")
    assert (ran.code, ran.document) == (0, {"store": None})
    assert gate("store", "trust").has("no shared store is named: tasks are in the state folder alone [not-allowed]")


def test_status_says_which_store_and_what_it_has(gate: Gate, server: Server, tmp_path: Path) -> None:
    other = open_store(tmp_path / "other")
    other.shared = InMemoryStore(server)
    begin(other)
    assert gate("store", "status", "--json").document == {
        "store": STORE,
        "kind": "memory",
        "named_by": "environment",
        "trusted": True,
        "task": "default",
        "here": 0,
        "there": 3,
        "same": False,
        "notes": [],
        "problem": None,
    }
    assert gate("status").code == 10
    assert gate("store", "status").has("PHASE_GATE_STORE names it", "at line 3, the same here")


def test_status_of_a_store_that_is_away(gate: Gate, server: Server) -> None:
    server.is_down = True
    ran = gate("store", "status", "--json")
    assert (ran.code, ran.document["problem"]["slug"]) == (11, "store-unreachable")
    for command in ("status", "check", "history"):
        ran = gate(command)
        assert (ran.code, ran.has("[store-unreachable]", "try: ")) == (11, True)


@pytest.fixture
def no_plugin_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor does not ask a pytest of its own."""
    found = doctor.Diagnosis(what="plugin", mark="good", says="loaded")
    monkeypatch.setattr(doctor, "check_plugin", lambda start: found)


@pytest.mark.usefixtures("no_plugin_look")
def test_the_doctor_looks_at_the_store(gate: Gate, server: Server) -> None:
    begin(machine(server, folder()))
    assert gate("doctor").has("+ store         memory:#shop answers, and has 1 task")
    server.is_down = True
    ran = gate("doctor")
    assert (ran.code, ran.has("- store         memory:#shop does not answer; try: ")) == (1, True)


@pytest.mark.usefixtures("no_plugin_look")
def test_the_doctor_names_a_store_that_a_file_chose(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, store=None)
    name_in_file()
    ran = gate("doctor")
    assert (ran.code, ran.has("and you have not agreed to that yet; try: ", "store trust")) == (1, True)


def test_a_watch_wakes_up_when_the_store_has_more(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phase_gate.cli._watch.time.sleep", lambda seconds: None)
    here = begin(machine(server, tmp_path / "a"))
    clock = store_clock(here)
    assert clock is not None
    assert clock.sleep(PAUSE) is False
    declare(machine(server, tmp_path / "b"), "it")
    assert clock.sleep(PAUSE) is True
    server.is_down = True
    assert clock.sleep(PAUSE) is True
    here.shared = None
    assert store_clock(here) is None


# --- trust


def test_a_file_that_names_a_store_is_not_followed_before_a_person_agrees(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = install(monkeypatch, store=None)
    name_in_file()
    for words in (("status",), ("check",), ("store", "status"), ("store", "init")):
        ran = gate(*words)
        assert (ran.code, ran.has("[store-untrusted]", "phase-gate store trust")) == (11, True)
    # A script can't agree.
    ran = gate("store", "trust", "--word=TRUST")
    assert (ran.code, ran.has("for a person at a terminal", "PHASE_GATE_STORE")) == (13, True)
    assert not server.rows
    at_terminal(monkeypatch, "yes", "TRUST")
    ran = gate("store", "trust")
    assert (ran.code, ran.has("ids, outcomes and failure messages of tests", "needs the word TRUST")) == (13, True)
    assert gate("store", "trust").code == 0
    assert gate("store", "status").has("phase-gate.yaml names it, and you trust it")
    assert gate("store", "trust").has("nothing is to be done")


def test_another_store_in_the_file_needs_another_agreement(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, store=None)
    name_in_file()
    at_terminal(monkeypatch, "TRUST")
    assert gate("store", "trust").code == 0
    name_in_file("memory:elsewhere#shop")
    assert gate("check").has("[store-untrusted]")
    assert "elsewhere" not in SERVERS


def test_without_a_home_folder_the_environment_names_it(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, store=None)
    name_in_file()
    monkeypatch.setattr("phase_gate.stores.choosing.user_state_folder", lambda environment: None)
    at_terminal(monkeypatch, "TRUST")
    ran = gate("store", "trust")
    assert (ran.code, ran.has("PHASE_GATE_STORE=memory:#shop")) == (13, True)
    monkeypatch.setenv("PHASE_GATE_STORE", STORE)
    assert gate("store", "status").code == 0


def test_init_shows_what_others_read(gate: Gate, server: Server) -> None:
    ran = gate("store", "init")
    assert (ran.code, ran.has("memory:#shop can be used", "all who can read memory:#shop", "command lines")) == (
        0,
        True,
    )
    assert gate("store", "init", "memory:other#shop").code == 0


def test_a_kind_that_no_plugin_offers(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, store="etcd:there#shop")
    ran = gate("status")
    assert (ran.code, ran.has("no installed pytest plugin offers stores of the kind 'etcd'")) == (2, True)


# --- copy and export


def local_task(*names: str) -> None:
    store = begin(open_store(folder()))
    kept = store.keep("evidence", {"lines": 3})
    with store.transaction() as change:
        from phase_gate.gate.state import Event

        change.record(Event(kind="overridden", data={"kind": "force", "reason": kept, "by": "dev", "at": ""}))
    declare(store, *names)


def test_move_in_and_out(gate: Gate, server: Server, tmp_path: Path) -> None:
    local_task("it")
    ledger = lines_of(open_store(folder()))
    # Not mixed by itself.
    assert gate("status").has("phase-gate store copy folder shared")
    ran = gate("store", "copy", "folder", "shared", "--json")
    assert ran.document == {"from": "folder", "to": STORE, "tasks": [{"task": "default", "lines": 5, "added": 5}]}
    assert server.rows["default"] == ledger
    assert gate("store", "status").code == 0
    # Again: nothing is new.
    assert gate("store", "copy", "folder", "shared", "--json").document["tasks"][0]["added"] == 0
    # To another store, and out to files.
    assert gate("store", "copy", "shared", "memory:other#shop").code == 0
    assert SERVERS["other"].rows["default"] == ledger
    assert [*SERVERS["other"].objects["default"].values()]
    ran = gate("store", "export", str(tmp_path / "out"))
    assert (ran.code, ran.has("audit --dir")) == (0, True)
    assert lines_of(open_store(tmp_path / "out")) == ledger
    assert [each.name for each in (tmp_path / "out" / "objects").iterdir()] == [
        each.name for each in (folder() / "objects").iterdir()
    ]


def test_an_export_is_audited_without_a_store(
    gate: Gate, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_task("it")
    assert gate("store", "copy", "folder", "shared").code == 0
    assert gate("store", "export", str(tmp_path / "out")).code == 0
    server.is_down = True
    monkeypatch.setenv("PHASE_GATE_STORE", "folder")
    assert gate("audit", "--dir", str(tmp_path / "out"), "--json").document["intact"] is True


def test_all_tasks_or_one(gate: Gate, server: Server) -> None:
    for name in ("one", "two"):
        begin(open_store(folder() / "tasks" / name, task=name))
    assert gate("store", "copy", "folder", "shared", "--task", "two").code == 0
    assert set(server.rows) == {"two"}
    assert gate("store", "copy", "folder", "shared").code == 0
    assert set(server.rows) == {"one", "two"}
    assert gate("store", "copy", "folder", "shared", "--task", "three").has("folder has no task three")


def test_a_copy_that_was_broken_off_goes_on(gate: Gate, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phase_gate.stores.copying._PIECE", 1)
    local_task("first", "second")
    append, calls = InMemoryStore.append, iter(range(9))

    def die(self: InMemoryStore, *given: Any) -> None:
        if next(calls) == 2:
            raise StoreUnreachableError("memory:#shop does not answer", remedy="again")
        append(self, *given)

    monkeypatch.setattr(InMemoryStore, "append", die)
    assert gate("store", "copy", "folder", "shared").code == 11
    assert len(server.rows["default"]) == 4
    assert gate("store", "copy", "folder", "shared", "--json").document["tasks"] == [
        {"task": "default", "lines": 6, "added": 2}
    ]
    # A machine that has a part of it goes on from there.
    assert set(facts(open_store(folder()))) == {"first", "second"}


@pytest.mark.parametrize("beyond", [False, True], ids=["another-ledger", "one-that-has-gone-on"])
def test_nothing_is_overwritten(gate: Gate, server: Server, tmp_path: Path, beyond: bool) -> None:
    local_task("it")
    if beyond:
        assert gate("store", "copy", "folder", "memory:#shop").code == 0
    other = open_store(tmp_path / "other")
    other.shared = InMemoryStore(server)
    (declare(other, "more") if beyond else begin(other))
    before = [*server.rows["default"]]
    ran = gate("store", "copy", "folder", "memory:#shop")
    assert (ran.code, ran.has("another ledger of task default", "nothing is overwritten")) == (13, True)
    assert server.rows["default"] == before


def test_an_export_into_another_ledger(gate: Gate, server: Server, tmp_path: Path) -> None:
    local_task("it")
    assert gate("store", "copy", "folder", "shared").code == 0
    begin(open_store(tmp_path / "out"))
    assert gate("store", "export", str(tmp_path / "out")).has("another ledger of task default")


def test_what_is_damaged_is_not_copied(gate: Gate, server: Server) -> None:
    local_task("it")
    ledger = folder() / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"so it is"', b'"so it IS"'))
    ran = gate("store", "copy", "folder", "shared")
    assert (ran.code, ran.has("[state-tampered]")) == (11, True)
    assert not server.rows


def test_places_that_are_none(gate: Gate, server: Server) -> None:
    assert gate("store", "copy", "folder", "folder").has("both places are the same")
    assert gate("store", "copy", "folder", "elsewhere").has("is no place of tasks", "[bad-usage]")


def test_what_a_copy_says_is_typable(gate: Gate, server: Server) -> None:
    local_task("it")
    assert gate("store", "copy", "folder", "shared").out == (
        "default: 5 lines, 5 of them new\ncopied from folder to memory:#shop: 1 task, verified\n"
    )
    assert json.loads(gate("store", "export", "out", "--json").out)["to"] == "out"
