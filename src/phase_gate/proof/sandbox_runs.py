"""Run tests in a sandbox, and interpret the reports: how each test ended, and the outcome of each target."""

from __future__ import annotations

import math
import os
import posixpath
import signal
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.sandbox import Heard, Sandbox, visit_sandbox
from phase_gate.proof.verdicts import Outcome
from phase_gate.storage.root import is_in_environment
from phase_gate.values import Value, field

#: The module with the return value of emptied functions: `inside.sentinel`, under a name that no source can know.
SENTINEL = f"module_{os.urandom(8).hex()}"


class Report(Value):
    """How one test ended in a sandbox: the worst of its stages."""

    has_passed: bool
    #: It was skipped, or failed as expected.
    is_skipped: bool = False
    #: The file of the innermost frame in the project. Empty if the test passed, or if no frame is in the project.
    place: str = ""
    message: str = ""
    #: A module that could not be found.
    missing: str = ""
    #: An assertion failed. False if other code raised an error.
    is_check: bool = False
    #: Why the outcome is unknown although there is a report.
    doubt: str = ""

    @property
    def has_failed(self) -> bool:
        return not self.has_passed and not self.is_skipped

    def is_own_check(self, checked: Collection[str], *, or_error: bool = False) -> bool:
        """Return whether a test failed by its own check: an assertion in a frozen file.

        :param or_error: count any other exception in these files as well.
        """
        return self.has_failed and self.place in checked and (self.is_check or or_error)


class SandboxTest(Value):
    """A collected test, its function and its result. A file that can't be imported is represented as a test, too."""

    id: str
    #: Where the function begins, including decorators. The path is relative to the root, and empty without a function.
    file: str = ""
    line: int = 0
    #: Parameter -> index of its row. Unlike the id, the indices stay the same when values change.
    rows: Mapping[str, int] = field(default_factory=dict)
    #: Parameter -> its value as text, if it consists of built-in types.
    values: Mapping[str, str] = field(default_factory=dict)
    #: Settings of hypothesis that determine how thoroughly it checks. Empty for other tests.
    effort: Mapping[str, Any] = field(default_factory=dict)
    #: None if the test has not ended, or has no report.
    report: Report | None = None
    #: The watched functions that it called.
    reached: frozenset[str] = frozenset()

    @property
    def key(self) -> tuple[object, ...]:
        """A key that stays the same when parameter values change, and the place of its function."""
        return bare_id(self.id), tuple(sorted(self.rows.items())), self.file, self.line

    @property
    def has_passed(self) -> bool:
        return self.report is not None and self.report.has_passed


class SandboxRun(Value):
    """The results of a run in a sandbox."""

    seconds: float
    #: Function -> its rows. A file that can't be imported is a key, too, and represents all of its tests.
    functions: Mapping[str, tuple[SandboxTest, ...]] = field(default_factory=dict)
    #: Why the results are missing or incomplete. Empty if the run ended normally.
    problem: str = ""
    #: Imported compiled files of the project, relative to its root.
    built: tuple[str, ...] = ()
    #: It crashed, or was killed at its limit. Only tests that ended before count.
    is_cut: bool = False
    #: It exceeded its limit.
    is_late: bool = False
    #: The test that was running when the run was cut. Empty if there was none.
    at_work: str = ""
    #: A module that a conftest could not find.
    missing: str = ""

    @property
    def tests(self) -> Iterator[SandboxTest]:
        return (test for rows in self.functions.values() for test in rows)

    def of(self, target: str) -> list[Report]:
        """Return the reports about a target, or about its file."""
        rows = self.functions.get(target) or self.functions.get(split_id(target)[0], ())
        return [row.report for row in rows if row.report is not None]

    def outcome(self, target: str) -> Outcome:
        """Return how a target ended. It fails if one of its rows fails."""
        reports = self.of(target)
        # Of a run that was cut, the tests that ended before count.
        if not reports or (self.problem and not self.is_cut) or any(report.doubt for report in reports):
            return "unknown"
        if any(report.has_failed for report in reports):
            return "fails"
        # Rows that are skipped here, for example on this platform, do not affect the outcome of the others.
        return "passes" if any(report.has_passed for report in reports) else "skipped"

    def failure(self, target: str) -> Report | None:
        """Return the report of the first row that failed."""
        return next((report for report in self.of(target) if report.has_failed), None)


#: Runs in sandboxes with the same files.
Runs = tuple[SandboxRun, ...]
#: The maximum number of runs in a proof. Results of further runs are unknown. A time limit would depend on the load.
MOST_STARTS = 100


class Laboratory:
    """Runs pytest in the sandboxes of one proof, with the same arguments and limits, and counts the runs.

    :param words: arguments of pytest other than the tests.
    :param limit: seconds for each run.
    :param paths: where pytest searches for tests. Default: the files of the wanted tests.
    """

    def __init__(self, words: Iterable[str], limit: float, paths: Iterable[str] | None = None) -> None:
        self._words, self.limit = tuple(words), limit
        self._paths = None if paths is None else tuple(paths)
        self.starts, self.kind = 0, ""

    def run(
        self,
        sandbox: Sandbox,
        wanted: Collection[str] = (),
        *,
        watched: Mapping[str, Mapping[str, str]] | None = None,
        limit: float = math.inf,
    ) -> SandboxRun:
        """Run tests in the sandbox and return their results. Raises NoSandboxError if no sandbox can be created.

        :param wanted: the tests to run, without their parameters. Default: all collected tests.
        :param watched: file -> first line -> name of the functions to watch.
        :param limit: seconds, if less than the general limit.
        """
        if self.starts >= MOST_STARTS:
            return SandboxRun(seconds=0.0, problem=f"more than {MOST_STARTS} runs were needed")
        files = dict.fromkeys(split_id(each)[0] for each in wanted)
        # pytest would run nothing if one of several files did not exist: its deletion may be waived.
        paths = (tuple(filter(sandbox.has, files)) or files) if self._paths is None else self._paths
        order = {
            "watched": watched or {},
            "wanted": sorted(wanted),
            "sentinel": SENTINEL if any(SENTINEL.encode() in text for text in sandbox.contents.values()) else "",
        }
        heard = visit_sandbox(sandbox, (*self._words, *paths), order, min(limit, self.limit))
        self.starts, self.kind = self.starts + 1, heard.kind
        return read_heard(heard, sandbox)


# --- the reporter's answers

#: pytest's exit status for usage errors, such as unknown options.
_REFUSED = 4


def read_heard(heard: Heard, sandbox: Sandbox) -> SandboxRun:
    """Convert the answers from a sandbox to a run."""
    by_kind: dict[str, Mapping[str, Any]] = {answer["kind"]: answer for answer in heard.answers}
    collected = by_kind.get("collected", {"items": (), "dropped": ()})
    tests: dict[str, dict[str, Any]] = {each["id"]: dict(each) for each in collected["items"]}
    top, folder, at_work = os.path.realpath(sandbox.root), heard.folder, ""
    for answer in heard.answers:
        match answer["kind"]:
            case "started":
                at_work = answer["id"]
            case "ran":
                at_work = ""
                tests.setdefault(answer["id"], {"id": answer["id"]})["reached"] = frozenset(answer["reached"])
            case "report":
                test = tests.setdefault(answer["id"], {"id": answer["id"]})
                # Keep the first failure.
                if "report" not in test or not test["report"].has_failed:
                    test["report"] = _read_report(answer, folder, top)
    left = [*collected["dropped"], *(test_id for test_id, test in tests.items() if "report" not in test)]
    modules: list[str] = by_kind["ended"]["modules"] if "ended" in by_kind else []
    problem = ""
    if "broken" in by_kind:
        problem = f"{by_kind['broken']['file']} can't be imported: {by_kind['broken']['message']}"
    elif left or "ended" not in by_kind:
        problem = _describe_end(heard, bare_id(at_work), left[0] if "ended" in by_kind else "")
    # If pytest itself refused its options, the run was not cut.
    is_cut = bool(problem) and not (heard.status == _REFUSED and "loaded" in by_kind and "configured" not in by_kind)
    if stray := _find_stray(modules, sandbox, folder):
        problem, is_cut = f"{stray}, not from the sandbox", False
    if is_cut and heard.kind == "copied" and "ended" not in by_kind:
        tests = {}  # where its modules came from is unknown
    # Only functions whose rows have all ended count. The running test may have further reports.
    unfinished = {bare_id(test_id) for test_id in (*left, at_work)} if is_cut else ()
    functions: dict[str, list[SandboxTest]] = {}
    for test_id, test in tests.items():
        if (function := bare_id(test_id)) in unfinished:
            test["report"] = None
        functions.setdefault(function, []).append(SandboxTest(**test))
    own = [file for file in modules if file.startswith(folder + os.sep) and not is_in_environment(file, folder)]
    return SandboxRun(
        seconds=heard.seconds,
        functions={name: tuple(rows) for name, rows in functions.items()},
        problem=problem,
        built=tuple(os.path.relpath(file, folder) for file in own if file.endswith(tuple(EXTENSION_SUFFIXES))),
        is_cut=is_cut,
        is_late=heard.is_late,
        at_work=at_work,
        missing=by_kind["broken"]["missing"] if "broken" in by_kind else "",
    )


def _read_report(answer: Mapping[str, Any], folder: str, root: str) -> Report:
    # A skipped test or an expected failure has not passed.
    if answer["outcome"] == "passed" and not answer["expected"] and not answer["lie"]:
        return Report(has_passed=True, doubt=answer["doubt"])
    inside = [os.path.relpath(file, folder) for file in answer["files"] if file.startswith(folder + os.sep)]
    own = [path for path in inside if not is_in_environment(os.path.join(root, path), root)]
    return Report(
        has_passed=False,
        is_skipped=answer["outcome"] == "skipped",
        place=own[-1].replace(os.sep, "/") if own else "",
        message=answer["lie"] or answer["message"],
        missing=answer["missing"],
        is_check=answer["check"],
        doubt=answer["doubt"],
    )


def _describe_end(heard: Heard, at_work: str, left: str) -> str:
    """Describe how a run ended too early: the test, the cause, and the last line of output."""
    at = f" in {at_work}" if at_work else ""
    if heard.is_late:
        return f"it did not end in {heard.seconds:.0f} s{at}"
    lines = [line.strip() for line in heard.output.splitlines() if line.strip()]
    # pytest prints what is wrong with its options first, and then which settings it read.
    messages = [line for line in lines if "error: " in line.lower()] or lines
    last = f": {messages[-1][:200]}" if messages else ""
    if heard.status < 0:
        return f"pytest was ended by a signal ({signal.strsignal(-heard.status)}){at}{last}"
    if left:
        return f"pytest stopped at {left}{last}"
    return f"pytest ended too early{at}, with exit status {heard.status}{last}"


# --- where modules came from: the sandbox, the project itself, or an installed copy


def _find_stray(modules: Collection[str], sandbox: Sandbox, folder: str) -> str:
    """Describe a module that was not imported from the sandbox. Empty if there is none.

    :param modules: the imported files, with links resolved.
    :param folder: the path of the sandbox: the root itself, or a copy.
    """
    top, files = os.path.realpath(sandbox.root), frozenset(modules)
    for file in modules:
        is_outside = file.startswith(top + os.sep) and not file.startswith(folder + os.sep)
        if is_outside and not is_in_environment(file, top):
            return f"{os.path.relpath(file, top)} was imported from the project itself"
    installed = {file.rpartition("/site-packages/")[2] for file in modules if "/site-packages/" in file}
    for path in sorted({*sandbox.contents, *sandbox.left_out}):
        if path.endswith(".py") and os.path.join(folder, path) not in files:
            base = posixpath.dirname(path)
            while base and os.path.exists(os.path.join(top, base, "__init__.py")):
                base = posixpath.dirname(base)
            # Compare from the folder of the outermost package: a shorter path is a different module.
            least = len(posixpath.relpath(path, base or "."))
            if any(len(name) >= least and f"/{path}".endswith(f"/{name}") for name in installed):
                return f"{path} was imported from an installed copy of it"
    return ""
