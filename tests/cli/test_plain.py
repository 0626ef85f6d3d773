"""The plain reader of command lines says what argparse says, and leaves the rest to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from phase_gate.cli._parser import parse
from phase_gate.cli._plain import NotPlainError, read_plain
from phase_gate.cli._table import COMMANDS
from tests.storage.repositories import commit_all, git, write
from tests.storage.stores import begin, open_store

PLAIN = [
    "check",
    "check --gate1",
    "check --json --gate1",
    "check --task other --dir elsewhere",
    "check --task=other --dir=else=where",
    "check --task a --task b",
    "check --task=",
    "status",
    "status --json",
    "hook stop",
    "hook pre-tool --agent claude",
    "hook --agent=codex stop --json",
    "audit --json",
    "verify status --json",
    "store trust --word TRUST",
]

LEFT = [
    pytest.param("check -h", id="help"),
    pytest.param("check --gate", id="abbreviation"),
    pytest.param("check --gate1=yes", id="value-of-a-flag"),
    pytest.param("check --task", id="missing-value"),
    pytest.param("check --task -x", id="value-like-an-option"),
    pytest.param("check --task=--", id="two-dashes-as-a-value"),
    pytest.param("check --", id="two-dashes"),
    pytest.param("check more", id="one-word-too-many"),
    pytest.param("hook", id="missing-word"),
    pytest.param("hook stop stop", id="word-twice"),
    pytest.param("hook leave", id="unknown-word"),
    pytest.param("hook stop --agent none", id="unknown-choice"),
    pytest.param("check --task a\u200bb", id="what-a-reader-does-not-see"),
    pytest.param("pipeline vote", id="a-word-that-may-be-left-out"),
    pytest.param("unknown", id="unknown-command"),
    pytest.param("verify", id="a-feature"),
]


@pytest.mark.parametrize("line", PLAIN)
def test_says_what_argparse_says(line: str) -> None:
    words = line.split(" ")
    assert vars(read_plain(words)) == vars(parse(words))


@pytest.mark.parametrize("line", LEFT)
def test_leaves_what_is_not_plain(line: str) -> None:
    with pytest.raises(NotPlainError):
        read_plain(line.split(" "))


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_means_anything_else_to_it(name: str) -> None:
    try:
        found = read_plain(name.split())
    except NotPlainError:
        return
    assert vars(found) == vars(parse(name.split()))


#: What loads slowly and is not needed to say where a task stands.
HEAVY = ("argparse", "typing", "subprocess", "hashlib", "hmac", "dataclasses", "tempfile", "yaml", "pytest", "ast")


WRITE = '{"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "new.py", "content": ""}}'


@pytest.mark.processes
@pytest.mark.parametrize("line", ["check", "status", "hook stop", "hook pre-tool"])
def test_loads_little(line: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root / "app.py", "x = 1\n")
    git(root, "init", "-q")
    commit_all(root)
    begin(open_store(root / ".phase-gate"))
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}; from phase_gate.cli import main; main(sys.argv[1:]);"
        f" print(sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    )
    # The second look: the first one makes the fingerprint that is kept.
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-S", "-c", code, *line.split()],
            cwd=root,
            input=WRITE if line == "hook pre-tool" else "{}",
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "home")},
        )
    assert done.stderr.splitlines()[-1] == "[]"
    assert "internal" not in done.stdout + done.stderr
