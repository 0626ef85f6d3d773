"""The list of clauses and the marks of the tests fit together; the table of both says what is open."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from phase_gate.config.criteria_files import read_criteria
from tests.clause_report import CRITERIA, load_criteria
from tests.conftest import ROOT

#: How many clauses each source document has.
CLAUSES = {"DG": 22, "CG": 17, "VG": 39, "SE": 13, "PG": 21, "DC": 7}


def marked_clauses(path: Path) -> Iterator[str]:
    """Yield the clauses that the marks in a module name."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "criterion":
            assert node.args, f"{path.name}:{node.lineno}: a mark without a clause"
            for argument in node.args:
                # A computed id can't be checked here, and nobody would find it by searching.
                assert isinstance(argument, ast.Constant), f"{path.name}:{node.lineno}: write the id out"
                yield str(argument.value)


def test_the_list_has_every_clause_once_and_the_plugin_reads_it() -> None:
    criteria = load_criteria()
    expected = [f"{prefix}-{number:02}" for prefix, count in CLAUSES.items() for number in range(1, count + 1)]
    assert sorted(criteria) == sorted(expected)
    assert all(20 <= len(text) <= 200 and text == " ".join(text.split()) for text in criteria.values())
    assert len(set(criteria.values())) == len(criteria) == 119
    rows = CRITERIA.read_text(encoding="utf-8").splitlines()
    clauses = Counter(row.partition(":")[0] for row in rows if row and not row.startswith("#"))
    assert max(clauses.values()) == 1
    read = read_criteria("tests/criteria.yaml", base=ROOT, root=ROOT)
    assert {each.id: each.text for each in read.listed} == criteria


def test_the_marks_name_every_clause_and_no_other() -> None:
    marked = {clause for path in (ROOT / "tests").glob("*/test_*.py") for clause in marked_clauses(path)}
    assert marked == set(load_criteria())


TESTS = """\
import pytest

@pytest.mark.criterion("DG-01")
@pytest.mark.parametrize("number", [1, 2])
def test_numbers(number):
    assert number == 1

@pytest.mark.criterion("DG-01")
def test_more():
    pass

def test_other():
    assert 0
"""


@pytest.mark.processes
def test_the_report_of_clauses_lists_what_workers_ran(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    command = (sys.executable, "-m", "tests.clause_report", "-p", "xdist", "-n", "2", "-o", "markers=criterion")
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    rows = [row for row in ran.stdout.splitlines()[2:] if not row.endswith("| open |")]
    criteria = load_criteria()
    assert rows == [
        f"| DG-01 | {criteria['DG-01']} | `test_it.py::test_more` | 1 passed |",
        "| DG-01 |  | `test_it.py::test_numbers` | 1 failed, 1 passed |",
        "",
        "Clauses with a test: 1 of 119. Not passing: DG-01.",
    ], ran.stderr
    assert ran.returncode == 1
