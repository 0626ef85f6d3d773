"""Under which names the files of a project are imported, and from which folders. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable

from phase_gate.values import Value


class Place(Value):
    """Where a function is: a file, what its module may be called, and the function's qualified name."""

    #: Empty: whatever file the module is in.
    file: str
    #: The likeliest first.
    modules: tuple[str, ...]
    function: str


def import_folders(files: Collection[str]) -> tuple[str, ...]:
    """Return the folders that modules are looked for in: those that outermost packages lie in, and the root."""
    found = dict.fromkeys(_base(path, files) for path in files if path.endswith(".py"))
    usual = [folder for folder in ("src",) if any(path.startswith(f"{folder}/") for path in files)]
    return tuple(dict.fromkeys((*usual, ".", *sorted(found))))


def imported_names(texts: Iterable[str]) -> frozenset[str]:
    """Return the names of all that sources import: modules, and what may be modules in packages."""
    found = set()
    for text in texts:
        for each in _IMPORT.finditer(text):
            found.add(each["module"] or each["other"])
            found |= {f"{each['module']}.{name}" for name in re.findall(r"\w+", each["names"] or "")}
    return frozenset(found)


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[\w.]+)[ \t]+import\b(?P<names>[^\n#]*)|import[ \t]+(?P<other>[\w.]+))",
    re.MULTILINE,
)


def module_names(path: str, files: Collection[str], imported: Callable[[], Collection[str]]) -> tuple[str, ...]:
    """Return what the module of a file may be called, the likeliest first.

    :param files: the files that lie beside it, from the root.
    :param imported: returns what the sources of the project import.
    """
    base = _base(path, files)
    usual = _dotted(path, base)
    longer = []
    while base != ".":  # a folder without `__init__.py` may be a package all the same
        base = posixpath.dirname(base) or "."
        longer.append(_dotted(path, base))
    said = [name for name in longer if name in imported()]
    return tuple(dict.fromkeys((*said, usual, *longer)))


def _base(path: str, files: Collection[str]) -> str:
    """Return the folder that the outermost package of a file lies in."""
    folder = posixpath.dirname(path)
    while folder and f"{folder}/__init__.py" in files:
        folder = posixpath.dirname(folder)
    return folder or "."


def _dotted(path: str, base: str) -> str:
    inside = path if base == "." else posixpath.relpath(path, base)
    return inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
