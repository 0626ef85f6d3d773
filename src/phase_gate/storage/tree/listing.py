"""List files: those that git tracks or does not ignore; without git, those that a walk finds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from phase_gate.errors import StateError
from phase_gate.storage.tree.contents import Contents
from phase_gate.storage.tree.git_command import NoGitError, is_linked_worktree, is_repository, run_git, try_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_LIST = ("ls-files", "-z", "-c", "-o", "--exclude-standard")
#: git's mode for a submodule.
_SUBMODULE = "160000 "


def list_with_git(folder: str) -> dict[str, bool]:
    """Return path -> whether the file is untracked, for a folder and the checkouts inside it.

    Raises NoGitError if git has no files in the folder.
    """
    found = dict(_list_all(folder))
    if not found:
        raise NoGitError  # an ignored folder: git would never see an edit
    return found


def _list_all(folder: str) -> Iterator[tuple[str, bool]]:
    found, inside = _list_one(folder)
    yield from found.items()
    for path in inside:
        below = os.path.join(folder, path)
        if is_repository(below):
            yield from ((f"{path}/{name}", is_new) for name, is_new in _list_all(below))


def _list_one(folder: str) -> tuple[dict[str, bool], set[str]]:
    """Return path -> whether the file is untracked, and the folders that are submodules or clones."""
    from phase_gate.storage.tree.outputs import find_untracked_outputs

    found: dict[str, bool] = {}
    inside: set[str] = set()
    for record in os.fsdecode(run_git(folder, *_LIST, "-t", "-s")).split("\0"):
        if record.startswith("? "):
            name = record[2:]
            if not name.endswith("/"):
                found[name] = True
            # A clone counts. A linked worktree does not: it is another checkout of this project.
            elif not is_linked_worktree(os.path.join(folder, name)):
                inside.add(name.rstrip("/"))
        elif record:
            meta, _, name = record[2:].partition("\t")
            if meta.startswith(_SUBMODULE):
                inside.add(name)  # list its files: git does not see edits in a submodule
            else:
                found[name] = False
    untracked = [name for name, is_new in found.items() if is_new]
    for name in find_untracked_outputs(untracked, found.keys() - set(untracked)):
        del found[name]
    return found, inside


# --- files that a tree may leave out: data of tests, and documents


def take_data(
    root: Path, folders: Sequence[str], *, state_folder: Path, keep: Callable[[str], bool] = lambda path: True
) -> dict[str, str]:
    """Return path -> content id of the files below these folders that git does not ignore; without git, of all.

    :param keep: selects paths; the others are not read.
    """
    existing = [folder for folder in folders if (root / folder).is_dir()]
    found = list_files(root, existing, state_folder=state_folder, keep=keep) if existing else ()
    return take_contents(root, found)


def take_contents(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return path -> content id. Missing files are left out."""
    contents = Contents(str(root))
    return {path: found for path in paths if (found := contents.find(path)) is not None}


def list_files(
    root: Path, below: Sequence[str] = (".",), *, state_folder: Path, keep: Callable[[str], bool]
) -> list[str]:
    """Return the selected files of the project, including untracked files, but not those that git ignores.

    :param below: the folders to look into.
    """
    from phase_gate.storage.tree.outputs import is_no_data

    def is_wanted(name: str) -> bool:
        return keep(name) and not is_no_data(name) and not (root / name).is_relative_to(state_folder)

    listed = try_git(root, *_LIST, "--", *below)
    if listed is None:
        return sorted(set(walk(str(root), is_wanted, below)))
    names = {name for name in os.fsdecode(listed).split("\0") if name and is_wanted(name)}
    return sorted(name for name in names if os.path.isfile(root / name) or os.path.islink(root / name))


# --- walking a folder without git


#: Skipped: version control, caches, environments, outputs, and the state folder.
SKIPPED_FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", ".phase-gate"),
        *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"),
        *(".tox", ".nox", ".venv", "venv", "node_modules", "site-packages"),
        *(".eggs", "build", "dist"),
    )
)
#: A folder that contains one of these is an environment or a cache.
SKIP_MARKS = frozenset(("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"))
#: Files that a walk finds.
WALKED_SUFFIXES = (".py", ".cfg", ".ini", ".toml")

#: Limit on visited files and folders: one or two seconds, and more than any project has.
MAX_VISITED = 500_000
#: Limit on sources to hash: as many as a very large project has.
MAX_SOURCES = 50_000


def walk_sources(top: str) -> list[str]:
    """Return the sources and configuration files below a folder, by paths from there."""
    found = list(walk(top, _is_source))
    if len(found) > MAX_SOURCES:
        raise refuse_to_walk(top, f"{MAX_SOURCES:,} sources")
    return found


def _is_source(path: str) -> bool:
    return path.endswith(WALKED_SUFFIXES) or path.rpartition("/")[2] == "phase-gate.yaml"


def walk(root: str, keep: Callable[[str], bool], below: Sequence[str] = (".",)) -> Iterator[str]:
    """Yield the selected files below some folders, by paths from the root. Links to folders are not followed.

    Raises StateError if there are more than any project has: probably the root is wrong.
    """
    # These are walked even if they are environments or worktrees.
    tops = {"" if folder == "." else f"{folder}/" for folder in below}
    folders = list(tops)
    visited = 0
    while folders:
        prefix = folders.pop()
        folder = os.path.join(root, prefix)
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError:
            continue
        visited += len(entries)
        if visited > MAX_VISITED:
            raise refuse_to_walk(root, f"{MAX_VISITED:,} files and folders")
        is_other = not SKIP_MARKS.isdisjoint(entry.name for entry in entries) or is_linked_worktree(folder)
        if is_other and prefix not in tops:
            continue
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in SKIPPED_FOLDERS and not name.endswith(".egg-info"):
                    folders.append(f"{prefix}{name}/")
            elif keep(prefix + name):
                yield prefix + name


def refuse_to_walk(top: str, what: str) -> StateError:
    """Return the error for a folder with too many files."""
    return StateError(
        f"{top} has more than {what}, and is not in a git repository",
        remedy="if this is not your project, put a phase-gate.yaml into the folder that is; if it is, `git init` there",
        slug="too-many-files",
    )
