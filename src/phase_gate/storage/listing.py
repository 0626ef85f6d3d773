"""List files: those that git tracks or does not ignore; without git, those that a walk finds.

Outputs of common tools are recognized by name. They do not count as sources, even if git does not ignore them. Whether
git tracks the file does not matter, so `git add` changes nothing. Python files and pytest's configuration are never
outputs, except in virtual environments.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from phase_gate.errors import StateError
from phase_gate.storage.git_command import NoGitError, is_linked_worktree, is_repository, run_git, try_git
from phase_gate.storage.root import PYTEST_FILES, PYTEST_SECTIONS

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
            yield from ((f"{path}/{name}", is_new) for name, is_new in _list_inside(below))


def _list_inside(folder: str) -> list[tuple[str, bool]]:
    try:
        return list(_list_all(folder))
    except NoGitError:
        return [(name, False) for name in walk_sources(folder)]  # git refuses this checkout, but not the others


def _list_one(folder: str) -> tuple[dict[str, bool], set[str]]:
    """Return path -> whether the file is untracked, and the folders that are submodules or clones."""
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


def list_files(
    root: Path, below: Sequence[str] = (".",), *, state_folder: Path, keep: Callable[[str], bool]
) -> list[str]:
    """Return the selected files of the project, including untracked files, but not those that git ignores.

    :param below: the folders to look into.
    """

    def is_wanted(name: str) -> bool:
        return keep(name) and not is_no_data(name) and not (root / name).is_relative_to(state_folder)

    listed = try_git(root, *_LIST, "--", *below)
    if listed is None:
        return sorted(set(walk(str(root), is_wanted, below)))
    names = {name for name in os.fsdecode(listed).split("\0") if name and is_wanted(name)}
    return sorted(name for name in names if os.path.isfile(root / name) or os.path.islink(root / name))


# --- walking a folder without git


#: A folder that contains one of these is an environment or a cache.
SKIP_MARKS = frozenset(("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"))
#: Files that a walk finds.
WALKED_SUFFIXES = (".py", ".cfg", ".ini", ".toml")

#: Limit on visited files and folders: one or two seconds, and more than any project has.
MAX_VISITED = 500_000


def walk_sources(top: str) -> Iterator[str]:
    """Yield the sources and configuration files below a folder, by paths from there."""
    return walk(top, lambda path: path.endswith(WALKED_SUFFIXES) or path.rpartition("/")[2] == "phase-gate.yaml")


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
            raise StateError(
                f"{root} has more than {MAX_VISITED:,} files, and is not in a git repository",
                remedy="put a phase-gate.yaml into the folder that is your project, or `git init` there",
                slug="too-many-files",
            )
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


# --- outputs of tools

_PYTEST_CONFIGURATION = frozenset((*PYTEST_FILES, *PYTEST_SECTIONS))

#: Folders of Python, pytest and similar tools, at any level. No test keeps its data there.
_CACHES = frozenset(
    (
        *("__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache", ".cache", ".benchmarks"),
        *(".ipynb_checkpoints", ".phase-gate", "phase-gate-shards"),
    )
)
#: Folders of coverage, editors and agents.
_TOOLS = frozenset(("htmlcov", ".idea", ".vscode", ".vs", ".fleet", ".claude", ".codex", ".cursor", ".gemini"))
#: Environments and build outputs, as long as git tracks nothing in them.
_ENVIRONMENTS = frozenset((".tox", ".nox", ".venv", "venv", "node_modules", "site-packages", ".eggs"))
_BUILT = frozenset(("build", "dist", "_build"))
#: No test needs these. A build folder may have the links of an editable install, or compiled extensions.
UNNEEDED_FOLDERS = _CACHES | _ENVIRONMENTS | {".git", ".hg", ".svn"}
#: A walk skips these.
SKIPPED_FOLDERS = UNNEEDED_FOLDERS | _BUILT
#: In these folders, a log or a report may be test data.
_TEST_FOLDERS = frozenset(("test", "tests"))

#: Files that editors and desktops leave behind.
_LEFTOVERS = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))
#: Data files of coverage and pytest plugins.
_RECORDS = frozenset((".coverage", ".report.json", ".dmypy.json"))
_REPORTS = frozenset(
    (
        *("coverage.xml", "coverage.json", "coverage.lcov", "lcov.info", "junit.xml", "nosetests.xml"),
        "nohup.out",
    )
)


def _is_leftover(name: str) -> bool:
    return name.endswith((".pyc", ".pyo", ".swp", ".swo", "~")) or name.startswith((".#", "#")) or name in _LEFTOVERS


def _is_record(name: str) -> bool:
    # Including our own shards, wherever a CI job puts them.
    ends = (".py,cover", ".shard.gz")
    return name in _RECORDS or name.startswith((".coverage.", ".testmondata")) or name.endswith(ends)


def _is_report(name: str) -> bool:
    if name in _REPORTS or name.endswith(".log"):
        return True
    return name.startswith(("junit-", "junit_", "junit.", "TEST-")) and name.endswith(".xml")


def is_source(path: str) -> bool:
    """Return whether a path is a Python file or may configure pytest."""
    return path.endswith(".py") or posixpath.basename(path) in _PYTEST_CONFIGURATION


def is_output(path: str) -> bool:
    """Return whether a file is a tool's output, by its name."""
    folder, _, name = path.rpartition("/")
    is_in_tools, is_in_tests = _classify_folder(folder)
    if not (is_in_tools or _is_leftover(name) or _is_record(name) or (not is_in_tests and _is_report(name))):
        return False
    return not is_source(path)


def is_no_data(path: str) -> bool:
    """Return whether a file next to tests can't be test data, because pytest or an editor left it.

    A log may be test data.
    """
    folder, _, name = path.rpartition("/")
    return not _CACHES.isdisjoint(folder.split("/")) or _is_leftover(name) or _is_record(name)


@lru_cache(maxsize=4096)
def _classify_folder(folder: str) -> tuple[bool, bool]:
    parts = folder.split("/")
    is_in_tools = any(part in _CACHES or part in _TOOLS or part.endswith(".egg-info") for part in parts)
    return is_in_tools, not _TEST_FOLDERS.isdisjoint(parts)


def find_untracked_outputs(untracked: Collection[str], tracked: Iterable[str]) -> set[str]:
    """Return the files in environments and build folders in which git tracks nothing.

    Python files in build folders are not returned, because a package may be called `build`.
    """
    marked = {path.rpartition("/")[0] for path in untracked if path.endswith("/pyvenv.cfg")}
    marked |= {path.partition("/conda-meta/")[0] for path in untracked if "/conda-meta/" in path}
    found: dict[str, set[str]] = {}
    for path in untracked:
        for place in _folders_of(path):
            name = place.rpartition("/")[2]
            if place in marked or name in _ENVIRONMENTS or (name in _BUILT and not is_source(path)):
                found.setdefault(place, set()).add(path)
    known = {place for path in tracked for place in _folders_of(path)} if found else set()
    return set().union(*(paths for place, paths in found.items() if place not in known))


def _folders_of(path: str) -> list[str]:
    """Return the folders on a path, without the top."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]
