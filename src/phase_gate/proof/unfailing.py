"""The experiment with altered tests: do they fail with the current sources if they expect different values?

A test that still passes has a check that can't fail: it never runs, is swallowed, or is true for every value. Since
all values of a test are altered at once, a check that can fail hides one in the same test that can't. The experiment
runs the targets of a proof, or all tests of a suite (`phase-gate prove --suite`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from phase_gate.evidence.context import ignore
from phase_gate.gate.inventory import bare_id
from phase_gate.proof.altering import Site, alter
from phase_gate.proof.sandbox import NoSandboxError, Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, SandboxRun, SandboxTest
from phase_gate.proof.verdicts import Proof, Shown, TargetProof, Targets
from phase_gate.values import Value, replace
from phase_gate.visible import cut

#: How often pytest is started, counting restarts after a test that kills it or never ends.
_STARTS = 20
#: The maximum number of characters of a value in a message.
_LONGEST = 40
#: The limit of a run with altered tests: a multiple of the time of the suite, and these seconds for one that hangs.
_TIMES, SECONDS = 2.0, 120.0
#: Short tracebacks, because almost every altered test has one and none is shown.
_QUIETLY = ("-q", "--tb=line", "-p", "no:cacheprovider")


class _Function(Value):
    """An altered test function. Several classes may inherit it."""

    file: str
    sites: tuple[Site, ...]
    #: Its altered rows that pass without the alteration.
    rows: tuple[SandboxTest, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(bare_id(row.id) for row in self.rows))


def find_unfailing(targets: Targets, treatment: SandboxRun, sandbox: Sandbox, laboratory: Laboratory) -> Targets:
    """Return the targets with the results of their altered versions.

    :param treatment: the run with the change in `sandbox`. Its tests that pass are altered.
    """
    tried = {each.id for each in targets if each.treatment == "passes"}
    contents: dict[str, bytes] = {}
    passing = (test for test in treatment.tests if test.has_passed and bare_id(test.id) in tried)
    functions = [*_alter(passing, sandbox, contents)]
    if not functions:
        return targets
    altered = replace(sandbox, contents={**sandbox.contents, **contents})
    passed = _run_to_the_end(functions, altered, laboratory)
    results: dict[str, tuple[_Function, Shown]] = {}
    for function in functions:
        shown = _sum_up(function, passed)
        if shown == "still-passes":  # tests before it may have been the reason, so it has to pass alone
            shown = _sum_up(function, _outcomes(laboratory.run(altered, function.ids)))
        results |= dict.fromkeys(function.ids, (function, shown))
    return tuple(_add_result(each, *results[each.id]) if each.id in results else each for each in targets)


def _add_result(target: TargetProof, function: _Function, shown: Shown) -> TargetProof:
    target = replace(target, altered=shown)
    if shown != "still-passes":
        return target
    return replace(target, verdict="cannot-fail", line=function.sites[0].line, why=_describe(function))


def _alter(passing: Iterable[SandboxTest], sandbox: Sandbox, contents: dict[str, bytes]) -> Iterator[_Function]:
    files: dict[str, dict[int, list[SandboxTest]]] = {}
    for test in passing:
        if test.file and not test.file.startswith("../"):
            files.setdefault(test.file, {}).setdefault(test.line, []).append(test)
    for file, tests in files.items():
        try:
            contents[file], altered = alter(sandbox.read(file), tests)
        except (OSError, SyntaxError, ValueError):
            continue  # a file that does not exist, or that only a special loader can read
        for line, sites in altered.items():
            rows = tuple(
                test
                for test in tests[line]
                if any(not site.parameter or test.rows.get(site.parameter) == site.row for site in sites)
            )
            if rows:
                yield _Function(file=file, sites=tuple(sites), rows=rows)


#: Row -> whether it passed.
_Outcomes = dict[object, bool]


def _run_to_the_end(functions: list[_Function], altered: Sandbox, laboratory: Laboratory) -> _Outcomes:
    """Run all functions. If one kills pytest or never ends, continue after it."""
    passed: _Outcomes = {}
    waiting = functions
    for _ in range(_STARTS):
        run = laboratory.run(altered, [each for function in waiting for each in function.ids])
        passed |= _outcomes(run)
        dead = bare_id(run.at_work)
        waiting = [
            function
            for function in waiting
            if dead not in function.ids and not all(row.key in passed for row in function.rows)
        ]
        if not dead or not waiting:
            break
    return passed


def _outcomes(run: SandboxRun) -> _Outcomes:
    return {
        test.key: test.has_passed
        for test in run.tests
        if test.report is not None and bare_id(test.id) != bare_id(run.at_work)
    }


def _sum_up(function: _Function, passed: _Outcomes) -> Shown:
    """Return what the rows of a function have shown. One that fails is enough."""
    outcomes = {passed.get(row.key) for row in function.rows}
    if False in outcomes:
        return "fails"
    return "not-tried" if None in outcomes else "still-passes"


def _describe(function: _Function) -> str:
    site = function.sites[0]
    place = f"{function.file}:{site.line}"
    change = f"{cut(site.becomes, _LONGEST)} instead of {cut(' '.join(site.was.split()), _LONGEST)}"
    look = f"whether {site.inside}() is called" if site.inside else "at an `or` in it, the with or try around it"
    return f"{place} can't fail: expecting {change} passes as well; look {look}, and at `__eq__` of the left side"


# --- a whole suite, without phases or git


def prove_suite(
    root: Path,
    paths: Iterable[str] = (),
    *,
    seconds: float = SECONDS,
    show: Callable[[str], None] = ignore,
) -> Proof:
    """Find the tests of a suite whose checks can't fail. The targets are all tests that pass.

    :param paths: arguments of pytest, relative to the root. Default: as in pytest's settings.
    :param seconds: how long an altered test may hang.
    """
    began = time.monotonic()
    laboratory = Laboratory(_QUIETLY, math.inf, paths)
    sandbox = Sandbox(root=root)
    show("suite: as it is")
    try:
        run = laboratory.run(sandbox)
        laboratory.limit = seconds + _TIMES * run.seconds
        passing = [name for name, rows in run.functions.items() if any(row.has_passed for row in rows)]
        targets = tuple(TargetProof(id=each, verdict="no-change", treatment="passes") for each in passing)
        show("suite: the tests expecting something else")
        targets = tuple(map(_name_untried, find_unfailing(targets, run, sandbox, laboratory)))
        problem = "" if targets else _describe_no_pass(run)
        proof = Proof(targets=targets, problem=problem, notes=(run.problem,) if run.problem and targets else ())
    except (NoSandboxError, OSError) as error:
        proof = Proof(problem=str(error))
    return replace(proof, seconds=round(time.monotonic() - began, 1), starts=laboratory.starts)


def _name_untried(target: TargetProof) -> TargetProof:
    if target.altered != "not-tried":
        return target
    return replace(target, verdict="unknown", why="it does not end, or ends pytest, if it expects something else")


def _describe_no_pass(run: SandboxRun) -> str:
    told = [(test.id, test.report.message) for test in run.tests if test.report and test.report.message]
    if any("::" in function for function in run.functions):
        return f"no test passes as it is: {told[0][1] if told else run.problem}"
    if run.problem or not told:
        return run.problem or "pytest collected no test"
    file, message = told[0]  # without tests, each is a file that pytest can't collect
    return f"{file} can't be imported: {message.removeprefix('E').strip()}; fix that first: pytest {file}"
