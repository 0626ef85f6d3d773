"""Criteria and the tests that show them, as text: one block a criterion, the open ones last said why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: One sign a standing, as in the panel: + holds, - does not.
_SIGNS: Mapping[str, str] = {"met before": "=", "failing": "!", "passing": "+", "open": "-"}
_MAX_TESTS = 10


def render_criteria(rows: Iterable[Mapping[str, Any]], *, phase: str | None) -> str:
    """Return the traceability table."""
    rows = list(rows)
    lines = []
    for row in rows:
        lines.append(f"{_SIGNS[row['standing']]} {row['id']}  {row['standing']:<10}  {row['text']}".rstrip())
        if row["why"]:
            lines.append(f"    {row['why']}")
        tests = list(row["tests"].items())
        lines += [f"    {test_id}  {outcome}" for test_id, outcome in tests[:_MAX_TESTS]]
        if len(tests) > _MAX_TESTS:
            lines.append(f"    and {len(tests) - _MAX_TESTS} more")
    open_now = sum(row["standing"] == "open" for row in rows)
    shown = f"{len(rows) - open_now} of {len(rows)} criteria are shown by tests"
    return "\n".join((*lines, f"{shown}, as the last complete run in {phase} saw it"))
