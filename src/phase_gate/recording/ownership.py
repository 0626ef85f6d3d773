"""Owners of files with code: the project, the standard library, an installed distribution, or this plugin."""

from __future__ import annotations

import importlib
import site
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.bound import os
from phase_gate.storage.root import PACKAGE_FOLDERS, is_in_environment, relative_id

if TYPE_CHECKING:
    import pytest

_OURS = os.path.realpath(os.path.dirname(importlib.import_module("phase_gate").__file__ or "")) + os.sep
#: The folders of Python and of installed packages; `sysconfig` would read all build variables of Python.
_STDLIB = tuple(
    {folder + os.sep for folder in (os.path.dirname(os.__file__), os.path.realpath(os.path.dirname(os.__file__)))}
)
_PACKAGES = tuple(os.path.realpath(path) + os.sep for path in site.getsitepackages())
_INSTALLED = (*_STDLIB, *_PACKAGES, _OURS)
_NAMED = tuple(f"{os.sep}{name}{os.sep}" for name in PACKAGE_FOLDERS)


def announced_packages(config: pytest.Config) -> set[str]:
    """Return the packages of plugins with an entry point in an installed distribution."""
    return {package_of(plugin) for plugin, _ in config.pluginmanager.list_plugin_distinfo()} - {""}


def package_of(plugin: object) -> str:
    return str(getattr(plugin, "__name__", "")).partition(".")[0]


# --- the files that code comes from


@cache
def _real_folder(folder: str) -> str:
    """Cached: folders do not move while a process runs."""
    return os.path.realpath(folder)


def real_path(file: str) -> str:
    """Return the path of a file without links; only the folder of the file is resolved, once per folder."""
    folder, name = os.path.split(file)
    if not os.path.isabs(folder) or os.path.islink(file):
        return os.path.realpath(file)
    return os.path.join(_real_folder(folder), name)


def is_installed(path: str) -> bool:
    """Return whether a path belongs to an installed distribution, to this plugin or to Python itself."""
    return path.startswith(_INSTALLED) or any(part in path for part in _NAMED)


class Ownership:
    """Determines the owners of files for one project."""

    def __init__(self, root: Path | str, *others: str) -> None:
        """Take the folder of the project.

        :param others: more spellings of the folder, so that most files can be recognized by their prefix.
        """
        self.root = os.path.realpath(root)
        self._top = self.root + os.sep
        same = (other for other in others if os.path.realpath(other) == self.root)
        self._spellings = tuple(dict.fromkeys((self._top, f"{root}{os.sep}", *(each + os.sep for each in same))))

    def is_projects(self, file: str) -> bool:
        """Return whether the file is in the project, outside of environments, and not part of this plugin."""
        return self._owns(real_path(file))

    def _owns(self, path: str) -> bool:
        is_inside = path.startswith(self._top) and not path.startswith(_OURS)
        return is_inside and not is_in_environment(path, self.root)

    def may_be_inside(self, files: Iterable[object]) -> list[str]:
        """Return the files that may be imported from the project: without most modules, and without the disk."""
        installed, spelled = _INSTALLED, self._spellings
        named = [each for each in files if type(each) is str]
        return [each for each in named if not each.startswith(installed) or each.startswith(spelled)]

    def inner_path(self, file: str) -> str:
        """Return the path from the root of a file that is imported from the project; empty for any other.

        A link to a target below the root counts as its target. A link to a target outside keeps its own path.
        """
        is_spelled, path = file.startswith(self._spellings), real_path(file)
        if path.startswith(self._top):
            return self._show(path) if self._owns(path) else ""
        if not is_spelled or is_installed(path) or is_in_environment(file, self.root):
            return ""
        spelled = next(start for start in self._spellings if file.startswith(start))
        return file.removeprefix(spelled).replace(os.sep, "/")

    def is_foreign(self, file: str) -> bool:
        """Return whether the file is not installed: the project's own, or from a folder that a path variable names."""
        return not file.startswith(_INSTALLED) and os.path.isfile(file) and not is_installed(real_path(file))

    def shown(self, file: str) -> str:
        return self._show(real_path(file))

    def _show(self, path: str) -> str:
        shown = path.removeprefix(self._top) if path.startswith(self._top) else os.path.basename(path)
        return shown.replace(os.sep, "/")


# --- which modules a process has loaded, and the files that they come from


def loaded_names() -> list[str]:
    """Return the names of loaded modules, without Python's own."""
    return [name for name in list(sys.modules) if name.partition(".")[0] not in sys.stdlib_module_names]


def found_modules(names: Iterable[str], root: str) -> dict[str, str]:
    """Return the modules that this process has loaded, each with its file relative to the root.

    A module from an environment inside the root, or without a file, is not the project's: its path begins with `../`.
    """
    found: dict[str, str] = {}
    for name in names:
        module = sys.modules.get(name)
        if module is None:
            continue
        file = getattr(module, "__file__", None)
        places = list(getattr(module, "__path__", ()))
        path = file or (places[0] if places else None)
        if path is None:
            found[name] = f"../{name}"
            continue
        relative = relative_id(Path(path), Path(root))
        inside = not relative.startswith("../") and not is_in_environment(str(Path(root) / relative), root)
        found[name] = relative if inside else f"../{Path(path).name}"
    return found


def imported_files(ownership: Ownership) -> list[str]:
    """Return the files of the project that this process has imported, from the root."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return sorted({*map(ownership.inner_path, ownership.may_be_inside(files))} - {""})
