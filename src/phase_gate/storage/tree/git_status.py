"""What is not committed, as `git status` says it."""

from __future__ import annotations

import os

from phase_gate.storage.tree.git import run_git
from phase_gate.values import Value

#: How many blanks stand before the path, by the kind of a row.
_BLANKS = {"1": 8, "2": 9, "u": 10}


class Status(Value):
    """The commit, None before the first, and path -> what is so with it: two letters, the second of the work tree."""

    head: str | None
    rows: dict[str, str]


def read_status(folder: str, *, untracked: str = "all") -> Status:
    """Return what is not committed below a folder, by paths from there. Raises NoGitError.

    :param untracked: as `--untracked-files` takes it.
    """
    said = run_git(
        folder,
        *("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"),
        *("--ignore-submodules=none", f"--untracked-files={untracked}", "--", "."),
    )
    # Paths are relative to the top of the repository, and we may stand below it.
    is_top = os.path.lexists(os.path.join(folder, ".git"))
    prefix = "" if is_top else os.fsdecode(run_git(folder, "rev-parse", "--show-prefix")).rstrip("\n")
    head = None
    rows: dict[str, str] = {}
    for row in filter(None, os.fsdecode(said).split("\0")):
        kind, rest = row[0], row[2:]
        if kind in _BLANKS:
            rows[row.split(" ", _BLANKS[kind])[-1].removeprefix(prefix)] = rest[:2]
        elif kind == "?":
            rows[rest.removeprefix(prefix)] = "??"
        elif rest.startswith("branch.oid ") and "(" not in rest:
            head = rest.removeprefix("branch.oid ")
    return Status(head=head, rows=rows)
