"""Filters that are installed in a repository itself, as git-crypt, nbstripout and `git lfs install --local` do it.

Honest work must not notice that nobody runs them to look: what has the same bytes has not changed, whatever git did
with it, and what has others has.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from phase_gate.gate.inventory import Inventory, TestFile
from phase_gate.source.tests import find_tests
from phase_gate.storage.references import bodies_at_head
from phase_gate.storage.tree.filtered_files import as_indexed
from phase_gate.storage.tree.fingerprint import changed_sources, describe_difference, take_tree
from phase_gate.storage.tree.git_files import FILTERED_CACHE
from phase_gate.storage.tree.git_status import read_status
from phase_gate.storage.tree.stat_cache import RACY_NS
from phase_gate.storage.tree.untracked import take_data
from phase_gate.values import Value
from tests.storage.repositories import commit_all, git, posix_only, write, write_project

pytestmark = pytest.mark.processes

Act = Callable[["Filtered"], object]
LONG_AGO = 1e9


class Tool(Value, kw_only=False):
    """A tool that installs filters: the file that it is for, and what its filters do, as shell scripts."""

    file: str
    clean: str
    smudge: str


#: Each keeps a log of its calls in `$LOG`, and what it needs in `$STORE`.
TOOLS = {
    "git-crypt": Tool("src/app.py", "printf '\\0GITCRYPT\\0'; tr a-y b-z", "tail -c +11 | tr b-z a-y"),
    "nbstripout": Tool("tests/notes.ipynb", "grep -v output", "cat"),
    "git-lfs": Tool(
        "tests/table.csv",
        'cat > "$STORE/new"; oid=$(sha256sum < "$STORE/new" | cut -c 1-64); mv "$STORE/new" "$STORE/$oid"; '
        "printf 'version 1\\noid sha256:%s\\n' $oid",
        'cat "$STORE/$(tail -c 65)"',
    ),
}


class Filtered:
    """A repository with such a filter in its own settings."""

    def __init__(self, folder: Path, tool: Tool) -> None:
        self.root, self.path, self.file = write_project(folder / "repo"), tool.file, folder / "repo" / tool.file
        self.log = folder / "log"
        store = folder / "store"
        store.mkdir()
        write(self.root / "tests/notes.ipynb", '{"cells": ["a"],\n"output": 1,\n"b": 2}\n')
        write(self.root / ".gitattributes", f"/{tool.file} filter=tool -text\n")
        git(self.root, "init", "-q")
        for name, script in (("clean", tool.clean), ("smudge", tool.smudge)):
            program = write(
                folder / name, f'#!/bin/sh\nLOG={self.log}; STORE={store}\necho {name} >> "$LOG"\n{script}\n'
            )
            program.chmod(0o755)
            git(self.root, "config", f"filter.tool.{name}", str(program))
        git(self.root, "config", "filter.tool.required", "true")
        commit_all(self.root)

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def settle(self) -> None:
        """Let git take the file for clean by its `stat` alone."""
        os.utime(self.file, (LONG_AGO, LONG_AGO))
        self.git("status")

    def edit(self) -> None:
        write(self.file, self.file.read_bytes() + b"more = 1\n")

    def calls(self) -> str:
        return self.log.read_text()


@pytest.fixture(params=TOOLS, ids=str)
def filtered(request: pytest.FixtureRequest, tmp_path: Path) -> Filtered:
    return Filtered(tmp_path, TOOLS[request.param])


@pytest.fixture
def crypt(tmp_path: Path) -> Filtered:
    return Filtered(tmp_path, TOOLS["git-crypt"])


def go_and_come_back(filtered: Filtered) -> None:
    before = filtered.file.read_bytes()
    filtered.git("checkout", "-qb", "other")
    filtered.edit()
    commit_all(filtered.root)
    filtered.git("checkout", "-q", "-")
    # A stripped notebook comes back without its outputs.
    write(filtered.file, before)


def stash(filtered: Filtered) -> None:
    write(filtered.root / "src/other.py", "a = 1\n")
    filtered.git("add", "src/other.py")
    filtered.git("stash", "-q")
    filtered.git("stash", "pop", "-q")
    (filtered.root / "src/other.py").unlink()
    filtered.git("rm", "-q", "--cached", "src/other.py")


@pytest.mark.sampled(4)
@posix_only
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda filtered: filtered.file.touch(), id="touched"),
        pytest.param(go_and_come_back, id="checked-out-and-back"),
        pytest.param(stash, id="stashed-and-back"),
        pytest.param(lambda filtered: filtered.git("commit", "-qm", "empty", "--allow-empty"), id="committed"),
        pytest.param(lambda filtered: filtered.git("rm", "-q", "--cached", filtered.path), id="lost"),
    ],
)
def test_what_changes_no_byte_changes_nothing(filtered: Filtered, act: Act) -> None:
    filtered.settle()
    before = take_tree(filtered.root, always=[filtered.path])
    act(filtered)
    assert take_tree(filtered.root, always=[filtered.path]).digest == before.digest


@pytest.mark.sampled(3)
@posix_only
def test_an_edit_counts_once_however_it_is_committed(filtered: Filtered) -> None:
    clean = take_tree(filtered.root)
    filtered.edit()
    edited = take_tree(filtered.root)
    assert describe_difference(clean.files, edited.files).changed == (filtered.path,)
    for arguments in (("add", "-A"), ("status",), ("commit", "-qm", "edit"), ("status",)):
        filtered.git(*arguments)
        assert take_tree(filtered.root) == edited, arguments
    filtered.settle()
    assert take_tree(filtered.root) == edited


@posix_only
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_an_edit_that_git_is_told_to_overlook_counts(crypt: Filtered, flag: str) -> None:
    before = take_tree(crypt.root)
    crypt.git("update-index", flag, crypt.path)
    crypt.edit()
    assert changed_sources(before, take_tree(crypt.root)) == (crypt.path,)
    assert as_indexed(str(crypt.root), [crypt.path]) == {}


@posix_only
def test_an_edit_that_the_filter_takes_back_counts(tmp_path: Path) -> None:
    """Such a filter hides an edit from git, which has the same content as before."""
    hiding = Filtered(tmp_path, Tool("src/app.py", "printf 'def add(a, b):\\n    return a + b\\n'", "cat"))
    before = take_tree(hiding.root)
    write(hiding.file, hiding.file.read_bytes().replace(b"+", b"-"))
    assert hiding.git("status", "--porcelain") == ""
    assert changed_sources(before, take_tree(hiding.root)) == ("src/app.py",)


@posix_only
def test_a_new_file_keeps_its_id_when_it_is_committed(crypt: Filtered) -> None:
    write(crypt.root / ".gitattributes", "*.py filter=tool -text\n")
    write(crypt.root / "src/new.py", "b = 1\n")
    before = take_tree(crypt.root)
    data = take_data(crypt.root, ("src",), state_folder=crypt.root / ".phase-gate")
    commit_all(crypt.root)
    assert take_tree(crypt.root).files["src/new.py"] == before.files["src/new.py"] == data["src/new.py"]
    assert take_data(crypt.root, ("src",), state_folder=crypt.root / ".phase-gate") == data


@pytest.mark.sampled(3)
@posix_only
def test_nobody_runs_the_filter_to_look(filtered: Filtered) -> None:
    for act in (filtered.settle, filtered.file.touch, filtered.edit):
        act()
        before = filtered.calls()
        take_tree(filtered.root)
        read_status(str(filtered.root))
        as_indexed(str(filtered.root), [filtered.path])
        assert filtered.calls() == before


@posix_only
def test_installing_a_filter_changes_nothing_yet(tmp_path: Path) -> None:
    root = write_project(tmp_path / "repo")
    git(root, "init", "-q")
    commit_all(root)
    before = take_tree(root)
    git(root, "config", "filter.tool.clean", "tr a-z A-Z")
    write(root / ".gitattributes", "*.csv filter=tool\n")
    assert describe_difference(before.files, take_tree(root).files).changed == ()


# --- as it was committed, or not


def edit_and_commit(filtered: Filtered) -> None:
    filtered.edit()
    commit_all(filtered.root)


@posix_only
@pytest.mark.parametrize(
    ("act", "is_clean"),
    [
        pytest.param(lambda filtered: None, True, id="just-committed"),
        pytest.param(edit_and_commit, True, id="edited-and-committed"),
        pytest.param(lambda filtered: filtered.edit(), False, id="edited"),
        pytest.param(lambda filtered: (filtered.edit(), filtered.git("add", "-A")), False, id="staged"),
        pytest.param(lambda filtered: filtered.file.unlink(), False, id="deleted"),
        pytest.param(lambda filtered: filtered.settle(), True, id="touched-and-git-looked"),
        # What the filter would make of it is not known: see docs/explanation/strangers.md.
        pytest.param(lambda filtered: os.utime(filtered.file, (1, 1)), False, id="touched-and-nobody-looked"),
    ],
)
def test_is_it_committed(crypt: Filtered, act: Act, is_clean: bool) -> None:
    act(crypt)
    assert list(read_status(str(crypt.root)).rows) == ([] if is_clean else [crypt.path])


@posix_only
def test_tests_behind_a_filter_are_known_at_the_last_commit(tmp_path: Path) -> None:
    """git has them encrypted: what was committed can't be read, only recognised."""
    crypt = Filtered(tmp_path, Tool("tests/test_app.py", TOOLS["git-crypt"].clean, TOOLS["git-crypt"].smudge))
    (test,) = find_tests(crypt.file.read_bytes())
    inventory = Inventory(
        {crypt.path: TestFile(content="", ids=("test_add",), bodies={"test_add": test.body}, statements=())}
    )
    files = take_tree(crypt.root).files
    assert bodies_at_head(crypt.root, inventory, files) == {crypt.path: {"test_add": test.body}}
    crypt.edit()
    files = take_tree(crypt.root).files
    assert bodies_at_head(crypt.root, inventory, files) == {}, "it may be another test by now"


# --- what it costs


@posix_only
def test_what_is_behind_a_filter_is_read_once(
    crypt: Filtered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_git: Callable[[str], Path]
) -> None:
    """Large files are behind filters: hashing them all for each look would take minutes."""
    state = tmp_path / "state"
    state.mkdir()
    crypt.settle()
    later = time.time_ns() + RACY_NS
    monkeypatch.setattr("phase_gate.storage.tree.stat_cache._now_ns", lambda: later)
    calls = fake_git('exec "$REAL" "$@"')

    def take() -> tuple[str, int]:
        write(calls, "")
        tree = take_tree(crypt.root, state_folder=state, cache_file=state / "cache" / "tree.json")
        return tree.digest, calls.read_text().count("hash-object")

    first, hashed = take()
    assert hashed == 1
    assert take() == (first, 0)
    assert list(json.loads((state / "cache" / FILTERED_CACHE).read_bytes())["files"]) == [crypt.path]
    crypt.edit()
    assert take()[1] == 1


@posix_only
def test_a_large_file_that_git_cant_hash_in_time_is_hashed_in_parts(
    crypt: Filtered, monkeypatch: pytest.MonkeyPatch, fake_git: Callable[[str], Path]
) -> None:
    whole = take_tree(crypt.root)
    monkeypatch.setattr("phase_gate.storage.tree.git_files._PART", 7)
    fake_git('case "$*" in *hash-object*) exit 128;; esac; exec "$REAL" "$@"')
    assert take_tree(crypt.root) == whole
