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

from phase_gate.gate.inventory import bare_id
from phase_gate.proof.altering import Site, alter
from phase_gate.proof.sandbox import Limits, NoSandboxError, Sandbox
from phase_gate.proof.sandbox_runs import Laboratory, SandboxRun, SandboxTest
from phase_gate.proof.verdicts import Shown, TargetProof
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
#: A check that passes with any result, and one that never runs.
CLOSING: tuple[Shown, ...] = ("still-passes", "dead-assert")


class AlteredProof(Value):
    """The result for an altered test function."""

    #: Its tests, without their parameters. Several classes may inherit one function.
    ids: tuple[str, ...]
    shown: Shown
    #: The check in question.
    file: str
    line: int
    #: The message about it. Empty if the test fails, as it should.
    text: str = ""


class _Function(Value):
    file: str
    sites: tuple[Site, ...]
    #: Its altered rows that pass without the alteration.
    rows: tuple[SandboxTest, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(bare_id(row.id) for row in self.rows))

    def show(self, shown: Shown, site: Site | None = None, text: str = "") -> AlteredProof:
        line = (site or self.sites[0]).first_line
        return AlteredProof(ids=self.ids, shown=shown, file=self.file, line=line, text=text)


def find_unfailing(
    targets: tuple[TargetProof, ...], treatment: SandboxRun, sandbox: Sandbox, laboratory: Laboratory
) -> tuple[TargetProof, ...]:
    """Return the targets with the results of their altered versions.

    :param treatment: the run with the change in `sandbox`.
    """
    tried = {each.id for each in targets if each.treatment == "passes"}
    passing = [test for test in treatment.tests if test.has_passed and bare_id(test.id) in tried]
    shown = {test_id: proof for proof in try_altered(passing, sandbox, laboratory) for test_id in proof.ids}
    return tuple(_judge_target(each, shown[each.id]) if each.id in shown else each for each in targets)


def _judge_target(target: TargetProof, proof: AlteredProof) -> TargetProof:
    target = replace(target, altered=proof.shown, line=proof.line)
    if proof.shown == "still-passes":
        return replace(target, verdict="cannot-fail", why=proof.text)
    return replace(target, advice=proof.text)


def try_altered(
    passing: Iterable[SandboxTest],
    sandbox: Sandbox,
    laboratory: Laboratory,
    show: Callable[[str], None] = lambda text: None,
) -> tuple[AlteredProof, ...]:
    """Return the results for the functions that have values to alter.

    :param passing: the tests that pass in the sandbox unaltered.
    """
    contents: dict[str, bytes] = {}
    functions = [*_alter(passing, sandbox, contents)]
    if not functions:
        return ()
    altered = replace(sandbox, contents={**sandbox.contents, **contents})
    show(f"suite: {count(len(functions), 'test')} that expect something else")
    passed = _run_to_the_end(functions, altered, laboratory)

    def run_alone(function: _Function) -> SandboxRun:
        show(f"suite: alone: {min(function.ids)}")
        return laboratory.run(altered, function.ids, is_traced=True)

    return tuple(_judge(each, passed, run_alone) for each in functions)


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


def _judge(function: _Function, passed: _Outcomes, run_alone: Callable[[_Function], SandboxRun]) -> AlteredProof:
    still = [row for row in function.rows if passed.get(row.key)]
    if not still:
        return function.show("fails" if any(row.key in passed for row in function.rows) else "not-tried")
    run = run_alone(function)
    alone = _outcomes(run)
    if not any(row.key in alone for row in still):
        return function.show("not-tried")
    still = [row for row in still if alone.get(row.key)]
    if not still:
        return function.show("fails")
    keys = {row.key for row in still}
    lines = frozenset[int]().union(*(test.lines for test in run.tests if test.key in keys))
    # A check in a block that expects an exception proves nothing if it runs: its operand raised that exception.
    relevant = [site for site in function.sites if not (site.is_under_raises and _is_run(site, lines))]
    if not relevant:
        return function.show("fails")
    site, is_dead = relevant[0], all(site.is_under_raises for site in relevant)
    if len(still) < len(function.rows) and not is_dead:
        return function.show("some-rows", site, _describe_rows(function, site, still))
    text = _describe(function, site, is_run=_is_run(site, lines))
    return function.show("dead-assert" if is_dead else "still-passes", site, text)


def _is_run(site: Site, lines: frozenset[int]) -> bool:
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


class SuiteProof(Value):
    """The results for the checks of a suite."""

    #: The number of collected test functions, and of those that pass unaltered.
    tests: int = 0
    passing: int = 0
    #: Results of the functions with values to alter.
    altered: tuple[AlteredProof, ...] = ()
    #: Why no experiment was possible. Empty if there was one.
    problem: str = ""
    seconds: float = 0.0
    starts: int = 0

    def of(self, *shown: Shown) -> tuple[AlteredProof, ...]:
        return tuple(each for each in self.altered if each.shown in shown)


def prove_suite(
    root: Path,
    paths: Iterable[str] = (),
    *,
    seconds: float = SECONDS,
    show: Callable[[str], None] = lambda text: None,
) -> SuiteProof:
    """Find the checks of a suite that can't fail. Does not write to the project.

    :param paths: arguments of pytest, relative to the root. Default: as in pytest's settings.
    :param seconds: how long an altered test may hang.
    """
    began = time.monotonic()
    laboratory = Laboratory(_QUIETLY, Limits(processor=math.inf, clock=math.inf), paths)
    sandbox = Sandbox(root=root)
    show("suite: as it is")
    try:
        run = laboratory.run(sandbox)
        laboratory.limits = Limits(processor=math.inf, clock=seconds + _TIMES * run.seconds)
        passing = [test for test in run.tests if test.has_passed]
        collected = [function for function in run.functions if "::" in function]  # others are broken files
        proof = SuiteProof(
            tests=len(collected),
            passing=len({bare_id(test.id) for test in passing}),
            altered=try_altered(passing, sandbox, laboratory, show),
            problem="" if passing else _describe_no_pass(run, has_tests=bool(collected)),
        )
    except (NoSandboxError, OSError) as error:
        proof = SuiteProof(problem=str(error))
    return replace(proof, seconds=round(time.monotonic() - began, 1), starts=laboratory.starts)


def _describe_no_pass(run: SandboxRun, *, has_tests: bool) -> str:
    messages = [test.report.message for test in run.tests if test.report and test.report.message]
    if not has_tests:
        return run.problem or "pytest collected no test"
    return f"no test passes as it is: {messages[0] if messages else run.problem}"
