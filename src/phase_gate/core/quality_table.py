"""What became of the code, file by file: the numbers before and now. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from phase_gate.core.quality import NUMBERS, FileScore
from phase_gate.gate.measured import Table
from phase_gate.gate.runs import count

#: Files that are named; the others are counted.
NAMED_AT_MOST = 8
#: A line has 80 columns, and the names of files need some of them.
_HEADS = {"cyclomatic": "cyclo", "cognitive": "cogni", "nesting": "nest"}
_NOTHING = FileScore()


def quality_table(
    before: Mapping[str, FileScore] | None,
    now: Mapping[str, FileScore],
    shown: Collection[str],
    *,
    totals: tuple[FileScore, FileScore],
) -> tuple[Table, ...]:
    """Return the table of these files, the worst first, and of all files together; none if there is nothing to show."""
    earlier = now if before is None else before
    ordered = sorted(
        {*shown} & {*earlier, *now}, key=lambda path: (-max(_points(earlier, path), _points(now, path)), path)
    )
    if not ordered:
        return ()
    rows = [_row(path, earlier.get(path, _NOTHING), now.get(path, _NOTHING)) for path in ordered[:NAMED_AT_MOST]]
    if len(ordered) > NAMED_AT_MOST:
        rows.append((f"and {len(ordered) - NAMED_AT_MOST} more", *("" for _ in NUMBERS)))
    if len({*earlier, *now}) > 1:
        rows.append(_row(f"all {count(len(now), 'file')}", *totals))
    title = "Quality: fewer is better" if before is None else "Quality, before -> now: fewer is better"
    return (Table(title=title, columns=("file", *(_HEADS.get(name, name) for name in NUMBERS)), rows=tuple(rows)),)


def _points(scores: Mapping[str, FileScore], path: str) -> int:
    return scores.get(path, _NOTHING).points


def _row(name: str, before: FileScore, now: FileScore) -> tuple[str, ...]:
    pairs = ((getattr(before, each), getattr(now, each)) for each in NUMBERS)
    return (name, *(str(now) if before == now else f"{before}->{now}" for before, now in pairs))
