"""git without anybody's settings, and one that is counted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.storage.repositories import commit_all, git, write, write_project


@pytest.fixture(autouse=True)
def plain_git(clean_environment: pytest.MonkeyPatch) -> None:
    """No settings of whoever runs the suite, beside the variables that are taken away from every test."""
    clean_environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    clean_environment.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "repo")
    git(folder, "init", "-q")
    commit_all(folder)
    return folder


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a shell script before git in the PATH; it finds the real one in `$REAL`, its calls are counted in a file."""
    real = shutil.which("git")

    def install(script: str) -> Path:
        calls = write(tmp_path / "calls.txt", "")
        fake = write(tmp_path / "bin" / "git", f'#!/bin/sh\nREAL="{real}"\necho "$@" >> "{calls}"\n{script}\n')
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
        return calls

    return install
