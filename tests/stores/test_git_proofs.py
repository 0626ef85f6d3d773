"""A sample of `python -m tests.stores` on git: the same functions with small numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stores import git_proofs, proofs
from tests.stores.git_proofs import by_file

pytestmark = pytest.mark.processes


def test_machines_at_once(tmp_path: Path) -> None:
    assert "4 acknowledged" in by_file(proofs.writers_at_once, writers=2, changes=2)(tmp_path)


def test_clients_that_are_killed(tmp_path: Path) -> None:
    assert "doubled 0" in by_file(git_proofs.killed_at_every_step, every=15)(tmp_path)


def test_git_that_is_killed(tmp_path: Path) -> None:
    assert "doubled 0" in by_file(git_proofs.git_fails_at_every_step, every=7)(tmp_path)


@pytest.mark.sweep
def test_clocks_apart(tmp_path: Path) -> None:
    assert "lost 0" in by_file(proofs.clocks_apart, changes=2)(tmp_path)


@pytest.mark.sweep
def test_runs_at_once(tmp_path: Path) -> None:
    assert "lost 0" in by_file(proofs.runs_at_once, runs=3)(tmp_path)


@pytest.mark.sweep
def test_a_bad_line(tmp_path: Path) -> None:
    assert "lost 0" in git_proofs.line_disturbed(tmp_path, writers=2, changes=3)


@pytest.mark.sweep
def test_a_full_disk(tmp_path: Path) -> None:
    said = git_proofs.disk_full(tmp_path)
    assert "lost 0" in said or "not tried" in said
