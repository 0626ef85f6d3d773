"""The parts of Python that our own work needs: kept before the project's code runs, put back while we work.

A test may leave `os.replace` mocked for good. So what is replaced in one of these modules or classes gets its own value
back for the time of our work, and afterwards its replacement: later hooks find what the tests left. Shallow and by
identity: a copy of each dictionary when the run begins, a comparison where we work, nothing in between.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from abc import ABCMeta

# Bound here: a test may leave these names replaced, too, and putting back has to do without them.
from builtins import all, len, list, map, sum, type  # noqa: A004, UP029
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import EnumType
from itertools import chain
from operator import is_, methodcaller
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

#: Modules that the end of a run calls, kept whole, with their classes. Tests trace real runs and compare what they find
#: with these lists: see tests/faults.
WHOLE = (
    *("builtins", "os", "io", os.path.__name__, "genericpath", "stat", "fcntl", "pathlib", "pathlib._local"),
    *("pathlib._abc", "pathlib._os", "pathlib.types", "fnmatch", "json", "json.decoder", "json.encoder", "hashlib"),
    *("hmac", "zlib", "re", "textwrap", "math", "time", "datetime", "subprocess", "select", "selectors", "contextlib"),
    # The import system itself: some of our modules are loaded when tests have run.
    *("collections", "_frozen_importlib", "_frozen_importlib_external"),
)
#: Modules of which functions and classes are kept, name by name: they are called less, or change while tests run.
BY_NAME = (
    *("sys", "signal", "threading", "_thread", "warnings", "functools", "shutil", "ast", "tempfile", "importlib"),
    *("importlib.util", "platform", "itertools", "operator"),
)
#: Kept whole in addition, where failing tests are looked at, reports are written, or a shard: nothing else calls these.
SELDOM = (
    *(
        "importlib.metadata",
        "importlib.machinery",
        "importlib.resources",
        "importlib.resources.abc",
        "importlib.readers",
    ),
    *("struct", "weakref"),
    *("importlib.resources.readers", "zipfile", "codecs", "csv", "email", "email.errors", "email.feedparser"),
    *("email.header", "email.message", "email.parser", "email.utils", "tomllib", "gzip", "html", "base64", "binascii"),
    *("marshal", "xml.etree.ElementTree", "functools"),
)
#: What pytest, or the running program, puts in place itself.
_FREE = frozenset(
    {
        *("stdin", "stdout", "stderr", "excepthook", "unraisablehook", "displayhook", "breakpointhook"),
        *("last_type", "showwarning", "_showwarnmsg", "_showwarnmsg_impl"),
    }
)
#: Values that modules change themselves as time goes by.
_STATE = frozenset({type(None), bool, list, dict, set})
#: Written into a class when its annotations are first asked for.
_LATE = frozenset({"__annotations__", "__annotations_cache__", "__annotate__", "__annotate_func__"})
#: A flag of classes that Python code made.
_CHANGEABLE = 1 << 9
#: Of modules that are kept name by name: what can be called, and constants that decide what the rest does.
_CALLED = frozenset({FunctionType, BuiltinFunctionType, type, ABCMeta, EnumType})
_NEEDED = frozenset({"modules", "platform", "version_info", "flags", "executable", "implementation"})
#: What a name has that is not there.
GONE = object()
_values: Callable[[Any], Any] = methodcaller("values")
_set_on_class, _delete_on_class = type.__setattr__, type.__delattr__


class Replaced:
    """One name that has not its own value any more."""

    __slots__ = ("kept", "left", "name", "space")

    def __init__(self, space: _Space, name: str, kept: object, left: object) -> None:
        self.space, self.name, self.kept, self.left = space, name, kept, left

    @property
    def path(self) -> str:
        return f"{self.space.path}.{self.name}"


class _Space:
    """One dictionary as it was: of a module, a class or an object."""

    __slots__ = ("behind", "kept", "now", "owner", "path")

    def __init__(
        self,
        path: str,
        now: Mapping[str, Any],
        kept: dict[str, Any],
        *,
        owner: type | None = None,
        behind: tuple[Any, ...] = (),
    ) -> None:
        self.path, self.now, self.kept = path, now, kept
        #: The class, where it is one: its dictionary can't be written to.
        self.owner = owner
        #: Where a name is looked for that is not in it.
        self.behind = behind or (builtins,) if owner is None else owner.__mro__[1:]

    def replaced(self) -> Iterator[Replaced]:
        if all(map(is_, map(self.now.get, self.kept), self.kept.values())):
            return
        for name, value in self.kept.items():
            left = self.now.get(name, GONE)
            if left is not value:
                yield Replaced(self, name, value, left)

    def hiding(self) -> Iterator[Replaced]:
        """Yield new names that hide what would be found without them."""
        for name in self.now.keys() - self.kept.keys() - _LATE:
            for each in self.behind:
                if name in each.__dict__ and each.__dict__ is not self.now:
                    yield Replaced(self, name, GONE, self.now[name])
                    break

    def assign(self, name: str, value: object) -> None:
        if self.owner is None:
            now: dict[str, Any] = self.now  # type: ignore[assignment]
            if value is GONE:
                now.pop(name, None)
            else:
                now[name] = value
        elif value is GONE:
            _delete_on_class(self.owner, name)
        else:
            _set_on_class(self.owner, name, value)


class Namespaces:
    """What those modules and their classes consist of, as first seen."""

    def __init__(self) -> None:
        #: Looked at as a whole, and looked at name by name.
        self._spaces: list[_Space] = []
        self._parts: list[_Space] = []
        # Methods can be replaced on these very objects, too.
        for path, each in (
            ("os.environ", os.environ),
            ("json._default_encoder", json._default_encoder),  # type: ignore[attr-defined]
            ("json._default_decoder", json._default_decoder),  # type: ignore[attr-defined]
        ):
            self._spaces.append(_Space(path, vars(each), vars(each).copy(), behind=type(each).__mro__))
        self._keep_whole(WHOLE)
        self._loaded = _Space("sys.modules", sys.modules, {})
        self._parts.append(self._loaded)
        for name in BY_NAME:
            if (module := sys.modules.get(name)) is not None:
                self._keep_names(name, vars(module))

    def widen(self) -> None:
        """Keep what is seldom called, too."""
        self._keep_whole(SELDOM)

    def settle(self) -> None:
        """Keep which modules are loaded by now: Python's, and ours."""
        roots = sys.stdlib_module_names | {"phase_gate"}
        self._loaded.kept |= {name: each for name, each in sys.modules.items() if name.partition(".")[0] in roots}

    def _keep_whole(self, modules: Iterable[str]) -> None:
        for name in modules:
            if (module := sys.modules.get(name)) is not None:
                self._keep_module(name, vars(module))
        self._now = [space.now for space in self._spaces]
        self._kept = list(chain.from_iterable([space.kept.values() for space in self._spaces]))

    def _keep_module(self, name: str, own: dict[str, Any]) -> None:
        self._spaces.append(_Space(name, own, own.copy()))
        for key, each in own.items():
            # Classes written in C can't be changed.
            if isinstance(each, type) and each.__module__ == name and each.__flags__ & _CHANGEABLE:
                path = f"{name.partition('._')[0]}.{key}"
                self._spaces.append(_Space(path, each.__dict__, each.__dict__.copy(), owner=each))

    def _keep_names(self, name: str, own: dict[str, Any]) -> None:
        kept = {key: each for key, each in own.items() if type(each) in _CALLED or key in _NEEDED}
        self._parts.append(_Space(name, own, {key: kept[key] for key in kept.keys() - _FREE}))

    def put_back(self) -> list[Replaced]:
        """Give every replaced name its own value, and return what they had."""
        found: list[Replaced] = []
        if not self._are_same():
            for space in self._spaces:
                found += [each for each in space.replaced() if type(each.kept) not in _STATE]
                found += space.hiding()
        for part in self._parts:
            found += part.replaced()
        for each in found:
            each.space.assign(each.name, each.kept)
        if found:
            found += self._put_back_copies(found)
        return found

    def _are_same(self) -> bool:
        if sum(map(len, self._now)) != len(self._kept):
            return False
        # By identity: comparing would call what a test put there, and a mock counts its calls.
        return all(map(is_, chain.from_iterable(map(_values, self._now)), self._kept))

    def _put_back_copies(self, found: list[Replaced]) -> list[Replaced]:
        """Do the same in our own modules: some tools replace a function wherever it was imported by name."""
        known = set(map(id, self._kept))
        kept = {id(each.left): each.kept for each in found if callable(each.left) and id(each.left) not in known}
        copies = [
            Replaced(_Space(name, vars(module), {}), key, kept[id(value)], value)
            for name, module in list(sys.modules.items())
            if name.startswith("phase_gate.") and isinstance(module, ModuleType)
            for key, value in vars(module).items()
            if id(value) in kept
        ]
        for each in copies:
            each.space.assign(each.name, each.kept)
        return copies


def lay_back(found: list[Replaced]) -> None:
    """Give every name what it had before it was put back."""
    for each in found:
        each.space.assign(each.name, each.left)
