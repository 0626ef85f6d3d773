"""The experiment with altered tests: do they fail with the current sources if they expect different values?

A test that still passes has a check that can't fail: it never runs, is swallowed, or is true for every value. Since
all values of a test are altered at once, a check that can fail hides one in the same test that can't. The experiment
runs the targets of a proof, or all tests of a suite (`phase-gate prove --suite`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from phase_gate.evidence.context import ignore
from phase_gate.gate.inventory import bare_id
from phase_gate.proof.altering import Site, alter
from phase_gate.proof.sandbox import NoSandboxError, Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, SandboxRun, SandboxTest
from phase_gate.proof.verdicts import Proof, Shown, TargetProof, Targets
from phase_gate.values import Value, replace
from phase_gate.visible import count, cut

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


class _Result(Value, kw_only=False):
    """What the altered version of a function did, and the check that a message is about."""

    shown: Shown
    line: int = 0
    text: str = ""


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
    results: dict[str, _Result] = {}
    for function in functions:
        run_alone = partial(laboratory.run, altered, function.ids, is_traced=True)
        results |= dict.fromkeys(function.ids, _judge(function, passed, run_alone))
    return tuple(_add_result(each, results[each.id]) if each.id in results else each for each in targets)


def _add_result(target: TargetProof, result: _Result) -> TargetProof:
    target = replace(target, altered=result.shown, line=result.line)
    if result.shown == "still-passes":
        return replace(target, verdict="cannot-fail", why=result.text)
    return replace(target, advice=result.text)


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


def _judge(function: _Function, passed: _Outcomes, run_alone: Callable[[], SandboxRun]) -> _Result:
    still = [row for row in function.rows if passed.get(row.key)]
    if not still:
        return _Result("fails" if any(row.key in passed for row in function.rows) else "not-tried")
    run = run_alone()
    alone = _outcomes(run)
    if not any(row.key in alone for row in still):
        return _Result("not-tried")
    still = [row for row in still if alone.get(row.key)]
    keys = {row.key for row in still}
    lines = {line for test in run.tests if test.key in keys for line in test.lines}
    # A check in a block that expects an exception proves nothing if it runs: its operand raised that exception.
    relevant = [site for site in function.sites if not (site.is_under_raises and _is_run(site, lines))]
    if not still or not relevant:
        return _Result("fails")
    site, is_dead = relevant[0], all(site.is_under_raises for site in relevant)
    if len(still) < len(function.rows) and not is_dead:
        return _Result("some-rows", site.first_line, _describe_rows(function, site, still))
    text = _describe(function, site, is_run=_is_run(site, lines))
    return _Result("dead-assert" if is_dead else "still-passes", site.first_line, text)


def _is_run(site: Site, lines: set[int]) -> bool:
    return not lines.isdisjoint(range(site.first_line, site.last_line + 1))


# --- messages

_WHY = "look at an `or` in it, the with or try around it, and `__eq__` of the left side"


def _describe(function: _Function, site: Site, *, is_run: bool) -> str:
    place = f"{function.file}:{site.first_line}"
    if not is_run and site.is_under_raises:
        return f"{place} is never run: the line before it raises what raises() waits for; move it behind the block"
    if not is_run:
        where = f"its check is in {site.inside}(), which is not called" if site.inside else "nothing leads there"
        return f"{place} is never run: {site.test} passes whatever {site.against or 'the message'} is; {where}"
    change = f"{cut(site.becomes, _LONGEST)} instead of {cut(' '.join(site.was.split()), _LONGEST)}"
    return f"{place} can't fail: expecting {change} passes as well; {_WHY}"


def _describe_rows(function: _Function, site: Site, still: list[SandboxTest]) -> str:
    rows = ", ".join(row.id.partition("[")[2].rstrip("]") for row in still[:5])
    return (
        f"{function.file}:{site.first_line} can't fail in {len(still)} of {count(len(function.rows), 'row')} of "
        f"{site.test}: {rows}"
    )


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
        proof = Proof(targets=targets, problem="" if targets else _describe_no_pass(run))
    except (NoSandboxError, OSError) as error:
        proof = Proof(problem=str(error))
    return replace(proof, seconds=round(time.monotonic() - began, 1), starts=laboratory.starts)


def _name_untried(target: TargetProof) -> TargetProof:
    if target.altered != "not-tried":
        return target
    return replace(target, verdict="unknown", why="it does not end, or ends pytest, if it expects something else")


def _describe_no_pass(run: SandboxRun) -> str:
    messages = [test.report.message for test in run.tests if test.report and test.report.message]
    if not any("::" in function for function in run.functions):  # others are broken files
        return run.problem or "pytest collected no test"
    return f"no test passes as it is: {messages[0] if messages else run.problem}"
