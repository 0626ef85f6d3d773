"""New code that tests asked for, in real runs: what is shown, what closes the gate, and what is left alone."""

from __future__ import annotations

import pytest

from tests.support import Sample

pytestmark = pytest.mark.processes

NOTE = "evidence:\n  new_code: true\n"
GUARD = "phases:\n  GREEN:\n    guards: [new-code-tested]\n"

TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"

GREEDY = """\
def add(a, b):
    if a > 100:
        return 0
    return a + b


def sub(a, b):
    return a - b
"""
MODEST = "def add(a, b):\n    return a + b\n"


TAKES_AWAY = """\
import sys

import pytest


@pytest.fixture(autouse=True)
def take_away():
    yield
    if hasattr(sys, "monitoring"):
        for number in (3, 4):
            if sys.monitoring.get_tool(number):
                sys.monitoring.free_tool_id(number)
    else:
        sys.settrace(None)
"""


def begin(sample: Sample, configuration: str, **modules: str) -> Sample:
    sample.write({"phase-gate.yaml": configuration}, test_calc=TEST, **modules)
    assert sample.pytest("--phase=red", "--exit-signal=it fails").code == 0
    return sample


def test_a_note_names_the_lines_and_closes_nothing(sample: Sample) -> None:
    begin(sample, NOTE).write(calc=GREEDY)
    ran = sample.pytest("--phase=green")
    assert ran.has("no test reaches 2 new lines: calc.py:3, calc.py:8")
    metrics = sample.status()["evaluation"]["metrics"]
    assert (metrics["new_lines"], metrics["new_lines_untested"], metrics["new_branches_untested"]) == (6, 2, 1)
    assert sample.pytest("--phase=green", "--exit-signal=done").code == 0


def test_a_guard_closes_the_gate_until_a_test_asks_for_the_lines(sample: Sample) -> None:
    begin(sample, GUARD).write(calc=GREEDY)
    sample.pytest("--phase=green")
    ran = sample.pytest("--phase=green", "--exit-signal=done")
    assert ran.code == 10
    assert ran.has("new lines that no test reaches: 2")
    assert sample.gate("explain", "new-code-tested").has("calc.py:3", "calc.py:8")
    sample.write(calc=MODEST)
    sample.pytest("--phase=green")
    assert sample.pytest("--phase=green", "--exit-signal=done").code == 0


def test_nothing_is_watched_where_nothing_asks_for_it(sample: Sample) -> None:
    begin(sample, "workflow: tdd\n").write(calc=GREEDY)
    ran = sample.pytest("--phase=green")
    assert "no test reaches" not in ran.out
    assert sample.status()["evaluation"]["metrics"].get("new_lines") is None


def test_older_code_is_not_new(sample: Sample) -> None:
    older = "def old(x):\n    if x:\n        return 1\n    return 2\n"
    begin(sample, GUARD, older=older).write(calc="from older import old\n\n\n" + MODEST)
    sample.pytest("--phase=green")
    assert sample.pytest("--phase=green", "--exit-signal=done").code == 0


def test_what_workers_reach_counts(sample: Sample) -> None:
    begin(sample, NOTE).write(calc=GREEDY)
    ran = sample.pytest_process("--phase=green", "-n", "2", plugins=("xdist",))
    assert ran.has("no test reaches 2 new lines: calc.py:3, calc.py:8")


def test_the_tests_of_each_line_are_in_the_report(sample: Sample) -> None:
    begin(sample, NOTE).write(calc=MODEST)
    sample.pytest("--phase=green", "--phase-report=verdict.json")
    (table,) = [each for each in sample.report()["tables"] if each["title"] == "New code"]
    assert table["rows"] == [
        ["calc.py:1", "def add(a, b):", "an import"],
        ["calc.py:2", "return a + b", "test_calc.py::test_add"],
    ]


def test_a_test_that_takes_the_watch_away_makes_it_unknown(sample: Sample) -> None:
    sample.write(conftest=TAKES_AWAY)
    begin(sample, GUARD).write(calc=MODEST)
    sample.pytest("--phase=green")
    ran = sample.pytest("--phase=green", "--exit-signal=done")
    assert ran.code == 10
    assert ran.has("new code is unknown: a test took away what watches the lines")


def test_a_report_shows_new_lines_as_the_run_saw_them(sample: Sample) -> None:
    begin(sample, NOTE).write(calc=GREEDY)
    sample.pytest("--phase=green")
    sample.write(calc="written_later = 1\n")
    assert sample.gate("report", "-o", "report.html").code == 0
    page = (sample.root / "report.html").read_text(encoding="utf-8")
    assert "6 new lines in 1 file: no test reaches 2 of them." in page
    row = page.partition("<code>    return a + b</code>")[2].partition("</tr>")[0]
    assert "test_add" in row
    assert "written_later" not in page
