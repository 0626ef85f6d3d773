"""Run tests in a sandbox, and say how each ended: what pytest's answers mean, and what they say about a target."""

from __future__ import annotations

import math
import os
import posixpath
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from phase_gate.gate.inventory import bare_id, split_id
from phase_gate.proof.model import Outcome
from phase_gate.proof.sandbox import Heard, Kind, Limits, Sandbox, visit_sandbox
from phase_gate.storage.root import is_in_environment
from phase_gate.values import Value, field, replace

#: The module that emptied functions take their answer from: `inside.sentinel`, by a name that no source can know.
SENTINEL = f"module_{os.urandom(8).hex()}"


class Report(Value):
    """How one test ended in a sandbox, the worst of its stages."""

    has_passed: bool
    #: It was skipped, or failed as it was expected to.
    is_skipped: bool = False
    #: The file of the project's innermost frame; empty where it passed, or nothing of the project's was involved.
    place: str = ""
    message: str = ""
    #: A module that could not be found.
    missing: str = ""
    #: An assertion failed, and not code that went wrong.
    is_check: bool = False
    #: Why nothing is known although it is reported.
    doubt: str = ""

    @property
    def has_failed(self) -> bool:
        return not self.has_passed and not self.is_skipped

    def is_own_check(self, checked: Collection[str], *, or_error: bool = False) -> bool:
        """Tell whether a test failed by its own check: an assertion in the lines of a frozen file.

        :param or_error: any other exception in these lines counts as well.
        """
        return self.has_failed and self.place in checked and (self.is_check or or_error)


class SandboxTest(Value):
    """A test that was collected, the function behind it, and what it did. A file that can't be imported is one, too."""

    id: str
    #: Where the function begins, with its decorators; from the root. Empty where there is none.
    file: str = ""
    line: int = 0
    #: Parameter -> row, as their tables count them: unlike the id, they stay what they are when values change.
    rows: Mapping[str, int] = field(default_factory=dict)
    #: Parameter -> its value, where that is made of Python's own types.
    values: Mapping[str, str] = field(default_factory=dict)
    #: How hard hypothesis tries, by the names of its settings; empty for other tests.
    effort: Mapping[str, Any] = field(default_factory=dict)
    #: None: it has not ended, or not been told of.
    report: Report | None = None
    #: The watched functions that it called, and the lines of its own file that it ran, where that was asked for.
    reached: frozenset[str] = frozenset()
    lines: frozenset[int] = frozenset()

    @property
    def key(self) -> tuple[object, ...]:
        """What it is called while values change, and where its function is from."""
        return bare_id(self.id), tuple(sorted(self.rows.items())), self.file, self.line

    @property
    def has_passed(self) -> bool:
        return self.report is not None and self.report.has_passed


class SandboxRun(Value):
    """What a run in a sandbox showed."""

    kind: Kind
    seconds: float
    #: Function -> its rows; file -> itself, where that can't be imported: it stands for all of its tests.
    functions: Mapping[str, tuple[SandboxTest, ...]] = field(default_factory=dict)
    #: Why it says nothing, or not all; empty if it ended as it should.
    problem: str = ""
    #: Files that were imported; those of them that were compiled, and lie in the project: from its root.
    modules: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    #: It died, or was ended because it was over its limits: only what had ended before counts.
    is_cut: bool = False
    #: It was over its limits.
    is_late: bool = False
    #: The test that was at work when it was cut; empty if none was.
    at_work: str = ""
    #: A module that a conftest could not find.
    missing: str = ""

    @property
    def tests(self) -> Iterator[SandboxTest]:
        return (test for rows in self.functions.values() for test in rows)

    def of(self, target: str) -> list[Report]:
        """Return what was said about a target, or about the file that it stands in."""
        rows = self.functions.get(target) or self.functions.get(split_id(target)[0], ())
        return [row.report for row in rows if row.report is not None]

    def outcome(self, target: str) -> Outcome:
        """Return how a target ended. It fails if one of its rows does."""
        # What ended before it was cut counts; a copied sandbox may not have told where its modules came from.
        if self.problem and not (self.is_cut and (self.kind == "mounted" or self.modules)):
            return "unknown"
        reports = self.of(target)
        if not reports or any(report.doubt for report in reports):
            return "unknown"
        if any(report.has_failed for report in reports):
            return "fails"
        # Rows that do not run here, by their platform say, leave the others their word.
        return "passes" if any(report.has_passed for report in reports) else "skipped"

    def failure(self, target: str) -> Report | None:
        """Return why a target did not pass: the first row that failed, else one that was skipped."""
        reports = [report for report in self.of(target) if not report.has_passed]
        return min(reports, key=lambda report: report.is_skipped, default=None)


def run_in_sandbox(
    sandbox: Sandbox,
    arguments: Iterable[str],
    *,
    limits: Limits,
    wanted: Iterable[str] = (),
    watched: Mapping[str, Mapping[str, str]] | None = None,
    is_traced: bool = False,
    kind: Kind | None = None,
) -> SandboxRun:
    """Run tests in the sandbox, and say how each ended. Raises NoSandboxError where none can be made.

    :param wanted: the tests to run, without their parameters; where left out, all that are collected.
    :param watched: file -> first line -> name, of functions to watch.
    :param is_traced: it is to be told which lines of its own file each test runs.
    :param kind: insists on one kind of sandbox; where left out, one at the same path is tried first.
    """
    order = {
        "watched": watched or {},
        "wanted": sorted(wanted),
        "is_traced": is_traced,
        "sentinel": SENTINEL if any(SENTINEL.encode() in text for text in sandbox.contents.values()) else "",
    }
    made, folder, heard = visit_sandbox(sandbox, arguments, order, limits, kind)
    run = read_heard(heard, made, folder, os.path.realpath(sandbox.root))
    if stray := _find_stray(run.modules, sandbox, folder):
        run = replace(run, problem=f"{stray}, not from the sandbox", is_cut=False)
    return run


#: Runs that a proof may take: what is left then is unknown. A number, not seconds, so that it is the same when busy.
MOST_STARTS = 100


class Laboratory:
    """How pytest is called in the sandboxes of one proof, and what each run may take; counts the runs.

    :param words: what pytest is told beside the tests.
    :param paths: where pytest looks for them; where left out, in the files of those that are wanted.
    :param until: when all of it has to be over.
    """

    def __init__(
        self, words: Iterable[str], limits: Limits, paths: Iterable[str] | None = None, *, until: float = math.inf
    ) -> None:
        self._words, self.limits, self._until = tuple(words), limits, until
        self._paths = None if paths is None else tuple(paths)
        self.starts, self.kind = 0, ""

    def run(
        self,
        sandbox: Sandbox,
        wanted: Collection[str] = (),
        *,
        watched: Mapping[str, Mapping[str, str]] | None = None,
        is_traced: bool = False,
        limit: float = math.inf,
    ) -> SandboxRun:
        """Run tests in a sandbox.

        :param limit: processor seconds, where that is less than what any run may take.
        """
        if self.starts >= MOST_STARTS and self._paths is None:
            return SandboxRun(kind="mounted", seconds=0.0, problem=f"more than {MOST_STARTS} runs were needed")
        left = max(0.0, self._until - time.monotonic())
        limits = replace(self.limits, clock=min(self.limits.clock, left))
        if limit < limits.processor:
            limits = replace(limits, processor=limit, clock=limits.clock * limit / limits.processor)
        paths = dict.fromkeys(split_id(each)[0] for each in wanted) if self._paths is None else self._paths
        run = run_in_sandbox(
            sandbox, (*self._words, *paths), limits=limits, wanted=wanted, watched=watched, is_traced=is_traced
        )
        self.starts += 1
        self.kind = run.kind
        return run


# --- what the reporter has said

#: What pytest ends with where it does not know an option.
_REFUSED = 4


def read_heard(heard: Heard, kind: Kind, folder: str, root: str) -> SandboxRun:
    """Return what was heard from a sandbox, as a run."""
    told: dict[str, Mapping[str, Any]] = {answer["kind"]: answer for answer in heard.answers}
    collected = told.get("collected", {"items": (), "dropped": ()})
    tests: dict[str, dict[str, Any]] = {each["id"]: dict(each) for each in collected["items"]}
    at_work = ""
    for answer in heard.answers:
        match answer["kind"]:
            case "started":
                at_work = answer["id"]
            case "ran":
                at_work = ""
                did = {name: frozenset(answer[name]) for name in ("reached", "lines")}
                tests.setdefault(answer["id"], {"id": answer["id"]}).update(did)
            case "report":
                test = tests.setdefault(answer["id"], {"id": answer["id"]})
                # The first failure says why.
                if "report" not in test or not test["report"].has_failed:
                    test["report"] = _read_report(answer, folder, root)
    left = [*collected["dropped"], *(test_id for test_id, test in tests.items() if "report" not in test)]
    problem = ""
    if "broken" in told:
        problem = f"{told['broken']['file']} can't be imported: {told['broken']['message']}"
    elif left or "ended" not in told:
        problem = _say_end(heard, bare_id(at_work), left[0] if "ended" in told else "")
    # pytest itself has refused its options: that is no sign of anything.
    is_cut = bool(problem) and not (heard.status == _REFUSED and "loaded" in told and "configured" not in told)
    # Functions whose rows have all ended; the one at work may have had more to say.
    unfinished = {bare_id(test_id) for test_id in (*left, at_work)} if is_cut else ()
    functions: dict[str, list[SandboxTest]] = {}
    for test_id, test in tests.items():
        if (function := bare_id(test_id)) in unfinished:
            test["report"] = None
        functions.setdefault(function, []).append(SandboxTest(**test))
    modules: tuple[str, ...] = tuple(told["ended"]["modules"]) if "ended" in told else ()
    own = [file for file in modules if file.startswith(folder + os.sep) and not is_in_environment(file, folder)]
    return SandboxRun(
        kind=kind,
        seconds=heard.seconds,
        functions={name: tuple(rows) for name, rows in functions.items()},
        problem=problem,
        modules=modules,
        built=tuple(os.path.relpath(file, folder) for file in own if file.endswith(tuple(EXTENSION_SUFFIXES))),
        is_cut=is_cut,
        is_late=bool(heard.late),
        at_work=at_work,
        missing=told["broken"]["missing"] if "broken" in told else "",
    )


def _read_report(answer: Mapping[str, Any], folder: str, root: str) -> Report:
    # A skipped or expected failure is no pass: the target did not show what it is for.
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


def _say_end(heard: Heard, at_work: str, left: str) -> str:
    """Say how a run ended before it should: at which test, by what, and its last line."""
    at = f" in {at_work}" if at_work else ""
    if heard.late:
        return f"it took longer than {heard.late}{at}"
    lines = [line.strip() for line in heard.output.splitlines() if line.strip()]
    # pytest says what was wrong with its options first, and then which settings it read.
    said = [line for line in lines if "error: " in line.lower() and not line.startswith("ERROR: usage:")] or lines
    last = f": {said[-1][:200]}" if said else ""
    if heard.status < 0:
        name = {int(each): each.name for each in signal.Signals}.get(-heard.status, "a signal")
        return f"pytest was ended by {name}{at}{last}"
    if left:
        return f"pytest stopped at {left}{last}"
    return f"pytest ended too early{at}, with exit status {heard.status}{last}"


# --- where modules came from: the sandbox, the project beside it, or a copy that is installed


def _find_stray(modules: Collection[str], sandbox: Sandbox, folder: str) -> str:
    """Say which module came from elsewhere; empty if none did.

    :param modules: the files that were imported, behind links.
    :param folder: where the sandbox was: the root itself, or a copy.
    """
    top, files = os.path.realpath(sandbox.root), frozenset(modules)
    if folder != top:
        for file in modules:
            if file.startswith(top + os.sep) and not is_in_environment(file, top):
                return f"{os.path.relpath(file, top)} was imported from the project itself"
    installed = {file.rpartition("/site-packages/")[2] for file in modules if "/site-packages/" in file}
    for path in sorted({*sandbox.contents, *sandbox.left_out}):
        if path.endswith(".py") and os.path.join(folder, path) not in files:
            base = posixpath.dirname(path)
            while base and os.path.exists(os.path.join(top, base, "__init__.py")):
                base = posixpath.dirname(base)
            # From the folder that its outermost package lies in: less of a path is another module.
            least = len(posixpath.relpath(path, base or "."))
            if any(len(name) >= least and f"/{path}".endswith(f"/{name}") for name in installed):
                return f"{path} was imported from an installed copy of it"
    return ""
