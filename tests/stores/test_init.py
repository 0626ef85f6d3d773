"""`phase-gate store init`: what it finds out about a git remote, and says of a database."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from phase_gate.cli.store import _say
from phase_gate.stores import choosing
from phase_gate.stores.postgresql_tables import Initialised, StoreRights
from phase_gate.values import replace
from tests.stores.kinds import make_bare
from tests.stores.test_commands import Gate, at_terminal, gate

__all__ = ["gate"]  # a fixture


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    bare = make_bare(tmp_path / "remote.git")
    monkeypatch.setattr(choosing, "_opened", {})
    monkeypatch.setenv("PHASE_GATE_STORE", f"git:{bare}#shop")
    return bare


def test_init_tries_a_ref_and_leaves_none(gate: Gate, remote: Path) -> None:
    ran = gate("store", "init")
    assert (
        ran.code,
        ran.has("the remote takes refs/phase-gate", "a forced push can rewrite a git store", "command lines"),
    ) == (0, True)
    assert not [path for path in (remote / "refs" / "phase-gate").rglob("*") if path.is_file()]
    assert gate("store", "init", "--writer", "ada").code == 2


def test_init_of_a_remote_that_takes_no_refs_of_ours(gate: Gate, remote: Path) -> None:
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho only branches here >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    ran = gate("store", "init")
    assert (ran.code, ran.has("does not accept refs/phase-gate/shop.try/", "let it accept")) == (11, True)


def test_init_of_a_remote_that_is_not_there(gate: Gate, remote: Path) -> None:
    shutil.rmtree(remote)
    ran = gate("store", "init")
    assert (ran.code, ran.has("[store-unreachable]", f"git init --bare {remote}")) == (11, True)


RIGHTS = StoreRights(user="me", has_tables=True, may_write=True)


def test_a_name_that_means_another_remote_needs_another_agreement(
    gate: Gate, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PHASE_GATE_STORE")
    Path("phase-gate.yaml").write_text("store: git:origin#shop\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "remote", "add", "origin", str(remote)], check=True)
    at_terminal(monkeypatch, "TRUST")
    assert gate("store", "trust").has(f"git:origin#shop ({remote})")
    assert gate("store", "status").code == 0
    subprocess.run(["git", "remote", "set-url", "origin", str(make_bare(tmp_path / "other.git"))], check=True)
    ran = gate("store", "status")
    assert (ran.code, ran.has("[store-untrusted]")) == (11, True)


@pytest.mark.parametrize(
    ("done", "said"),
    [
        pytest.param(
            Initialised(made_tables=True, role="w", writers=("ada",), rights=replace(RIGHTS, may_rewrite=True)),
            ("tables: made", "role w: may read and add, never change or remove, and now also ada", "me may rewrite"),
            id="all-is-made",
        ),
        pytest.param(
            Initialised(made_tables=False, role="", writers=(), rights=replace(RIGHTS, is_durable=False)),
            ("tables: there already", "no role: ", "me may read and add", "its server does not wait for its disk"),
            id="nothing-is-made",
        ),
    ],
)
def test_what_was_made_in_a_database_is_said(done: Initialised, said: tuple[str, ...]) -> None:
    rows = list(_say(done))
    assert len(rows) == len(said)
    assert all(row.startswith(begins) for row, begins in zip(rows, said, strict=True))
