"""Find the project's root, paths relative to it, and the folders of the state in it.

Uses names, owners and a few small files; not pytest's rootdir, which depends on pytest's arguments.

The `phase-gate.yaml` in the root contains commands that run as the user. So the search upwards stops below the home
folder, and below any folder where other users can create such a file. A root that another user owns is refused, as git
does.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from phase_gate.bound import os
from phase_gate.errors import ConfigurationError, PhaseGateError, StorageError, TaskNameError
from phase_gate.storage.files import REAL, FileSystem, exists, make_folder, read_bytes, write_atomically

#: pytest uses these files even if they are empty.
PYTEST_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")

#: pytest uses these files only if they have a section for it. A `[tool.phase-gate]` table marks a root, too. Patterns
#: instead of a parser, because importing tomllib takes 2.6 ms. `[tool.pytest-enabler]` is not pytest's.
PYTEST_SECTIONS = {
    "pyproject.toml": r"""^[ \t]*\[[ \t]*["']?tool["']?[ \t]*\.[ \t]*["']?(?:pytest|phase-gate)["']?[ \t]*[].]""",
    "tox.ini": r"^\[pytest\]",
    "setup.cfg": r"^\[tool:pytest\]",
}
#: Matches our settings in a pyproject.toml, however they are written, but not a dependency on this package.
_OWN_TABLE = rb"""(?<![\w-])phase-gate(?!\.ya?ml)["']?[ \t]*[].=]"""

#: Marks of a package. A project may contain several packages, so these count only if nothing better is found. The same
#: is true for a state folder, which a run that was started in the wrong folder leaves behind.
_PACKAGE_FILES = ("pyproject.toml", "setup.py")
_STATE_FOLDER = ".phase-gate"


def find_root(climb: Climb) -> Path:
    """Return the nearest project folder; otherwise the nearest package folder; otherwise the start."""
    for is_mark in (_is_root, _is_package):
        for folder in climb.folders():
            if is_mark(folder):
                return folder
    return climb.start


def relative_id(path: Path, root: Path) -> str:
    """Return `path` relative to `root`, with slashes, and with `..` if it is outside.

    Links in a path below the root are kept. Any other path is tried again with links resolved.
    """
    lexical, top = os.fspath(path), os.fspath(root)
    # Fast path: most paths are below the root.
    if lexical.startswith(top + os.sep) and os.path.isabs(top) and not _has_dots(lexical):
        return lexical[len(top) + 1 :].replace(os.sep, "/")
    lexical, top = os.path.abspath(path), os.path.abspath(root)
    try:
        relative = os.path.relpath(lexical, top)
        if _leaves(relative):
            # Resolve only the folder: a file that is a link keeps the name that pytest uses.
            folder, name = os.path.split(lexical)
            relative = os.path.relpath(os.path.join(os.path.realpath(folder), name), os.path.realpath(top))
    except ValueError:  # on another drive
        relative = lexical
    return relative.replace(os.sep, "/")


def _has_dots(path: str) -> bool:
    return f"{os.sep}." in path or os.sep * 2 in path or path.endswith(os.sep)


def _leaves(relative: str) -> bool:
    return relative == os.pardir or relative.startswith(os.pardir + os.sep)


def _is_root(folder: Path) -> bool:
    # With os.path, because pathlib would raise for an unreadable folder.
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
    """Return whether pyproject.toml may have a `[tool.phase-gate]` table, and so has to be parsed."""
    try:
        return re.search(_OWN_TABLE, (root / "pyproject.toml").read_bytes()) is not None
    except OSError:
        return False


def _has_section(path: Path, section: str) -> bool:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    # `^` in a pattern knows only `\n`; `\r` alone ends a line in files of very old editors.
    return "\0" not in text and re.search(section, text.replace("\r", "\n"), re.M) is not None


#: Folders where distributions are installed.
PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})


def is_in_environment(path: str, root: str) -> bool:
    """Return whether a file below the root belongs to a virtual environment inside the root."""
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


# --- how far upwards a root is searched, and which owners are trusted


#: Names a folder that the user trusts with everything below it, no matter who owns it.
TRUST_VARIABLE = "PHASE_GATE_TRUST_ROOT"

#: In containers, root works on mounted folders, whose owners mean nothing.
_SUPERUSER = 0


class Climb:
    """The search from a folder upwards.

    :param uid: the user. None on Windows, which has neither numeric owners nor these permissions: the rules are off.
    :param home: the home folder, with links resolved; empty if there is none.
    :param trusted: the folder that the user trusts, with links resolved; empty if there is none.
    :param lstat: returns the owner and the permissions of a path.
    """

    def __init__(
        self,
        start: Path,
        *,
        uid: int | None,
        home: str = "",
        trusted: str = "",
        lstat: Callable[[Path], os.stat_result] = os.lstat,
    ) -> None:
        # Resolved, as the current folder is: a project has one root, through whichever link you enter it.
        self.start = start.resolve()
        self._uid, self._home, self._trusted, self._lstat = uid, home, trusted, lstat

    @classmethod
    def begin(cls, start: Path, environment: Mapping[str, str]) -> Climb:
        home = environment.get("USERPROFILE" if os.name == "nt" else "HOME") or os.path.expanduser("~")
        trusted = environment.get(TRUST_VARIABLE)
        return cls(
            start,
            uid=os.geteuid() if hasattr(os, "geteuid") else None,
            home=os.path.realpath(home) if os.path.isabs(home) else "",
            trusted=os.path.realpath(start / trusted) if trusted else "",
        )

    def folders(self) -> Iterator[Path]:
        """Yield the start, no matter who owns it, and the folders above it that may be the user's project."""
        yield self.start
        if self._is_home(self.start):
            return
        for folder in self.start.parents:
            if self._is_home(folder) or self._ends_at(folder):
                return
            yield folder

    def refuse_foreign(self, root: Path) -> None:
        """Raise PhaseGateError if the root belongs to another user."""
        status = self._status(root)
        owner = None if status is None else status.st_uid
        if self._uid in (None, _SUPERUSER, owner) or self._is_trusted(root):
            return
        raise PhaseGateError(
            f"the root {root} belongs to another user (uid {owner}), and commands in its files would run as you",
            remedy=f"work in your own copy; or, if you trust the owner, set {TRUST_VARIABLE}={root}",
            slug="foreign-root",
        )

    def _is_home(self, folder: Path) -> bool:
        return str(folder) == self._home and not self._is_trusted(folder)

    def _is_trusted(self, folder: Path) -> bool:
        return bool(self._trusted) and folder.is_relative_to(self._trusted)

    def _ends_at(self, folder: Path) -> bool:
        """Return whether other users can create files in this folder."""
        uid = self._uid
        if uid is None or self._is_trusted(folder):
            return False
        status, start = self._status(folder), self._status(self.start)
        if status is None or start is None:
            return True
        is_shared = bool(status.st_mode & stat.S_IWOTH)
        if is_shared and status.st_mode & stat.S_ISVTX:
            return True  # like /tmp: made for all users, so even a repository there is not trusted
        # In a folder of another owner, the search continues through that owner's folders, so that the refusal names the
        # right root. If the start itself is writable for all users, as on some mounts, its mode means nothing.
        is_foreign = uid != _SUPERUSER and status.st_uid not in (uid, start.st_uid)
        return is_foreign or (is_shared and not start.st_mode & stat.S_IWOTH)

    def _status(self, path: Path) -> os.stat_result | None:
        try:
            return self._lstat(path)
        except OSError:
            return None


# --- the state folder and its tasks: `default` uses the folder itself, other tasks a folder in `tasks/`


#: In the state folder; locked while `drive` works on a list of verify tasks. If it exists unlocked, a drive was killed.
LIST_LOCK = "verify-drive.lock"
#: The state folder's own `.gitignore`.
IGNORE = b"# State of pytest-phase-gate: not for commits.\n*\n"
DEFAULT_TASK = "default"
#: In a task's folder.
SIGNAL_FILE = "exit-signal.yaml"

#: Valid as a folder's name on every system, and as a part of a git ref's. Every file system allows 64 characters.
_NAME = r"(?!.*\.\.|.*\.lock$)[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?"


def is_name(text: str) -> bool:
    """Return whether a task, or a project in a shared store, may have this name."""
    return re.fullmatch(_NAME, text) is not None


def task_folder(state_folder: Path, task: str) -> Path:
    """Return the folder of a task. Raises TaskNameError for an invalid name."""
    if task != DEFAULT_TASK and not is_name(task):
        shown = repr(task if len(task) <= 40 else f"{task[:37]}...")
        raise TaskNameError(
            f"{shown} can't be a task's name",
            remedy="use 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    return state_folder if task == DEFAULT_TASK else state_folder / "tasks" / task


def task_names(state_folder: Path) -> list[str]:
    """Return the names of all tasks with a ledger, `default` first."""
    names = [DEFAULT_TASK] if (state_folder / "ledger.jsonl").exists() else []
    others = state_folder / "tasks"
    if others.is_dir():
        names += sorted(each.name for each in others.iterdir() if (each / "ledger.jsonl").exists())
    return names


def folder_id(state_folder: Path, files: FileSystem = REAL) -> str:
    """Return the random id of this state folder, which identifies the work tree to other machines."""
    path = state_folder / "place"
    # If two processes write at the same time, both return the id that is left in the file.
    while not (found := re.fullmatch(rb"([0-9a-f]{16})\n", read_bytes(path, files) or b"")):
        make_state_folder(state_folder, files)
        write_atomically(files, path, os.urandom(8).hex().encode() + b"\n")
    return found[1].decode()


def make_state_folder(folder: Path, files: FileSystem = REAL) -> None:
    """Make a state folder. Its `.gitignore` is written first, so that no file in it is ever committed."""
    make_folder(files, folder)
    ignore = folder / ".gitignore"
    if not exists(ignore, files):
        write_atomically(files, ignore, IGNORE, durable=False)


# --- state files stay inside the project: none of our folders may be a link, and no setting may point outside the root,
# because a cloned repository can contain both. A folder that a user names by option or environment may be anywhere.


#: Folders in a state folder and in the folder of a task.
_NAMES = ("cache", "drive", "evidence", "objects", "runs", "store", "tasks", "verify")


def own_folders(anchor: Path, state_folder: Path, folder: Path) -> tuple[str, ...]:
    """Return each of our folders on the path to a task's files.

    :param anchor: the last folder that is not ours: the root, or the state folder that the user named.
    """
    above, place = os.path.join(anchor, ""), str(folder)
    levels = []
    while place.startswith(above):
        levels.append(place)
        place = os.path.dirname(place)
    inside = [os.path.join(each, name) for each in dict.fromkeys((state_folder, folder)) for name in _NAMES]
    return (*reversed(levels), *inside)


def refuse_links(folders: Iterable[Path | str]) -> None:
    """Raise StorageError if one of the folders is a link."""
    for folder in folders:
        if os.path.islink(folder):
            raise StorageError(
                f"{folder} is a symbolic link, and state files are never read or written through links",
                remedy="replace the link with a folder; to keep the state elsewhere, name that folder with --phase-dir,"
                " --dir or PHASE_GATE_DIR",
            )


def place_below(root: Path, name: str, *, setting: str) -> Path:
    """Return the path in a setting. Raises ConfigurationError if a link takes it out of the project."""
    path = root / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise ConfigurationError(
            f"{setting}: a link takes {name} out of the project", remedy="replace the link, or name another file"
        )
    return path
