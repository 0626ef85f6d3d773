"""Spans of time as people write them: `90`, `90s`, `20m`, `4h`."""

from __future__ import annotations

import re

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([smhd]?)")
#: What to write, for messages.
FORM = "write seconds, or a number with s, m, h or d: 90s, 20m, 4h"


def parse_duration(text: str) -> float | None:
    """Return the seconds; None for what is no span of time."""
    found = _SPAN.fullmatch(text.strip())
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def show_duration(seconds: float) -> str:
    """Return a span as it is said: `9s`, `2m 05s`, `4h`, `1h 30m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m" + (f" {whole % 60:02}s" if whole % 60 else "")
    return f"{whole // 3600}h" + (f" {whole % 3600 // 60:02}m" if whole % 3600 // 60 else "")
