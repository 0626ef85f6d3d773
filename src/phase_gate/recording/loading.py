"""Loads our own modules by the shortest way: from where they lie, past all that other code put between.

The import system asks pytest's rewriting hook and looks through folders for every module, which takes longer than to
run most of ours; and a finder that the project put there could give us something else. Anything that is not plainly
as installed (no compiled file, an older one, a zip file) is left to the import system.

What a green run of passing tests never calls is loaded where it is first needed, which may be after the tests. So that
it is ours then, too, our finder stays in place, and `OwnModules` takes what others have put under our names out of the
way while we work.
"""

from __future__ import annotations

import gc
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import SourceFileLoader
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from io import open_code
from marshal import loads
from os import stat
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
#: Whether our sources are files that can be looked at; out of a zip file the import system loads us all the time.
_HAS_FILES = os.path.isfile(phase_gate.__file__ or "")


#: The modules that were loaded here, each under its name.
_made: dict[str, ModuleType] = {}


class _OwnLoader(SourceFileLoader):
    """Takes what is compiled, if it is of the source as it is."""

    def __init__(self, name: str, path: str, cached: str) -> None:
        self.name, self.path, self._cached = name, path, cached

    def get_code(self, fullname: str) -> CodeType | None:
        source = stat(self.path)
        try:
            with open_code(self._cached) as file:
                data = file.read()
        except OSError:
            return super().get_code(fullname)  # and have it compiled for the next run
        known = (int(source.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (source.st_size & 0xFFFFFFFF).to_bytes(
            4, "little"
        )
        if data[:16] != MAGIC_NUMBER + b"\0\0\0\0" + known:
            return super().get_code(fullname)
        code: CodeType = loads(memoryview(data)[16:])
        return code

    def exec_module(self, module: ModuleType) -> None:
        code = self.get_code(self.name)
        assert code is not None, "it has a source"
        _made[self.name] = module
        exec(code, module.__dict__)


class _OwnFinder:
    """Stands first among the finders while a session lasts."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load a module of ours; None for any other."""
        if not name.startswith(_ROOT) or not _HAS_FILES:
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
#: which none needs one that comes later. Written by scripts/generate.py.
LISTED = _FOLDER + "recording" + os.sep + "ahead.txt"


def load_ahead(kind: str) -> Callable[[], None]:
    """Load what a session needs, on a controller or on a worker; return what is to be called when it has ended."""
    with open(LISTED, encoding="ascii") as file:
        lines = dict(line.split(": ") for line in file)
    is_first = FINDER not in sys.meta_path  # a session may run inside another one
    if is_first:
        sys.meta_path.insert(0, FINDER)
    # What modules consist of is never garbage, and there is a lot of it to look through.
    collects = gc.isenabled()
    gc.disable()
    try:
        load_in_order([_ROOT + name for name in lines[kind].split()])
        import_module(f"{_ROOT}recording.{kind}")
    finally:
        if collects:
            gc.enable()
    return _leave if is_first else lambda: None


def _leave() -> None:
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)


class OwnModules:
    """Those that were loaded here since the session began.

    While we work, what else is found under our names is taken away: what we import then is ours. Modules that were
    there before are put back with everything else that was, see `namespaces`.
    """

    def __init__(self) -> None:
        self._is_added = False
        self._seen = frozenset(sys.modules)
        self._known: dict[str, ModuleType] = {}

    def put_back(self) -> dict[str, object]:
        """Put ours in place, and our finder first; return what was found under our names instead, None for nothing."""
        if not _HAS_FILES:
            return {}
        self._is_added = FINDER not in sys.meta_path
        if self._is_added or sys.meta_path[0] is not FINDER:
            _leave()
            sys.meta_path.insert(0, FINDER)
        self._take_in()
        loaded = sys.modules
        names = [name for name in loaded.keys() - self._seen if name.startswith(_ROOT) and name not in self._known]
        left: dict[str, object] = {name: loaded.pop(name) for name in names}
        for name, module in self._known.items():
            if loaded.get(name) is not module:
                left[name] = loaded.get(name)
                loaded[name] = module
        return left

    def lay_back(self, left: Mapping[str, object]) -> None:
        """Give every name what was found there; our finder stays where it was."""
        self._take_in()
        if self._is_added:
            _leave()
        for name, module in left.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module  # type: ignore[assignment]

    def _take_in(self) -> None:
        for name, module in _made.items():
            if name not in self._seen and name not in self._known and sys.modules.get(name) is module:
                self._known[name] = module


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
