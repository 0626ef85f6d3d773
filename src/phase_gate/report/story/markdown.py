"""The story of a task as Markdown: the same parts as the page, for comments, issues and summaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from phase_gate.gate.findings import describe_override, place_of
from phase_gate.gate.measured import Section, Table
from phase_gate.gate.signals import SHOWN
from phase_gate.report.labels import describe_cells, describe_counts, headline, outcome_of, short_time
from phase_gate.report.markdown import as_code, as_marked_table, as_table, as_text, next_line
from phase_gate.report.proof import describe_proof, proof_section
from phase_gate.report.story.model import Story
from phase_gate.report.tables import sparkline
from phase_gate.visible import count
from phase_gate.workflow.metrics import show_value
from phase_gate.workflow.names import REPORT_TITLE

#: Rows of the long tables that are written; a comment of a forge takes 65,536 characters.
_RUNS, _TESTS, _HAPPENINGS = 30, 30, 40
_MARKS = {True: "✅", False: "❌", None: "❔"}
#: As much of a test's history as a table bears.
_CELLS = 30
_SIGNS = {"p": "·", "f": "✗", "e": "✗", "u": "✗", "k": "~", "s": "-", "x": "x", "X": "!", "n": "-", ".": " "}


def render_story(story: Story) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(story)) + "\n"


def _lines(story: Story) -> Iterator[str]:
    yield f"{REPORT_TITLE}{as_text(headline(story))}"
    yield ""
    yield f"**{as_text(story.ledger.problem or story.standing.verdict)}**"
    yield ""
    yield next_line(*story.next_step, root=story.root)
    yield ""
    runs = len(story.runs) + story.runs_left_out
    facts = f"Task {story.task}, cycle {story.cycle}, iteration {story.iteration}, {story.streak} green in a row,"
    yield as_text(f"{facts} {count(runs, 'run')}, breaker {story.breaker.status}.")
    for title, rows in (
        ("Both gates", _gates(story)),
        ("Runs", _runs(story)),
        ("Criteria", _criteria(story)),
        ("Tests", _tests(story)),
        ("Trend", _trend(story)),
        ("Evidence", _evidence(story)),
        *((section.title, _more(section.lines, section.tables)) for section in (*_proofs(story), *story.more)),
        ("What happened", _happenings(story)),
        ("Ledger", _ledger(story)),
    ):
        written = list(rows)
        if written:
            yield from ("", f"### {as_text(title)}", "", *written)


def _proofs(story: Story) -> tuple[Section, ...]:
    section = proof_section(story.proofs)
    return () if section is None else (section,)


def _gates(story: Story) -> Iterator[str]:
    verdict = story.evaluation
    if verdict is None:
        yield "No verdict yet: it comes with the first complete run."
        return
    gate_1, gate_2 = verdict["gate_1"], verdict["gate_2"]
    yield f"| Gate 1: {as_text(gate_1['name'])} | | {'open' if gate_1['open'] else 'closed'} |"
    yield "| --- | --- | --- |"
    for clause in gate_1["clauses"]:
        shown = "not measured" if clause["unknown"] else clause["shown"]
        yield f"| {_MARKS[clause['met']]} | {as_code(clause['text'])} | {as_text(shown)} |"
    for guard in gate_1["guards"]:
        waived = " (waived)" if guard["waived"] else ""
        yield f"| {_MARKS[guard['met']]} | {as_text(guard['name'])}{waived} | {as_text(guard['detail'])} |"
    yield ""
    yield f"Gate 2, explicit exit signal: **{SHOWN[gate_2['answer']]}** {as_text(gate_2['reason'])}".rstrip()
    if proven := describe_proof(verdict["metrics"]):
        yield from ("", f"Proof: {as_text(proven)}")


def _runs(story: Story) -> Iterator[str]:
    if not story.runs:
        yield "No run is recorded yet."
        return
    for name, values in (
        ("failed", [run.failed for run in story.runs]),
        ("passed", [run.passed for run in story.runs]),
    ):
        yield f"- {name} `{sparkline(values)}` {values[0]} to {values[-1]}"
    yield ""
    shown = story.runs[-_RUNS:]
    yield from as_table(
        ("run", "began (UTC)", "phase", "ended", "tests", "streak", "verdict"),
        (
            (
                str(run.number),
                short_time(run.at),
                run.phase + ("" if run.iteration is None else f" {run.iteration}"),
                outcome_of(run),
                describe_counts(run),
                (f"{run.streak}" if run.counts else "") + (" (lost)" if run.resets else ""),
                run.says,
            )
            for run in reversed(shown)
        ),
    )
    yield from _left_out(len(story.runs) + story.runs_left_out - len(shown), "earlier run", "phase-gate history")


def _criteria(story: Story) -> Iterator[str]:
    if story.criteria is None:
        return
    yield from as_table(
        ("id", "criterion", "standing", "tests"),
        (
            (
                row["id"],
                row["text"],
                row["standing"] + (f": {row['why']}" if row["why"] else ""),
                ", ".join(f"{test_id} {outcome}" for test_id, outcome in list(row["tests"].items())[:5]),
            )
            for row in story.criteria["criteria"]
        ),
    )


def _tests(story: Story) -> Iterator[str]:
    tests = story.tests
    telling = [row for row in tests.rows if row.is_flaky or row.failures]
    shown = telling[:_TESTS]
    if not tests.rows:
        return
    if shown:
        yield f"Oldest run to newest, run {tests.runs[-_CELLS:][0]} to run {tests.runs[-1]}:"
        yield ""
        rows = []
        for row in shown:
            cells = "".join(_SIGNS[letter] for letter in row.cells[-_CELLS:])
            said = ", ".join(word for word, holds in (("flaky", row.is_flaky), ("failing", row.is_failing)) if holds)
            rows.append((as_code(row.id), said, as_code(cells), as_text(describe_cells(row))))
        yield from as_marked_table(("test", "", "history", "in words"), rows)
    calm = len(tests.rows) - len(telling) + tests.quiet
    if calm:
        yield ""
        yield f"{count(calm, 'test')} never failed in these runs."
    yield from _left_out(len(telling) - len(shown) + tests.left_out, "test that failed", "the report as HTML")


def _trend(story: Story) -> Iterator[str]:
    for series in story.trend:
        values = [value for _, value in series.points]
        low = min(values)
        ends = f"{show_value(values[0])} to {show_value(values[-1])} {series.unit}"
        yield f"- {series.name} `{sparkline([value - low for value in values])}` {ends}"


def _evidence(story: Story) -> Iterator[str]:
    verdict = story.evaluation
    if verdict is None:
        return
    for row in verdict["findings"]:
        yield f"- {row['tier']} {as_code(row['slug'])}: {as_text(' '.join((place_of(row), row['detail'])).strip())}"
    yield from (f"- override: {as_text(describe_override(row))}" for row in verdict["overrides"])
    yield from (f"- warning: {as_text(text)}" for text in verdict["warnings"])
    yield from (f"- note: {as_text(text)}" for text in verdict["notes"])
    for table in verdict.get("tables", ()):
        yield from ("", f"{as_text(table['title'])}:", "", *as_table(table["columns"], table["rows"]))


def _more(lines: Iterable[str], tables: Iterable[Table]) -> Iterator[str]:
    yield from map(as_text, lines)
    for table in tables:
        yield from ("", f"{as_text(table.title)}:", "", *as_table(table.columns, table.rows))


def _happenings(story: Story) -> Iterator[str]:
    shown = story.happenings[-_HAPPENINGS:]
    for each in reversed(shown):
        yield f"- {short_time(each.at)}, after run {each.run}: {as_text(each.text)}"
    left_out = len(story.happenings) - len(shown) + story.happenings_left_out
    yield from _left_out(left_out, "earlier event", "phase-gate history --events")


def _ledger(story: Story) -> Iterator[str]:
    check = story.ledger
    if check.is_intact:
        events = count(check.events, "event")
        yield f"Every one of {events} follows the one before it; the head is {as_code(check.head)}."
    else:
        yield f"{count(check.events, 'event')} are good; then: {as_text(check.problem)}"


def _left_out(number: int, noun: str, where: str) -> Iterator[str]:
    if number > 0:
        yield ""
        yield f"Left out: {count(number, noun)}; see {where}."
