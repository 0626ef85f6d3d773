"""Describe a failure: the exception, whose code it came out of, and what the test's source says.

Runs where the test runs, on a worker too, and only in a phase that wants failing tests. What it finds is a few words
that travel with the report.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Literal

import pluggy
import pytest
from _pytest import outcomes

from phase_gate.bound import os
from phase_gate.codec import spell_out
from phase_gate.gate.failures import Failure, Reason
from phase_gate.gate.inventory import bare_name
from phase_gate.recording.outcomes import FAILURE
from phase_gate.recording.ownership import find_owner
from phase_gate.source.checks import (
    asserts_constant,
    called_for_nothing,
    fails_anyway,
    find_function,
    says_that_it_checks,
)
from phase_gate.storage.root import is_in_environment, relative_id

#: Where `pytest.fail` is, as frames name it; and where the checks are that call it: `raises`, `warns` and their kin.
_FAIL = outcomes.importorskip.__code__.co_filename
_CHECKS = frozenset({"raises.py", "python_api.py", "recwarn.py"})
_PYTEST_AND_PLUGGY = tuple(
    os.path.join(os.path.dirname(file), "") for file in (_FAIL, pluggy.PluginManager.register.__code__.co_filename)
)
#: What a doctest raises, by name: to import it brings a debugger along.
_DOCTEST = ("DocTestFailure", "MultipleDoctestFailures")

#: Whose code it is that a frame runs.
Place = Literal["test", "project", "foreign"]

#: Bound now, as what is imported above: a test's fixtures may patch it while its report is made.
_open = open


class FailureReader:
    """Reads the failures of one session."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        #: Files that test functions were collected from: like conftests, whatever is in them is the test's own code.
        self._test_files: set[str] = set()
        self._places: dict[str, Place] = {}

    def see_test_files(self, paths: Iterable[Path]) -> None:
        self._test_files.update(map(os.path.realpath, paths))
        self._places.clear()

    def read(self, error: BaseException, *, stage: str, test_file: Path, test_name: str) -> Failure:
        """Return how a test failed."""
        error, frames = _unwrap(error)
        place, frame, line = self._place(frames)
        file, line = _where(error, frame, line) or (str(test_file), 0)
        # `cannot import name x from y` names y, which was found; `No module named x` names x, which was not.
        module = (error.name or "") if isinstance(error, ImportError) else ""
        owner = find_owner(module, Path(self._root)) if module else "project"
        kind, message = type(error).__name__, _message(error).strip()
        by_check = isinstance(error, AssertionError | pytest.fail.Exception)
        if stage == "teardown":
            reason = Reason.TEARDOWN_ONLY
        elif is_stub(test_file, test_name) or (line and is_constant_at(file, line)):
            reason = Reason.STUB
        elif owner != "project":
            reason = Reason.FOREIGN_MODULE
        else:
            reason = self._reason(error, message, place, frames)
        return Failure(
            reason=reason,
            detail=_shorten(f"{kind}: {message}" if message else kind),
            file=relative_id(Path(file), Path(self._root)),
            line=line or None,
            missing=module if owner == "project" else "",
            by_check=by_check,
            helpers=tuple(self._helpers(frames)) if by_check else (),
        )

    def _reason(self, error: BaseException, message: str, place: Place, frames: list[tuple[FrameType, int]]) -> Reason:
        """Return the class of a failure. In doubt code can mend it: what can't turn green is harmless."""
        if isinstance(error, SyntaxError):
            return Reason.SYNTAX_ERROR
        if isinstance(error, pytest.FixtureLookupError):
            return Reason.MISSING_FIXTURE
        if isinstance(error, pytest.fail.Exception):
            if message.startswith("Timeout "):
                return Reason.TIMEOUT
            return Reason.BROKEN_TEST if self._is_refused_by_pytest(frames) else Reason.ASSERTION
        is_projects = place != "project" and isinstance(error, AttributeError) and self._lacks(error, frames)
        if is_projects or isinstance(error, ImportError):
            return Reason.STRUCTURAL
        if place == "foreign" and type(error).__name__ not in _DOCTEST and not isinstance(error, AssertionError):
            return Reason.TEST_ERROR
        return Reason.TEST_ERROR if place == "test" and isinstance(error, NameError) else Reason.ASSERTION

    def _helpers(self, frames: list[tuple[FrameType, int]]) -> Iterator[str]:
        """Yield the functions of the sources that checked on the test's behalf: mostly none.

        A cautious rule: what raises in RED is mostly the code that is to be written, and must stay free to change. A
        helper is called for nothing but its check, says so, and looks at what another source gives.
        """
        own = [each for each in frames if self._place_of(each[0].f_code.co_filename) != "foreign"]
        last = max(
            (at for at, (frame, _) in enumerate(own) if self._place_of(frame.f_code.co_filename) == "test"),
            default=len(own),
        )
        way = own[last:]
        calls = [_call_between(caller, frame) for caller, (frame, _) in pairwise(way)]
        if not calls or calls[0] is None or None in calls:
            return
        first = way[1][0].f_code
        used = {self._source_of(value) for frame, _ in way[:2] for value in _used(frame)}
        if used - {"", first.co_filename} and says_that_it_checks(first.co_name, self._shown(first), calls[0]):
            yield from (f"{self._shown(frame.f_code)}::{frame.f_code.co_qualname}" for frame, _ in way[1:])

    def _shown(self, code: CodeType) -> str:
        return relative_id(Path(code.co_filename), Path(self._root))

    def _place(self, frames: list[tuple[FrameType, int]]) -> tuple[Place, FrameType | None, int]:
        """Return whose code the failure came out of, and the innermost frame that is the project's or the test's."""
        places = [self._place_of(frame.f_code.co_filename) for frame, _ in frames]
        own = [index for index, place in enumerate(places) if place != "foreign"]
        if not own:
            return "foreign", None, 0
        # What a test hands to the project's code and that code calls came out of the project's code all the same;
        # a decorator of the project's around the test did not.
        inside = places[places.index("test") :] if "test" in places else places
        return "project" if "project" in inside else "test", *frames[own[-1]]

    def _place_of(self, filename: str) -> Place:
        place = self._places.get(filename)
        if place is None:
            place = self._places[filename] = self._look_up_place(filename)
        return place

    def _look_up_place(self, filename: str) -> Place:
        if filename.startswith("<"):  # code that has no file; of a doctest, it is the test
            return "test" if filename.startswith("<doctest ") else "foreign"
        path = os.path.realpath(filename)
        if path in self._test_files or os.path.basename(path) == "conftest.py":
            return "test"
        return (
            "project" if path.startswith(self._root + os.sep) and not is_in_environment(path, self._root) else "foreign"
        )

    def _is_refused_by_pytest(self, frames: list[tuple[FrameType, int]]) -> bool:
        """Tell what pytest says of a test that it can't run from a `fail`, or a check of its own that did not hold."""
        places = [self._place_of(frame.f_code.co_filename) for frame, _ in frames]
        last_own = max((index for index, place in enumerate(places) if place != "foreign"), default=None)
        if last_own is None:
            return True
        called = [frame.f_code.co_filename for frame, _ in frames[last_own + 1 :][:1]]
        # A hook of the project's around pytest's own work calls pluggy first.
        return any(
            file.startswith(_PYTEST_AND_PLUGGY) and file != _FAIL and os.path.basename(file) not in _CHECKS
            for file in called
        )

    def _lacks(self, error: AttributeError, frames: list[tuple[FrameType, int]]) -> bool:
        """Tell whether it is an object of the project's that lacks the attribute."""
        # mock and monkeypatch look for what they are to patch, and raise an error of their own.
        patched = [frames[-1][0].f_locals.get(name) for name in ("target", "obj")] if frames else []
        return any(self._source_of(value) for value in (error.obj, *patched))

    def _source_of(self, value: object) -> str:
        """Return the source of the project's that a value comes from; empty if it comes from none."""
        if value is None:
            return ""
        try:
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        except Exception:
            name = None  # a proxy to nothing, say
        if not isinstance(name, str):
            name = type(value).__module__
        file = getattr(sys.modules.get(name), "__file__", None)
        return file if isinstance(file, str) and self._place_of(file) == "project" else ""


def _call_between(caller: tuple[FrameType, int], called: FrameType) -> ast.Call | None:
    tree = parse_file(caller[0].f_code.co_filename)
    return None if tree is None else called_for_nothing(tree, caller[1], called.f_code.co_name)


def _used(frame: FrameType) -> Iterator[object]:
    """Yield what the code of a frame works with."""
    names, known = frame.f_code.co_names, frame.f_globals
    yield from (known[name] for name in names if name in known)
    yield from frame.f_locals.values()


def _unwrap(error: BaseException) -> tuple[BaseException, list[tuple[FrameType, int]]]:
    """Return what is behind a collector's error, a doctest's or a group, and the frames from the outermost inwards."""
    frames = [*_frames(error.__traceback__)]
    while (inner := _behind(error)) is not None:
        error = inner
        frames += _frames(error.__traceback__)
    return error, frames


def _behind(error: BaseException) -> BaseException | None:
    if isinstance(error, pytest.Collector.CollectError):
        return error.__cause__
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0]
    # Not imported for this: it brings a debugger with it.
    doctest = sys.modules.get("doctest")
    if doctest is not None and isinstance(error, doctest.UnexpectedException):
        found = error.exc_info[1]
        return found if isinstance(found, BaseException) else None
    if type(error).__name__ == "MultipleDoctestFailures":  # pytest's own, with --doctest-continue-on-failure
        first = getattr(error, "failures", [None])[0]
        return first if isinstance(first, BaseException) else None
    return None


def _where(error: BaseException, frame: FrameType | None, line: int) -> tuple[str, int] | None:
    """Return file and line to show; None where only the test's file is known."""
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        return error.filename, error.lineno or 0
    if frame is None or frame.f_code.co_filename.startswith("<"):
        return None
    return frame.f_code.co_filename, line


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, pytest.FixtureLookupError) and error.argname:
            return f"fixture {error.argname!r} not found"
        if (doctest := sys.modules.get("doctest")) is not None and isinstance(error, doctest.DocTestFailure):
            return f"expected {error.example.want.strip()}, got {error.got.strip()}"
        return str(error)
    except Exception:
        return ""  # its text is the user's code, too


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def parse_file(path: str) -> ast.Module | None:
    """Return a file's syntax tree, parsed once as long as the file stays as it is; None if it has none."""
    try:
        stat = os.stat(path)
        return _parse(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=256)
def _parse(path: str, modified: int, size: int) -> ast.Module:
    with _open(path, "rb") as file:
        return ast.parse(file.read())


def is_constant_at(file: str, line: int) -> bool:
    """Tell whether the failing line looks at nothing: an assertion about literals."""
    tree = parse_file(file)
    return tree is not None and asserts_constant(tree, line)


def _shorten(text: str) -> str:
    line = text.splitlines()[0]
    return line if len(line) <= 120 else f"{line[:117]}..."


def is_stub(test_file: Path, test_name: str) -> bool:
    """Tell whether a test's body fails by itself; not where the source does not show it (generated, doctest)."""
    tree = parse_file(str(test_file))
    function = None if tree is None else find_function(tree, test_name)
    return function is not None and fails_anyway(function)


# --- let each failing report say how it failed. Registered where tests run, in a phase that wants failing tests


class ReasonHooks:
    """Adds an attribute to reports; changes nothing else."""

    def __init__(self, root: Path) -> None:
        self._reader = FailureReader(root)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # A doctest stands in the code under test: that does not make it a test's own code.
        self._reader.see_test_files({item.path for item in session.items if isinstance(item, pytest.Function)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is not None and report.outcome == "failed":
            name = bare_name(item.nodeid.partition("::")[2])
            # What the test's fixtures have patched is still so: what can't be read then has no reason.
            with contextlib.suppress(Exception):
                failure = self._reader.read(call.excinfo.value, stage=call.when, test_file=item.path, test_name=name)
                setattr(report, FAILURE, spell_out(failure))
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            if isinstance(collector, pytest.Module) and type(collector).__module__ != "_pytest.doctest":
                self._reader.see_test_files({collector.path})
            # Which test it is about is not known yet: the count of the module's tests looks at each.
            failure = self._reader.read(call.excinfo.value, stage="collect", test_file=collector.path, test_name="")
            setattr(report, FAILURE, spell_out(failure))
        return report
