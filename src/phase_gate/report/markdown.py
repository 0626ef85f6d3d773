"""Verdicts and stories as Markdown, for step summaries, comments and files.

Any text is shown and does nothing else: no tag, no link, no cell, no mention gets out of it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.gate.measured import Finding, Section, Table, describe_override
from phase_gate.gate.verdict import ANSWERS, HINT_FIRST, Evaluation
from phase_gate.report.story import Story, short_time
from phase_gate.report.text import describe_proof, guard_marks, proof_section, sparkline
from phase_gate.visible import count, count_good, show_line
from phase_gate.workflow.metrics import show_value
from phase_gate.workflow.names import REPORT_TITLE, of_task

#: Characters of one text that are shown; the middle is cut.
_SHOWN, _TAIL = 400, 80
#: Signs that mean something: some only at the beginning of a text, `_` not between letters, as in names of tests.
_SIGNS = re.compile(r"[\\`*\[<|~]|^[#>]|(?<![^\W_])_|_(?![^\W_])")

_MARKS = {True: "✅", False: "❌", None: "❔"}
#: Rows of the long tables: a comment on GitHub takes 65,536 characters.
_RUNS, _TESTS, _HAPPENINGS = 30, 30, 40
#: Runs of a test's history that are shown.
_CELLS = 30
_CELL_SIGNS = {"p": "·", "f": "✗", "k": "~", "s": "-", ".": " "}


def show(text: object, limit: int = _SHOWN) -> str:
    """Return the text as one visible line of bounded length."""
    plain = str(text)
    if len(plain) > limit:
        plain = f"{plain[: limit - _TAIL]} … {plain[-_TAIL:]} ({len(plain):,} characters)"
    return show_line(plain)


class Written(str):
    """Text that is Markdown already."""


def as_text(text: object) -> str:
    if isinstance(text, Written):
        return text
    # In front of a comment, an @ makes no forge notify a user.
    return _SIGNS.sub(r"\\\g<0>", show(text)).replace("@", "@<!-- -->")


def as_code(text: object) -> Written:
    """Return inline code that the text can't end: a fence longer than any run of backticks in it."""
    shown = show(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    padded = f" {shown} " if "`" in shown else shown
    return Written(f"{fence}{padded}{fence}".replace("|", "\\|"))


def table_rows(table: Table) -> Iterator[str]:
    """Yield a table, under its title if it has one."""
    if table.title:
        yield from ("", f"{as_text(table.title)}:", "")
    head, *rows = (f"| {' | '.join(map(as_text, row))} |" for row in (table.columns, *table.rows))
    yield from (head, f"|{' --- |' * len(table.columns)}", *rows)


# --- one verdict


def render_markdown(evaluation: Evaluation) -> str:
    """Return a verdict as Markdown."""
    notes = evaluation.notes
    step = (evaluation.next_command, evaluation.next_hint)
    following = [_next_line(*step, status=evaluation.status, root=evaluation.root), ""] if any(step) else []
    lines = [
        f"{REPORT_TITLE}{as_text(evaluation.phase)}, {_counted(evaluation)}",
        "",
        f"**{as_text(evaluation.verdict)}**",
        "",
        *following,
        *_gates(evaluation),
    ]
    for table in evaluation.tables:
        lines += table_rows(table)
    waived, forced = (
        [describe_override(row) for row in evaluation.overrides if (row["kind"] == "waive") is is_waiver]
        for is_waiver in (True, False)
    )
    parts = {"Waived": waived, "Overrides": forced, "Warnings": evaluation.warnings, "Notes": notes}
    for title, rows in parts.items():
        if rows:
            lines += ["", f"{title}:", "", *(f"- {as_text(row)}" for row in rows)]
    # A note may repeat an advisory finding.
    findings = [each for each in evaluation.findings if each.tier == "hard" or each.detail not in notes]
    if findings:
        lines += ["", "Findings:", "", *map(_finding, findings)]
    return "\n".join(lines) + "\n"


def _counted(evaluation: Evaluation) -> str:
    return f"iteration {evaluation.iteration}" if evaluation.iteration is not None else evaluation.run_kind


def _next_line(command: str, hint: str, *, status: str, root: str) -> str:
    shown = as_code(command) if command else as_text(hint)
    if command and hint:
        shown = f"{as_text(hint)}, then run {shown}" if status in HINT_FIRST else f"{shown} ({as_text(hint)})"
    return f"Next: {shown} in {as_code(root)}"


def _gates(evaluation: Evaluation) -> Iterator[str]:
    gate_1, gate_2, rows, group = evaluation.gate_1, evaluation.gate_2, [], None
    clauses = gate_1.clauses
    for clause in clauses:
        if clause.group is not None and clause.group != group:
            is_met = any(each.met for each in clauses if each.group == clause.group)
            rows.append((_MARKS[is_met], "one of", ""))
        group = clause.group
        shown = "not measured" if clause.unknown else clause.shown
        shown += "".join(f" ({fact.who})" for fact in evaluation.facts if fact.name in clause.values)
        indent = "" if group is None else "· "
        rows.append((_MARKS[clause.met], Written(indent + as_code(clause.text)), shown))
    for guard, met in guard_marks(evaluation):
        rows.append((_MARKS[met], f"{guard.name} (waived)" if guard.waived else guard.name, guard.detail))
    columns = (f"Gate 1: {gate_1.name}", "", "open" if gate_1.is_open else "closed")
    yield from table_rows(Table(title="", columns=columns, rows=tuple(rows)))
    yield ""
    yield f"Gate 2, explicit exit signal: **{ANSWERS[gate_2.answer]}** {as_text(gate_2.reason)}".rstrip()
    if proven := describe_proof(evaluation.metrics):
        yield from ("", f"Proof: {as_text(proven)}")


def _finding(finding: Finding) -> str:
    return f"- {finding.tier} {as_code(finding.slug)}: {as_text(f'{finding.place} {finding.detail}'.strip())}"


# --- the story of a task: the same parts as the page


def render_story(story: Story) -> str:
    """Return the whole report as Markdown."""
    return "\n".join(_story_lines(story)) + "\n"


def _story_lines(story: Story) -> Iterator[str]:
    yield f"{REPORT_TITLE}{as_text(story.headline)}"
    yield from ("", f"**{as_text(story.ledger.problem or story.standing.verdict)}**")
    yield from ("", _next_line(*story.next_step, status=story.standing.status, root=story.root), "")
    state = story.state
    facts = f"Task {story.task}, cycle {state.cycle}, iteration {state.iteration}, {state.streak} green in a row,"
    yield as_text(f"{facts} {count(story.all_runs, 'run')}, breaker {story.breaker.status}.")
    verdict, proof = story.evaluation, proof_section(story.proofs)
    missing = ["No verdict yet: it comes with the first complete run."]
    for title, rows in (
        ("Both gates", missing if verdict is None else _last_verdict(verdict)),
        ("Runs", _runs(story)),
        ("Criteria", _criteria(story.criteria)),
        ("Tests", _tests(story)),
        ("Trend", _trend(story)),
        ("Evidence", () if verdict is None else _evidence(verdict)),
        *((section.title, _section(section)) for section in (*((proof,) if proof else ()), *story.more)),
        ("What happened", _happenings(story)),
        ("Ledger", _ledger(story)),
    ):
        written = list(rows)
        if written:
            yield from ("", f"### {as_text(title)}", "", *written)


def _last_verdict(verdict: Evaluation) -> Iterator[str]:
    yield from (f"The last verdict, on {as_text(verdict.phase)}, {_counted(verdict)}:", "")
    yield from _gates(verdict)


def _runs(story: Story) -> Iterator[str]:
    if not story.runs:
        yield "No run is recorded yet."
        return
    for name in ("failed", "passed"):
        values = [getattr(run, name) for run in story.runs]
        yield f"- {name} `{sparkline(values)}` {values[0]} to {values[-1]}"
    yield ""
    rows = tuple(
        (
            str(run.number),
            short_time(run.at),
            run.phase + ("" if run.iteration is None else f" {run.iteration}"),
            run.outcome,
            run.tests,
            (f"{run.streak}" if run.counts else "") + (" (lost)" if run.resets else ""),
            run.says,
        )
        for run in reversed(story.runs[-_RUNS:])
    )
    columns = ("run", "began (UTC)", "phase", "ended", "tests", "streak", "verdict")
    yield from table_rows(Table(title="", columns=columns, rows=rows))
    yield from _left_out(story.all_runs - len(rows), "earlier run", of_task("phase-gate history", story.task))


def _criteria(criteria: Mapping[str, Any] | None) -> Iterator[str]:
    if criteria is None:
        return
    rows = tuple(
        (
            row["id"],
            row["text"],
            row["standing"] + (f": {row['why']}" if row["why"] else ""),
            ", ".join(f"{test_id} {outcome}" for test_id, outcome in list(row["tests"].items())[:5]),
        )
        for row in criteria["criteria"]
    )
    yield from table_rows(Table(title="", columns=("id", "criterion", "standing", "tests"), rows=rows))


def _tests(story: Story) -> Iterator[str]:
    tests = story.tests
    telling = [row for row in tests.rows if row.is_flaky or row.failures]
    if telling:
        yield f"Oldest run to newest, run {tests.runs[-_CELLS:][0]} to run {tests.runs[-1]}:"
        yield ""
        rows = []
        for row in telling[:_TESTS]:
            cells = "".join(_CELL_SIGNS[letter] for letter in row.cells[-_CELLS:])
            labels = ", ".join(word for word, holds in (("flaky", row.is_flaky), ("failing", row.is_failing)) if holds)
            rows.append((as_code(row.id), labels, as_code(cells), row.in_words))
        yield from table_rows(Table(title="", columns=("test", "", "history", "outcomes"), rows=tuple(rows)))
    calm = len(tests.rows) - len(telling) + tests.quiet
    if calm:
        yield from ("", f"{count(calm, 'test')} never failed in these runs.")
    yield from _left_out(max(0, len(telling) - _TESTS) + tests.left_out, "test that failed", "the report as HTML")


def _trend(story: Story) -> Iterator[str]:
    for series in story.trend:
        values = [value for _, value in series.points]
        ends = f"{show_value(values[0])} to {show_value(values[-1])} {series.unit}"
        yield f"- {series.name} `{sparkline([value - min(values) for value in values])}` {ends}"


def _evidence(verdict: Evaluation) -> Iterator[str]:
    yield from map(_finding, verdict.findings)
    yield from (f"- override: {as_text(describe_override(row))}" for row in verdict.overrides)
    yield from (f"- warning: {as_text(text)}" for text in verdict.warnings)
    yield from (f"- note: {as_text(text)}" for text in verdict.notes)
    for table in verdict.tables:
        yield from table_rows(table)


def _section(section: Section) -> Iterator[str]:
    yield from map(as_text, section.lines)
    for table in section.tables:
        yield from table_rows(table)


def _happenings(story: Story) -> Iterator[str]:
    shown = story.happenings[-_HAPPENINGS:]
    for each in reversed(shown):
        yield f"- {short_time(each.at)}, after run {each.run}: {as_text(each.text)}"
    left_out = len(story.happenings) - len(shown) + story.happenings_left_out
    yield from _left_out(left_out, "earlier event", of_task("phase-gate history --events", story.task))


def _ledger(story: Story) -> Iterator[str]:
    check, events = story.ledger, count(story.ledger.events, "event")
    if not check.events and check.is_intact:
        yield "Nothing is recorded yet."
    elif check.is_intact:
        yield f"Every one of {events} follows the one before it; the head is {as_code(check.head)}."
    else:
        yield f"{count_good(check.events)}; then: {as_text(check.problem)}"


def _left_out(number: int, noun: str, where: str) -> Iterator[str]:
    if number > 0:
        yield from ("", f"Left out: {count(number, noun)}; see {where}.")
