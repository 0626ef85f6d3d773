"""Criteria and the tests that show them, as text: one block a criterion, and what was not taken for one below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phase_gate.visible import show_rows

#: Tests of one criterion that are named.
_MAX_TESTS = 10


def render_criteria(table: Mapping[str, Any]) -> str:
    """Return the traceability table."""
    rows = table["criteria"]
    width = max(len(row["id"]) for row in rows)
    lines = []
    for row in rows:
        # As in the panel: + holds, - does not.
        sign = "-" if row["why"] and row["standing"] != "waived" else "+"
        lines.append(f"{sign} {row['id']:<{width}}  {row['standing']:<10}  {row['text']}".rstrip())
        if row["standing"] in ("open", "waived"):
            lines.append(f"    {row['why']} ({row['file']}:{row['line']})")
        tests = list(row["tests"].items())
        lines += [f"    {test_id}  {_in_words(outcome)}" for test_id, outcome in tests[:_MAX_TESTS]]
        if len(tests) > _MAX_TESTS:
            lines.append(f"    and {len(tests) - _MAX_TESTS} more")
    standings = [row["standing"] for row in rows]
    counts = ", ".join(f"{standings.count(each)} {each}" for each in dict.fromkeys(standings))
    lines.append(f"{table['file']}: {counts}, as the last complete run in {table['phase']} saw it")
    if table["left_out"]:
        lines.append("looks like a criterion, and is not taken for one:")
        lines += [f"    {table['file']}:{each['line']}  {each['text']}" for each in table["left_out"]]
    return show_rows(lines)


def _in_words(outcome: str) -> str:
    return "can't be imported yet" if outcome == "uncollectable" else outcome
