"""The witness of a session: hooks that observe. They make no decisions and write no files.

Registered on the controller, which receives all reports, and on every worker of xdist, which sends its observations.
The witness does not trace, profile or patch the run. Tampering that the counts do not reveal is found by the
experiment, in its own process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from os import getpid  # bound at import: tests patch `os.getpid`, and some forget to undo it
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from phase_gate.codec import spell_out
from phase_gate.gate.measured import Finding, Seen, Wanted
from phase_gate.gate.outcomes import FAILING, Bucket, Failure
from phase_gate.recording.ownership import Ownership, found_modules, imported_files, loaded_names
from phase_gate.storage.root import relative_id
from phase_gate.workflow.names import PASSES_ALREADY

_GUARD = "outcomes-genuine"
_MODIFY = "pytest_collection_modifyitems"
_CRITERION = "criterion"
#: Packages whose frames are between the call of a hook and our implementation.
_BETWEEN = ("pluggy", "phase_gate")


class Hooks:
    """A plugin whose only attributes are hooks, for pytest, which looks at each attribute of a plugin twice."""

    def __dir__(self) -> list[str]:
        return [name for name in (*vars(type(self)), *vars(self)) if name.startswith("pytest_")]


class Witness(Hooks):
    """Observations that are the same on the controller and on a worker."""

    def __init__(self, config: pytest.Config, wanted: Wanted) -> None:
        self._config, self.wanted = config, wanted
        self._root = Path(wanted.root)
        self._ownership = Ownership(self._root, str(config.rootpath))
        self._criteria_ids = frozenset(wanted.criteria)
        for each in wanted.criteria:
            # A tag of a Gherkin scenario becomes a mark of that name.
            config.addinivalue_line("markers", f"{each}: shows acceptance criterion {each}")
        self._guarded: dict[str, tuple[object, list[str]]] = {}
        self._deselected: dict[str, None] = {}
        self._paths: dict[str, str] = {}
        self._left_out: dict[str, dict[str, None]] = {}
        self._rewritten: list[Finding] = []
        self._dropped: list[str] = []
        #: Facts that are known after collection, by the fields of `Seen`.
        self._collected: dict[str, Any] = {}
        #: Collected tests by pytest's node ids, and their outcomes.
        self.nodes: list[str] = []
        self.buckets = Buckets()
        #: Failed collectors by node id: their failure, if it was described, and their message.
        self.errors: dict[str, object] = {}
        self.error_messages: dict[str, str] = {}
        #: Number of modules that were skipped as a whole: their tests were not collected.
        self.skipped_modules = 0
        #: Why the session ended early; empty if it did not.
        self.interrupted = ""
        self.internal_error = False
        #: Filled by `workers`, where workers run the tests.
        self.workers: list[Seen] = []
        self.silent_workers: list[Finding] = []
        self.has_usage_error = False
        # Called three times per test, for each stage: a setup error or a crashed worker has no call stage.
        self.pytest_runtest_logreport = self.buckets.fold

    def register(self, **plugins: Hooks) -> None:
        """Register parts of this plugin, and detect if other code unregisters one."""
        manager = self._config.pluginmanager
        for name, plugin in plugins.items():
            manager.register(plugin, name)
            self._guarded[name] = (plugin, [each for each in dir(plugin) if hasattr(manager.hook, each)])

    def seen(self) -> Seen:
        """Return all observations, after a last check."""
        wanted = self.wanted
        return Seen(
            deselected=frozenset(self._deselected),
            paths=self._paths,
            modules=found_modules(loaded_names() if wanted.slices else wanted.modules, wanted.root),
            imported=tuple(imported_files(self._ownership)),
            doubts=self._doubts(),
            left_out={who: tuple(nodes) for who, nodes in self._left_out.items()},
            **self._collected,
        )

    def _doubts(self) -> tuple[Finding, ...]:
        manager = self._config.pluginmanager
        removed = [
            name
            for name, (plugin, hooks) in self._guarded.items()
            if manager.get_plugin(name) is not plugin or not all(_calls(manager, each, plugin) for each in hooks)
        ]
        optimized = ["PYTHONOPTIMIZE"] if sys.flags.optimize else []
        return (
            *self._rewritten,
            *_doubt("asserts-off", "python -O leaves assert statements out", optimized),
            *_doubt("test-dropped", "taken out of the session without a deselect event", self._dropped),
            *_doubt("plugin-removed", "this part of phase-gate was taken out of the session", removed),
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[object], report: pytest.TestReport
    ) -> None:
        # Called for every exception except skips and expected failures, whatever happens to the report later. If a
        # plugin is about to rerun a test, its report has the outcome "failed" here, and is not logged.
        if isinstance(node, pytest.Item) and report.outcome == "passed" and call.excinfo is not None:
            detail = f"raised {call.excinfo.typename}, reported as passed"
            self._rewritten += _doubt("outcome-rewritten", detail, [node.nodeid])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        if self.wanted.slices:
            # A plugin drops the tests of other shards. Merging the shards checks that each test ran in one of them.
            self._collected["collected"] = tuple(item.nodeid for item in items)
            self._see_paths(items)
            return (yield)
        # Installed distributions may drop tests.
        matters = self._is_implemented_by_project(_MODIFY)
        before = [item.nodeid for item in items] if matters else []
        result = yield
        kept = {item.nodeid for item in items} | self._deselected.keys() if matters else set()
        for node in () if kept.issuperset(before) else before:
            # xdist appends a group to the id; the test is still there.
            if node not in kept and not any(other.startswith(f"{node}@") for other in kept):
                self._dropped.append(node)
        return result

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        nodes = dict.fromkeys(item.nodeid for item in items)
        self._deselected |= nodes
        self._see_paths(items)
        if self.wanted.slices:
            self._left_out.setdefault(_caller(sys._getframe(1)), {}).update(nodes)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if not hasattr(self._config, "workerinput"):  # workers tell the controller by themselves what they collected
            self.nodes = [item.nodeid for item in session.items]
        self._see_paths(session.items)
        if getattr(self._config.option, "loadgroup", False):
            self._collected["groups"] = tuple(sorted({*map(_group_of, session.items)} - {""}))
        if self._criteria_ids or self.wanted.reasons:
            self._see_marks(session.items)
        if self.wanted.parts:
            from phase_gate.recording.items import find_support_code

            # Before a test can change any of it.
            self._collected["parts"] = find_support_code(session, self._ownership)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors[report.nodeid] = getattr(report, FAILURE, None)
            self.error_messages[report.nodeid] = message_of(report.longrepr)
        elif report.skipped:
            self.skipped_modules += 1

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if isinstance(excinfo.value, pytest.Session.Interrupted):
            return  # pytest stopped by itself (-x, collection errors): the tests that did not run show if that matters
        if isinstance(excinfo.value, pytest.exit.Exception):
            self.interrupted = f"pytest.exit: {excinfo.value.msg}"
        else:
            self.interrupted = "interrupted"

    def pytest_internalerror(self, excrepr: object) -> None:
        self.interrupted = f"internal error: {str(excrepr).strip().splitlines()[-1]}"
        self.internal_error = True

    @property
    def only_collection_failed(self) -> bool:
        """Whether the session stopped only because modules can't be imported."""
        return bool(self.errors) and not self.interrupted

    def is_usage_error(self, exit_status: int) -> bool:
        """Return whether the session ended with a usage error; a test that exits with that status does not count."""
        found = exit_status == pytest.ExitCode.USAGE_ERROR or self.has_usage_error
        return found and not self.interrupted and not self.buckets.reported()

    def _see_paths(self, items: Iterable[pytest.Item]) -> None:
        path: Path | None = None
        for item in items:
            if item.path is not path:  # the tests of a file share its path, and are adjacent
                path = item.path
                self._paths.setdefault(item.nodeid.partition("::")[0], relative_id(path, self._root))

    def _see_marks(self, items: Iterable[pytest.Item]) -> None:
        criteria, guarding = dict[str, tuple[str, ...]](), dict[str, str]()
        for item in items:
            passes = item.get_closest_marker(PASSES_ALREADY)
            if passes is not None:
                # It guards existing functionality, so it shows no criterion. Without a reason, the mark does not count.
                why = passes.args[0] if passes.args else passes.kwargs.get("reason")
                guarding[item.nodeid] = why.strip() if isinstance(why, str) else ""
                continue
            named = tuple(dict.fromkeys(each for mark in item.iter_markers() for each in self._named_by(mark)))
            if named and self._criteria_ids:
                criteria[item.nodeid] = named
        self._collected |= {"marked": criteria, "guarding": guarding}

    def _named_by(self, mark: pytest.Mark) -> Iterable[str]:
        if mark.name == _CRITERION:
            return map(str, mark.args)
        return (mark.name,) if mark.name in self._criteria_ids else ()

    def _is_implemented_by_project(self, hook: str) -> bool:
        """Return whether code outside of installed distributions implements a hook."""
        # The manager's relay, not `config.hook`: up to pytest 8, that one wraps some hooks in functions.
        for implementation in getattr(self._config.pluginmanager.hook, hook).get_hookimpls():
            code, plugin = getattr(implementation.function, "__code__", None), implementation.plugin
            # Check the plugin as well: a conftest may use a function of another module as its hook.
            module = plugin if isinstance(plugin, ModuleType) else sys.modules.get(type(plugin).__module__)
            files = [getattr(code, "co_filename", None), getattr(module, "__file__", None)]
            if any(self._ownership.is_foreign(file) for file in files if isinstance(file, str)):
                return True
        return False


def _group_of(item: pytest.Item) -> str:
    marks = item.iter_markers("xdist_group")
    names = {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
    return "_".join(sorted(names))  # as xdist joins them


def _doubt(slug: str, detail: str, names: Iterable[str]) -> Iterator[Finding]:
    for name in names:
        file = name.partition("::")[0] if "::" in name else ""
        yield Finding(slug=slug, guard=_GUARD, tier="hard", id=name, file=file, detail=detail)


def _calls(manager: pytest.PytestPluginManager, hook: str, plugin: object) -> bool:
    """Return whether a hook still calls a part of this plugin."""
    return any(each.plugin is plugin for each in getattr(manager.hook, hook).get_hookimpls())


def _caller(frame: FrameType | None) -> str:
    """Return the function that called the hook."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _BETWEEN:
            return f"{module}:{frame.f_code.co_qualname}"
        frame = frame.f_back
    return "?"


# --- the process that a session started in


class Process:
    """Created before the project's code runs, and checked by every hook that ends a session."""

    def __init__(self) -> None:
        self._pid = getpid()

    def is_left(self) -> bool:
        """Return whether this is a forked child, which must not act for its parent."""
        return getpid() != self._pid


# --- the outcomes: the reports of a session, folded so that every test ends in one bucket, that of its worst stage

#: Worst first; the fold keeps the first of two.
_WORST_FIRST = (
    "error",
    "failed",
    "xfailed",
    "xpassed",
    "skipped",
    "skipped-if",
    "passed",
)
_RANK = {bucket: rank for rank, bucket in enumerate(_WORST_FIRST)}
#: The report of a crashed worker has a different one.
_STAGES = ("setup", "call", "teardown")

#: The attribute of a report that describes its failure; workers send it with the report.
FAILURE = "phase_gate_failure"
CRASHED = spell_out(Failure(reason="crash", detail="the worker died"))

#: Maximum length of a stored failure: enough to distinguish it from others.
_MESSAGE_LENGTH = 500


class Buckets:
    """Fast in the usual case: a passed call appends to one list."""

    def __init__(self) -> None:
        #: One entry for each report of a passed call.
        self._passed: list[str] = []
        self._odd: dict[str, Bucket] = {}
        self._rerun: set[str] = set()
        self._failed_subtests: set[str] = set()
        #: The first failure of each failing test, if it was described; and its message.
        self.failures: dict[str, object] = {}
        self.messages: dict[str, str] = {}
        #: Adds one report.
        self.fold = self._make_fold()

    def _make_fold(self) -> Callable[[pytest.TestReport], None]:
        """Return the function that pytest calls three times per test: a closure that handles the usual case itself."""
        passed, plain, fold_odd, kind = self._passed.append, pytest.TestReport, self._fold_odd, type

        def fold(report: pytest.TestReport) -> None:
            if report.outcome != "passed":
                fold_odd(report)
            elif report.when == "call":
                if kind(report) is plain and "wasxfail" not in report.__dict__:
                    passed(report.nodeid)
                else:
                    fold_odd(report)

        return fold

    def _fold_odd(self, report: pytest.TestReport) -> None:
        node = report.nodeid
        if str(report.outcome) == "rerun":
            self._rerun.add(node)
            # Its subtests run again with it.
            if node in self._failed_subtests and self._odd[node] == "failed":
                del self._odd[node]
            self._failed_subtests.discard(node)
            return
        bucket = _bucket_of(report)
        if bucket in FAILING:
            self.failures.setdefault(node, getattr(report, FAILURE, None if report.when in _STAGES else CRASHED))
            self.messages.setdefault(node, message_of(report.longrepr))
        if hasattr(report, "context"):
            if bucket != "failed":
                return  # only a failing subtest counts for the test itself
            self._failed_subtests.add(node)
        if bucket == "passed":
            self._passed.append(node)
        elif bucket is not None and _RANK[bucket] < _RANK[self._odd.get(node, "passed")]:
            self._odd[node] = bucket

    def close(self, collected: Iterable[str]) -> dict[str, Bucket]:
        """Return every collected test with its bucket. Each test is one key, so the counts always add up."""
        if not self._odd and not self._rerun and self._passed == collected:
            return dict.fromkeys(collected, "passed")  # each test ran, in order, and passed
        outcomes: dict[str, Bucket] = dict.fromkeys(collected, "not-run")
        # In this order: a failed or skipped teardown is worse than a passed call.
        found: dict[str, Bucket] = dict.fromkeys(self._passed, "passed")
        found |= dict.fromkeys(self._rerun & found.keys(), "flaky")
        found |= self._odd
        outcomes |= {node: bucket for node, bucket in found.items() if node in outcomes}
        return outcomes

    def reported(self) -> Collection[str]:
        """Return every test that has a report."""
        return {*self._passed, *self._odd, *self._rerun}


def _bucket_of(report: pytest.TestReport) -> Bucket | None:
    outcome, is_call = str(report.outcome), report.when == "call"
    if hasattr(report, "wasxfail") and outcome != "failed":
        # A strict xpass is reported as an ordinary failure, without the attribute.
        return "xfailed" if outcome == "skipped" else "xpassed" if is_call else None
    if outcome == "failed":
        return "failed" if is_call else "error"
    if outcome == "skipped":
        return "skipped-if" if "skipif" in report.keywords else "skipped"
    return "passed" if outcome == "passed" and is_call else None


def message_of(longrepr: object) -> str:
    """Return the message of a failure in a line or two, for any plugin's report."""
    crash = getattr(longrepr, "reprcrash", None)
    text = str(getattr(crash, "message", "") or getattr(longrepr, "longrepr", "") or longrepr or "")
    if crash is None:
        # Text as pytest shows it: the error is in the last line.
        lines = [line for line in text.splitlines() if line.strip()]
        text = lines[-1].removeprefix("E").strip() if lines else ""
    return text[:_MESSAGE_LENGTH]
