"""Look at where the parts of tests lie that are not in their files. Runs where tests are collected, on a worker too.

Only in a run that is to freeze: later ones compare with what was frozen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from phase_gate.gate.pieces import SETUPS, outer_name
from phase_gate.gate.support_code import Parts
from phase_gate.recording.early import own_work
from phase_gate.recording.settings import announced_packages
from phase_gate.storage.ownership import Ownership


class PartsWitness:
    """Keeps what it saw when the tests were collected."""

    def __init__(self, root: Path) -> None:
        self._ownership = Ownership(root)
        self.parts = Parts()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # Before a test can change anything of it.
        with own_work(session.config):
            try:
                self.parts = self._look(session)
            except Exception as error:
                # The user's tests run; the end of the run says it, and nothing is frozen without these parts.
                self.parts = Parts(problem=f"{type(error).__name__}: {error}")

    def _look(self, session: pytest.Session) -> Parts:
        names: dict[pytest.Collector, set[str]] = {}
        for item in session.items:
            if isinstance(item, pytest.Function) and item.parent is not None:
                names.setdefault(item.parent, set()).add(item.originalname)
        tests, around = set[str](), set[str]()
        for parent, wanted in names.items():
            owner, file = getattr(parent, "obj", None), str(parent.path)
            for name in wanted:
                *wrappers, test = _unwrap(getattr(owner, name, None))
                tests |= set(self._place(code_of(test), but=file))
                around |= {place for each in wrappers for place in self._place(code_of(each), but=file)}
            if isinstance(owner, type):
                around |= set(self._around(owner, wanted, but=file))
        manager, announced = getattr(session, "_fixturemanager", None), announced_packages(session.config)
        return Parts(
            tests=tuple(sorted(tests)),
            around=tuple(sorted(around)),
            fixtures={name: places for name, places in self._fixtures(manager, announced) if places},
            always=tuple(sorted(_autouse_names(manager))),
        )

    def _place(self, code: CodeType | None, *, but: str = "") -> Iterator[str]:
        if code is None or code.co_filename == but or not self._is_source(code.co_filename):
            return
        name = outer_name(code.co_qualname)
        if "<" not in name:  # a lambda has no name to find it by
            yield f"{self._shown(code.co_filename)}::{name}"

    def _around(self, owner: type, tests: Iterable[str], *, but: str) -> Iterator[str]:
        """Yield the classes that a class of tests inherits tests or unittest's ways from, and methods that prepare."""
        unittest = sys.modules.get("unittest")
        for base in owner.__mro__[1:]:
            file = getattr(sys.modules.get(base.__module__), "__file__", None)
            if not isinstance(file, str) or file == but or not self._is_source(file) or "<" in base.__qualname__:
                continue
            is_case = unittest is not None and issubclass(base, unittest.TestCase)
            if is_case or not vars(base).keys().isdisjoint(tests):
                yield f"{self._shown(file)}::{base.__qualname__}"
            else:  # a mixin, which may be the code under test
                yield from (f"{self._shown(file)}::{base.__qualname__}.{name}" for name in SETUPS & vars(base).keys())

    def _fixtures(self, manager: object, announced: Collection[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for name, definitions in _definitions(manager).items():
            functions = (getattr(each, "func", None) for each in definitions)
            own = (
                each for each in functions if str(getattr(each, "__module__", "")).partition(".")[0] not in announced
            )
            yield name, tuple(sorted({place for each in own for place in self._place(code_of(each))}))

    def _is_source(self, file: str) -> bool:
        return os.path.basename(file) != "conftest.py" and self._ownership.is_projects(file)

    def _shown(self, file: str) -> str:
        return self._ownership.shown(file).replace(os.sep, "/")


def _definitions(manager: object) -> dict[str, list[object]]:
    """Return the definitions of all fixtures by name.

    Raises LookupError where pytest keeps them in a way that is not known: none would be frozen, without a word.
    """
    if manager is None:
        return {}
    found: dict[str, list[object]] = {}
    # By name; from pytest 9.2 on by name and by node.
    for name, definitions in _first_of(manager, "_arg2fixturedefs", "_arg2node2fixturedefs").items():
        found.setdefault(name, []).extend(_flat(definitions))
    for name, definitions in getattr(manager, "_arg2nodeid2fixturedefs", {}).items():
        found.setdefault(name, []).extend(_flat(definitions))
    return found


def _autouse_names(manager: object) -> set[str]:
    if manager is None:
        return set()
    places = [_first_of(manager, "_node_autousenames", "_nodeid_autousenames")]
    places.append(getattr(manager, "_nodeid_autousenames", {}))
    return {name for place in places for names in place.values() for name in names}


def _first_of(manager: object, *names: str) -> Mapping[Any, Any]:
    found = next((getattr(manager, name) for name in names if hasattr(manager, name)), None)
    if not isinstance(found, Mapping):
        raise LookupError(f"this pytest keeps its fixtures in none of {', '.join(names)}")
    return found


def _flat(definitions: Mapping[object, Iterable[object]] | Iterable[object]) -> Iterator[object]:
    if isinstance(definitions, Mapping):
        yield from (each for some in definitions.values() for each in some)
    else:
        yield from definitions


def code_of(function: object) -> CodeType | None:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _unwrap(function: object) -> list[object]:
    """Return a function and what it wraps, the innermost last."""
    found = [function]
    while len(found) < 20 and (inner := getattr(found[-1], "__wrapped__", None)) is not None:
        found.append(inner)
    return found
