"""Whose code is this: the project's own, the standard library's, an installed distribution's, or this plugin's.

`find_owner` answers for the name of a module, `Ownership` for files, `files_of` says where an object comes from.
"""

from __future__ import annotations

import functools
import importlib
import re
import site
import sys
from functools import cache
from pathlib import Path
from types import FunctionType, MethodType, ModuleType

from phase_gate.bound import os
from phase_gate.gate.failures import Owner

#: Folders below the root that sources are commonly kept in.
_SOURCE_FOLDERS = ("", "src", "lib")
_ENVIRONMENT_PARTS = frozenset({"site-packages", "dist-packages"})


def find_owner(module: str, root: Path) -> Owner:
    """Return whose module this is, or is going to be. One that is neither installed nor declared is the project's."""
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


# --- the files that code comes from


#: What wraps a function, and the attribute under which it has it.
_INNER = ("__func__", "func", "fget", "__wrapped__")
_OURS = os.path.realpath(os.path.dirname(importlib.import_module("phase_gate").__file__ or "")) + os.sep
_ENVIRONMENTS = tuple(f"{os.sep}{name}{os.sep}" for name in _ENVIRONMENT_PARTS)
#: Where Python lies, and where it looks for what is installed; `sysconfig` would read all that Python was built with.
_STDLIB = os.path.realpath(os.path.dirname(os.__file__)) + os.sep
_PACKAGES = tuple(os.path.realpath(path) + os.sep for path in site.getsitepackages())
#: As the interpreter spells what it imports of Python and of us: most modules, and no link of a project's.
_SPELLED = (os.path.dirname(os.__file__) + os.sep, _STDLIB, _OURS)


def files_of(value: object) -> set[str]:
    """Return the files that a callable, a descriptor, a class or an object comes from."""
    found: set[str] = set()
    waiting, seen = [value], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, FunctionType):
            # A function made by `exec` has no file, but the module that it was made in has.
            found |= {each.__code__.co_filename, str(each.__globals__.get("__file__") or "")}
            waiting += filter(None, (each.__dict__.get("__wrapped__"),))
        elif isinstance(each, ModuleType):
            found.add(str(getattr(each, "__file__", None) or ""))
        elif isinstance(each, type):
            found.add(_file_of_module(each))
            found |= {code.co_filename for own in vars(each).values() if (code := getattr(own, "__code__", None))}
        else:
            found.add(_file_of_module(type(each)))
            waiting += _inner(each)
    return {file for file in found if file and not file.startswith("<")}


def _inner(value: object) -> list[object]:
    if isinstance(value, property):
        return [each for each in (value.fget, value.fset, value.fdel) if each is not None]
    if isinstance(value, (MethodType, classmethod, staticmethod, functools.partial, functools.cached_property)):
        return [getattr(value, name) for name in _INNER[:2] if hasattr(value, name)]
    # A mock answers to every name: only what stands in its own dictionary is real.
    own = getattr(value, "__dict__", {})
    return [own[name] for name in _INNER if name in own]


def _is_spelled_out(file: str) -> bool:
    """Tell, without asking the disk, whether a file came with Python or with us."""
    return file.startswith(_SPELLED) and "-packages" not in file.removeprefix(_OURS)


def is_distributed(path: str) -> bool:
    """Tell whether a file lies where distributions are installed; for a path without links."""
    return any(part in path for part in _ENVIRONMENTS) or path.startswith(_PACKAGES)


def is_installed(file: str) -> bool:
    """Tell whether a file belongs to an installed distribution, to this plugin, or came with Python."""
    path = real_path(file)
    return is_distributed(path) or path.startswith((_STDLIB, _OURS))


#: Folders stay where they are while a process runs.
_real_folders: dict[str, str] = {}


def _real_folder(folder: str, known: dict[str, str]) -> str:
    """Return a folder without links; of each the disk is asked once, not with all that lie in it."""
    found = known.get(folder)
    if found is None:
        above, name = os.path.split(folder)
        is_plain = os.path.isabs(above) and name not in ("", os.curdir, os.pardir) and not os.path.islink(folder)
        found = os.path.join(_real_folder(above, known), name) if is_plain else os.path.realpath(folder)
        known[folder] = found
    return found


def real_path(file: str) -> str:
    """Return the path of a file without links; of the files of one folder only the first one's way is looked at."""
    folder, name = os.path.split(file)
    if not os.path.isabs(folder) or os.path.islink(file):
        return os.path.realpath(file)
    return os.path.join(_real_folder(folder, _real_folders), name)


def _file_of_module(kind: type) -> str:
    return str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


class Ownership:
    """Tells whose a file is, for one project."""

    def __init__(self, root: Path) -> None:
        self.root = os.path.realpath(root)
        self._spellings: tuple[str, ...] = (self.root + os.sep, str(root) + os.sep)
        self._is_projects: dict[str, bool] = {}
        self._is_foreign: dict[str, bool] = {}
        self._real_folders: dict[str, str] = {}

    def also(self, folder: str) -> None:
        """Take another spelling of the root, so that files can be told by their first letters."""
        if os.path.realpath(folder) == self.root:
            self._spellings = (*self._spellings, folder + os.sep)

    def is_below(self, file: str) -> bool:
        """Tell, without asking the disk, whether the file may lie below the root."""
        return file.startswith(self._spellings)

    def is_projects(self, file: str) -> bool:
        """Tell whether the file lies in the project, outside of environments, and is not part of this plugin."""
        known = self._is_projects.get(file)
        if known is None:
            path = self._real_path(file)
            inside = path.startswith(self.root + os.sep) and not path.startswith(_OURS)
            known = self._is_projects[file] = inside and not is_in_environment(path, self.root)
        return known

    def inner_path(self, file: str) -> str:
        """Return the path from the root of a file that is imported from the project; empty for any other.

        A link that leads outside is imported from here all the same. What it leads to below the root, the file is.
        """
        if not self.is_below(file) and (_is_spelled_out(file) or not self.is_projects(file)):
            return ""
        path = self._real_path(file)
        inside = path.startswith(self.root + os.sep)
        if path.startswith((_OURS, _STDLIB)) or is_in_environment(path if inside else file, self.root):
            return ""
        if not inside and is_distributed(path):
            return ""
        relative = path.removeprefix(self.root + os.sep) if inside else self._spelled(file)
        return relative.replace(os.sep, "/")

    def _spelled(self, file: str) -> str:
        return next(file.removeprefix(start) for start in self._spellings if file.startswith(start))

    def _real_path(self, file: str) -> str:
        """Return the path without links; of the files of one folder only the first one's way is looked at."""
        folder, name = os.path.split(file)
        if not os.path.isabs(folder) or os.path.islink(file):
            return os.path.realpath(file)
        return os.path.join(_real_folder(folder, self._real_folders), name)

    def is_foreign(self, file: str) -> bool:
        """Tell whether it is not installed: the project's own, or from a folder that a path variable names."""
        known = self._is_foreign.get(file)
        if known is None:
            known = self.is_projects(file) or (os.path.isfile(file) and not is_installed(file))
            self._is_foreign[file] = known
        return known

    def shown(self, file: str) -> str:
        path = os.path.realpath(file)
        return os.path.relpath(path, self.root) if path.startswith(self.root + os.sep) else os.path.basename(path)
