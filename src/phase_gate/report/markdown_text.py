"""Any text as Markdown that shows it and does nothing else: no tag, no link, no cell, no mention of anybody. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from phase_gate.report.html.markup import show

#: Signs that mean something: some only at the beginning of a text, one not between letters, as in names of tests.
_SIGNS = re.compile(r"[\\`*\[<|~]|^[#>]|(?<![^\W_])_|_(?![^\W_])")


def as_text(text: object) -> str:
    # In front of a comment, an @ makes no forge tell anybody.
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
