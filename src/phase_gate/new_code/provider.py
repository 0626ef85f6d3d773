"""Measure the new code of a cycle: its lines and forks, and those that no test has reached."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.evidence.new_lines import changed_sources, find_new_code, recall_kept
from phase_gate.evidence.sources import list_sources, read_files
from phase_gate.gate.findings import Finding
from phase_gate.gate.measured import Measured, Table
from phase_gate.gate.reach import Reach
from phase_gate.new_code.view import VIEW, view_of
from phase_gate.source.new_code import Fork, NewCode, Statement
from phase_gate.storage.keeping import Kept, LostError, keep_files
from phase_gate.values import Value, replace
from phase_gate.visible import count

#: Lines that a table shows.
_SHOWN = 200
#: Tests that are named beside a line.
_NAMED = 3

NAME = "new_code"


class Reached(Value):
    """The new code of one file, held against what a run has reached."""

    path: str
    code: NewCode
    #: Line -> the tests that reach the statement there.
    tests: dict[int, tuple[str, ...]]
    untested: tuple[Statement, ...]
    #: Forks that were reached, and of which one way was never gone: the line, and whether it is the way into the body.
    one_way: tuple[tuple[int, bool], ...]


class NewCodeProvider(Provider):
    def remember(self, context: EvidenceContext) -> Any:
        return to_json(_keep(context))

    def watched(self, context: EvidenceContext) -> tuple[str, ...]:
        then = recall_kept(context, NAME)
        return () if then is None else tuple(changed_sources(context, then))

    def measure(self, context: EvidenceContext) -> Measured:
        then = recall_kept(context, NAME)
        if then is None:
            return Measured(warnings=("new code is unknown: nothing was kept when the cycle began",))
        if context.reach is None or context.reach.problem:
            why = "no run watched it" if context.reach is None else context.reach.problem
            return Measured(warnings=(f"new code is unknown: {why}",))
        try:
            found = compare(context, then, context.reach)
        except LostError as error:
            return Measured(warnings=(f"new code is unknown: {error}",))
        return replace(_measured(found), remembered={VIEW: view_of(found, _texts(context, found))})


PROVIDER = NewCodeProvider()


def compare(context: EvidenceContext, then: Kept, reach: Reach) -> tuple[Reached, ...]:
    """Return the new code, by file. Raises LostError if what it is compared with is gone."""
    new = find_new_code(context, then)
    return tuple(reach_of(path, code, reach) for path, code in new.items())


def _texts(context: EvidenceContext, found: Iterable[Reached]) -> dict[str, str]:
    files = read_files(context, [each.path for each in found])
    return {path: data.decode("utf-8", "replace") for path, data in files.items()}


def _keep(context: EvidenceContext) -> Kept:
    files = context.files()
    return keep_files(context.root, {path: files[path] for path in list_sources(context) if path in files})


def reach_of(path: str, code: NewCode, reach: Reach) -> Reached:
    """Return the new code of a file, held against what was reached."""
    lines = reach.lines.get(path, {})
    tests = {each.line: _tests(each, lines) for each in code.statements if _is_reached(each, lines)}
    jumps = reach.jumps.get(path, ())
    return Reached(
        path=path,
        code=code,
        tests=tests,
        untested=tuple(each for each in code.statements if each.line not in tests),
        one_way=tuple(
            (fork.line, into)
            for fork in code.forks
            if fork.line in tests
            for into in (True, False)
            if not _was_gone(fork, into, lines, jumps)
        ),
    )


def _is_reached(statement: Statement, lines: Any) -> bool:
    return any(line in lines for line in range(statement.line, statement.end + 1))


def _tests(statement: Statement, lines: Any) -> tuple[str, ...]:
    found = {test for line in range(statement.line, statement.end + 1) for test in lines.get(line, ())}
    return tuple(sorted(found - {""}))


def _was_gone(fork: Fork, into: bool, lines: Any, jumps: Iterable[tuple[int, int]]) -> bool:
    if into:
        return any(line in lines for line in range(fork.first, fork.last + 1))
    head = range(fork.line, fork.end + 1)
    return any(one in head and other not in head and not fork.first <= other <= fork.last for one, other in jumps)


def _measured(found: tuple[Reached, ...]) -> Measured:
    untested = [(each.path, statement) for each in found for statement in each.untested]
    one_way = [(each.path, line, into) for each in found for line, into in each.one_way]
    excused = sum(each.code.excused for each in found)
    findings = [
        Finding(
            slug="new-code-tested",
            tier="hard",
            file=path,
            line=statement.line,
            detail=f"new, and no test reaches it: {statement.text.splitlines()[0]}",
        )
        for path, statement in untested
    ]
    told = {}
    if untested:
        places = ", ".join(f"{path}:{statement.line}" for path, statement in untested[:_NAMED])
        more = f" and {len(untested) - _NAMED} more" if len(untested) > _NAMED else ""
        told["new_lines_untested"] = f"no test reaches {count(len(untested), 'new line')}: {places}{more}"
    if excused:
        told["new_lines"] = f"`pragma: no cover` excuses {count(excused, 'new line')}"
    return Measured(
        metrics={
            "new_lines": sum(len(each.code.statements) for each in found),
            "new_lines_untested": len(untested),
            "new_branches_untested": len(one_way),
        },
        findings=tuple(findings),
        told=told,
        tables=(_table(found),) if found else (),
    )


def _table(found: tuple[Reached, ...]) -> Table:
    rows = []
    for each in found:
        ways = dict.fromkeys(line for line, _ in each.one_way)
        for statement in each.code.statements:
            tests = each.tests.get(statement.line)
            if tests is None:
                said = "no test"
            else:
                said = ", ".join(tests[:_NAMED]) or "an import"
                said += f" and {len(tests) - _NAMED} more" if len(tests) > _NAMED else ""
            said += "; one way was never gone" if statement.line in ways else ""
            rows.append((f"{each.path}:{statement.line}", statement.text.splitlines()[0], said))
    return Table(title="New code", columns=("line", "code", "reached by"), rows=tuple(rows[:_SHOWN]))
