"""Loads our own modules by the shortest way: from where they lie, past all that other code put between.

The import system asks pytest's rewriting hook and looks through folders for every module, which takes longer than to
run most of ours; and a finder that the project put there could give us something else. Anything that is not plainly
as installed (no compiled file, an older one, a zip file) is left to the import system.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import SourceFileLoader
from collections.abc import Sequence
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from io import open_code
from types import CodeType, ModuleType

import phase_gate

_ROOT = phase_gate.__name__ + "."
_FOLDER = os.path.dirname(phase_gate.__file__ or "") + os.sep
#: How compiled files are named; empty where they lie elsewhere, or nowhere.
_CACHED = os.path.basename(getattr(phase_gate, "__cached__", None) or "").removeprefix("__init__")
_IS_PLAIN = (
    bool(_CACHED)
    and sys.pycache_prefix is None
    and isinstance(phase_gate.__loader__, SourceFileLoader)
    and len(phase_gate.__path__) == 1
)


class _OwnLoader(SourceFileLoader):
    """Takes what is compiled, if it is of the source as it is."""

    def __init__(self, name: str, path: str, cached: str) -> None:
        self.name, self.path, self._cached = name, path, cached

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            with open_code(self._cached) as file:
                data = file.read()
            source = os.stat(self.path)
        except OSError:
            return super().get_code(fullname)
        known = (int(source.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (source.st_size & 0xFFFFFFFF).to_bytes(
            4, "little"
        )
        if data[:16] != MAGIC_NUMBER + b"\0\0\0\0" + known:
            return super().get_code(fullname)
        code: CodeType = marshal.loads(memoryview(data)[16:])
        return code


class _OwnFinder:
    """Stands first among the finders while we work."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module of ours; None for any other."""
        if not name.startswith(_ROOT) or not _IS_PLAIN:
            return None
        place = _place(name)
        spec = _make_spec(name, place, is_package=os.path.isdir(place))
        return spec if os.path.isfile(spec.origin or "") else None


def _place(name: str) -> str:
    return _FOLDER + name[len(_ROOT) :].replace(".", os.sep)


def _make_spec(name: str, place: str, *, is_package: bool) -> ModuleSpec:
    folder, _, stem = (place + os.sep + "__init__" if is_package else place).rpartition(os.sep)
    file = f"{folder}{os.sep}{stem}.py"
    cached = f"{folder}{os.sep}__pycache__{os.sep}{stem}{_CACHED}"
    spec = ModuleSpec(name, _OwnLoader(name, file, cached), origin=file, is_package=is_package)
    spec.has_location, spec.cached = True, cached
    if is_package:
        spec.submodule_search_locations = [folder]
    return spec


FINDER = _OwnFinder()
#: What a session loads, a line for each kind: the module that begins it, and before that all it needs, in an order in
#: which none needs one that comes later. Written by docs/generate.py.
LISTED = _FOLDER + "recording" + os.sep + "ahead.txt"


def load_ahead(kind: str) -> None:
    """Load what a session needs, on a controller or on a worker."""
    with open(LISTED, encoding="ascii") as file:
        lines = dict(line.split(": ") for line in file)
    sys.meta_path.insert(0, FINDER)
    # What modules consist of is never garbage, and there is a lot of it to look through.
    collects = gc.isenabled()
    gc.disable()
    try:
        load_in_order([_ROOT + name for name in lines[kind].split()])
        import_module(f"{_ROOT}recording.{kind}")
    finally:
        sys.meta_path.remove(FINDER)
        if collects:
            gc.enable()


def load_in_order(names: Sequence[str]) -> None:
    """Load modules of ours of which none needs one that comes later; the others are imported as they are needed."""
    if not _IS_PLAIN:
        return
    packages = {name.rpartition(".")[0] for name in names}
    for name in names:
        parent, _, child = name.rpartition(".")
        # A package that needs its own modules is ready after them: it imports them itself.
        if name in sys.modules or parent not in sys.modules:
            continue
        spec = _make_spec(name, _place(name), is_package=name in packages)
        try:
            code = spec.loader.get_code(name)  # type: ignore[union-attr]
        except OSError:
            continue  # it lies elsewhere, or is named by a list of another version
        if code is None:
            continue
        module = ModuleType(name)
        own = module.__dict__
        own["__spec__"], own["__loader__"], own["__file__"] = spec, spec.loader, spec.origin
        own["__cached__"], own["__package__"] = spec.cached, spec.parent
        if spec.submodule_search_locations is not None:
            own["__path__"] = spec.submodule_search_locations
        sys.modules[name] = module
        try:
            exec(code, own)
        except BaseException:
            del sys.modules[name]
            raise
        setattr(sys.modules[parent], child, module)
