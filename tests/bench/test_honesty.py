"""The benchmark of gates: its cases are of every kind, and its page shows what was recorded last."""

from __future__ import annotations

from bench.honesty.command import load_cases
from bench.honesty.gates import load_gates
from bench.honesty.page import KINDS, PAGE, fill
from bench.honesty.results import read


def test_the_cases_are_of_every_kind() -> None:
    cases = load_cases()
    assert len(cases) >= 120
    assert all(any(first <= case.row <= last for _, first, last in KINDS) for case in cases)


def test_the_page_is_that_of_the_last_run() -> None:
    results = read()
    assert set(results.cases) == {case.name for case in load_cases()}
    assert set(results.gates) == {gate.name for gate in load_gates()}
    text = PAGE.read_text(encoding="utf-8")
    assert fill(text, results) == text, "run: python -m bench honesty --page"
