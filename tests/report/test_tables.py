"""Numbers as a line of text."""

from __future__ import annotations

import pytest

from phase_gate.report.tables import can_show_blocks, sparkline


@pytest.mark.parametrize(
    ("values", "line"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param([0, 0], "▁▁", id="zeros-are-flat"),
        pytest.param([3, 3], "██", id="above-zero-is-high"),
        pytest.param([0, 7], "▁█", id="from-nothing-to-all"),
        pytest.param([0, 1, 1000], "▁▂█", id="little-is-more-than-nothing"),
        pytest.param([1, None, 1], "█ █", id="unknown-is-a-gap"),
        pytest.param([-4, 0], "▁█", id="below-zero"),
    ],
)
def test_line(values: list[float | None], line: str) -> None:
    assert sparkline(values) == line


def test_a_long_row_shows_the_highest_of_each_group() -> None:
    values = [0.0] * 600
    values[301] = 5
    line = sparkline(values)
    assert len(line) == 60
    assert line.count("█") == 1


def test_without_blocks() -> None:
    assert sparkline([0, 7], plain=True) == "_#"
    assert sparkline([0, 7], plain=True).isascii()


@pytest.mark.parametrize(
    ("encoding", "can"), [("utf-8", True), ("cp1252", False), ("ascii", False), (None, False), ("no-such", False)]
)
def test_encodings(encoding: str | None, can: bool) -> None:
    assert can_show_blocks(encoding) is can
