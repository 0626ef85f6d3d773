"""Ask git about commits: the files of a commit, uncommitted files, the merge base."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from phase_gate.errors import NotAllowedError
from phase_gate.storage.tree.git_command import head_of, run_git, try_git
from phase_gate.values import Value


def blobs_of(root: Path, commit: str) -> dict[str, str]:
    """Return path from the root -> blob id in a commit; empty if git does not have it."""
    listing = try_git(root, "ls-tree", "-r", "-z", commit)
    if listing is None:
        return {}
    blobs = {}
    for row in listing.split(b"\0"):
        information, _, path = row.partition(b"\t")
        words = information.split()
        if len(words) == 3 and words[1] == b"blob":
            blobs[path.decode("utf-8", "surrogateescape")] = words[2].decode("ascii")
    return blobs


def files_of_commit(root: Path, commit: str, now: Mapping[str, str]) -> dict[str, str]:
    """Return path -> content id of a commit's files, comparable with the tree's.

    git may store a file in another form than the work tree has: with other line endings, or encrypted.

    :param now: path -> content id, as in the tree.
    """
    found = blobs_of(root, commit)
    in_doubt = {path for path, blob in found.items() if now.get(path, blob) != blob}
    if in_doubt:
        listed = try_git(root, "diff", "--name-only", "-z", "--no-renames", "--relative", commit, "--", ".")
        if listed is not None:
            found.update((path, now[path]) for path in in_doubt - set(os.fsdecode(listed).split("\0")))
    return found


def find_commit(root: Path, revision: str) -> str:
    """Return the merge base of HEAD and a revision."""
    is_shallow = ask_git(root, "rev-parse", "--is-shallow-repository")
    if not is_shallow:
        raise NotAllowedError(f"{root} is not in a git repository", remedy="git init, and commit")
    named = ask_git(root, "rev-parse", "--verify", "-q", f"{revision}^{{commit}}")
    remote, _, branch = revision.partition("/")
    if not named:
        is_remote = bool(branch) and remote in ask_git(root, "remote").split()
        fix = f"git fetch {remote} {branch}:refs/remotes/{revision}" if is_remote else "git branch --all"
        raise NotAllowedError(f"git does not know the revision {revision!r}", remedy=fix)
    common = ask_git(root, "merge-base", named, "HEAD")
    if not common and is_shallow == "true":
        raise NotAllowedError(
            f"this clone is shallow: it does not contain the merge base with {revision}", remedy="git fetch --unshallow"
        )
    return common or named


def ask_git(root: Path, *arguments: str) -> str:
    """Return git's output as one line; empty if git fails."""
    output = try_git(root, *arguments)
    return "" if output is None else output.decode("utf-8", "replace").strip()


# --- uncommitted files


class Status(Value):
    """The commit, None before the first one, and path -> two status letters, the second for the work tree."""

    head: str | None
    rows: dict[str, str]


def read_status(folder: str, *, untracked: str = "all") -> Status:
    """Return the uncommitted files below a folder, by paths from there. Raises NoGitError.

    :param untracked: a value of `--untracked-files`.
    """
    options = ("--no-renames", "--ignore-submodules=none", f"--untracked-files={untracked}")
    output = run_git(folder, "status", "--porcelain", "-z", *options, "--", ".")
    # Paths are relative to the top of the repository, and the folder may be below it.
    is_top = os.path.lexists(os.path.join(folder, ".git"))
    prefix = "" if is_top else os.fsdecode(run_git(folder, "rev-parse", "--show-prefix")).rstrip("\n")
    rows = {row[3:].removeprefix(prefix): row[:2] for row in os.fsdecode(output).split("\0") if row}
    return Status(head=head_of(Path(folder)) or None, rows=rows)
