"""Whose a module is: the project's own, the standard library's, or somebody else's that has to be installed."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

from phase_gate.gate.failures import Owner

#: Folders below the root that sources are commonly kept in.
_SOURCE_FOLDERS = ("", "src", "lib")
_ENVIRONMENT_PARTS = frozenset({"site-packages", "dist-packages"})


def find_owner(module: str, root: Path) -> Owner:
    """Return whose module this is, or is going to be. One that nobody has, and nobody declared, is the project's."""
    top = module.partition(".")[0]
    if _is_in_root(top, root) or _was_found_in_root(top, root):
        return "project"
    if top in sys.stdlib_module_names:
        return "standard library"
    if normalise(top) in declared_names(root):
        return "declared"
    if top in _installed_modules():
        return "installed"
    return "project"


def _is_in_root(top: str, root: Path) -> bool:
    return any((root / folder / top).is_dir() or (root / folder / f"{top}.py").is_file() for folder in _SOURCE_FOLDERS)


def _was_found_in_root(top: str, root: Path) -> bool:
    """Tell whether the package around a missing module is loaded from a folder of the project's, wherever that is."""
    file = getattr(sys.modules.get(top), "__file__", None)
    home = os.path.realpath(root)
    if not isinstance(file, str) or not os.path.realpath(file).startswith(home + os.sep):
        return False
    return not is_in_environment(os.path.realpath(file), home)


def normalise(name: str) -> str:
    """Return a distribution's name as packaging compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def declared_names(root: Path) -> frozenset[str]:
    """Return the distributions that the project's metadata asks for, normalised."""
    requirements: list[str] = []
    try:
        import tomllib

        document = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = {}
    project = document.get("project", {})
    requirements += project.get("dependencies", [])
    for group in (*project.get("optional-dependencies", {}).values(), *document.get("dependency-groups", {}).values()):
        requirements += [each for each in group if isinstance(each, str)]
    requirements += document.get("tool", {}).get("poetry", {}).get("dependencies", {})
    for file in sorted(root.glob("requirements*.txt")):
        try:
            requirements += file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            continue
    names = (re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", str(each)) for each in requirements)
    return frozenset(normalise(match.group(1)) for match in names if match is not None)


@cache
def _installed_modules() -> frozenset[str]:
    from importlib.metadata import packages_distributions

    return frozenset(packages_distributions())


def is_in_environment(path: str, root: str) -> bool:
    """Tell whether a file below the root belongs to a virtual environment that lies there."""
    return _is_in_environment(os.path.dirname(path), root)


@cache
def _is_in_environment(folder: str, root: str) -> bool:
    if len(folder) <= len(root):
        return False
    return (
        os.path.basename(folder) in _ENVIRONMENT_PARTS
        or os.path.exists(os.path.join(folder, "pyvenv.cfg"))
        or os.path.isdir(os.path.join(folder, "conda-meta"))
        or _is_in_environment(os.path.dirname(folder), root)
    )
