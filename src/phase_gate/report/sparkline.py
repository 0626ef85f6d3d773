"""Numbers as one line of text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

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
