"""The list of clauses and the marks of the tests fit together; the table of both says what is open."""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from phase_gate.config.criteria import read_criteria
from tests.clause_report import CRITERIA, load_criteria, render_table
from tests.conftest import ROOT
from tests.support import Project

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


def all_marked() -> set[str]:
    return {clause for path in (ROOT / "tests").glob("*/test_*.py") for clause in marked_clauses(path)}


def test_the_plugin_reads_the_list_as_we_do() -> None:
    criteria = read_criteria("tests/criteria.yaml", base=ROOT, root=ROOT)
    assert {each.id: each.text for each in criteria.listed} == load_criteria()


def test_the_list_has_every_clause() -> None:
    criteria = load_criteria()
    expected = [f"{prefix}-{number:02}" for prefix, count in CLAUSES.items() for number in range(1, count + 1)]
    assert sorted(criteria) == sorted(expected)
    assert len(criteria) == 119


def test_each_clause_says_something_of_its_own() -> None:
    texts = list(load_criteria().values())
    assert all(20 <= len(text) <= 200 and text == " ".join(text.split()) for text in texts)
    assert len(set(texts)) == len(texts)


def test_no_clause_stands_there_twice() -> None:
    rows = CRITERIA.read_text(encoding="utf-8").splitlines()
    clauses = [row.partition(":")[0] for row in rows if row and not row.startswith("#")]
    assert [clause for clause, number in Counter(clauses).items() if number > 1] == []


def test_the_marks_name_every_clause_and_no_other() -> None:
    assert all_marked() == set(load_criteria())


# --- the table ---------------------------------------------------------------------------------------------------


def test_the_table_lists_tests_and_what_is_open() -> None:
    criteria = {"AC-1": "It adds", "AC-2": "It divides a | b", "AC-3": "It subtracts"}
    results = {
        "AC-1": {"test_a.py::test_add": ["passed", "passed"], "test_a.py::test_more": ["passed"]},
        "AC-3": {"test_a.py::test_sub": ["failed", "passed", "passed"]},
    }
    assert render_table(criteria, results).splitlines() == [
        "| clause | what it demands | test | outcome |",
        "| --- | --- | --- | --- |",
        "| AC-1 | It adds | `test_a.py::test_add` | 2 passed |",
        "| AC-1 |  | `test_a.py::test_more` | passed |",
        "| AC-2 | It divides a \\| b | | open |",
        "| AC-3 | It subtracts | `test_a.py::test_sub` | 1 failed, 2 passed |",
        "",
        "Clauses with a test: 2 of 3; open: 1. Not passing: AC-3.",
    ]


TESTS = """\
import pytest


@pytest.mark.criterion("AC-1")
@pytest.mark.parametrize("number", [1, 2])
def test_add(number):
    assert number


@pytest.mark.criterion("AC-1", "AC-2")
def test_both():
    assert 1 == 2


@pytest.mark.criterion("AC-3")
@pytest.mark.skip(reason="later")
def test_skipped():
    pass
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(("-p", "xdist", "-n1"), id="workers")])
def test_the_program_runs_tests_and_writes_the_table(project: Project, workers: tuple[str, ...]) -> None:
    project.write({"criteria.yaml": "AC-1: Adds\nAC-2: Divides\nAC-3: Subtracts\nAC-4: Rounds\n", "test_it.py": TESTS})
    command = (sys.executable, "-m", "tests.clause_report", "--criteria=criteria.yaml", "--output=table.md")
    pytest_arguments = ("--", "-p", "phase_gate.plugin", "-p", "no:cacheprovider", *workers, "test_it.py")
    ran = project.process(*command, *pytest_arguments, PYTHONPATH=_path_with_root())
    assert ran.code == 1, ran.err
    assert ran.out == ""
    rows = (project.root / "table.md").read_text(encoding="utf-8").splitlines()
    assert rows[2:] == [
        "| AC-1 | Adds | `test_it.py::test_add` | 2 passed |",
        "| AC-1 |  | `test_it.py::test_both` | failed |",
        "| AC-2 | Divides | `test_it.py::test_both` | failed |",
        "| AC-3 | Subtracts | `test_it.py::test_skipped` | skipped |",
        "| AC-4 | Rounds | | open |",
        "",
        "Clauses with a test: 3 of 4; open: 1. Not passing: AC-1, AC-2, AC-3.",
    ]


def test_the_program_refuses_a_mark_that_names_no_clause(project: Project) -> None:
    project.write({"criteria.yaml": "AC-1: Adds\nAC-3: Subtracts\n", "test_it.py": TESTS})
    command = (sys.executable, "-m", "tests.clause_report", "--criteria=criteria.yaml", "--", "-p")
    ran = project.process(*command, "phase_gate.plugin", "test_it.py", PYTHONPATH=_path_with_root())
    assert ran.code == 2
    assert "no such clause in criteria.yaml: AC-2 (marked at test_it.py::test_both)" in ran.err
    assert ran.out == ""


def _path_with_root() -> str:
    # Beside the package's own path, which may be a scratch copy's.
    return os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("src"))])
