"""Writes down which functions of Python our code calls when a run ends: what a test might leave replaced.

Loaded by a project under test, on workers, too, and never into the process that sweeps. So it imports nothing of this
package, and its text has no word that would make the plugin watch.
"""

from __future__ import annotations

import atexit
import builtins
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

FOLDER = os.sep + "phase_" + "gate" + os.sep
#: An import's own parts, which look at nothing but themselves.
IMPORT = ("importlib._bootstrap", "importlib._bootstrap_external", "zipimport", "_frozen_importlib", "_imp", "posix")


class Tracer:
    """A profile function that listens while a frame of ours is on the stack."""

    def __init__(self) -> None:
        self._depth = 0
        #: Code of Python's functions, with its global names.
        self.codes: dict[CodeType, dict[str, Any]] = {}
        #: Functions written in C, and methods.
        self.built_in: dict[int, Any] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call":
            if self._depth or FOLDER in code.co_filename:
                self._depth += 1
                self.codes.setdefault(code, frame.f_globals)
        elif event == "return":
            self._depth -= bool(self._depth)
        elif event == "c_call" and self._depth:
            self.built_in[id(argument)] = argument

    def looked_up(self) -> set[str]:
        """Return `module:name` for whatever was looked up, when it was needed, and called; `module:class.name` too.

        What our modules have imported by name is not looked up: replacing it in its own module does not reach us.
        """
        found = set()
        for code, names in self.codes.items():
            for name in code.co_names:
                value = names.get(name)
                if isinstance(value, ModuleType):
                    found |= set(self._attributes(value, code))
                elif FOLDER not in code.co_filename and self._is_called(value):
                    found.add(f"{names['__name__']}:{name}")
                elif name not in names and name in vars(builtins):
                    found.add(f"builtins:{name}")
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and _is_pythons(module.__name__):
                for kind in [each for each in vars(module).values() if isinstance(each, type)]:
                    if kind.__module__ == module.__name__:
                        found |= {f"{module.__name__}:{kind.__name__}.{name}" for name in self._methods(kind)}
        return {name for name in found if _is_pythons(name.partition(":")[0])}

    def _attributes(self, module: ModuleType, code: CodeType) -> Iterator[str]:
        # One level deep: `os.path` is a module, too, and both know each other.
        inner = [each for name in code.co_names if isinstance(each := vars(module).get(name), ModuleType)]
        for owner in (module, *inner):
            for name in code.co_names:
                value = vars(owner).get(name)
                if isinstance(value, type) or self._is_called(value):
                    yield f"{owner.__name__}:{name}"

    def _methods(self, kind: type) -> Iterator[str]:
        if kind.__flags__ & 1 << 9:  # made by Python code
            for name, own in vars(kind).items():
                # Enumerations hold functions of their base classes, too.
                is_own = getattr(own, "__qualname__", kind.__qualname__).startswith(kind.__qualname__)
                if is_own and self._is_called(own):
                    yield name

    def _is_called(self, value: Any) -> bool:
        if id(value) in self.built_in:
            return True
        for inner in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
            if isinstance(inner, FunctionType) and self._innermost(inner).__code__ in self.codes:
                return True
        return False

    @staticmethod
    def _innermost(function: FunctionType) -> FunctionType:
        """Return what a decorator wraps: the wrapper's own code is that of every function so decorated."""
        while isinstance(inner := function.__dict__.get("__wrapped__"), FunctionType):
            function = inner
        return function


def _is_pythons(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names and module not in IMPORT


def start(file: str) -> None:
    """Listen from now on; at the process's end add what was heard to the file."""
    tracer = Tracer()

    def stop() -> None:
        sys.setprofile(None)
        with open(file, "a", encoding="ascii") as log:
            log.writelines(f"{name}\n" for name in sorted(tracer.looked_up()))

    atexit.register(stop)
    sys.setprofile(tracer)
