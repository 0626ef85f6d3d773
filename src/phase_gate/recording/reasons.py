"""Describe a failure: the exception, the owner of the code that raised it, and evidence from the test's source.

Runs in the process of the test, including workers, and only in a phase that requires failing tests. The result is a few
words that are sent with the report.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sys
from collections.abc import Generator, Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Literal

import pluggy
import pytest
from _pytest import outcomes

from phase_gate.bound import os
from phase_gate.codec import spell_out
from phase_gate.gate.inventory import bare_name
from phase_gate.gate.outcomes import Failure, Reason
from phase_gate.recording.ownership import Ownership
from phase_gate.recording.witness import FAILURE
from phase_gate.source.checks import (
    asserts_constant,
    called_for_nothing,
    fails_anyway,
    find_function,
    says_that_it_checks,
)
from phase_gate.source.tests import parse_source
from phase_gate.storage.root import is_in_environment, relative_id

#: The file of `pytest.fail` as in frames; and the files of the checks that call it: `raises`, `warns` and so on.
_FAIL = outcomes.importorskip.__code__.co_filename
_CHECKS = frozenset({"raises.py", "python_api.py", "recwarn.py"})
_PYTEST_AND_PLUGGY = tuple(
    os.path.join(os.path.dirname(file), "") for file in (_FAIL, pluggy.PluginManager.register.__code__.co_filename)
)
#: Exceptions of doctests, by name: importing them would load a debugger.
_DOCTEST = ("DocTestFailure", "MultipleDoctestFailures")

#: Common folders for sources below the root.
_SOURCE_FOLDERS = ("", "src", "lib")
#: The owner of the code of a frame.
Place = Literal["test", "project", "foreign"]

#: Bound at import, like the imports above: a test's fixtures may patch it while its report is made.
_open = open


class FailureReader:
    """Reads the failures of one session."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        #: Files that test functions were collected from: like a conftest, all code in them belongs to the tests.
        self._test_files: set[str] = set()
        self._places: dict[str, Place] = {}

    def see_test_files(self, paths: Iterable[Path]) -> None:
        self._test_files.update(map(os.path.realpath, paths))
        self._places.clear()

    def read(self, error: BaseException, *, stage: str, test_file: Path, test_name: str) -> Failure:
        """Return the description of a test's failure."""
        error, frames = _unwrap(error)
        place, frame, line = self._place(frames)
        file, line = _where(error, frame, line) or (str(test_file), 0)
        # `cannot import name x from y` names y, which was found; `No module named x` names x, which was not.
        module = (error.name or "") if isinstance(error, ImportError) else ""
        is_projects = not module or is_projects_module(module, Path(self._root))
        kind, message = type(error).__name__, _message(error).strip()
        by_check = isinstance(error, AssertionError | pytest.fail.Exception)
        reason: Reason
        if stage == "teardown":
            reason = "teardown-only"
        elif is_stub(test_file, test_name) or (place == "test" and is_constant_at(file, line)):
            reason = "stub"
        elif not is_projects:
            reason = "foreign-module"
        else:
            reason = self._reason(error, message, place, frames)
        return Failure(
            reason=reason,
            detail=_shorten(f"{kind}: {message}" if message else kind),
            file=relative_id(Path(file), Path(self._root)),
            line=line or None,
            missing=module if is_projects else "",
            by_check=by_check,
            helpers=tuple(self._helpers(frames)) if by_check else (),
        )

    def _reason(self, error: BaseException, message: str, place: Place, frames: list[tuple[FrameType, int]]) -> Reason:
        """Return the reason of a failure. In doubt, assume that code can fix it: a test that stays red does no harm."""
        if isinstance(error, SyntaxError):
            return "syntax-error"
        if isinstance(error, pytest.FixtureLookupError):
            return "missing-fixture"
        if isinstance(error, pytest.fail.Exception):
            if message.startswith("Timeout "):
                return "timeout"
            return "broken-test" if self._is_refused_by_pytest(frames) else "assertion"
        is_projects = place != "project" and isinstance(error, AttributeError) and self._lacks(error, frames)
        if is_projects or isinstance(error, ImportError):
            return "structural"
        if place == "foreign" and type(error).__name__ not in _DOCTEST and not isinstance(error, AssertionError):
            return "test-error"
        return "test-error" if place == "test" and isinstance(error, NameError) else "assertion"

    def _helpers(self, frames: list[tuple[FrameType, int]]) -> Iterator[str]:
        """Yield the functions of the sources that checked on the test's behalf: usually none.

        The rule is cautious, because code that raises in RED is usually the code to be written and must stay free to
        change. A helper is called only for its check, is named like a check, and inspects a value from another source.
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
        """Return the owner of the code that failed, and the innermost frame of the project or the test."""
        places = [self._place_of(frame.f_code.co_filename) for frame, _ in frames]
        own = [index for index, place in enumerate(places) if place != "foreign"]
        if not own:
            return "foreign", None, 0
        # If the project's code calls a function that the test passed to it, the failure still belongs to the project.
        # A decorator from the project around the test does not count.
        inside = places[places.index("test") :] if "test" in places else places
        return "project" if "project" in inside else "test", *frames[own[-1]]

    def _place_of(self, filename: str) -> Place:
        place = self._places.get(filename)
        if place is None:
            place = self._places[filename] = self._look_up_place(filename)
        return place

    def _look_up_place(self, filename: str) -> Place:
        if filename.startswith("<"):  # code without a file; in a doctest, it is the test
            return "test" if filename.startswith("<doctest ") else "foreign"
        path = os.path.realpath(filename)
        if path in self._test_files or os.path.basename(path) == "conftest.py":
            return "test"
        return (
            "project" if path.startswith(self._root + os.sep) and not is_in_environment(path, self._root) else "foreign"
        )

    def _is_refused_by_pytest(self, frames: list[tuple[FrameType, int]]) -> bool:
        """Return whether pytest can't run the test, in contrast to a call of `fail` or a failed check like `raises`."""
        places = [self._place_of(frame.f_code.co_filename) for frame, _ in frames]
        last_own = max((index for index, place in enumerate(places) if place != "foreign"), default=None)
        if last_own is None:
            return True
        called = [frame.f_code.co_filename for frame, _ in frames[last_own + 1 :][:1]]
        # A hook of the project around pytest's own code calls pluggy first.
        return any(
            file.startswith(_PYTEST_AND_PLUGGY) and file != _FAIL and os.path.basename(file) not in _CHECKS
            for file in called
        )

    def _lacks(self, error: AttributeError, frames: list[tuple[FrameType, int]]) -> bool:
        """Return whether the object without the attribute belongs to the project."""
        # mock and monkeypatch look up the attribute to patch, and raise their own error.
        patched = [frames[-1][0].f_locals.get(name) for name in ("target", "obj")] if frames else []
        return any(self._source_of(value) for value in (error.obj, *patched))

    def _source_of(self, value: object) -> str:
        """Return the source file of the project that a value comes from; empty if there is none."""
        if value is None:
            return ""
        try:
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        except Exception:
            name = None  # for example an unbound proxy
        if not isinstance(name, str):
            name = type(value).__module__
        file = getattr(sys.modules.get(name), "__file__", None)
        return file if isinstance(file, str) and self._place_of(file) == "project" else ""


def _call_between(caller: tuple[FrameType, int], called: FrameType) -> ast.Call | None:
    tree = parse_file(caller[0].f_code.co_filename)
    return None if tree is None else called_for_nothing(tree, caller[1], called.f_code.co_name)


def _used(frame: FrameType) -> Iterator[object]:
    """Yield the values that the code of a frame uses."""
    names, known = frame.f_code.co_names, frame.f_globals
    yield from (known[name] for name in names if name in known)
    yield from frame.f_locals.values()


def _unwrap(error: BaseException) -> tuple[BaseException, list[tuple[FrameType, int]]]:
    """Return the error inside a collector's error, a doctest's or a group, and its frames, outermost first."""
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
    # Not imported for this, because it would load a debugger.
    doctest = sys.modules.get("doctest")
    if doctest is not None and isinstance(error, doctest.UnexpectedException):
        found = error.exc_info[1]
        return found if isinstance(found, BaseException) else None
    if type(error).__name__ == "MultipleDoctestFailures":  # pytest's own, with --doctest-continue-on-failure
        first = getattr(error, "failures", [None])[0]
        return first if isinstance(first, BaseException) else None
    return None


def _where(error: BaseException, frame: FrameType | None, line: int) -> tuple[str, int] | None:
    """Return the file and line to show; None if only the test's file is known."""
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
        return ""  # its text is computed by the user's code, too


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def parse_file(path: str) -> ast.Module | None:
    """Return a file's syntax tree, parsed once until the file changes; None if it can't be parsed."""
    try:
        stat = os.stat(path)
        return _parse(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=256)
def _parse(path: str, modified: int, size: int) -> ast.Module:
    with _open(path, "rb") as file:
        return parse_source(file.read())


def is_constant_at(file: str, line: int) -> bool:
    """Return whether the failing line is an assertion about literals only."""
    tree = parse_file(file)
    return tree is not None and asserts_constant(tree, line)


def _shorten(text: str) -> str:
    line = text.splitlines()[0]
    return line if len(line) <= 120 else f"{line[:117]}..."


def is_stub(test_file: Path, test_name: str) -> bool:
    """Return whether a test's body fails by itself; False if the source does not show it (generated, doctest)."""
    tree = parse_file(str(test_file))
    function = None if tree is None else find_function(tree, test_name)
    return function is not None and fails_anyway(function)


# --- whose module a failing import asks for


def is_projects_module(module: str, root: Path) -> bool:
    """Return whether an existing or future module is the project's: in it, or neither installed nor declared."""
    top = module.partition(".")[0]
    places = [root / folder / top for folder in _SOURCE_FOLDERS]
    if any(place.is_dir() or place.with_name(f"{top}.py").is_file() for place in places):
        return True
    # The package around a missing module may be loaded from any folder of the project.
    loaded = getattr(sys.modules.get(top), "__file__", None)
    if isinstance(loaded, str) and Ownership(root).is_projects(loaded):
        return True
    if top in sys.stdlib_module_names or normalise(top) in declared_names(root):
        return False
    return top not in _installed_modules()


def normalise(name: str) -> str:
    """Return the name of a distribution as packaging normalizes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def declared_names(root: Path) -> frozenset[str]:
    """Return the normalized names of the distributions that the project's metadata requires."""
    requirements: list[str] = []
    try:
        import tomllib

        document = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        document = {}
    project = document.get("project", {})
    requirements += project.get("dependencies", [])
    for group in (*project.get("optional-dependencies", {}).values(), *document.get("dependency-groups", {}).values()):
        requirements += [each for each in group if isinstance(each, str)]
    requirements += document.get("tool", {}).get("poetry", {}).get("dependencies", {})
    for file in sorted(root.glob("requirements*.txt")):
        requirements += file.read_text(encoding="utf-8", errors="replace").splitlines()
    names = (re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", str(each)) for each in requirements)
    return frozenset(normalise(match.group(1)) for match in names if match is not None)


@cache
def _installed_modules() -> frozenset[str]:
    from importlib.metadata import packages_distributions

    return frozenset(packages_distributions())


# --- add a description to each failing report. Registered where tests run, in a phase that requires failing tests


class ReasonHooks:
    """Adds an attribute to reports, and changes nothing else."""

    def __init__(self, root: Path) -> None:
        self._reader = FailureReader(root)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # A doctest is in the code under test, which does not make that file a test file.
        self._reader.see_test_files({item.path for item in session.items if isinstance(item, pytest.Function)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is not None and report.outcome == "failed":
            name = bare_name(item.nodeid.partition("::")[2])
            # Patches by the test's fixtures are still active. If they prevent reading a failure, it has no reason.
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
            # The failing test is not known yet: the list of the module's tests checks each of them.
            failure = self._reader.read(call.excinfo.value, stage="collect", test_file=collector.path, test_name="")
            setattr(report, FAILURE, spell_out(failure))
        return report
