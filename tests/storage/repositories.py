"""Real repositories, small ones, made with a git that has no settings but those of the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


def posix_only(test: Test) -> Test:
    """Leave a test out on Windows, which has neither the names, links and modes nor the shell that it is about."""
    vars(test)["__test__"] = os.name != "nt"
    return test


def git(folder: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_project(folder: Path) -> Path:
    write(folder / "src" / "app.py", "def add(a, b):\n    return a + b\n")
    write(folder / "tests" / "test_app.py", "def test_add():\n    assert add(1, 1) == 2\n")
    write(folder / "tests" / "table.csv", "1,1,2\n")
    write(folder / "pyproject.toml", "[tool.pytest]\n")
    write(folder / "README.md", "# App\n")
    write(folder / "docs" / "conf.py", "project = 'App'\n")
    write(folder / ".gitignore", "ignored.py\nout/\n.phase-gate/\n")
    return folder


def commit_all(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
