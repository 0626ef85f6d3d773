"""Spans of time, as people write and read them."""

from __future__ import annotations

import pytest

from phase_gate.workflow.names import parse_duration, show_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("20m", 1200), ("4h", 14400), ("1d", 86400), ("1.5h", 5400), (" 5 m ", 300)]
    + [(text, None) for text in ("", "soon", "-5", "5x", "1h30m", "1e9", "9" * 12)],
)
def test_spans_are_read(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (9.9, "9s"), (60, "1m"), (125, "2m 05s"), (3600, "1h"), (5400, "1h 30m"), (14400, "4h")],
)
def test_spans_are_shown(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text
