"""What changed since a plan was approved, in real repositories."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.storage.tree.git_command import head_of
from phase_gate.tasks.evidence import find_drift
from phase_gate.workflow.model import Drift
from tests.evidence.test_git import commit, context, edit
from tests.support import Project

pytestmark = pytest.mark.processes


@pytest.fixture
def repository(project: Project) -> Project:
    project.write({"a.py": "a = 1\n", "b.py": "b = 1\n"})
    project.commit_all()
    return project


def count_lines(root: Path, base: str) -> int:
    found = find_drift(context(root), Drift(files=("*.toml",), lines=400), base, lambda path: False)
    assert found is not None
    return found.lines


def test_lines_that_came_and_went(repository: Project) -> None:
    base = head_of(repository.root)
    assert count_lines(repository.root, base) == 0
    edit(repository, "a.py", "a = 2\na = 3\n")
    edit(repository, "new.py", "a = 1\n")
    assert count_lines(repository.root, base) == 1 + 2 + 1
    commit(repository)
    assert count_lines(repository.root, base) == 1 + 2 + 1


def install_hook(project: Project, canary: Path) -> None:
    """`git diff` writes the index where it has nothing better to do, and tells this hook of it."""
    hook = project.root / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)


def install_driver(project: Project, canary: Path) -> None:
    for key in ("diff.external", "diff.evil.command", "diff.evil.textconv"):
        project.git("config", key, f"touch {canary}; cat")
    edit(project, ".gitattributes", "*.py diff=evil\n")


@pytest.mark.parametrize("install", [install_hook, install_driver], ids=["hook", "driver"])
def test_no_program_of_the_repository_is_run(
    repository: Project, tmp_path_factory: pytest.TempPathFactory, install: Callable[[Project, Path], None]
) -> None:
    canary = tmp_path_factory.mktemp("beside") / "canary"
    base = head_of(repository.root)
    install(repository, canary)
    edit(repository, "b.py", "b = 2\nb = 3\n")
    os.utime(repository.root / "a.py", (1, 1))
    repository.process("git", "diff")
    assert canary.exists(), "git itself does"
    canary.unlink()
    os.utime(repository.root / "a.py", (2, 2))
    assert count_lines(repository.root, base) >= 1 + 2
    assert not canary.exists()
