"""The evaluation as Markdown, for step summaries, comments and files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from phase_gate.gate.findings import describe_override, is_said_by, place_of
from phase_gate.gate.signals import SHOWN
from phase_gate.gate.verdict import show_verdict, who_of
from phase_gate.report.html.markup import show
from phase_gate.report.proof import describe_proof
from phase_gate.workflow.names import REPORT_TITLE

_MARKS = {True: "✅", False: "❌", None: "❔"}


def render_markdown(document: Mapping[str, Any]) -> str:
    """Return the evaluation's JSON document as Markdown."""
    gate_1, gate_2 = document["gate_1"], document["gate_2"]
    counted = f"iteration {document['iteration']}" if document["iteration"] is not None else document["run_kind"]
    lines = [
        f"{REPORT_TITLE}{as_text(document['phase'])}, {counted}",
        "",
        f"**{as_text(show_verdict(document['status'], document['reason']))}**",
        "",
        next_line(document["next_command"], document["next_hint"], root=document["root"]),
        "",
        f"| Gate 1: {as_text(gate_1['name'])} | | {'open' if gate_1['open'] else 'closed'} |",
        "| --- | --- | --- |",
    ]
    said = who_of(document)
    for clause in gate_1["clauses"]:
        shown = "not measured" if clause["unknown"] else clause["shown"]
        shown += "".join(f" ({who})" for name, who in said.items() if name in clause["values"])
        lines.append(f"| {_MARKS[clause['met']]} | {as_code(clause['text'])} | {as_text(shown)} |")
    for guard in gate_1["guards"]:
        name = f"{guard['name']} (waived)" if guard["waived"] else guard["name"]
        lines.append(f"| {_MARKS[guard['met']]} | {as_text(name)} | {as_text(guard['detail'])} |")
    answer = SHOWN[gate_2["answer"]]
    lines += ["", f"Gate 2, explicit exit signal: **{answer}** {as_text(gate_2['reason'])}".rstrip()]
    if proven := describe_proof(document["metrics"]):
        lines += ["", f"Proof: {as_text(proven)}"]
    for table in document.get("tables", ()):
        lines += ["", f"{as_text(table['title'])}:", "", *_table(table)]
    let_pass, forced = (
        [describe_override(row) for row in document["overrides"] if (row["kind"] == "waive") is is_waiver]
        for is_waiver in (True, False)
    )
    parts = {"Waived": let_pass, "Overrides": forced, "Warnings": document["warnings"], "Notes": document["notes"]}
    for title, rows in parts.items():
        if rows:
            lines += ["", f"{title}:", "", *(f"- {as_text(row)}" for row in rows)]
    findings = [row for row in document["findings"] if not is_said_by(row, document["notes"])]
    if findings:
        lines += ["", "Findings:", ""]
        lines += [
            f"- {row['tier']} {as_code(row['slug'])}: {as_text(' '.join((place_of(row), row['detail'])).strip())}"
            for row in findings
        ]
    return "\n".join(lines) + "\n"


def _table(table: Mapping[str, Any]) -> Iterator[str]:
    columns, *rows = (list(map(as_text, row)) for row in (table["columns"], *table["rows"]))
    return as_marked_table(columns, rows, numbers=True)


# --- any text as Markdown that shows it and does nothing else: no tag, no link, no cell, no mention. Pure


#: Signs that mean something: some only at the beginning of a text, one not between letters, as in names of tests.
_SIGNS = re.compile(r"[\\`*\[<|~]|^[#>]|(?<![^\W_])_|_(?![^\W_])")


def as_text(text: object) -> str:
    # In front of a comment, an @ makes no forge notify a user.
    return _SIGNS.sub(r"\\\g<0>", show(text)).replace("@", "@<!-- -->")


def as_code(text: object) -> str:
    """Return inline code that the text can't end: a fence longer than any run of backticks in it."""
    shown = show(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    padded = f" {shown} " if "`" in shown else shown
    return f"{fence}{padded}{fence}".replace("|", "\\|")


def next_line(command: str, hint: str, *, root: str) -> str:
    """Return the line that says what to do next."""
    shown = as_text(hint) if not command else f"{as_code(command)} ({as_text(hint)})" if hint else as_code(command)
    return f"Next: {shown} in {as_code(root)}"


def as_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    return as_marked_table([as_text(column) for column in columns], ([as_text(cell) for cell in row] for row in rows))


def as_marked_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> Iterator[str]:
    """Yield a table of cells that are Markdown already.

    :param numbers: whether all columns but the first hold numbers, which stand to the right.
    """
    yield f"| {' | '.join(columns)} |"
    yield "| --- |" + (" --: |" if numbers else " --- |") * (len(columns) - 1)
    for row in rows:
        yield f"| {' | '.join(row)} |"
