"""The list of clauses and the marks of the tests fit together."""

from __future__ import annotations

from collections import Counter

from phase_gate.config.criteria_files import read_criteria
from tests.clause_report import CRITERIA, find_tests, load_criteria
from tests.conftest import ROOT

#: How many clauses each source document has.
CLAUSES = {"DG": 22, "CG": 17, "VG": 39, "SE": 13, "PG": 21, "DC": 7}


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
    assert set(find_tests()) == set(load_criteria())
