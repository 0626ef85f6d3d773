"""Errors without what differs from run to run, so that the same error can be told again.

Pure: text in, text out. Addresses, times, paths, ids of processes and random names are blanked; the words and the
numbers that mean something stay.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

#: Lines of one message that count: the rest is mostly a diff.
_LINES = 3

#: Compiled when the first error is seen: a green run pays nothing for them.
_BLANKS: tuple[tuple[str, str], ...] = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+\b", "<address>"),
    (r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?", "<time>"),
    (r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "<time>"),
    (r"\b\d+(?:\.\d+)?\s?(?:s|ms|us|µs|ns|sec|secs|seconds|minutes)\b", "<time>"),
    # The last part of a path says what it is about, where it lies does not.
    (r"(?:[A-Za-z]:)?(?:[\\/][^\\/\s:'\",()<>]+)+[\\/]([^\\/\s:'\",()<>]+)", r"<path>/\1"),
    (r"(?i)\b(pid|process|thread|port|tid)(\s*+(?:[=:#]\s*+)?)\d+\b", r"\1\2<number>"),
    (r"\b(?:tmp|temp)[A-Za-z0-9_]{6,}\b", "<temporary>"),
    (r"\b[0-9a-f]{32,64}\b", "<id>"),
)


def blank(message: str) -> str:
    """Return the message without what differs from run to run."""
    text = "\n".join(message.strip().splitlines()[:_LINES])
    for pattern, stands_for in _BLANKS:
        text = re.sub(pattern, stands_for, text)
    return " ".join(text.split())


def fingerprint(messages: Iterable[str]) -> str:
    """Return one hash for all errors of a run; empty if there are none."""
    blanked = sorted({blank(message) for message in messages} - {""})
    return hashlib.sha256("\n".join(blanked).encode("utf-8", "surrogatepass")).hexdigest()[:16] if blanked else ""
