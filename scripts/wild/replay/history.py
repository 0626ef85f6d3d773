"""Commits of others that change tests and code together, in a clone of our own: theirs is only read."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from scripts.wild.stepping import is_of_tests

#: Code here is no code that tests ask for.
_ASIDE = frozenset({"bench", "benchmark", "benchmarks", "bin", "doc", "docs", "examples", "fuzz", "scripts", "tools"})
_TOOLS = frozenset({"setup.py", "noxfile.py", "conf.py", "tasks.py"})
#: Seconds for a clone.
_TIMEOUT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One step of a history, seen from its first parent."""

    name: str
    parent: str
    #: Each changed file, and whether it is there afterwards.
    files: tuple[tuple[str, bool], ...]

    @property
    def tests(self) -> tuple[tuple[str, bool], ...]:
        return tuple(each for each in self.files if is_of_tests(PurePosixPath(each[0])))

    @property
    def code(self) -> tuple[tuple[str, bool], ...]:
        return tuple(each for each in self.files if not is_of_tests(PurePosixPath(each[0])))

    @property
    def is_step(self) -> bool:
        """Tell whether it changes tests that stay, and code that they may ask for."""
        tests = any(is_there and name.endswith(".py") for name, is_there in self.tests)
        return tests and any(_is_code(PurePosixPath(name)) for name, _ in self.code)


def _is_code(path: PurePosixPath) -> bool:
    return path.suffix == ".py" and path.name not in _TOOLS and path.parts[0] not in _ASIDE


@dataclass(frozen=True, slots=True)
class Clone:
    """A work tree that is ours."""

    folder: Path

    def list_steps(self, last: str = "origin/HEAD") -> Iterator[Commit]:
        """Yield the commits that change tests and code together, newest first, merges as one step each."""
        words = ("log", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--name-status", "-z")
        said = self._git(*words, "--format=%x01%H %P%x01", last)
        yield from (commit for commit in read_log(said) if commit.is_step)

    def lay_parent(self, commit: Commit) -> None:
        """Make the tree that of the parent, with nothing else in it."""
        self._git("checkout", "--quiet", "--force", "--detach", commit.parent)
        self._git("clean", "-ffdxq")

    def lay(self, commit: Commit, files: Iterable[tuple[str, bool]]) -> None:
        """Take these of the commit's files over, as an editor would: nothing is staged."""
        listed = tuple(files)
        for name, is_there in listed:
            if not is_there:
                (self.folder / name).unlink(missing_ok=True)
        if kept := [name for name, is_there in listed if is_there]:
            self._git("restore", "--worktree", f"--source={commit.name}", "--", *kept)

    def ignores(self, name: str) -> bool:
        done = subprocess.run(["git", "check-ignore", "--quiet", name], cwd=self.folder, check=False)
        return done.returncode == 0

    def _git(self, *words: str) -> str:
        return _run(("git", "--literal-pathspecs", *words), self.folder)


def clone(where: str, folder: Path) -> Clone:
    """Clone a git folder or an address; nothing of its settings or hooks comes along, and nothing is checked out."""
    _run(("git", "clone", "--quiet", "--no-checkout", "--", where, str(folder)), Path.cwd())
    return Clone(folder)


def read_log(text: str) -> Iterator[Commit]:
    """Yield the commits of a log with their files; those without a parent are left out."""
    parts = re.split("\x01", text)[1:]
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        name, *parents = head.split()
        words = [word.strip("\n") for word in body.split("\0")]
        pairs = [word for word in words if word]
        files = tuple((path, status != "D") for status, path in zip(pairs[::2], pairs[1::2], strict=True))
        if parents:
            yield Commit(name=name, parent=parents[0], files=files)


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(command[:4])} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
        )
    return done.stdout.decode("utf-8", "surrogateescape")
