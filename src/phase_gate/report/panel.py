"""The panel under the test summary: both gates at a glance, and the next command to type.

Draws an evaluation; decides nothing. Plain text of 80 columns, or of fewer where the terminal has fewer; colour is the
terminal's business.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from phase_gate.gate.breaker import Status
from phase_gate.gate.evaluation import Evaluation, GuardResult
from phase_gate.gate.findings import ALREADY_PASSING
from phase_gate.gate.signals import SHOWN
from phase_gate.gate.waivers import describe_override
from phase_gate.report.proof import describe_proof
from phase_gate.values import Value, field
from phase_gate.visible import count, show_line, wrap
from phase_gate.workflow.conditions import Clause

WIDTH = 80
#: Where a clause's values begin.
_VALUES_AT = 53
#: Width of the words in front of verdict, notes and warnings.
_LABEL = 9
#: Guards named in one line before the rest is only counted.
_GUARDS_SHOWN = 3
_FINDINGS_SHOWN = 5

#: Fewer columns are not asked for.
_NARROWEST = 30
#: Of a line that is never wrapped.
_WHOLE = -2
_GAP = re.compile("  +")

_MARKS = {True: "+", False: "-", None: "?"}


class Line(Value, kw_only=False):
    text: str
    markup: Mapping[str, bool] = field(default_factory=dict)
    is_title: bool = False
    #: Where wrapped rows of it begin; -1: it is never wrapped where there are 80 columns.
    hang: int = -1


_GREEN, _RED, _YELLOW, _BOLD = {"green": True}, {"red": True}, {"yellow": True}, {"bold": True}


def _tables(evaluation: Evaluation, width: int) -> list[Line]:
    if not evaluation.tables:
        return []
    from phase_gate.report.tables import table_lines

    return [Line(row) for table in evaluation.tables for row in table_lines(table, width=width)]


def render_panel(
    evaluation: Evaluation,
    *,
    is_quiet: bool = False,
    complaints: Iterable[str] = (),
    width: int = WIDTH,
) -> list[Line]:
    """Return the panel's lines. `is_quiet` leaves out what is met, and what is only advice."""
    width = max(_NARROWEST, min(width, WIDTH))
    lines = [Line(_title(evaluation), _GREEN if evaluation.can_exit else _BOLD, is_title=True)]
    if not is_quiet:
        lines += _gate_1(evaluation)
        lines += _gate_2(evaluation)
        lines += _tables(evaluation, width)
        lines += _findings(evaluation)
    elif evaluation.subject.iteration is not None:
        lines += _unmet_guards(evaluation)
    if (proven := describe_proof(evaluation.metrics)) and not is_quiet:
        lines += _wrapped("Proof", proven)
    if evaluation.breaker.status is Status.HALF_OPEN:  # an open one is what the verdict speaks of
        said = f"half-open: {evaluation.breaker.reason}; one more run without progress opens the circuit"
        lines += _wrapped("Breaker", said, _RED)
    for override in evaluation.overrides:
        label = "Waived" if override["kind"] == "waive" else "Override"
        lines += _wrapped(label, describe_override(override), _YELLOW)
    for note in evaluation.notes:
        lines += _wrapped("Note", note)
    for text in (*evaluation.warnings, *complaints):
        lines += _wrapped("Warning", text, _YELLOW)
    lines += _wrapped("Verdict", evaluation.verdict, _GREEN if evaluation.gate_1.is_open else _RED)
    lines += _next(evaluation, width)
    return [row for line in lines for row in _fit(line, width)]


def _next(evaluation: Evaluation, width: int) -> list[Line]:
    """Return the next step. A command is never wrapped: it is to be copied."""
    whole = f"Next     {evaluation.next_step}"
    command, hint = evaluation.next_command, evaluation.next_hint
    if len(whole) <= width or not hint:
        return [Line(whole, _BOLD, hang=_WHOLE)]
    if not command:
        return _wrapped("Next", hint, _BOLD)
    return [Line(f"Next     {command}", _BOLD, hang=_WHOLE), *_wrapped("", hint)]


def panel_text(lines: Iterable[Line], *, width: int = WIDTH) -> str:
    """Return a panel as plain text, for those who have no terminal reporter."""
    rows = ((show_line(line.text), line.is_title) for line in lines)
    width = max(_NARROWEST, min(width, WIDTH))
    return "\n".join(f" {text} ".center(width, "=") if is_title else text for text, is_title in rows)


def _wrapped(label: str, text: str, markup: Mapping[str, bool] | None = None, *, width: int = _LABEL) -> list[Line]:
    return [Line(f"{label:{width}}{text}", markup or {}, hang=width)]


def _fit(line: Line, width: int) -> Iterator[Line]:
    """Yield the rows of a line on a screen of that width."""
    text, hang = line.text, line.hang
    if line.is_title or hang == _WHOLE or (hang < 0 and (width == WIDTH or len(text) <= width)):
        yield line
        return
    if hang < 0:
        indent = len(text) - len(text.lstrip())
        text, hang = f"{text[:indent]}{_GAP.sub('  ', text[indent:])}", indent + 2
    rows = _wrap(text[hang:], width - hang) or [""]
    for index, row in enumerate(rows):
        yield Line(f"{text[:hang] if index == 0 else ' ' * hang}{row}".rstrip(), line.markup)


def render_problem(problem: str, *, remedy: str) -> list[Line]:
    """Return what stands in the panel's place where there is no verdict."""
    lines = [Line("phase gate", _YELLOW, is_title=True), Line(problem, _YELLOW)]
    if remedy:
        lines.append(Line(f"  try: {remedy}"))
    return lines


def name_root(lines: list[Line], root: str) -> list[Line]:
    """Return the lines with the root below the title, if there is something to say about it."""
    return [*lines[:1], Line(root), *lines[1:]] if root else lines


def _wrap(text: str, width: int) -> list[str]:
    # Ids and commands are to be copied whole.
    if text.isascii():
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return wrap(text, width)


def _title(evaluation: Evaluation) -> str:
    subject = evaluation.subject
    parts = [subject.phase]
    if subject.task != "default":
        parts.append(f"task {subject.task}")
    void = f"{subject.kind} run" if subject.run is not None else subject.kind
    parts.append(f"iteration {subject.iteration}" if subject.iteration is not None else void)
    total = evaluation.metrics.get("tests_total")
    if isinstance(total, int):
        parts.append(count(total, "test"))
    return f"phase gate: {' · '.join(parts)}"


def _gate_1(evaluation: Evaluation) -> list[Line]:
    gate = evaluation.gate_1
    name = f"{gate.name} (replaced)" if gate.replaced else gate.name
    lines = [_gate_line("Gate 1", name, "open" if gate.is_open else "closed", is_open=gate.is_open)]
    group: str | None = None
    said = {each.name: each.who for each in evaluation.facts}
    for clause in gate.clauses:
        if clause.group is not None and clause.group != group:
            lines.append(_group_line(gate.clauses, clause.group))
        group = clause.group
        lines.append(_clause_line(clause, said))
    lines += _guard_lines(evaluation)
    return lines


def _group_line(clauses: tuple[Clause, ...], group: str) -> Line:
    is_met = any(clause.met for clause in clauses if clause.group == group)
    return Line(f"  {'+' if is_met else '-'} one of", _GREEN if is_met else _RED)


def _clause_line(clause: Clause, said: Mapping[str, str]) -> Line:
    indent = "    " if clause.group is not None else "  "
    colour: Mapping[str, bool] = {True: _GREEN, False: _RED, None: _YELLOW}[clause.met]
    if clause.group is not None and not clause.met:
        colour = {}  # one of several ways: not taken is not wrong
    shown = "not measured" if clause.unknown else clause.shown
    # A person or an agent may declare a fact: who said so is part of its value.
    who = next((said[name] for name in clause.values if name in said), "")
    left = f"{indent}{_MARKS[clause.met]} {clause.text}".ljust(_VALUES_AT)
    return Line(f"{left}  {shown}{f' ({who})' if who else ''}", colour)


def _guard_lines(evaluation: Evaluation) -> list[Line]:
    guards = evaluation.gate_1.guards
    lines = []
    # Waived ones first: they must not hide under "more".
    waived = [f"{guard.name} (waived)" for guard in guards if guard.passes and guard.waived]
    holding = waived + [guard.name for guard in guards if guard.passes and not guard.waived]
    if holding:
        shown = max(_GUARDS_SHOWN, len(waived))
        more = f", {len(holding) - shown} more" if len(holding) > shown else ""
        lines += _wrapped("  + guards", f"{', '.join(holding[:shown])}{more}", _GREEN, width=12)
    return [*lines, *_unmet_guards(evaluation)]


def _unmet_guards(evaluation: Evaluation) -> list[Line]:
    lines = []
    for guard in evaluation.gate_1.guards:
        if not guard.passes:
            lines += _wrapped(f"  {_MARKS[guard.met]} guard", f"{guard.name}: {guard.detail}", _RED, width=12)
            lines += _finding_lines(evaluation, guard)
    return lines


def _finding_lines(evaluation: Evaluation, guard: GuardResult) -> list[Line]:
    rows = [finding for finding in evaluation.findings if finding.belongs_to(guard.name)]
    lines = []
    for finding in rows[:_FINDINGS_SHOWN]:
        text = f"{finding.place} {finding.detail}".strip()
        lines += _wrapped("", text, width=6)
    if len(rows) > _FINDINGS_SHOWN:
        lines.append(Line(f"      and {len(rows) - _FINDINGS_SHOWN} more: phase-gate explain {guard.name}"))
    return lines


def _gate_2(evaluation: Evaluation) -> list[Line]:
    gate = evaluation.gate_2
    lines = [_gate_line("Gate 2", "Explicit exit signal", SHOWN[gate.answer], is_open=gate.is_done)]
    if gate.reason:
        by = f" ({gate.by})" if gate.by else ""
        lines += _wrapped("", f"{gate.reason}{by}", width=2)
    return lines


def _gate_line(gate: str, name: str, answer: str, *, is_open: bool) -> Line:
    left = f"{gate}  {name}"
    return Line(f"{left}{answer.rjust(max(len(answer) + 1, WIDTH - 6 - len(left)))}", _GREEN if is_open else _BOLD)


def _findings(evaluation: Evaluation) -> list[Line]:
    # Hard ones are named in their guard's line, and what a note says need not be said twice.
    rows = [
        finding
        for finding in evaluation.findings
        if finding.tier == "advisory" and finding.detail not in evaluation.notes and finding.slug != ALREADY_PASSING
    ]
    lines = [
        # Never wrapped: places are to be copied.
        Line(f"  advisory: {f'{finding.place} {finding.detail}'.strip()} [{finding.slug}]", _YELLOW)
        for finding in rows[:_FINDINGS_SHOWN]
    ]
    if len(rows) > _FINDINGS_SHOWN:
        lines.append(Line(f"  and {len(rows) - _FINDINGS_SHOWN} more: phase-gate explain"))
    return lines
