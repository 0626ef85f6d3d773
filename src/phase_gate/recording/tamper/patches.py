"""Is pytest still itself? What decides about outcomes is compared with what it was before the project's code ran.

By identity first, which costs next to nothing; only what differs, or came later, is asked where it comes from. What an
installed distribution puts in pytest's place is that distribution's business.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from operator import is_, methodcaller
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

import pluggy
import pytest

from phase_gate.storage.ownership import Ownership, files_of, is_distributed, real_path

#: Modules that make, carry or judge outcomes.
_MODULES = [
    "_pytest.approx",
    "_pytest.assertion",
    "_pytest.assertion.rewrite",
    "_pytest.assertion.util",
    "_pytest.config",
    "_pytest.fixtures",
    "_pytest.main",
    "_pytest.nodes",
    "_pytest.outcomes",
    "_pytest.python",
    "_pytest.python_api",
    "_pytest.raises",
    "_pytest.recwarn",
    "_pytest.reports",
    "_pytest.runner",
    "_pytest.skipping",
    "_pytest.subtests",
    "_pytest.unittest",
    "_pytest.doctest",
    "pytest",
    "pluggy._caller",
    "pluggy._callers",
    "pluggy._execution",
    "pluggy._hooks",
    "pluggy._impl",
    "pluggy._manager",
    "pluggy._result",
    "unittest.case",
    "unittest.async_case",
    "xdist.dsession",
    "xdist.remote",
    "xdist.workermanage",
]
#: This plugin's own packages that see, judge and store; looking at the rest would cost more than it could show.
OWN_PACKAGES = tuple(f"{__name__.partition('.')[0]}.{package}." for package in ("recording", "gate", "storage"))
#: Built-in names that programs replace for reasons of their own.
_FREE_BUILTINS = frozenset(
    [
        "print",
        "input",
        "open",
        "breakpoint",
        "help",
        "exit",
        "quit",
        "copyright",
        "credits",
        "license",
        "__import__",
        "_",
    ]
)
#: Written out in pytest although its class could have it generated: code without a file is not its own.
_WRITTEN_OUT = {"_pytest.runner.CallInfo": ("__init__",)}
_hookexec = getattr(pluggy.PluginManager, "_hookexec", None)
_values: Callable[[Any], Iterable[Any]] = methodcaller("values")

_METHODS = frozenset({classmethod, staticmethod})
#: What has code that can be exchanged.
_CODED = _METHODS | {FunctionType}


class _Space:
    """One dictionary as it was: of a module or a class."""

    __slots__ = ("file", "now", "path", "values")

    def __init__(self, path: str, owner: Any, file: str) -> None:
        self.path, self.file = path, file
        self.now = owner.__dict__
        self.values: dict[str, Any] = self.now.copy()


class _Kept:
    """Some of these, with the code of their functions.

    Thousands of values are compared at every look: by identity, all in a row, without a step of Python for each. Equal
    code is the same code; of anything else a test could say what it is equal to.
    """

    def __init__(self, spaces: list[_Space]) -> None:
        self.spaces = spaces
        self._now = [space.now for space in spaces]
        self._last: list[Any] = []
        for space in spaces:
            self._last += space.values.values()
        coded = [each for each in self._last if type(each) in _CODED]
        inner = [each if type(each) is FunctionType else each.__func__ for each in coded]
        self._functions = [each for each in inner if type(each) is FunctionType]
        self._codes = [each.__code__ for each in self._functions]

    def _is_as_last(self) -> bool:
        return (
            sum(map(len, self._now)) == len(self._last)
            and all(map(is_, chain.from_iterable(map(_values, self._now)), self._last))
            and [each.__code__ for each in self._functions] == self._codes
        )

    def changes(self) -> Iterator[tuple[_Space, set[str]]]:
        """Yield the names that have another value, are new, or are gone; nothing if that was so at the last look."""
        if self._is_as_last():
            return
        pairs = zip(self._functions, self._codes, strict=True)
        other = {id(function) for function, code in pairs if function.__code__ is not code}
        for space in self.spaces:
            before, now = space.values, space.now
            changed: set[str] = set()
            if len(before) != len(now) or not all(map(is_, before.values(), now.values())):
                names = dict(now)
                changed |= {
                    name for name in {**before, **names} if before.get(name, _NONE) is not names.get(name, _NONE)
                }
            if other:
                changed |= {name for name, each in before.items() if id(getattr(each, "__func__", each)) in other}
            if changed:
                yield space, changed
        self._last = list(chain.from_iterable(map(_values, self._now)))


_NONE = object()
_FOLDERS = [os.path.dirname(sys.modules[name].__file__ or "") for name in ("_pytest", "pytest", "pluggy", "phase_gate")]
_PYTEST, _OURS = (os.path.realpath(folder) + os.sep for folder in (_FOLDERS[0], _FOLDERS[-1]))
_AT_HOME = tuple(folder + os.sep for folder in _FOLDERS)
_STDLIB = os.path.dirname(os.__file__) + os.sep


_NOTHING: Mapping[str, object] = {}


class Patches:
    """What pytest, pluggy and this plugin consist of, as first seen."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self._kept: list[_Kept] = []
        #: Suspects of the first sight: functions that are not of their module's file.
        self._suspects: dict[str, object] = {}
        self._keep(_MODULES)
        self._builtins = {name: value for name, value in vars(builtins).items() if name not in _FREE_BUILTINS}

    def keep_own(self) -> None:
        """Keep this plugin's own parts, too: before the project's code runs, so that they are what they are."""
        names = _own_modules()
        # A package gets another name with every module of it that is loaded.
        packages = [name for name in names if hasattr(sys.modules[name], "__path__")]
        self._keep(packages, may_be_suspect=False)
        self._keep(names, may_be_suspect=False)

    def _keep(self, names: Iterable[str], *, may_be_suspect: bool = True) -> None:
        spaces: list[_Space] = []
        for name in names:
            module = sys.modules.get(name)
            if name in self._modules or not isinstance(module, ModuleType):
                continue
            self._modules[name] = module
            spaces += _spaces_of(name, module)
        if spaces:
            self._kept.append(_Kept(spaces))
            if may_be_suspect:
                self._suspects |= _find_suspects(spaces)

    def look(
        self,
        ownership: Ownership,
        config: pytest.Config,
        left: Mapping[str, object],
        fakes: Mapping[str, object] = _NOTHING,
    ) -> Iterator[tuple[str, str]]:
        """Yield the dotted names that are not their own any more, and whose they are now, as far as one can tell.

        :param left: what names had that were put back for the time of this look.
        :param fakes: what stood under names of our modules meanwhile.
        """
        self._keep((*_own_modules(), *_MODULES))
        for name, fake in fakes.items():
            if name not in self._modules and name.startswith(OWN_PACKAGES) and isinstance(fake, ModuleType):
                self._suspects |= _find_suspects(_spaces_of(name, fake))
        for name, module in self._modules.items():
            now: object = sys.modules.get(name)
            if left:
                now = left.get(f"sys.modules.{name}", now)
            if name in fakes:
                now = fakes[name]
            if now is not module:
                yield name, _whose(now, ownership)
        # Those that turn out to be at home need no third look: what changes from now on is seen by identity.
        self._suspects = {path: value for path, value in self._suspects.items() if _is_alien(path, value, ownership)}
        for path, value in self._suspects.items():
            yield path, _whose(value, ownership)
        for kept in self._kept:
            for space, changed in kept.changes():
                yield from _judge_changes(space, changed, ownership)
        for name, value in self._builtins.items():
            now = vars(builtins).get(name)
            if left:
                now = left.get(f"builtins.{name}", now)
            if now is not value and _is_replaced(value, now, ownership):
                yield f"builtins.{name}", _whose(now, ownership)
        yield from _look_at_objects(config, ownership)


def _spaces_of(name: str, module: ModuleType) -> list[_Space]:
    """Return a module and the classes that it defines."""
    file = getattr(module, "__file__", None) or ""
    first = _Space(name, module, file)
    found = [first]
    for key, value in first.values.items():
        kind = type(value)
        # Most are functions, or one of a few kinds.
        if kind is not FunctionType and kind not in _NO_CLASSES and issubclass(kind, type) and value.__module__ == name:
            found.append(_Space(f"{name}.{key}", value, file))
    return found


def _own_modules() -> list[str]:
    return [name for name in sys.modules if name.startswith(OWN_PACKAGES)]


def _find_suspects(spaces: Iterable[_Space]) -> dict[str, object]:
    """Return, by dotted name, what needs a second look at where it comes from."""
    found: dict[str, object] = {}
    # Of most kinds one look tells it for all of them.
    plain, modules = set(_PLAIN), {""}
    for space in spaces:
        file = space.file
        for name, value in space.values.items():
            kind = type(value)
            if kind is FunctionType:
                if value.__code__.co_filename == file:
                    continue
            elif kind in plain:
                continue
            elif issubclass(kind, type):
                if value.__module__ in modules:
                    continue
                if not _is_untrusted(value.__module__):
                    modules.add(value.__module__)
                    continue
            elif kind not in _JUDGED_BY_FILE and _is_trusted_kind(kind):
                plain.add(kind)
                continue
            if _is_suspect(value, file):
                found[f"{space.path}.{name}"] = value
        for name in _WRITTEN_OUT.get(space.path, ()):
            found[f"{space.path}.{name}"] = space.values[name]
    return found


#: Whose classes and objects need no second look; what they hold is looked at where it is defined.
_TRUSTED = sys.stdlib_module_names | {"_pytest", "pytest", "pluggy", "phase_gate", "xdist", "execnet"}
#: Values that decide nothing by themselves.
_PLAIN = frozenset({str, int, bool, type(None), tuple, dict, ModuleType, MemberDescriptorType, WrapperDescriptorType})
_NO_CLASSES = _PLAIN | {list, set, frozenset, float, bytes, property, classmethod, staticmethod}
_HOLDERS = (property, functools.partial, functools.cached_property)
#: The same value is none in one file and one in another.
_JUDGED_BY_FILE = frozenset({FunctionType, classmethod, staticmethod, property})


def _is_suspect(value: Any, file: str) -> bool:
    """Tell, fast, whether a value needs a second look at where it comes from."""
    kind = type(value)
    if kind in _METHODS:
        value = value.__func__
        kind = type(value)
    if kind is FunctionType:
        while value.__dict__ and type(value.__dict__.get("__wrapped__")) is FunctionType:
            value = value.__dict__["__wrapped__"]
        made_in = value.__code__.co_filename
        if made_in == file or made_in.startswith(_AT_HOME) or _is_pythons(value, made_in):
            return False
        # Methods that a class decorator generated have no file of their own, but they belong to their module.
        return bool(made_in != "<string>" or value.__globals__.get("__file__") != file)
    if kind is property:
        return type(value.fget) is FunctionType and value.fget.__code__.co_filename != file
    return _is_untrusted(value.__module__) if isinstance(value, type) else not _is_trusted_kind(kind)


def _is_pythons(function: FunctionType, file: str) -> bool:
    """Tell whether it is what a module of Python's has under that very name."""
    name = function.__module__
    if name.partition(".")[0] not in sys.stdlib_module_names or name == "unittest.mock":
        return False
    module = sys.modules.get(name)
    here = getattr(module, "__file__", None) == file and file.startswith(_STDLIB)
    return here and vars(module).get(function.__name__) is function


def _is_trusted_kind(kind: type) -> bool:
    return kind not in _HOLDERS and not _is_untrusted(kind.__module__)


def _is_untrusted(module: object) -> bool:
    return module == "unittest.mock" or str(module).partition(".")[0] not in _TRUSTED


def _judge_changes(space: _Space, changed: set[str], ownership: Ownership) -> Iterator[tuple[str, str]]:
    for name in sorted(changed):
        before, now = space.values.get(name, _NONE), space.now.get(name, _NONE)
        is_code = isinstance(before, (FunctionType, classmethod, staticmethod, property, type)) or callable(before)
        if _is_replaced(before, now, ownership) if is_code else bool(ownership.projects_files(now)):
            yield f"{space.path}.{name}", _whose(now, ownership)


def _is_replaced(before: object, now: object, ownership: Ownership) -> bool:
    """Tell whether code other than an installed distribution's put `now` where something callable was."""
    if ownership.projects_files(now):
        return True
    if before is now:  # the same function with other code; where from, its files have told, unless it has none
        return True
    # What has no file, belongs to Python, or to pytest itself, stands in for something that it is not.
    return not any(_is_of_another(file) for file in files_of(now))


def _is_of_another(file: str) -> bool:
    """Tell whether an installed distribution has the file, and it is none of those that are looked at.

    One part of pytest may change another: its `legacypath` does. A part that decides about outcomes never does.
    """
    path = real_path(file)
    is_elsewhere = os.path.isfile(path) and path not in _looked_at() and not path.startswith(_OURS)
    return is_elsewhere and (path.startswith(_PYTEST) or is_distributed(path))


@cache
def _looked_at() -> frozenset[str]:
    return frozenset(real_path(sys.modules[name].__file__ or "") for name in _MODULES if name in sys.modules)


def _is_alien(path: str, value: object, ownership: Ownership) -> bool:
    if ownership.projects_files(value) or type(value).__module__ == "unittest.mock":
        return True
    inner = getattr(value, "__func__", value)
    code: CodeType | None = getattr(inner, "__code__", None)
    owner, _, name = path.rpartition(".")
    is_written_out = name in _WRITTEN_OUT.get(owner, ())
    return is_written_out and code is not None and not os.path.exists(code.co_filename)


def _whose(value: object, ownership: Ownership) -> str:
    return ", ".join(ownership.projects_files(value))


def _look_at_objects(config: pytest.Config, ownership: Ownership) -> Iterator[tuple[str, str]]:
    """Yield methods that the project hid on the very objects of this session."""
    manager = config.pluginmanager
    for owner in (config, manager, manager.get_plugin("session")):
        for name, value in [] if owner is None else vars(owner).items():
            if (name == "_inner_hookexec" or hasattr(type(owner), name)) and callable(value):
                files = ownership.projects_files(value)
                if files:
                    yield f"{type(owner).__name__}.{name}", ", ".join(files)
    for name, caller in vars(config.pluginmanager.hook).items():
        executes = getattr(caller, "_hookexec", None)
        if type(caller).__module__.startswith("pluggy.") and getattr(executes, "__func__", None) is _hookexec:
            continue
        files = ownership.projects_files(caller) or ownership.projects_files(executes)
        if files:
            yield f"hook.{name}", ", ".join(files)
