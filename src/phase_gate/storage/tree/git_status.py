"""What is not committed, as `git status` says it, without a program of a repository's own being run.

git starts itself anew in each submodule, with that one's settings; so it is not let in there, and we look ourselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from phase_gate.storage.tree.filtered_files import as_indexed
from phase_gate.storage.tree.git import is_top, run_git
from phase_gate.storage.tree.git_files import is_repository
from phase_gate.values import Value

#: How many blanks stand before the path, by the kind of a row.
_BLANKS = {"1": 8, "2": 9, "u": 10}

_UNTRACKED = "??"
#: Not staged, and not what the index has.
_MODIFIED = ".M"


class Status(Value):
    """The commit, None before the first, and path -> what is so with it: two letters, the second of the work tree."""

    head: str | None
    rows: dict[str, str]


def read_status(folder: str, *, untracked: str = "all", submodules: Iterable[str] | None = None) -> Status:
    """Return what is not committed below a folder, by paths from there. Raises NoGitError.

    :param untracked: as `--untracked-files` takes it.
    :param submodules: those that are checked out, where they are known already.
    """
    said = run_git(
        folder,
        *("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"),
        *("--ignore-submodules=dirty", f"--untracked-files={untracked}", "--", "."),
    )
    # Paths are relative to the top of the repository, and we may stand below it.
    prefix = "" if is_top(folder) else os.fsdecode(run_git(folder, "rev-parse", "--show-prefix")).rstrip("\n")
    head = None
    rows: dict[str, str] = {}
    for row in filter(None, os.fsdecode(said).split("\0")):
        kind, rest = row[0], row[2:]
        if kind in _BLANKS:
            rows[row.split(" ", _BLANKS[kind])[-1].removeprefix(prefix)] = rest[:2]
        elif kind == "?":
            rows[rest.removeprefix(prefix)] = _UNTRACKED
        elif rest.startswith("branch.oid ") and "(" not in rest:
            head = rest.removeprefix("branch.oid ")
    for path in as_indexed(folder, [path for path, what in rows.items() if what == _MODIFIED]):
        del rows[path]
    modified = find_modified_submodules(folder, submodules)
    rows.update((path, _MODIFIED) for path in modified if path not in rows)
    return Status(head=head, rows=rows)


def find_modified_submodules(folder: str, submodules: Iterable[str] | None = None) -> list[str]:
    """Return the submodules with something in them that is not committed there. Raises NoGitError.

    :param submodules: those that are checked out, where they are known already.
    """
    paths = _list_submodules(folder) if submodules is None else submodules
    return [path for path in paths if is_repository(place := os.path.join(folder, path)) and read_status(place).rows]


def _list_submodules(folder: str) -> list[str]:
    listed = run_git(folder, "ls-files", "-z", "-s").split(b"\0")
    return [os.fsdecode(entry.partition(b"\t")[2]) for entry in listed if entry.startswith(b"160000 ")]
