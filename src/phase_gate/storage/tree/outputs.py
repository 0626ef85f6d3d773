"""Recognize outputs of common tools by name. They do not count as sources, even if git does not ignore them.

Whether git tracks the file does not matter, so `git add` changes nothing. Python files and pytest's configuration are
never outputs, except in virtual environments.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from functools import lru_cache

from phase_gate.storage.root import PYTEST_FILES, PYTEST_SECTIONS

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
