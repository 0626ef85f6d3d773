"""What a task changed, as text: a diff of a limited size, for whoever reviews it.

Pure. A flood of lines must not hide anything: what is left out is named, with how much of it there is.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from phase_gate.gate.runs import count
from phase_gate.values import Value

#: Lines that one file, and all together, may take; and characters of a line.
FILE_LINES = 400
ALL_LINES = 2000
WIDTH = 300
#: Lines of a file on one side that are compared at all: more take too long, and nobody reads them.
_COMPARED = 20_000


class TextChange(Value):
    """A file then and now."""

    path: str
    #: None where it was not there, or is not there any more.
    before: str | None = None
    now: str | None = None
    #: Why there is nothing to show of it: it is no text, too large, or not known as it was.
    problem: str = ""


class Diff(Value):
    lines: tuple[str, ...] = ()
    #: What is not in it, and why.
    left_out: tuple[str, ...] = ()


def render_diff(changes: Sequence[TextChange], first: Collection[str] = ()) -> Diff:
    """Return the unified diff.

    :param first: files that come first, so that no other ones take their place.
    """
    lines: list[str] = []
    left_out: list[str] = []
    for change in sorted(changes, key=lambda each: (each.path not in first, each.path)):
        rows, problem = _unified(change)
        room = min(FILE_LINES, ALL_LINES - len(lines))
        lines += [row if len(row) <= WIDTH else f"{row[: WIDTH - 1]}…" for row in rows[:room]]
        if problem:
            left_out.append(f"{change.path}: {problem}")
        elif len(rows) > room:
            left_out.append(f"{change.path}: {count(len(rows) - room, 'more line')}")
    return Diff(lines=tuple(lines), left_out=tuple(left_out))


def _unified(change: TextChange) -> tuple[list[str], str]:
    if change.problem:
        return [], change.problem
    before, now = (change.before or "").splitlines(), (change.now or "").splitlines()
    if max(len(before), len(now)) > _COMPARED:
        return [], f"{count(len(before), 'line')} before, {len(now)} now"
    then = "/dev/null" if change.before is None else f"a/{change.path}"
    there = "/dev/null" if change.now is None else f"b/{change.path}"
    return list(difflib.unified_diff(before, now, then, there, lineterm="")), ""
