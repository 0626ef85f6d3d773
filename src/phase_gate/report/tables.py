"""A table as lines of text: names to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from phase_gate.gate.measured import Table
from phase_gate.visible import keep_end, pad, show_rows, width_of

#: As much of a name as is shown at least, whatever the numbers need.
_NAME = 12


def table_lines(table: Table, *, width: int) -> Iterator[str]:
    """Yield title, head and rows. Names give way where the width is not enough; numbers are never cut."""
    rows = (table.columns, *table.rows)
    widths = [max(width_of(row[index]) for row in rows) for index in range(len(table.columns))]
    widths[0] = min(widths[0], max(_NAME, width - 2 - sum(each + 2 for each in widths[1:])))
    yield table.title
    for row in rows:
        numbers = "".join(cell.rjust(each + 2) for cell, each in zip(row[1:], widths[1:], strict=True))
        yield f"  {_fit(row[0], widths[0])}{numbers}".rstrip()


def _fit(name: str, width: int) -> str:
    # The end of a path tells more than its beginning.
    return pad(name, width) if width_of(name) <= width else pad(f"...{keep_end(name, width - 3)}", width)


# --- criteria and the tests that show them, as text: one block a criterion, and what was not taken for one below


#: Tests of one criterion that are named.
_MAX_TESTS = 10


def render_criteria(table: Mapping[str, Any]) -> str:
    """Return the traceability table."""
    rows = table["criteria"]
    width = max(width_of(row["id"]) for row in rows)
    lines = []
    for row in rows:
        # As in the panel: + is met, - is not.
        sign = "-" if row["why"] and row["standing"] != "waived" else "+"
        lines.append(f"{sign} {pad(row['id'], width)}  {row['standing']:<10}  {row['text']}".rstrip())
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


# --- numbers as one line of text. Pure


_BLOCKS = "▁▂▃▄▅▆▇█"
#: For a terminal that has no blocks.
_PLAIN = "_.-:=+*#"
#: Where there is no number.
_NOTHING = " "


def can_show_blocks(encoding: str | None) -> bool:
    """Tell whether a stream of this encoding has the characters that a line is drawn with."""
    try:
        _BLOCKS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def sparkline(values: Sequence[float | None], *, width: int = 60, plain: bool = False) -> str:
    """Return one character a value; of more than `width` values, the highest of each group."""
    ramp = _PLAIN if plain else _BLOCKS
    groups = _group(values, width)
    known = [value for value in groups if value is not None]
    if not known:
        return _NOTHING * len(groups)
    low, high = min(0.0, *known), max(known)
    spread = high - low
    return "".join(_NOTHING if value is None else ramp[_step(value - low, spread, len(ramp))] for value in groups)


def _step(above: float, spread: float, steps: int) -> int:
    if not spread or not above:
        return 0
    # Whatever is not nothing is seen.
    return max(1, min(steps - 1, round(above / spread * (steps - 1))))


def _group(values: Sequence[float | None], width: int) -> list[float | None]:
    if len(values) <= width:
        return list(values)
    edges = [round(index * len(values) / width) for index in range(width + 1)]
    groups = [values[begin:end] for begin, end in pairwise(edges)]
    return [max((value for value in group if value is not None), default=None) for group in groups]
