"""Where modules come from: the sandbox, the project beside it, or a copy that is installed."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Collection
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from phase_gate.storage.ownership import is_in_environment


def find_stray(modules: Collection[str], root: Path, folder: str, changed: Collection[str]) -> str:
    """Say which module came from elsewhere; empty if none did.

    :param modules: the files that were imported, behind links.
    :param folder: where the sandbox was: the root itself, or a copy.
    :param changed: what is not in the sandbox as it is in the project, from the root.
    """
    top, files = os.path.realpath(root), frozenset(modules)
    if folder != top:
        for file in modules:
            if file.startswith(top + os.sep) and not is_in_environment(file, top):
                return f"{os.path.relpath(file, top)} was imported from the project itself"
    installed = {file.rpartition("/site-packages/")[2] for file in modules if "/site-packages/" in file}
    for path in sorted(changed):
        if path.endswith(".py") and os.path.join(folder, path) not in files:
            least = len(_tail_of(path, top))
            if any(len(name) >= least and f"/{path}".endswith(f"/{name}") for name in installed):
                return f"{path} was imported from an installed copy of it"
    return ""


def find_built(modules: Collection[str], folder: str) -> tuple[str, ...]:
    """Return the compiled modules that lie in the sandbox, from its folder."""
    inside = (file for file in modules if file.startswith(folder + os.sep) and not is_in_environment(file, folder))
    return tuple(sorted(os.path.relpath(file, folder) for file in inside if file.endswith(tuple(EXTENSION_SUFFIXES))))


def _tail_of(path: str, top: str) -> str:
    """Return the path of a module from the folder that its outermost package lies in."""
    base = posixpath.dirname(path)
    while base and os.path.exists(os.path.join(top, base, "__init__.py")):
        base = posixpath.dirname(base)
    return posixpath.relpath(path, base or ".")


def import_roots(root: Path) -> list[str]:
    """Return the folders of the project that Python looks for modules in, from the root."""
    top = os.path.realpath(root)
    found = [os.path.realpath(each or os.getcwd()) for each in sys.path]
    inside = [each for each in found if each.startswith(top + os.sep) and not is_in_environment(each + os.sep, top)]
    inside += [os.path.join(top, name) for name in ("src",) if os.path.isdir(os.path.join(top, name))]
    return [os.path.relpath(each, top) for each in dict.fromkeys(each for each in inside if os.path.isdir(each))]
