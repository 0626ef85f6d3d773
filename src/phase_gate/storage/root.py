"""Find the project's root, and name files relative to it.

Looks at names, owners and a few small files; never asks pytest, whose rootdir depends on its arguments.
"""

from __future__ import annotations

import os
import re

from phase_gate.storage.climbing import Climb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

#: pytest takes these by their mere presence, even if they are empty.
PYTEST_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")

#: pytest takes these only with a section of its own. A pattern instead of a parser: tomllib alone costs 2.6 ms, and
#: all that we ask is whether the section is there. `[tool.pytest-enabler]` is not pytest's.
PYTEST_SECTIONS = {
    "pyproject.toml": re.compile(r"""^[ \t]*\[[ \t]*["']?tool["']?[ \t]*\.[ \t]*["']?pytest["']?[ \t]*[].]""", re.M),
    "tox.ini": re.compile(r"^\[pytest\]", re.M),
    "setup.cfg": re.compile(r"^\[tool:pytest\]", re.M),
}
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


def _has_section(path: Path, section: re.Pattern[str]) -> bool:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    # Universal newlines by hand: `^` knows only `\n`, and only old editors end a line with a lone `\r`.
    return "\0" not in text and section.search(text.replace("\r", "\n")) is not None
