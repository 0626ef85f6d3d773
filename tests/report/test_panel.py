"""The panel on screens of several widths, and what it keeps where a run is quiet."""

from __future__ import annotations

import pytest

from phase_gate.gate.evaluation import Evaluation
from phase_gate.report.panel import panel_text, render_panel
from tests.gate.test_ways import ALTERED, judge


@pytest.fixture
def altered() -> Evaluation:
    return judge("tdd", "GREEN", ALTERED, tests_altered=1, consecutive_green_runs=1)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_screen(altered: Evaluation, width: int) -> None:
    rows = [line.text for line in render_panel(altered, width=width) if not line.is_title]
    assert max(map(len, rows)) <= min(width, 80)


def test_nothing_is_lost_on_a_narrow_screen(altered: Evaluation) -> None:
    narrow, wide = (
        " ".join(line.text for line in render_panel(altered, width=width) if not line.is_title).split()
        for width in (40, 80)
    )
    assert narrow == wide


def test_a_command_is_never_wrapped(altered: Evaluation) -> None:
    rows = panel_text(render_panel(altered, width=30), width=30).splitlines()
    assert "Next     pytest --phase=green" in rows


def test_a_quiet_run_keeps_what_is_wrong(altered: Evaluation) -> None:
    text = panel_text(render_panel(altered, is_quiet=True))
    assert "t.py::test_a altered" in text
    assert "Gate 1  " not in text
    assert "+ " not in text
