"""The fourth experiment: tests that expect something else, with the present sources. Do they fail?

One that still passes has a check that can't fail: it is never run, is swallowed, or holds for every value. A living
check hides a dead one beside it, because all that a test expects is altered at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator

from phase_gate.gate.inventory import bare_id
from phase_gate.proof.altering import Site, alter
from phase_gate.proof.model import Shown, TargetProof
from phase_gate.proof.running import Item, SandboxRun
from phase_gate.proof.sandbox import Sandbox
from phase_gate.values import Value, replace
from phase_gate.visible import count, cut

#: How often pytest is started again behind a test that kills it, or never ends.
_STARTS = 20
#: What a run may take: so many seconds, or so many times as long as with what the tests really expect.
_LEAST_SECONDS, _TIMES = 30.0, 10.0
#: Characters of a value in a message.
_LONGEST = 40


class AlteredProof(Value):
    """What a test function shows when it expects something else."""

    #: Its tests, without their parameters: several classes may inherit one function.
    ids: tuple[str, ...]
    shown: Shown
    #: The check in question.
    file: str
    line: int
    #: What to say about it; empty where it fails, as it should.
    text: str = ""


#: Runs tests in a sandbox: `enter(sandbox, wanted, is_alone=...)`; alone they are traced, to be looked at closely.
Enter = Callable[..., SandboxRun]


class _Function(Value):
    file: str
    sites: tuple[Site, ...]
    #: Its altered rows, as far as they pass with what they really expect.
    rows: tuple[Item, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(bare_id(row.id) for row in self.rows))


def find_unfailing(
    targets: tuple[TargetProof, ...], treatment: SandboxRun, sandbox: Sandbox, enter: Callable[..., SandboxRun]
) -> tuple[TargetProof, ...]:
    """Return the targets with what they show when they expect something else.

    :param treatment: the run with the change, in that sandbox.
    """
    tried = {each.id for each in targets if each.treatment == "passes"}
    passing = [item for item in treatment.passing if bare_id(item.id) in tried]
    limit = max(_LEAST_SECONDS, _TIMES * treatment.seconds)

    def run(altered: Sandbox, wanted: Collection[str], *, is_alone: bool) -> SandboxRun:
        return enter(altered, wanted, limit=limit, is_traced=is_alone)

    shown = {test_id: proof for proof in try_altered(passing, sandbox, run) for test_id in proof.ids}
    return tuple(_judge_target(each, shown[each.id]) if each.id in shown else each for each in targets)


def _judge_target(target: TargetProof, proof: AlteredProof) -> TargetProof:
    target = replace(target, altered=proof.shown, line=proof.line)
    if proof.shown == "still-passes":
        return replace(target, verdict="cannot-fail", why=proof.text)
    return replace(target, advice=proof.text)


def try_altered(passing: Iterable[Item], sandbox: Sandbox, enter: Enter) -> tuple[AlteredProof, ...]:
    """Return what the functions show that have something to alter.

    :param passing: the tests that pass in the sandbox as they are.
    """
    contents: dict[str, bytes] = {}
    functions = [*_alter(passing, sandbox, contents)]
    if not functions:
        return ()
    altered = replace(
        sandbox,
        contents={**sandbox.contents, **contents},
        folders=sandbox.folders | set(map(os.path.dirname, contents)),
    )
    passed = _run_to_the_end(functions, altered, enter)
    return tuple(_judge(each, passed, altered, enter) for each in functions)


def _alter(passing: Iterable[Item], sandbox: Sandbox, contents: dict[str, bytes]) -> Iterator[_Function]:
    files: dict[str, dict[int, list[Item]]] = {}
    for item in passing:
        if item.file and not item.file.startswith("../"):
            files.setdefault(item.file, {}).setdefault(item.line, []).append(item)
    for file, items in files.items():
        try:
            contents[file], tests = alter(sandbox.read(file), items)
        except (OSError, SyntaxError, ValueError):
            continue  # a file that is not there, or that only its own loader can read
        for line, sites in tests.items():
            rows = tuple(
                item
                for item in items[line]
                if any(not site.parameter or item.rows.get(site.parameter) == site.row for site in sites)
            )
            if rows:
                yield _Function(file=file, sites=tuple(sites), rows=rows)


#: Row -> whether it passed.
_Outcomes = dict[object, bool]


def _run_to_the_end(functions: list[_Function], altered: Sandbox, enter: Enter) -> _Outcomes:
    """Run all of them; where one kills pytest or never ends, go on behind it."""
    passed: _Outcomes = {}
    waiting = functions
    for _ in range(_STARTS):
        run = enter(altered, [each for function in waiting for each in function.ids], is_alone=False)
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
        item.key: run.reports[item.id].has_passed
        for item in run.items
        if item.id in run.reports and bare_id(item.id) != bare_id(run.at_work)
    }


def _judge(function: _Function, passed: _Outcomes, altered: Sandbox, enter: Enter) -> AlteredProof:
    still = [row for row in function.rows if passed.get(row.key)]
    if not still:
        return _proof(function, "fails" if any(row.key in passed for row in function.rows) else "not-tried")
    run = enter(altered, function.ids, is_alone=True)
    alone = _outcomes(run)
    if not any(row.key in alone for row in still):
        return _proof(function, "not-tried")
    still = [row for row in still if alone.get(row.key)]
    if not still:
        return _proof(function, "fails")
    keys = {row.key for row in still}
    lines = frozenset[int]().union(*(run.lines.get(item.id, ()) for item in run.items if item.key in keys))
    # A check in a block that waits for an exception says nothing where it is run: its operand raised what was expected.
    told = [site for site in function.sites if not (site.is_under_raises and _is_run(site, lines))]
    if not told:
        return _proof(function, "fails")
    site, is_dead = told[0], all(site.is_under_raises for site in told)
    if len(still) < len(function.rows) and not is_dead:
        return _proof(function, "some-rows", site, _say_rows(function, site, still))
    said = _say(function, site, is_run=_is_run(site, lines))
    return _proof(function, "dead-assert" if is_dead else "still-passes", site, said)


def _is_run(site: Site, lines: frozenset[int]) -> bool:
    return not lines.isdisjoint(range(site.first_line, site.last_line + 1))


def _proof(function: _Function, shown: Shown, site: Site | None = None, text: str = "") -> AlteredProof:
    line = (site or function.sites[0]).first_line
    return AlteredProof(ids=function.ids, shown=shown, file=function.file, line=line, text=text)


# --- what to say, and what to do about it


def _say(function: _Function, site: Site, *, is_run: bool) -> str:
    place = f"{function.file}:{site.first_line}"
    if not is_run and site.is_under_raises:
        return f"{place} is never run: the line before it raises what raises() waits for; move it behind the block"
    if not is_run:
        where = f"its check stands in {site.inside}(), which is not called" if site.inside else "nothing leads there"
        return f"{place} is never run: {site.test} passes whatever {site.against or 'the message'} is; {where}"
    if site.is_always_true:
        why = "a tuple, and an `or` with a true value, always hold"
    else:
        why = "look at the with or try around it, and at `__eq__` of the left side"
    change = f"{cut(site.becomes, _LONGEST)} instead of {cut(' '.join(site.was.split()), _LONGEST)}"
    return f"{place} can't fail: expecting {change} passes as well; {why}"


def _say_rows(function: _Function, site: Site, still: list[Item]) -> str:
    rows = ", ".join(row.id.partition("[")[2].rstrip("]") for row in still[:5])
    return (
        f"{function.file}:{site.first_line} can't fail in {len(still)} of {count(len(function.rows), 'row')} of "
        f"{site.test}: {rows}"
    )
