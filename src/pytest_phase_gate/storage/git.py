"""Run git, and know its folders.

Where git can't answer there is one error for it, and the caller has another way. Nothing is decided here.
"""

from __future__ import annotations

import os
from pathlib import Path

#: Longer than git takes on a cold disk with 100,000 files; a hanging network mount must not hang the run.
GIT_TIMEOUT = 10.0
#: `core.*` settings that would make git look less closely, or start a daemon, whatever the user has set.
GIT_LOOKS = ("-c", "core.fsmonitor=false", "-c", "core.checkStat=default", "-c", "core.trustctime=true")
#: Settings that a person made. The rest of GIT_* comes from a hook that runs us, and speaks of its repository.
GIT_SETTINGS = ("GIT_CONFIG", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")


class NoGitError(Exception):
    """git is missing, refuses, hangs, or knows nothing of this folder."""


def run_git(folder: str, *arguments: str) -> bytes:
    """Return what git writes when it is called in that folder."""
    import subprocess

    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(GIT_SETTINGS)
    }
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        return subprocess.run(
            ["git", *GIT_LOOKS, "-C", folder, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=GIT_TIMEOUT,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise NoGitError from error


def is_linked_worktree(folder: str) -> bool:
    """Say whether the folder is one more checkout of a repository whose `.git` lies elsewhere."""
    try:
        with open(os.path.join(folder, ".git"), encoding="utf-8", errors="replace") as file:
            parts = file.read(4096).strip().replace("\\", "/").split("/")
    except OSError:
        return False
    return len(parts) > 2 and parts[0].startswith("gitdir:") and parts[-2] == "worktrees"


def try_git(root: Path, *arguments: str) -> bytes | None:
    """Return what git says; None if it is missing, refuses, hangs, or knows nothing of the folder."""
    try:
        return run_git(str(root), *arguments)
    except NoGitError:
        return None
