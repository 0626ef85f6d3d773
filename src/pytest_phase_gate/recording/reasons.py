"""Describe a failure: the exception, whose code it came out of, and what the test's source says.

Runs where the test runs, on a worker too, and only in a phase that wants failing tests. What it finds is a few words
that travel with the report; what they mean is decided by the core.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType, TracebackType

import pytest

from pytest_phase_gate.core.failures import Failure, FailureFacts, Owner, Place, classify_failure
from pytest_phase_gate.core.source_checks import find_function, has_check, statement_at
from pytest_phase_gate.storage.owners import find_owner, is_in_environment
from pytest_phase_gate.storage.root import relative_id


class FailureReader:
    """Reads the failures of one session."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        #: Files that tests were collected from, and conftests: whatever is in them is the test's own code.
        self.test_files: set[str] = set()

    def see_test_files(self, paths: Iterable[Path]) -> None:
        self.test_files.update(map(os.path.realpath, paths))

    def read(self, error: BaseException, *, stage: str, test_file: Path, test_name: str) -> Failure:
        """Return the class of one failure."""
        error = _unwrap(error)
        self.test_files.add(os.path.realpath(test_file))
        frames = [*_frames(error.__traceback__)]
        place, frame, line = self._place(frames)
        path = frame.f_code.co_filename if frame is not None else str(test_file)
        tree = parse_file(path) if frame is not None else None
        missing, owner = self._missing(error)
        facts = FailureFacts(
            stage=stage,
            exception=tuple(each.__name__ for each in type(error).__mro__),
            message=str(error),
            place=place,
            statement=statement_at(tree, line) if tree is not None else "other",
            is_explicit_fail=self._is_explicit_fail(error, frames),
            missing=missing,
            missing_owner=owner,
            lacks_attribute=isinstance(error, AttributeError) and self._is_project_object(getattr(error, "obj", None)),
            uses_project=any(self._uses_project(each) for each, _ in frames),
            has_check=test_has_check(test_file, test_name),
            file=relative_id(Path(path), Path(self._root)),
            line=line or None,
        )
        return classify_failure(facts)

    def _place(self, frames: list[tuple[FrameType, int]]) -> tuple[Place, FrameType | None, int]:
        """Return the innermost frame that is the project's or the test's."""
        for frame, line in reversed(frames):
            place = self._place_of(frame.f_code.co_filename)
            if place != "foreign":
                return place, frame, line
        return "foreign", None, 0

    def _place_of(self, filename: str) -> Place:
        path = os.path.realpath(filename)
        if path in self.test_files or os.path.basename(path) == "conftest.py":
            return "test"
        if not path.startswith(self._root + os.sep) or is_in_environment(path, self._root):
            return "foreign"
        return "project"

    def _missing(self, error: BaseException) -> tuple[str, Owner | None]:
        if not isinstance(error, ImportError) or not error.name:
            return "", None
        # `cannot import name x from y` names y, which was found; `No module named x` names x, which was not.
        return error.name, find_owner(error.name, Path(self._root))

    def _is_explicit_fail(self, error: BaseException, frames: list[tuple[FrameType, int]]) -> bool:
        """Tell `pytest.fail()` and `self.fail()` in the test from the `fail` of a `pytest.raises` that was not met."""
        if isinstance(error, pytest.fail.Exception):
            return not _is_from_raises(error, frames)
        places = [self._place_of(frame.f_code.co_filename) for frame, _ in frames]
        last_own = max((index for index, place in enumerate(places) if place != "foreign"), default=-1)
        called = [frame.f_code.co_name for frame, _ in frames[last_own + 1 :]]
        return called[:1] == ["fail"]

    def _uses_project(self, frame: FrameType) -> bool:
        """Tell whether the code up here works with something that the project's code gave it."""
        if self._place_of(frame.f_code.co_filename) == "project":
            return True
        if self._place_of(frame.f_code.co_filename) == "foreign":
            return False
        names = frame.f_code.co_names
        used = [frame.f_globals[name] for name in names if name in frame.f_globals]
        return any(self._is_project_object(value) for value in (*used, *frame.f_locals.values()))

    def _is_project_object(self, value: object) -> bool:
        if value is None:
            return False
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if not isinstance(name, str):
            name = type(value).__module__
        file = getattr(sys.modules.get(name), "__file__", None)
        return isinstance(file, str) and self._place_of(file) == "project"


def _unwrap(error: BaseException) -> BaseException:
    """Return what is behind a collector's error or a group of one."""
    while True:
        if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
            error = error.__cause__
        elif isinstance(error, BaseExceptionGroup) and error.exceptions:
            error = error.exceptions[0]
        else:
            return error


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _is_from_raises(error: BaseException, frames: list[tuple[FrameType, int]]) -> bool:
    return str(error).startswith("DID NOT ") or any(frame.f_code.co_name == "__exit__" for frame, _ in frames)


@cache
def parse_file(path: str) -> ast.Module | None:
    """Return a file's syntax tree, read once; None if it has none."""
    try:
        return ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def test_has_check(test_file: Path, test_name: str) -> bool:
    """Tell whether a test's body checks anything that is not constant."""
    tree = parse_file(str(test_file))
    function = None if tree is None else find_function(tree, test_name)
    # Where the source does not show the test (generated, doctest), nobody can say that it checks nothing.
    return function is None or has_check(function)
