"""`phase-gate store init`: what it finds out about a git remote, and says of a database."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from phase_gate.stores import choosing
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
