"""Run tests in a sandbox, and say how each ended."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from phase_gate.gate.inventory import bare_id
from phase_gate.proof.origins import find_built, find_stray
from phase_gate.proof.reporter import VARIABLE
from phase_gate.proof.sandbox import Kind, Sandbox, Visit, Visited, visit_sandbox
from phase_gate.values import Value, field, replace

#: What must not reach the tests in a sandbox: they are no run of any task.
_OURS = "PHASE_GATE_"


class Item(Value):
    """A test that was collected, and the function behind it."""

    id: str
    #: Where the function begins, with its decorators; from the root. Empty where there is none.
    file: str = ""
    line: int = 0
    #: Parameter -> row, as their tables count them: unlike the id, they stay what they are when values change.
    rows: Mapping[str, int] = field(default_factory=dict)
    #: Parameter -> its value, where that is made of Python's own types.
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        """What it is called while values change, and where its function is from."""
        return bare_id(self.id), tuple(sorted(self.rows.items())), self.file, self.line


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
    #: A file of the project that can't be imported, where the test's own file can't be collected for that.
    broken: str = ""


class Reports(dict[str, Report]):
    """How tests ended, by id; found by their functions without a walk through all of them."""

    def of(self, function: str) -> list[Report]:
        """Return the reports of a function's rows."""
        if not hasattr(self, "_rows"):
            self._rows: dict[str, list[Report]] = {}
            for test_id, report in self.items():
                self._rows.setdefault(bare_id(test_id), []).append(report)
        return self._rows.get(function, [])


class SandboxRun(Value):
    """What a run in a sandbox showed."""

    kind: Kind
    seconds: float
    #: By test id; a file that can't be imported stands for all of its tests.
    reports: Reports = field(default_factory=Reports)
    #: What was to be run.
    items: tuple[Item, ...] = ()
    #: The test that ran when pytest ended too early, or its time was over.
    at_work: str = ""
    #: Which lines of its own file each test ran, where that was asked for.
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: Which watched functions each test called.
    reached: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Watched functions that were called while modules were imported: decorators, say.
    called_by_import: frozenset[str] = frozenset()
    #: Tests for whose names nothing could stand in.
    left_alone: frozenset[str] = frozenset()
    #: Why it says nothing; empty if it ended as it should.
    problem: str = ""
    #: A module that a conftest.py did not find, where that is why.
    missing: str = ""
    #: Files that were imported.
    modules: tuple[str, ...] = ()
    #: Those of them that were compiled, and lie in the project; from its root.
    built: tuple[str, ...] = ()
    output: str = ""
    #: pytest ended before it collected anything: it did not start as it should.
    is_silent: bool = False
    #: Its time was over before it ended.
    is_late: bool = False


def run_in_sandbox(
    sandbox: Sandbox,
    arguments: tuple[str, ...],
    *,
    timeout: float,
    wanted: Iterable[str] = (),
    watched: Mapping[str, Mapping[str, str]] | None = None,
    is_traced: bool = False,
    silence: float = math.inf,
    stand_ins: Mapping[str, Mapping[str, str]] | None = None,
    changed: Iterable[str] = (),
    kind: Kind | None = None,
) -> SandboxRun:
    """Run tests in the sandbox, and say how each ended. Raises NoSandboxError where none can be made.

    :param wanted: the tests to run, without their parameters; where left out, all that are collected.
    :param watched: file -> first line -> name, of functions to watch.
    :param is_traced: it is to be told which lines of its own file each test runs.
    :param silence: seconds without a word after which its time is over, too: a test does not end.
    :param stand_ins: test -> the name that something stands in for while it runs: `module`, `name`, `alias`, `stub`.
    :param changed: the files whose code may be stood in for.
    :param kind: insists on one kind of sandbox; where left out, one at the same path is tried first.
    """
    visit = Visit(
        command=(sys.executable, "-m", "pytest"),
        arguments=(*arguments, "-p", "phase_gate.proof.reporter", *_TO_THE_END),
        order={
            "watched": {path: dict(names) for path, names in (watched or {}).items()},
            "wanted": sorted(wanted),
            "traced": is_traced,
            "stand_ins": {test: dict(name) for test, name in (stand_ins or {}).items()},
            "changed": sorted(changed),
        },
        variable=VARIABLE,
        environment={name: text for name, text in os.environ.items() if not name.startswith(_OURS)},
        timeout=timeout,
        silence=silence,
    )
    visited = visit_sandbox(sandbox, visit, kind=kind)
    return _judge_origins(_read_answers(visited), sandbox, visited.folder)


#: Every target has its say: the first one that fails, or can't be imported, ends nothing.
_TO_THE_END = ("--maxfail=0", "--continue-on-collection-errors")


def _judge_origins(run: SandboxRun, sandbox: Sandbox, folder: str) -> SandboxRun:
    """Return the run with what was built; as nothing that can be believed if a module came from elsewhere."""
    stray = "" if run.problem else find_stray(run.modules, sandbox.root, folder, {*sandbox.contents, *sandbox.left_out})
    return replace(
        run,
        problem=f"{stray}, not from the sandbox" if stray else run.problem,
        built=find_built(run.modules, folder),
    )


def _read_answers(visited: Visited) -> SandboxRun:
    heard = visited.heard
    reports = Reports()
    reached: dict[str, frozenset[str]] = {}
    imported: set[str] = set()
    items: tuple[Item, ...] = ()
    at_work = ""
    lines: dict[str, frozenset[int]] = {}
    left_alone: set[str] = set()
    modules: tuple[str, ...] = ()
    has_ended, problem, missing = False, "", ""
    for answer in heard.answers:
        if answer["kind"] == "reached":
            reached[answer["id"]] = frozenset(answer["names"])
        elif answer["kind"] == "collected":
            items = tuple(Item(**each) for each in answer["items"])
        elif answer["kind"] == "started":
            at_work = answer["id"]
        elif answer["kind"] == "lines":
            lines[answer["id"]] = frozenset(answer["lines"])
        elif answer["kind"] == "imported":
            imported |= set(answer["names"])
        elif answer["kind"] == "left alone":
            left_alone.add(bare_id(answer["id"]))
        elif answer["kind"] == "ended":
            modules, has_ended = tuple(answer["modules"]), True
        elif answer["kind"] == "broken":
            missing = answer["missing"]
            problem = f"{answer['file']} can't be imported" + (f": no module named {missing!r}" if missing else "")
        elif answer["kind"] == "uncollectable":
            reports[answer["id"]] = Report(
                has_passed=False, message=answer["message"], missing=answer["missing"], broken=answer["broken"]
            )
        else:
            _add_report(reports, answer)
    if heard.is_interrupted:
        raise KeyboardInterrupt
    if heard.is_late:
        problem = f"it took longer than {heard.seconds:.0f} s"
        reports = _finished(reports, items, at_work)
    elif not has_ended and not problem:
        problem = "pytest ended too early" + _last_line(heard.output)
    return SandboxRun(
        kind=visited.kind,
        seconds=heard.seconds,
        reports=reports,
        items=items,
        at_work="" if has_ended else at_work,
        lines=lines,
        reached=reached,
        called_by_import=frozenset(imported),
        left_alone=frozenset(left_alone),
        modules=modules,
        problem=problem,
        missing=missing,
        output=heard.output,
        is_silent=not has_ended and not heard.is_late and not reports,
        is_late=heard.is_late,
    )


def _finished(reports: Reports, items: Iterable[Item], at_work: str) -> Reports:
    """Return the reports of functions whose rows have all ended."""
    unfinished = {bare_id(item.id) for item in items if item.id not in reports} | {bare_id(at_work)}
    return Reports({test_id: report for test_id, report in reports.items() if bare_id(test_id) not in unfinished})


def _last_line(output: str) -> str:
    """Return what a process said last, for a sentence; empty if it said nothing.

    pytest says what was wrong with its options first, and then which settings it read.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if "error: " in line.lower() and not line.startswith("ERROR: usage:")] or lines
    return f": {said[-1][:200]}" if said else ""


def _add_report(reports: dict[str, Report], answer: Mapping[str, Any]) -> None:
    known = reports.get(answer["id"])
    if known is not None and not known.has_passed and not known.is_skipped:
        return  # the first failure says why
    # A skipped or expected failure is no pass: the target did not show what it is for.
    has_passed = answer["outcome"] == "passed" and not answer["expected"]
    reports[answer["id"]] = Report(
        has_passed=has_passed,
        is_skipped=answer["outcome"] == "skipped",
        place="" if has_passed else answer["place"],
        message="" if has_passed else answer["message"],
        missing="" if has_passed else answer["missing"],
        is_check=not has_passed and answer["check"],
    )
