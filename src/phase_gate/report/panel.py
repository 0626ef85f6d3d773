"""The panel under the test summary: both gates at a glance, and the next command to type.

Draws an evaluation; decides nothing. Four lines, or everything with `-v`, or one line with `-qq`. Plain text of 80
columns, or of fewer where the terminal has fewer; color is the terminal's business.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from phase_gate.gate.breaker import Status
from phase_gate.gate.findings import ALREADY_PASSING, BROKEN_MODULE, WEAKENED, Finding, describe_override
from phase_gate.gate.signals import SHOWN
from phase_gate.gate.verdict import PREMATURE, Evaluation, GuardResult
from phase_gate.report.proof import describe_proof
from phase_gate.values import Value, field
from phase_gate.visible import count, show_line, wrap
from phase_gate.workflow.conditions import Clause

WIDTH = 80
#: Where a clause's values begin.
_VALUES_AT = 53
#: Width of the words in front of gates, notes, warnings and the next step.
_LABEL = 8
#: Width of a gate's answer in the short panel.
_ANSWER = 9
_FINDINGS_SHOWN = 5

#: Fewer columns are not asked for.
_NARROWEST = 30
#: Of a line that is never wrapped.
_WHOLE = -2
_GAP = re.compile("  +")

_MARKS = {True: "+", False: "-", None: "?"}
#: Guards that are met where nothing was measured -> the metric that is above 0 where something was.
_EVIDENCE = {
    "baseline-kept": "baseline_total",
    "criteria-covered": "criteria_covered",
    "targets-proven": "targets_proven",
}


class Line(Value, kw_only=False):
    text: str
    markup: Mapping[str, bool] = field(default_factory=dict)
    is_title: bool = False
    #: Where wrapped rows of it begin; -1: it is never wrapped where there are 80 columns.
    hang: int = -1


_GREEN, _RED, _YELLOW, _BOLD = {"green": True}, {"red": True}, {"yellow": True}, {"bold": True}


def render_panel(
    evaluation: Evaluation,
    *,
    verbosity: int = 0,
    complaints: Iterable[str] = (),
    width: int = WIDTH,
    series: tuple[int, int] = (0, 0),
) -> list[Line]:
    """Return the panel's lines.

    :param verbosity: as pytest counts it: 1 shows every clause and guard, -2 is one line.
    :param series: with `--phase-confirm`, which run of how many this is, where it is not the last one.
    """
    if verbosity < -1:
        return [_one_line(evaluation)]
    width = max(_NARROWEST, min(width, WIDTH))
    lines = [Line(_title(evaluation), _GREEN if evaluation.can_exit else _BOLD, is_title=True)]
    if verbosity > 0:
        lines += [*_gate_1(evaluation), *_gate_2(evaluation), *_tables(evaluation, width), *_findings(evaluation)]
        if proven := describe_proof(evaluation.metrics):
            lines += _wrapped("proof", proven)
        lines += [line for note in evaluation.notes for line in _wrapped("note", note)]
    else:
        lines += _both_gates(evaluation, series)
    if evaluation.breaker.status is Status.HALF_OPEN:  # an open one is what the verdict speaks of
        said = f"half-open: {evaluation.breaker.reason}; one more run without progress opens the circuit"
        lines += _wrapped("breaker", said, _RED)
    for override in evaluation.overrides:
        label = "waived" if override["kind"] == "waive" else "person"
        lines += _wrapped(label, describe_override(override), _YELLOW)
    for text in (*evaluation.warnings, *complaints):
        if text == PREMATURE and verbosity < 1:
            continue  # the line of Gate 2 says it
        lines += _wrapped("Warning", text, _YELLOW)
    if verbosity > 0:
        lines += _wrapped("verdict", evaluation.verdict, _GREEN if evaluation.gate_1.is_open else _RED)
    lines += _next(evaluation, width, series)
    return [row for line in lines for row in _fit(line, width)]


def _one_line(evaluation: Evaluation) -> Line:
    following = evaluation.next_command or evaluation.next_hint
    text = f"{_title(evaluation)}: {evaluation.verdict}" + (f"; next: {following}" if following else "")
    return Line(text, _GREEN if evaluation.can_exit else _BOLD, hang=_WHOLE)


def _next(evaluation: Evaluation, width: int, series: tuple[int, int]) -> list[Line]:
    """Return the next step. A command is never wrapped: it is to be copied."""
    done, total = series
    if total:
        return [Line(f"{'next':{_LABEL}}run {done + 1} of {total} starts by itself", _BOLD)]
    whole = f"{'next':{_LABEL}}{evaluation.next_step}"
    command, hint = evaluation.next_command, evaluation.next_hint
    if len(whole) <= width or not hint:
        return [Line(whole, _BOLD, hang=_WHOLE)]
    if not command:
        return _wrapped("next", hint, _BOLD)
    return [Line(f"{'next':{_LABEL}}{command}", _BOLD, hang=_WHOLE), *_wrapped("", hint)]


# --- the short panel: a line for each gate


def _both_gates(evaluation: Evaluation, series: tuple[int, int]) -> list[Line]:
    answer, why = _say_gate_1(evaluation)
    if series[1]:
        why = f"run {series[0]} of {series[1]}: {why}"
    weakened = [finding for finding in _advisory(evaluation) if finding.slug in WEAKENED]
    more = len(evaluation.notes) + len(_advisory(evaluation)) - len(weakened)
    why += f" ({count(more, 'note')} with -v)" if more else ""
    lines = _gate_row("Gate 1", answer, why, _GREEN if answer == "open" else _RED)
    answer, why = _say_gate_2(evaluation)
    lines += _gate_row("Gate 2", answer, why, _GREEN if answer == "open" else _BOLD)
    # What RED took away from older tests is in every verdict of the cycle, whatever else is.
    for finding in weakened[:_FINDINGS_SHOWN]:
        lines += _wrapped("note", f"{finding.place} {finding.detail} [{finding.slug}]", _YELLOW)
    if evaluation.status == "halted":
        lines += _wrapped("halt", evaluation.reason, _RED)
    return lines


def _gate_row(gate: str, answer: str, why: str, markup: Mapping[str, bool]) -> list[Line]:
    return _wrapped(f"{gate:{_LABEL}}{answer:{_ANSWER}}", why, markup, width=_LABEL + _ANSWER)


def _say_gate_1(evaluation: Evaluation) -> tuple[str, str]:
    """Return the answer and why, in one line."""
    gate = evaluation.gate_1
    if evaluation.status == "void":
        return "closed", evaluation.reason
    if gate.is_open:
        return "open", f"{gate.name} (replaced)" if gate.replaced else gate.name
    if evaluation.status in ("closed", "early"):
        # A module that can't be imported is in the way before any guard is.
        is_broken = any(finding.slug == BROKEN_MODULE for finding in evaluation.findings)
        return "closed", (not is_broken and _name_first_finding(evaluation)) or evaluation.reason
    # The reason speaks of something else: the circuit, or a person who is asked for.
    guards = [f"{guard.name}: {guard.detail}" for guard in gate.guards if not guard.passes]
    clauses = [f"{clause.text} is not met" for clause in gate.clauses if not clause.met]
    return "closed", _name_first_finding(evaluation) or (*guards, *clauses, f"{gate.name} is not met")[0]


def _name_first_finding(evaluation: Evaluation) -> str:
    """Return what the guard that closes the gate found, by name; empty where it names nothing."""
    guard = next((guard for guard in evaluation.gate_1.guards if not guard.passes), None)
    if guard is None:
        return ""
    found = [each for each in evaluation.findings if each.tier == "hard" and each.belongs_to(guard.name)]
    named = [each for each in found if each.place]
    if not named:
        return ""
    others = len(found) - 1 + sum(each.more for each in found)
    return f"{named[0].place} {named[0].detail}" + (f" (and {others} more)" if others else "") + f" [{guard.name}]"


def _say_gate_2(evaluation: Evaluation) -> tuple[str, str]:
    gate = evaluation.gate_2
    said = f"{gate.reason} ({gate.by})" if gate.reason and gate.by else gate.reason or gate.by
    if evaluation.can_exit:
        return "open", evaluation.reason
    if gate.calls_person:
        return "stop", f"needs a person ({gate.answer}): {said}"
    if evaluation.is_premature:
        return "early", PREMATURE
    if gate.is_done:
        return "given", said
    if gate.answer == "absent":
        return "waiting", "no exit signal"
    if gate.answer == "not-done":
        return "waiting", f"the signal says not done: {said}"
    if gate.answer == "held":
        return "waiting", "the exit signal counts with the last confirming run"
    return "waiting", f"the exit signal is {gate.answer}: {gate.problem}"


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
    if hang * 2 > width:
        hang = _LABEL  # no room for a column of answers
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
    void = f"{subject.run_kind} run" if subject.run is not None else subject.run_kind
    parts.append(f"run {subject.iteration}" if subject.iteration is not None else void)
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
    passing = [guard for guard in evaluation.gate_1.guards if guard.passes]
    unmeasured = [guard.name for guard in passing if not _is_measured(guard, evaluation)]
    waived = [f"{guard.name} (waived)" for guard in passing if guard.waived]
    holding = [guard.name for guard in passing if not guard.waived and guard.name not in unmeasured]
    lines = []
    if waived or holding:
        lines += _wrapped("  + guards", ", ".join((*waived, *holding)), _GREEN, width=12)
    if unmeasured:
        lines += _wrapped("  ? guards", f"{', '.join(unmeasured)} (not measured)", _YELLOW, width=12)
    return [*lines, *_unmet_guards(evaluation)]


def _is_measured(guard: GuardResult, evaluation: Evaluation) -> bool:
    """Tell whether there was evidence for a guard that is met: without any, most of them are met as well."""
    if guard.name in _EVIDENCE:
        return bool(evaluation.metrics.get(_EVIDENCE[guard.name]))
    return not any(finding.belongs_to(guard.name) and guard.name == "red-was-seen" for finding in evaluation.findings)


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


def _tables(evaluation: Evaluation, width: int) -> list[Line]:
    if not evaluation.tables:
        return []
    from phase_gate.report.tables import table_lines

    return [Line(row) for table in evaluation.tables for row in table_lines(table, width=width)]


def _advisory(evaluation: Evaluation) -> list[Finding]:
    # Hard ones are named in their guard's line, and what a note says need not be said twice.
    return [
        finding
        for finding in evaluation.findings
        if finding.tier == "advisory" and finding.detail not in evaluation.notes and finding.slug != ALREADY_PASSING
    ]


def _findings(evaluation: Evaluation) -> list[Line]:
    rows = _advisory(evaluation)
    lines = [
        # Never wrapped: places are to be copied.
        Line(f"  advisory: {f'{finding.place} {finding.detail}'.strip()} [{finding.slug}]", _YELLOW)
        for finding in rows[:_FINDINGS_SHOWN]
    ]
    if len(rows) > _FINDINGS_SHOWN:
        lines.append(Line(f"  and {len(rows) - _FINDINGS_SHOWN} more: phase-gate explain"))
    return lines
