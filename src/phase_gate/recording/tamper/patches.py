"""Is pytest still itself? What decides about outcomes is compared with what it was before the project's code ran.

By identity first, which costs next to nothing; only what differs, or came later, is asked where it comes from. What an
installed distribution puts in pytest's place is that distribution's business.
"""

from __future__ import annotations

import builtins
import functools
import os
import sys
from collections.abc import Iterator, Mapping
from operator import attrgetter, is_
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

import pluggy
import pytest

from phase_gate.storage.ownership import Ownership, files_of, is_distributed

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
_WRITTEN_OUT = frozenset({"_pytest.runner.CallInfo.__init__"})
_hookexec = getattr(pluggy.PluginManager, "_hookexec", None)
_code = attrgetter("__code__")

_METHODS = frozenset({classmethod, staticmethod})


class _Kept:
    """The values of one dictionary, in order, and the code of its functions."""

    __slots__ = ("codes", "functions", "names", "values")

    def __init__(self, names: dict[str, Any]) -> None:
        self.names, self.values = list(names), list(names.values())
        self.functions = [each for each in self.values if type(each) is FunctionType]
        inner = (each.__func__ for each in self.values if type(each) in _METHODS)
        self.functions += [each for each in inner if type(each) is FunctionType]
        self.codes = list(map(_code, self.functions))

    def is_same(self, names: Any) -> bool:
        return (
            len(self.values) == len(names)
            and all(map(is_, self.values, names.values()))
            and all(map(is_, self.codes, map(_code, self.functions)))
        )

    def changes(self, names: Any) -> Iterator[str]:
        """Yield the names that have another value, are new, or are gone."""
        before = dict(zip(self.names, self.values, strict=True))
        yield from (name for name in {**before, **names} if before.get(name, _NONE) is not names.get(name, _NONE))
        other = {id(f) for f, code in zip(self.functions, self.codes, strict=True) if f.__code__ is not code}
        yield from (name for name, value in before.items() if id(getattr(value, "__func__", value)) in other)

    def had(self, name: str) -> object:
        return self.values[self.names.index(name)] if name in self.names else _NONE


_NONE = object()
_FOLDERS = [os.path.dirname(sys.modules[name].__file__ or "") for name in ("_pytest", "pytest", "pluggy", "phase_gate")]
_PYTEST, _OURS = (os.path.realpath(folder) + os.sep for folder in (_FOLDERS[0], _FOLDERS[-1]))
_AT_HOME = tuple(folder + os.sep for folder in _FOLDERS)


class Patches:
    """What pytest, pluggy and this plugin consist of, as first seen."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self._kept: dict[str, tuple[object, _Kept]] = {}
        #: Suspects of the first sight: functions that are not of their module's file.
        self._suspects: dict[str, object] = {}
        for name in _MODULES:
            self._keep_module(name)
        self._builtins = {name: value for name, value in vars(builtins).items() if name not in _FREE_BUILTINS}

    def _keep_module(self, name: str) -> None:
        module = sys.modules.get(name)
        if not isinstance(module, ModuleType) or name in self._modules:
            return
        self._modules[name] = module
        self._keep(name, module, getattr(module, "__file__", None) or "")
        for key, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == name:
                self._keep(f"{name}.{key}", value, module.__file__ or "")

    def _keep(self, path: str, owner: Any, file: str) -> None:
        kept = _Kept(dict(vars(owner)))
        self._kept[path] = (owner, kept)
        for name, value in zip(kept.names, kept.values, strict=True):
            kind = type(value)
            if kind in _PLAIN or (kind is FunctionType and value.__code__.co_filename == file):
                continue  # most of them: not worth a call
            if _is_suspect(value, file) or f"{path}.{name}" in _WRITTEN_OUT:
                self._suspects[f"{path}.{name}"] = value

    def look(
        self, ownership: Ownership, config: pytest.Config, left: Mapping[str, object]
    ) -> Iterator[tuple[str, str]]:
        """Yield the dotted names that are not their own any more, and whose they are now, as far as one can tell.

        :param left: what names had that were put back for the time of this look.
        """
        for name in [name for name in sys.modules if name.startswith(OWN_PACKAGES)]:
            self._keep_module(name)
        for name in _MODULES:
            self._keep_module(name)
        for name, module in self._modules.items():
            now = left.get(f"sys.modules.{name}", sys.modules.get(name))
            if now is not module:
                yield name, _whose(now, ownership)
        # Those that turn out to be at home need no third look: what changes from now on is seen by identity.
        self._suspects = {path: value for path, value in self._suspects.items() if _is_alien(path, value, ownership)}
        for path, value in self._suspects.items():
            yield path, _whose(value, ownership)
        for path, (owner, kept) in self._kept.items():
            if not kept.is_same(vars(owner)):
                yield from _judge_changes(path, owner, kept, ownership)
        for name, value in self._builtins.items():
            now = left.get(f"builtins.{name}", vars(builtins).get(name))
            if now is not value and _is_replaced(value, now, ownership):
                yield f"builtins.{name}", _whose(now, ownership)
        yield from _look_at_objects(config, ownership)


#: Whose classes and objects need no second look; what they hold is looked at where it is defined.
_TRUSTED = sys.stdlib_module_names | {"_pytest", "pytest", "pluggy", "phase_gate", "xdist", "execnet"}
#: Values that decide nothing by themselves.
_PLAIN = frozenset({str, int, bool, type(None), tuple, dict, ModuleType, MemberDescriptorType, WrapperDescriptorType})
_HOLDERS = (property, functools.partial, functools.cached_property)


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
        if made_in == file or made_in.startswith(_AT_HOME):
            return False
        # Methods that a class decorator generated have no file of their own, but they belong to their module.
        return bool(made_in != "<string>" or value.__globals__.get("__file__") != file)
    if kind is property:
        return type(value.fget) is FunctionType and value.fget.__code__.co_filename != file
    module = value.__module__ if isinstance(value, type) else kind.__module__
    return kind in _HOLDERS or module == "unittest.mock" or str(module).partition(".")[0] not in _TRUSTED


def _judge_changes(path: str, owner: Any, kept: _Kept, ownership: Ownership) -> Iterator[tuple[str, str]]:
    for name in sorted(set(kept.changes(vars(owner)))):
        before, now = kept.had(name), vars(owner).get(name, _NONE)
        is_code = isinstance(before, (FunctionType, classmethod, staticmethod, property, type)) or callable(before)
        if _is_replaced(before, now, ownership) if is_code else bool(ownership.projects_files(now)):
            yield f"{path}.{name}", _whose(now, ownership)


def _is_replaced(before: object, now: object, ownership: Ownership) -> bool:
    """Tell whether code other than an installed distribution's put `now` where something callable was."""
    if ownership.projects_files(now):
        return True
    if before is now:  # the same function with other code; where from, its files have told, unless it has none
        return True
    # What has no file, belongs to Python, or to pytest itself, stands in for something that it is not.
    return not any(_is_of_another(file) for file in files_of(now))


#: For the files of pytest, which stay where they are: asking the disk anew for each change took a tenth of a short run.
_real_path = functools.cache(os.path.realpath)


def _is_of_another(file: str) -> bool:
    """Tell whether an installed distribution has the file, and it is none of those that are looked at.

    One part of pytest may change another: its `legacypath` does. A part that decides about outcomes never does.
    """
    path = os.path.realpath(file)
    looked_at = {_real_path(sys.modules[name].__file__ or "") for name in _MODULES if name in sys.modules}
    is_elsewhere = os.path.isfile(path) and path not in looked_at and not path.startswith(_OURS)
    return is_elsewhere and (path.startswith(_PYTEST) or is_distributed(path))


def _is_alien(path: str, value: object, ownership: Ownership) -> bool:
    if ownership.projects_files(value) or type(value).__module__ == "unittest.mock":
        return True
    inner = getattr(value, "__func__", value)
    code: CodeType | None = getattr(inner, "__code__", None)
    return path in _WRITTEN_OUT and code is not None and not os.path.exists(code.co_filename)


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
