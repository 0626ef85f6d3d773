"""Code of tests outside of test files, as resolved by pytest: functions, fixtures, classes.

Inspected where tests are collected, including workers, and only in a run that freezes tests. Later runs compare with
the frozen parts. Decorators are ignored, because the product may be a decorator. The experiment shows whether a
decorated test still runs and checks.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Collection, Iterator
from types import CodeType

import pytest

from phase_gate.recording.ownership import Ownership, announced_packages
from phase_gate.source.module_code import SETUPS


def find_support_code(session: pytest.Session, ownership: Ownership) -> dict[str, tuple[str, ...]]:
    """Return the locations of the parts of tests. Call it before a test can change them."""
    try:
        return _Look(ownership).read(session)
    except Exception as error:
        # The user's tests run. The end of the run reports the problem, and tests are not frozen without these parts.
        return {"problem": (f"{type(error).__name__}: {error}",)}


class _Look:
    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership

    def read(self, session: pytest.Session) -> dict[str, tuple[str, ...]]:
        tests, around, seen = set[str](), set[str](), set[object]()
        announced = announced_packages(session.config)
        for item in session.items:
            if not isinstance(item, pytest.Function):
                continue
            tests.update(self._place(inspect.unwrap(item.function), but=str(item.path)))
            definitions = {each for several in item._fixtureinfo.name2fixturedefs.values() for each in several}
            for definition in definitions - seen:
                # Fixtures of the project's own plugin are its product.
                if not _is_of(definition.func, announced):
                    around.update(self._place(definition.func))
            if item.cls is not None and item.cls not in seen:
                around.update(self._bases(item.cls, but=str(item.path)))
            seen |= {*definitions, item.cls}
        return {"tests": tuple(sorted(tests)), "around": tuple(sorted(around))}

    def _place(self, function: object, *, but: str = "") -> Iterator[str]:
        code = getattr(getattr(function, "__func__", function), "__code__", None)
        if not isinstance(code, CodeType) or code.co_filename == but or not self._is_source(code.co_filename):
            return
        if "<" not in code.co_qualname:  # a function made by another function can't be found by name
            yield f"{self._shown(code.co_filename)}::{code.co_qualname}"

    def _bases(self, owner: type, *, but: str) -> Iterator[str]:
        """Yield the base classes of a test class that are test cases or have tests, and setup methods of the others."""
        unittest = sys.modules.get("unittest")
        for base in owner.__mro__[1:]:
            file = getattr(sys.modules.get(base.__module__), "__file__", None)
            if not isinstance(file, str) or file == but or not self._is_source(file) or "<" in base.__qualname__:
                continue
            place = f"{self._shown(file)}::{base.__qualname__}"
            is_case = unittest is not None and issubclass(base, unittest.TestCase)
            if is_case or any(name.startswith("test") for name in vars(base)):
                yield place
            else:  # a mixin, possibly the code under test
                yield from (f"{place}.{name}" for name in SETUPS & vars(base).keys())

    def _is_source(self, file: str) -> bool:
        return os.path.basename(file) != "conftest.py" and self._ownership.is_projects(file)

    def _shown(self, file: str) -> str:
        return self._ownership.shown(file)


def _is_of(function: object, packages: Collection[str]) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] in packages
