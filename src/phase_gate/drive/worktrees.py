"""Git worktrees for tasks that are driven side by side: each has a checkout of its own, beside the project.

Work that is not finished survives its checkout: it is kept below `refs/phase-gate/`, and put back into the next one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from phase_gate.errors import NotAllowedError, StorageError
from phase_gate.storage.tree.git import NoGitError, act_with_git, try_git
from phase_gate.values import Value
from phase_gate.verification.changes import head_of

#: Where the unfinished work of a task is kept.
_REFS = "refs/phase-gate"
#: The checkout in which a merge is tried.
_SCRATCH = "merge"
_LIMIT = 300.0
#: No hook of the repository runs for what only tries something.
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false")


class Conflict(Value):
    """Why something can't be merged."""

    files: tuple[str, ...]


class Worktrees:
    """The checkouts of one project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        top = try_git(root, "rev-parse", "--show-toplevel")
        if top is None or not head_of(root):
            raise NotAllowedError(
                "--jobs gives each task a git worktree, and there is no commit to begin with",
                remedy="git init && git add -A && git commit, or leave --jobs out",
            )
        self._top = Path(os.fsdecode(top).rstrip("\n"))
        self._prefix = os.fsdecode(try_git(root, "rev-parse", "--show-prefix") or b"").rstrip("\n")
        self.folder = self._top.with_name(f"{self._top.name}.worktrees")

    def path(self, task: str) -> Path:
        return self.folder / task

    def root_of(self, task: str) -> Path:
        """Return the project's root in the checkout of a task."""
        return self.path(task) / self._prefix if self._prefix else self.path(task)

    def has(self, task: str) -> bool:
        """Tell whether there is work on the task in a checkout, or kept of one."""
        return self._is_checkout(self.path(task)) or bool(self._kept(task))

    def open(self, task: str) -> Path:
        """Return the root of the task's checkout: the one that is there, or a new one with what was kept."""
        path = self.path(task)
        if not self._is_checkout(path):
            self._remove(path)
            kept = self._kept(task)
            self._add(path, f"{kept}^" if kept else "HEAD")
            if kept:
                self._git(path, "read-tree", "-u", "--reset", kept)
                self._git(path, "reset", "--quiet")
        return self.root_of(task)

    def close(self, task: str, *, keep: bool) -> None:
        """Remove the task's checkout; what is not finished is kept."""
        path = self.path(task)
        if keep and self._is_checkout(path):
            self._git(self._top, "update-ref", f"{_REFS}/{task}", self.snapshot(task))
        elif not keep and self._kept(task):
            self._git(self._top, "update-ref", "-d", f"{_REFS}/{task}")
        self._remove(path)

    def sweep(self) -> None:
        """Remove the checkout in which merges are tried, and the folder of all if nothing is left in it."""
        self._remove(self.folder / _SCRATCH)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def left(self) -> tuple[str, ...]:
        """Return the tasks that have a checkout."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return ()
        return tuple(name for name in names if name != _SCRATCH and self._is_checkout(self.folder / name))

    # --- work --------------------------------------------------------------------------------------------------------

    def snapshot(self, task: str) -> str:
        """Return a commit of all that lies in the task's checkout; neither it nor a branch changes."""
        path = self.path(task)
        self._git(path, "add", "--all", "--", ".")
        tree = self._git(path, "write-tree").strip()
        commit = self._git(path, *_QUIET, "commit-tree", tree, "-p", "HEAD", "-m", f"work on {task}").strip()
        self._git(path, "reset", "--quiet")
        return commit

    def changed(self, task: str, commit: str) -> list[str]:
        """Return the files, from the project's root, that a snapshot has in another form than its checkout's commit."""
        said = self._git(self.root_of(task), "diff", "--name-only", "--no-renames", "--relative", "-z", "HEAD", commit)
        return [name for name in said.split("\0") if name]

    def is_dirty(self, files: tuple[str, ...]) -> bool:
        """Tell whether the project itself has uncommitted work in these files."""
        said = try_git(self.root, "status", "--porcelain", "--untracked-files=all", "--", *files)
        return bool(said)

    def try_merge(self, commit: str) -> Conflict | Path:
        """Merge a commit with what the project has now, on trial; return the root with the result."""
        path = self.folder / _SCRATCH
        head = head_of(self._top)
        if self._is_checkout(path):
            self._git(path, "reset", "--quiet", "--hard")
            self._git(path, "clean", "-ffdqx")
            self._git(path, "checkout", "--quiet", "--detach", "--force", head)
        else:
            self._remove(path)
            self._add(path, head)
        if self._ask(path, *_QUIET, "merge", "--quiet", "--no-ff", "--no-edit", "-m", "trial", commit) is None:
            said = self._ask(path, "diff", "--name-only", "--diff-filter=U", "-z") or ""
            self._ask(path, "merge", "--abort")
            return Conflict(files=tuple(name for name in said.split("\0") if name))
        return path / self._prefix if self._prefix else path

    def move_on(self, task: str, commit: str) -> None:
        """Put the task's work onto what the project has now; where both changed a line, the marks stand in the file."""
        path = self.path(task)
        self._git(path, "add", "--all", "--", ".")
        self._git(path, "reset", "--quiet", "--hard", head_of(self._top))
        self._ask(path, *_QUIET, "merge", "--quiet", "--squash", commit)
        self._git(path, "reset", "--quiet")

    def is_landed(self, commit: str) -> bool:
        return try_git(self._top, "merge-base", "--is-ancestor", commit, "HEAD") is not None

    def is_ahead(self, task: str) -> bool:
        """Tell whether the project has nothing that the task's checkout does not have."""
        return try_git(self.path(task), "merge-base", "--is-ancestor", head_of(self._top), "HEAD") is not None

    def land(self, commit: str, title: str) -> str:
        """Merge a commit into the project; return the commit that it has then. Raises NotAllowedError."""
        head = head_of(self._top)
        if try_git(self._top, "merge-base", "--is-ancestor", head, commit) is None:
            path = self.folder / _SCRATCH
            if isinstance(self.try_merge(commit), Conflict):
                raise NotAllowedError(f"{commit[:10]} can't be merged", remedy=f"git merge {commit[:10]}")
            self._git(path, "checkout", "--quiet", "--detach", "--force", head)
            self._git(path, "merge", "--quiet", "--no-ff", "--no-edit", "-m", f"Merge {title}", commit)
            commit = head_of(path)
        self._git(self._top, "merge", "--quiet", "--ff-only", commit)
        return commit

    # --- git ---------------------------------------------------------------------------------------------------------

    def _add(self, path: Path, commit: str) -> None:
        try:
            os.makedirs(path.parent, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"{path.parent} can't be made: {error.strerror}", remedy="leave --jobs out, or let it be made"
            ) from None
        self._git(self._top, "worktree", "prune")
        self._git(self._top, "worktree", "add", "--quiet", "--force", "--detach", str(path), commit)

    def _remove(self, path: Path) -> None:
        self._ask(self._top, "worktree", "remove", "--force", "--force", str(path))
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        self._ask(self._top, "worktree", "prune")

    def _is_checkout(self, path: Path) -> bool:
        """Tell whether it is a whole checkout of this repository: one that was being made may be half of one."""
        if not (path / ".git").is_file():
            return False
        own, ours = (try_git(each, "rev-parse", "--git-common-dir") for each in (path, self._top))
        if own is None or ours is None or not head_of(path):
            return False
        return os.path.realpath(path / os.fsdecode(own).strip()) == os.path.realpath(
            self._top / os.fsdecode(ours).strip()
        )

    def _kept(self, task: str) -> str:
        said = try_git(self._top, "rev-parse", "--verify", "-q", f"{_REFS}/{task}")
        return "" if said is None else said.decode("ascii").strip()

    def _ask(self, folder: Path, *arguments: str) -> str | None:
        try:
            return self._git(folder, *arguments)
        except NotAllowedError:
            return None

    def _git(self, folder: Path, *arguments: str) -> str:
        name = next(word for word in arguments if not word.startswith("-") and "=" not in word)
        try:
            done = act_with_git(folder, *arguments, keep=("GIT_AUTHOR_", "GIT_COMMITTER_"), limit=_LIMIT)
        except NoGitError as error:
            raise NotAllowedError(f"git {name}: {error}", remedy="mend what git says, then drive again") from None
        if done.returncode != 0:
            said = os.fsdecode(done.stderr).strip().splitlines() or ["git failed"]
            raise NotAllowedError(f"git {name}: {said[-1]}", remedy="mend what git says, then drive again")
        return os.fsdecode(done.stdout)
