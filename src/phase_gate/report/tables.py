"""A table as lines of text: names to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Iterator

from phase_gate.gate.measured import Table

#: As much of a name as is shown at least, whatever the numbers need.
_NAME = 12


def table_lines(table: Table, *, width: int) -> Iterator[str]:
    """Yield title, head and rows. Names give way where the width is not enough; numbers are never cut."""
    rows = (table.columns, *table.rows)
    widths = [max(len(row[index]) for row in rows) for index in range(len(table.columns))]
    widths[0] = min(widths[0], max(_NAME, width - 2 - sum(each + 2 for each in widths[1:])))
    yield table.title
    for row in rows:
        numbers = "".join(cell.rjust(each + 2) for cell, each in zip(row[1:], widths[1:], strict=True))
        yield f"  {_fit(row[0], widths[0])}{numbers}".rstrip()


def _fit(name: str, width: int) -> str:
    # The end of a path tells more than its beginning.
    return name.ljust(width) if len(name) <= width else f"...{name[len(name) - width + 3 :]}"
