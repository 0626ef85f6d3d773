"""Columns stay columns, whatever script a name is written in."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from phase_gate.columns import keep_end, pad, width_of, wrap
from phase_gate.gate.measured import Table
from phase_gate.report.tables import table_lines
from tests.support import FAILING_TESTS, Sample


@pytest.mark.parametrize(
    ("text", "width"),
    [
        pytest.param("test_add", 8, id="ascii"),
        pytest.param("größe", 5, id="latin"),
        pytest.param("テスト", 6, id="wide"),
        pytest.param("ﾃｽﾄ", 3, id="half-width"),
        pytest.param("e\u0301", 1, id="a-mark-that-combines"),
        pytest.param("שלום", 4, id="from-right-to-left"),
        pytest.param("مَرْحَبًا", 5, id="with-vowel-marks"),
        pytest.param("👍", 2, id="an-emoji"),
        pytest.param("👩\u200d👩\u200d👧", 2, id="an-emoji-of-several"),
        pytest.param("", 0, id="nothing"),
    ],
)
def test_how_many_columns_a_text_takes(text: str, width: int) -> None:
    assert width_of(text) == width
    assert width_of(pad(text, 12)) == 12


@pytest.mark.parametrize(("width", "end"), [(6, "テスト"), (5, "スト"), (4, "スト"), (1, ""), (0, "")])
def test_the_end_of_a_name_fits(width: int, end: str) -> None:
    assert keep_end("テスト", width) == end


def test_words_are_wrapped_by_what_they_take_and_never_broken() -> None:
    assert wrap("失敗 した テスト が ある", 9) == ["失敗 した", "テスト が", "ある"]
    assert wrap("test_とても長い名前", 4) == ["test_とても長い名前"]


def test_numbers_stand_below_each_other() -> None:
    names = ("test_plain.py", "tests/テスト.py", "tests/בדיקה.py", "tests/é\u0301.py")
    rows = tuple((name, str(10**index)) for index, name in enumerate(names))
    _, *lines = table_lines(Table(title="T", columns=("file", "lines"), rows=rows), width=60)
    assert len({width_of(line) for line in lines}) == 1


@pytest.mark.processes
@pytest.mark.parametrize(
    ("encoding", "title"),
    [
        ("ascii", "phase gate: RED - iteration 1 - 2 tests"),
        ("cp437", "phase gate: RED · iteration 1 · 2 tests"),
        ("cp932", "phase gate: RED - iteration 1 - 2 tests"),
    ],
)
def test_a_panel_has_only_signs_that_its_terminal_has(encoding: str, title: str, sample: Sample) -> None:
    sample.write(test_calc=FAILING_TESTS)
    command = (sys.executable, "-m", "pytest", "-p", "phase_gate.plugin", "--phase=red")
    ran = subprocess.run(
        command, cwd=sample.root, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True
    )
    shown = ran.stdout.decode(encoding)
    assert title in shown
    assert "\\x" not in shown
