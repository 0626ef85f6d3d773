"""`phase-gate store ...`: which store, and making what it needs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.cli import main
from phase_gate.stores import choosing
from tests.storage.stores import begin, contents, open_store
from tests.stores.in_memory import STORE, Server, install, machine
from tests.stores.kinds import make_bare
from tests.support import Project, Result

Gate = Callable[..., Result]


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gate:
    """The command, called in a folder of its own."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)

    def call(*words: str) -> Result:
        capsys.readouterr()
        code = main(list(words))
        out, err = capsys.readouterr()
        return Result(code=code, out=out, err=err)

    return call


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return install(monkeypatch)


def folder() -> Path:
    return Path.cwd() / ".phase-gate"


# --- status


def test_no_store(gate: Gate) -> None:
    ran = gate("store", "status", "--json")
    assert (ran.code, ran.document) == (0, {"store": None})
    assert gate("store", "init").has(
        "no shared store is named [not-allowed]", "set PHASE_GATE_STORE to git:REMOTE#PROJECT"
    )


def test_status_says_which_store_and_what_it_has(gate: Gate, server: Server, tmp_path: Path) -> None:
    begin(machine(server, tmp_path / "other"))
    assert gate("store", "status", "--json").document == {
        "store": STORE,
        "kind": "git",
        "task": "default",
        "here": 0,
        "there": 3,
        "same": False,
        "problem": None,
    }
    assert gate("status").code == 10
    assert gate("store", "status").has("at line 3, the same here")


def test_status_of_a_store_that_is_away(gate: Gate, server: Server) -> None:
    server.is_down = True
    ran = gate("store", "status", "--json")
    assert (ran.code, ran.document["problem"]["slug"]) == (11, "store-unreachable")
    for command in ("status", "check", "history"):
        ran = gate(command)
        assert (ran.code, ran.has("[store-unreachable]", "try: ")) == (11, True)


def test_a_folder_that_the_store_knows_nothing_of_is_not_mixed_in(gate: Gate, server: Server) -> None:
    begin(open_store(folder()))
    ran = gate("status")
    assert (ran.code, ran.has("is in this folder", "PHASE_GATE_STORE=folder")) == (13, True)
    assert not server.rows


def test_a_driven_agent_reads_the_copy_and_adds_nothing(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(open_store(folder()))
    monkeypatch.setenv("PHASE_GATE_STORE", "withheld")
    before = contents(folder())
    assert [gate(*words).code for words in (("status",), ("check",), ("verify", "status"))] == [10, 10, 10]
    for words in (("withdraw",), ("audit", "--accept-rollback", "--reason", "it is mine", "--by", "ada")):
        assert gate(*words).code in (11, 13)
    ran = gate("rewind", "RED", "--reason", "begin again")
    assert (ran.code, ran.has("[store-unreachable]", "phase-gate drive runs the tests")) == (11, True)
    assert contents(folder()) == before


# --- init


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    bare = make_bare(tmp_path / "remote.git")
    monkeypatch.setattr(choosing, "_opened", {})
    monkeypatch.setenv("PHASE_GATE_STORE", f"git:{bare}#shop")
    return bare


def test_init_asks_the_remote(gate: Gate, remote: Path) -> None:
    ran = gate("store", "init")
    said = ("the remote answers", "it has 0 tasks", "a forced push can rewrite a git store", "command lines")
    assert (ran.code, ran.has(*said)) == (0, True)
    assert gate("store", "init", "--writer", "ada").code == 2


def test_init_of_a_remote_that_is_not_there(gate: Gate, remote: Path) -> None:
    shutil.rmtree(remote)
    ran = gate("store", "init")
    said = ("[store-unreachable]", "check the address", "is mounted", f"for a new store: git init --bare {remote}")
    assert (ran.code, ran.has(*said)) == (11, True)


def test_a_remote_that_was_there_is_not_to_be_made_again(gate: Gate, remote: Path, project: Project) -> None:
    # A new repository in its place would hide the real one.
    project.red()
    assert gate("status").code == 0
    shutil.rmtree(remote)
    ran = gate("status")
    assert (ran.code, ran.has("[store-unreachable]", f"check the address, and that {remote} is mounted")) == (11, True)
    assert "init --bare" not in ran.out + ran.err
