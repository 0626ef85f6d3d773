"""The panel under the test summary: both gates at a glance, and the next command to type.

Draws an evaluation and decides nothing. Four lines, or everything with `-v`, or one line with `-qq`. Plain text of 80
columns, or of fewer where the terminal has fewer; the terminal adds color.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from phase_gate.gate.measured import BROKEN_MODULE, NAMED_BY_REASON, WEAKENED, Finding, describe_override
from phase_gate.gate.verdict import ANSWERS, HINT_FIRST, PREMATURE, Evaluation, Gate1Result, Verdict
from phase_gate.values import Value, field
from phase_gate.visible import count, show_line, wrap
from phase_gate.workflow.names import of_task

WIDTH = 80
#: Where a clause's values begin.
_VALUES_AT = 53
#: Widths of the labels (gates, notes, warnings, next), of a gate's answer, and of guards.
_LABEL, _ANSWER, _GUARD = 8, 9, 12
_FINDINGS_SHOWN = 5

#: The panel is never narrower.
_NARROWEST = 30
#: The `hang` of a line that is never wrapped.
_WHOLE = -2
_GAP = re.compile("  +")

_MARKS = {True: "+", False: "-", None: "?"}
_GREEN, _RED, _YELLOW, _BOLD = {"green": True}, {"red": True}, {"yellow": True}, {"bold": True}


class Line(Value, kw_only=False):
    text: str
    markup: Mapping[str, bool] = field(default_factory=dict)
    is_title: bool = False
    #: Where wrapped rows of it begin; -1: it is not wrapped at 80 columns.
    hang: int = -1


def render_panel(
    evaluation: Evaluation,
    *,
    verbosity: int = 0,
    complaints: Iterable[str] = (),
    width: int = WIDTH,
    series: tuple[int, int] = (0, 0),
    now: Verdict | None = None,
) -> list[Line]:
    """Return the panel's lines.

    :param verbosity: as pytest counts it: 1 shows every clause and guard, -2 is one line.
    :param series: with `--phase-confirm`, which run of how many this is, unless it is the last one.
    :param now: the status of the task, if something came after the evaluation.
    """
    if verbosity < -1:
        return [_one_line(evaluation)]
    width = max(_NARROWEST, min(width, WIDTH))
    lines = [Line(_title(evaluation), _GREEN if evaluation.can_exit else _BOLD, is_title=True)]
    if verbosity > 0:
        lines += [*_gate_1(evaluation), *_gate_2(evaluation), *_findings(evaluation, width)]
    else:
        lines += _both_gates(evaluation, series)
    if evaluation.breaker.status == "half-open":  # the verdict names an open one
        message = f"half-open: {evaluation.breaker.reason}; one more run without progress opens the circuit"
        lines.append(_labeled("breaker", message, _RED))
    for override in evaluation.overrides:
        label = "waived" if override["kind"] == "waive" else "person"
        lines.append(_labeled(label, describe_override(override), _YELLOW))
    # The short panel has it in the line of Gate 2.
    warnings = [text for text in evaluation.warnings if text != PREMATURE or verbosity > 0]
    lines += [_labeled("Warning", text, _YELLOW) for text in (*warnings, *complaints)]
    if verbosity > 0:
        lines.append(_labeled("verdict", evaluation.verdict, _GREEN if evaluation.gate_1.is_open else _RED))
    if now is not None:
        lines.append(_labeled("now", now.verdict, _YELLOW))
    lines += _next(now or evaluation, width, series)
    return [row for line in lines for row in _fit(line, width)]


def _one_line(evaluation: Evaluation) -> Line:
    following = f"; next: {evaluation.next_step}" if evaluation.next_step else ""
    text = f"{_title(evaluation)}: {evaluation.verdict}{following}"
    return Line(text, _GREEN if evaluation.can_exit else _BOLD, hang=_WHOLE)


def _title(evaluation: Evaluation) -> str:
    parts = [evaluation.phase]
    if evaluation.task != "default":
        parts.append(f"task {evaluation.task}")
    void = f"{evaluation.run_kind} run" if evaluation.run is not None else evaluation.run_kind
    parts.append(f"iteration {evaluation.iteration}" if evaluation.iteration is not None else void)
    total = evaluation.metrics.get("tests_total")
    if isinstance(total, int):
        parts.append(count(total, "test"))
    return f"phase gate: {' · '.join(parts)}"


def _next(verdict: Verdict, width: int, series: tuple[int, int]) -> list[Line]:
    """Return the next step. A command is never wrapped, so that it can be copied."""
    done, total = series
    command, hint = verdict.next_command, verdict.next_hint
    if total:
        return [_labeled("next", f"run {done + 1} of {total} starts by itself", _BOLD)]
    if not command and not hint:
        is_enough = verdict.status == "waiting"  # for a step that needs only Gate 1
        return [_labeled("next", "nothing: this step asks for Gate 1 only", _BOLD)] if is_enough else []
    whole = f"{'next':{_LABEL}}{verdict.next_step}"
    if len(whole) <= width or not hint:
        return [Line(whole, _BOLD, hang=_WHOLE)]
    if not command:
        return [_labeled("next", hint, _BOLD)]
    if verdict.status in HINT_FIRST:
        then = Line(f"{'':{_LABEL}}then run: {command}", _BOLD, hang=_WHOLE)
        return [_labeled("next", f"{hint},", _BOLD), then]
    return [Line(f"{'next':{_LABEL}}{command}", _BOLD, hang=_WHOLE), _labeled("", f"# {hint}")]


# --- the short panel: a line for each gate


def _both_gates(evaluation: Evaluation, series: tuple[int, int]) -> list[Line]:
    is_open, why = evaluation.gate_1.is_open and evaluation.status != "void", _why_gate_1(evaluation)
    if series[1]:
        why = f"run {series[0]} of {series[1]}: {why}"
    advisory = _advisory(evaluation)
    weakened = [finding for finding in advisory if finding.slug in WEAKENED]
    more = len(evaluation.notes) + len(advisory) - len(weakened)
    # A run that does not count is not recorded as a verdict: only the same run shows its notes again.
    where = " with -v" if evaluation.iteration is None else f": {of_task('phase-gate explain', evaluation.task)}"
    why += f" ({count(more, 'note')}{where})" if more else ""
    lines = [
        _gate_row("Gate 1", "open" if is_open else "closed", why, _GREEN if is_open else _RED),
        _gate_row("Gate 2", *_describe_gate_2(evaluation), _GREEN if evaluation.can_exit else _BOLD),
    ]
    # Every verdict of the cycle shows what RED took away from older tests.
    for finding in weakened[:_FINDINGS_SHOWN]:
        lines.append(_labeled("note", f"{finding.place} {finding.detail} [{finding.slug}]", _YELLOW))
    if evaluation.status == "halted":
        lines.append(_labeled("halt", evaluation.reason, _RED))
    return lines


def _gate_row(gate: str, answer: str, why: str, markup: Mapping[str, bool]) -> Line:
    return _labeled(f"{gate:{_LABEL}}{answer:{_ANSWER}}", why, markup, width=_LABEL + _ANSWER)


def _why_gate_1(evaluation: Evaluation) -> str:
    gate = evaluation.gate_1
    if evaluation.iteration is None:
        return evaluation.reason
    if gate.is_open:
        return _name(gate)
    found = _name_first_finding(evaluation)
    if evaluation.status in ("closed", "early"):
        # A module that can't be imported has to be fixed before any guard.
        is_broken = any(finding.slug == BROKEN_MODULE for finding in evaluation.findings)
        return evaluation.reason if is_broken else found or evaluation.reason
    # The reason is about the circuit, or about a person who is asked for.
    guards = [f"{guard.name}: {guard.detail}" for guard in gate.guards if not guard.passes]
    tests = _name_first([each for each in evaluation.findings if each.slug in NAMED_BY_REASON])
    clauses = [f"{clause.text} is not met" for clause in gate.clauses if not clause.met]
    return found or next(filter(None, (*guards, tests, *clauses)), f"{gate.name} is not met")


def _name_first_finding(evaluation: Evaluation) -> str:
    """Return what the guard that closes the gate found, by name; empty where it names nothing."""
    guard = next((guard for guard in evaluation.gate_1.guards if not guard.passes), None)
    if guard is None:
        return ""
    found = [each for each in evaluation.findings if each.tier == "hard" and each.belongs_to(guard.name)]
    return f"{named} [{guard.name}]" if (named := _name_first(found)) else ""


def _name_first(findings: list[Finding]) -> str:
    """Return the first finding with a place, and how many others there are; empty if there is none."""
    named = next((each for each in findings if each.place), None)
    if named is None:
        return ""
    others = len(findings) - 1 + sum(each.more for each in findings)
    return f"{named.place} {named.detail}" + (f" (and {others} more)" if others else "")


def _describe_gate_2(evaluation: Evaluation) -> tuple[str, str]:
    """Return the answer and why."""
    gate = evaluation.gate_2
    why = f"{gate.reason} ({gate.by})" if gate.reason and gate.by else gate.reason or gate.by
    if evaluation.can_exit:
        return "open", evaluation.reason
    if gate.calls_person:
        return "stop", f"needs a person ({gate.answer}): {why}"
    if evaluation.is_premature:
        return "early", PREMATURE
    if gate.is_done:
        return "given", why
    waits = {
        "absent": "no exit signal",
        "not-done": f"not done: {why}" if gate.reason else f"not done ({gate.by})",
        "held": "the exit signal counts with the last confirming run",
    }
    return "waiting", waits.get(gate.answer, f"the exit signal is {gate.answer}: {gate.problem}")


# --- the long panel: every clause, guard and note


def _gate_1(evaluation: Evaluation) -> Iterator[Line]:
    gate, group = evaluation.gate_1, None
    yield _gate_line("Gate 1", _name(gate), "open" if gate.is_open else "closed", is_open=gate.is_open)
    declared = {each.name: each.who for each in evaluation.facts}
    for clause in gate.clauses:
        color: Mapping[str, bool] = {True: _GREEN, False: _RED, None: _YELLOW}[clause.met]
        if clause.group is not None:
            is_met = any(each.met for each in gate.clauses if each.group == clause.group)
            if clause.group != group:
                yield Line(f"  {_MARKS[is_met]} one of", _GREEN if is_met else _RED)
            color = color if clause.met else {}  # one of several choices: not taken is not wrong
        group = clause.group
        indent = "  " if group is None else "    "
        shown = "not measured" if clause.unknown else clause.shown
        who = next((f" ({declared[name]})" for name in clause.values if name in declared), "")
        yield Line(f"{indent}{_MARKS[clause.met]} {clause.text}".ljust(_VALUES_AT) + f"  {shown}{who}", color)
    yield from _guards(evaluation)


def _name(gate: Gate1Result) -> str:
    return f"{gate.name} (replaced)" if gate.replaced else gate.name


def _guards(evaluation: Evaluation) -> Iterator[Line]:
    from phase_gate.report.text import guard_marks  # here, not above: only for -v

    findings, marks = evaluation.findings, guard_marks(evaluation)
    waived = [f"{guard.name} (waived)" for guard, _ in marks if guard.waived]
    holding = [guard.name for guard, mark in marks if mark]
    unmeasured = [guard.name for guard, mark in marks if guard.met and mark is None]
    if waived or holding:
        yield _labeled("  + guards", ", ".join((*waived, *holding)), _GREEN, width=_GUARD)
    if unmeasured:
        yield _labeled("  ? guards", f"{', '.join(unmeasured)} (not measured)", _YELLOW, width=_GUARD)
    for guard, _ in marks:
        if not guard.passes:
            yield _labeled(f"  {_MARKS[guard.met]} guard", f"{guard.name}: {guard.detail}", _RED, width=_GUARD)
            rows = [f"{each.place} {each.detail}".strip() for each in findings if each.belongs_to(guard.name)]
            yield from (_labeled("", row, width=6) for row in rows[:_FINDINGS_SHOWN])
            if len(rows) > _FINDINGS_SHOWN:
                yield Line(f"      and {len(rows) - _FINDINGS_SHOWN} more: phase-gate explain {guard.name}")


def _gate_2(evaluation: Evaluation) -> Iterator[Line]:
    gate = evaluation.gate_2
    yield _gate_line("Gate 2", "Explicit exit signal", ANSWERS[gate.answer], is_open=gate.is_done)
    if gate.reason:
        yield _labeled("", f"{gate.reason} ({gate.by})" if gate.by else gate.reason, width=2)


def _gate_line(gate: str, name: str, answer: str, *, is_open: bool) -> Line:
    left = f"{gate}  {name}"
    return Line(f"{left}{answer.rjust(max(len(answer) + 1, WIDTH - 6 - len(left)))}", _GREEN if is_open else _BOLD)


def _findings(evaluation: Evaluation, width: int) -> Iterator[Line]:
    from phase_gate.report.text import describe_proof, table_lines

    yield from (Line(row) for table in evaluation.tables for row in table_lines(table, width=width))
    rows = _advisory(evaluation)
    for each in rows[:_FINDINGS_SHOWN]:
        yield Line(f"  advisory: {f'{each.place} {each.detail}'.strip()} [{each.slug}]", _YELLOW)
    if len(rows) > _FINDINGS_SHOWN:
        yield Line(f"  and {len(rows) - _FINDINGS_SHOWN} more: phase-gate explain")
    if proven := describe_proof(evaluation.metrics):
        yield _labeled("proof", proven)
    yield from (_labeled("note", note) for note in evaluation.notes)


def _advisory(evaluation: Evaluation) -> list[Finding]:
    # Guards name the hard findings; a finding that a note repeats is shown once.
    return [
        finding
        for finding in evaluation.findings
        if finding.tier == "advisory" and finding.detail not in evaluation.notes and finding.slug not in NAMED_BY_REASON
    ]


# --- lines


def panel_text(lines: Iterable[Line], *, width: int = WIDTH) -> str:
    """Return a panel as plain text, where there is no terminal reporter."""
    rows = ((show_line(line.text), line.is_title) for line in lines)
    width = max(_NARROWEST, min(width, WIDTH))
    return "\n".join(f" {text} ".center(width, "=") if is_title else text for text, is_title in rows)


def render_problem(problem: str, *, remedy: str) -> list[Line]:
    """Return what is shown instead of the panel where there is no verdict."""
    lines = [Line("phase gate", _YELLOW, is_title=True), Line(problem, _YELLOW)]
    return [*lines, Line(f"  try: {remedy}")] if remedy else lines


def name_root(lines: list[Line], root: str) -> list[Line]:
    """Return the lines with a note about the root below the title, if there is one."""
    return [*lines[:1], Line(root), *lines[1:]] if root else lines


def _labeled(label: str, text: str, markup: Mapping[str, bool] | None = None, *, width: int = _LABEL) -> Line:
    return Line(f"{label:{width}}{text}", markup or {}, hang=width)


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
    for index, row in enumerate(wrap(text[hang:], width - hang) or [""]):
        yield Line(f"{text[:hang] if index == 0 else ' ' * hang}{row}".rstrip(), line.markup)
