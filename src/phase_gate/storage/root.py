"""Find the project's root, and name files relative to it.

Looks at names, owners and a few small files; never asks pytest, whose rootdir depends on its arguments.

A root's `phase-gate.yaml` names commands that run as the user. So the climb ends below the home folder and below every
folder into which other users can put such a file; and a root of another owner is refused, as git refuses it.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path

from phase_gate.bound import os
from phase_gate.errors import ConfigurationError, ForeignRootError, StorageError
from phase_gate.values import Value

#: pytest takes these by their mere presence, even if they are empty.
PYTEST_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")

#: pytest takes these only with a section of its own. A table of ours marks a root, too. A pattern instead of a parser:
#: tomllib alone costs 2.6 ms, and all that we ask is whether the section is there. `[tool.pytest-enabler]` is not
#: pytest's.
PYTEST_SECTIONS = {
    "pyproject.toml": r"""^[ \t]*\[[ \t]*["']?tool["']?[ \t]*\.[ \t]*["']?(?:pytest|phase-gate)["']?[ \t]*[].]""",
    "tox.ini": r"^\[pytest\]",
    "setup.cfg": r"^\[tool:pytest\]",
}
#: What a pyproject.toml with settings of ours has in it, however they are written; a dependency on us is none.
_OWN_TABLE = rb"""(?<![\w-])phase-gate(?!\.ya?ml)["']?[ \t]*[].=]"""

#: Marks of a package. Many of them may lie in one project, so they count only where nothing better is found; and so
#: does our own folder, which a run that was started in the wrong place leaves behind.
_PACKAGE_FILES = ("pyproject.toml", "setup.py")
_STATE_FOLDER = ".phase-gate"


def find_root(climb: Climb) -> Path:
    """Return the nearest folder that is a project; else the nearest that looks like a part of one; else the start."""
    for is_mark in (_is_root, _is_package):
        for folder in climb.folders():
            if is_mark(folder):
                return folder
    return climb.start


def relative_id(path: Path, root: Path) -> str:
    """Return `path` relative to `root`, with slashes, and with `..` where it lies outside.

    A path below the root keeps the links that are part of it; one that is not is looked at again with links resolved.
    """
    lexical, top = os.fspath(path), os.fspath(root)
    # Most are plainly below it, and there is nothing to resolve.
    if lexical.startswith(top + os.sep) and os.path.isabs(top) and not _has_dots(lexical):
        return lexical[len(top) + 1 :].replace(os.sep, "/")
    lexical, top = os.path.abspath(path), os.path.abspath(root)
    try:
        relative = os.path.relpath(lexical, top)
        if _leaves(relative):
            # Resolve the folder only: a file that is itself a link keeps the name that pytest knows it by.
            folder, name = os.path.split(lexical)
            relative = os.path.relpath(os.path.join(os.path.realpath(folder), name), os.path.realpath(top))
    except ValueError:  # another drive: there is no way from here to there
        relative = lexical
    return relative.replace(os.sep, "/")


def _has_dots(path: str) -> bool:
    return f"{os.sep}." in path or os.sep * 2 in path or path.endswith(os.sep)


def _leaves(relative: str) -> bool:
    return relative == os.pardir or relative.startswith(os.pardir + os.sep)


def _is_root(folder: Path) -> bool:
    # By os.path: a folder that may not be looked into has no mark, and pathlib would raise.
    join, is_file = os.path.join, os.path.isfile
    return (
        is_file(join(folder, "phase-gate.yaml"))
        or os.path.exists(join(folder, ".git"))  # a file in worktrees and submodules
        or any(is_file(join(folder, name)) for name in PYTEST_FILES)
        or any(_has_section(folder / name, section) for name, section in PYTEST_SECTIONS.items())
    )


def _is_package(folder: Path) -> bool:
    is_package = any(os.path.isfile(os.path.join(folder, name)) for name in _PACKAGE_FILES)
    return is_package or os.path.isdir(os.path.join(folder, _STATE_FOLDER))


def has_own_table(root: Path) -> bool:
    """Tell whether pyproject.toml may hold settings of ours: a parser has to look."""
    try:
        return re.search(_OWN_TABLE, (root / "pyproject.toml").read_bytes()) is not None
    except OSError:
        return False


def _has_section(path: Path, section: str) -> bool:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    # Universal newlines by hand: `^` knows only `\n`, and only old editors end a line with a lone `\r`.
    return "\0" not in text and re.search(section, text.replace("\r", "\n"), re.M) is not None


#: Where distributions are installed.
PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})


def is_in_environment(path: str, root: str) -> bool:
    """Tell whether a file below the root belongs to a virtual environment that lies there."""
    return _is_environment(os.path.dirname(path), root)


@cache
def _is_environment(folder: str, root: str) -> bool:
    if len(folder) <= len(root):
        return False
    return (
        os.path.basename(folder) in PACKAGE_FOLDERS
        or os.path.exists(os.path.join(folder, "pyvenv.cfg"))
        or os.path.isdir(os.path.join(folder, "conda-meta"))
        or _is_environment(os.path.dirname(folder), root)
    )


# --- how far above the current folder a root is looked for, and whose root is obeyed


#: Names a folder that the user trusts, with everything below it, no matter who owns it.
TRUST_VARIABLE = "PHASE_GATE_TRUST_ROOT"

#: Works in containers on folders that were mounted from elsewhere; owners say nothing there.
_SUPERUSER = 0


class Visitor(Value):
    """Who looks for a root."""

    #: None on Windows, where neither an owner's number nor permissions say anything: these rules are off there.
    uid: int | None
    #: The home folder, with links resolved; empty if there is none.
    home: str = ""
    #: The folder that the user trusts, with links resolved; empty if there is none.
    trusted: str = ""

    @classmethod
    def in_environment(cls, start: Path, environment: Mapping[str, str]) -> Visitor:
        home = environment.get("USERPROFILE" if os.name == "nt" else "HOME") or os.path.expanduser("~")
        trusted = environment.get(TRUST_VARIABLE)
        return cls(
            uid=os.geteuid() if hasattr(os, "geteuid") else None,
            home=os.path.realpath(home) if os.path.isabs(home) else "",
            trusted=os.path.realpath(start / trusted) if trusted else "",
        )


class Climb:
    """The way from a folder upwards.

    :param look: returns the owner and the permissions of a path.
    """

    def __init__(self, start: Path, visitor: Visitor, *, look: Callable[[Path], os.stat_result] = os.lstat) -> None:
        # Resolved, for the current folder is too: one project has one root, through whichever link it was entered.
        self.start = start.resolve()
        self._visitor, self._look = visitor, look

    @classmethod
    def begin(cls, start: Path, environment: Mapping[str, str]) -> Climb:
        return cls(start, Visitor.in_environment(start, environment))

    def folders(self) -> Iterator[Path]:
        """Yield the start, no matter who owns it, and the folders above that may hold the user's project."""
        for folder in self._below_home():
            if folder != self.start and self._ends_at(folder):
                return
            yield folder

    def refuse_foreign(self, root: Path) -> None:
        """Raise ForeignRootError for a root that belongs to another user."""
        status = self._status(root)
        owner = None if status is None else status.st_uid
        if self._visitor.uid in (None, _SUPERUSER, owner) or self._is_trusted(root) or self._is_in_own_top(root):
            return
        raise ForeignRootError(
            f"the root {root} belongs to {_name_of(owner)}, not to you: commands that its files name would run as you",
            remedy=f"work in a copy of your own; or, if you trust the owner, set {TRUST_VARIABLE}={root}",
        )

    def _below_home(self) -> Iterator[Path]:
        """Yield the start, even if it is the home folder, and what is above it, but neither home nor beyond."""
        yield self.start
        if not self._is_home(self.start):
            for folder in self.start.parents:
                if self._is_home(folder):
                    return
                yield folder

    def _is_home(self, folder: Path) -> bool:
        return str(folder) == self._visitor.home and not self._is_trusted(folder)

    def _is_trusted(self, folder: Path) -> bool:
        return bool(self._visitor.trusted) and folder.is_relative_to(self._visitor.trusted)

    def _ends_at(self, folder: Path) -> bool:
        """Tell whether other users can put rules into this folder."""
        uid = self._visitor.uid
        if uid is None or self._is_trusted(folder):
            return False
        status, start = self._status(folder), self._status(self.start)
        if status is None or start is None:
            return True
        is_shared = bool(status.st_mode & stat.S_IWOTH)
        if is_shared and status.st_mode & stat.S_ISVTX:
            return True  # as /tmp: made for all users, so not even a repository there is a reason to go on
        if self._is_in_own_top(folder):
            return False
        # In a folder of another owner the climb goes on through that owner's: the root that it finds is refused, and
        # the message names the right one. Where all users may write to the start, all is lost already: mounts of
        # other systems show every folder so.
        is_foreign = uid != _SUPERUSER and status.st_uid not in (uid, start.st_uid)
        return is_foreign or (is_shared and not start.st_mode & stat.S_IWOTH)

    def _is_in_own_top(self, folder: Path) -> bool:
        return self._own_top is not None and folder.is_relative_to(self._own_top)

    @cached_property
    def _own_top(self) -> Path | None:
        """The top level of the repository around the start, if that is the user's own; else None."""
        for folder in self._below_home():
            git, top = self._status(folder / ".git"), self._status(folder)
            if git is not None and top is not None:
                # A repository that another user made in the user's folder is not the user's own.
                is_own = self._visitor.uid in (_SUPERUSER, top.st_uid) and git.st_uid == top.st_uid
                return folder if is_own else None
        return None

    def _status(self, path: Path) -> os.stat_result | None:
        try:
            return self._look(path)
        except OSError:
            return None


def _name_of(owner: int | None) -> str:
    if owner is None:
        return "an owner who can't be looked up"
    try:
        import pwd

        return f"{pwd.getpwuid(owner).pw_name} (uid {owner})"
    except (ImportError, KeyError):
        return f"uid {owner}"


# --- what we write stays where the user looks for it: no folder of ours is a link, no setting leads out of the root.
# A repository can bring both along. A person can name any folder, by an option or the environment: that is followed.


#: What we make in a state folder, and in the folder of a task.
_NAMES = ("cache", "objects", "runs", "tasks", "verify")


def own_folders(anchor: Path, state_folder: Path, folder: Path) -> Iterator[Path]:
    """Yield every folder of ours that leads to the files of a task.

    :param anchor: the last folder that is not ours: the root, or the state folder that a person named.
    """
    levels = [each for each in (folder, *folder.parents) if each != anchor and each.is_relative_to(anchor)]
    yield from reversed(levels)
    for place in dict.fromkeys((state_folder, folder)):
        yield from (place / name for name in _NAMES)


def refuse_links(folders: Iterable[Path]) -> None:
    """Raise StorageError if one of the folders is a link."""
    for folder in folders:
        if os.path.islink(folder):
            raise StorageError(
                f"{folder} is a symbolic link: nothing is read or written through it",
                remedy="replace the link by a folder; to keep the state elsewhere, name that folder with --phase-dir,"
                " --dir or PHASE_GATE_DIR",
            )


def place_below(root: Path, name: str, *, setting: str) -> Path:
    """Return the file that a setting names. Raises ConfigurationError if a link takes it out of the project."""
    path = root / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise ConfigurationError(
            f"{setting}: a link takes {name} out of the project", remedy="replace the link, or name another file"
        )
    return path
