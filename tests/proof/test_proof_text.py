"""What a proof says to people: each row says what was seen, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from phase_gate.proof.base import Change
from phase_gate.proof.proof_text import render_proof
from phase_gate.proof.verdicts import FunctionProof, Proof, TargetProof
from phase_gate.values import replace

PROVEN = TargetProof(
    id="t.py::a",
    verdict="proven",
    control="fails",
    treatment="passes",
    notices=("c.py::seen",),
)
IDLE = TargetProof(id="t.py::b", verdict="passes-without", control="passes", treatment="passes")
GUARD = replace(IDLE, is_tolerated=True)
FLAKY = TargetProof(id="t.py::c", verdict="flaky", why="the same files gave two outcomes")
UNKNOWN = TargetProof(id="t.py::d", verdict="unknown", why="no answer")
BROKEN = TargetProof(id="t.py::e", verdict="fails-with", control="fails", treatment="fails", why="assert 1 == 2")
CHANGE = Change(root=Path(), base="main", commit="abc", now={}, then={}, lines={"t.py::a": 1, "t.py::c": 7})
SEEN = FunctionProof(file="c.py", name="seen", line=2, noticed_by=("t.py::a",))


def first(text: str) -> str:
    return text.splitlines()[0]


def last(text: str) -> str:
    return text.splitlines()[-1]


@pytest.mark.parametrize(
    ("targets", "strict", "message"),
    [
        pytest.param((PROVEN, IDLE), False, "next: let it fail without the change, or mark ", id="all-that-it-has"),
        pytest.param((PROVEN, GUARD), True, "next: let it fail without the change, or mark ", id="a-guard-if-strict"),
        pytest.param((PROVEN, IDLE, BROKEN), False, "next: fix the failing test: pytest t.py::e", id="failing-first"),
        pytest.param((PROVEN, UNKNOWN), True, "next: fix the cause", id="unknown-if-strict"),
        pytest.param((PROVEN, GUARD, FLAKY, UNKNOWN), False, "1 of 4 tests needs the change; 1 passes", id="nothing"),
    ],
)
def test_says_what_to_do_where_it_is_refused(targets: tuple[TargetProof, ...], strict: bool, message: str) -> None:
    proof = Proof(targets=targets, starts=3)
    assert last(render_proof(proof, CHANGE, strict=strict).text).startswith(message)
    assert message in render_proof(proof, CHANGE, strict=strict).markdown


def test_doubts_come_first_and_guards_are_no_fault() -> None:
    text = render_proof(Proof(targets=(PROVEN, GUARD, FLAKY, UNKNOWN)), CHANGE).text
    assert [row for row in text.splitlines() if row[1:].startswith(" t.py")] == [
        "? t.py::c",
        "? t.py::d",
        "= t.py::b",
        "+ t.py::a",
    ]
    assert first(render_proof(Proof(targets=(PROVEN, BROKEN)), CHANGE).text) == "- t.py::e"


def test_names_the_file_and_line_of_a_function_and_what_to_do() -> None:
    functions = (SEEN, FunctionProof(file="c.py", name="idle", line=9))
    proof = Proof(targets=(PROVEN,), functions=functions, notes=("laid in: x.csv",))
    text = render_proof(proof, CHANGE).text
    assert "    fails without the change, passes with it; notices c.py:2 seen\n" in text
    assert "! c.py:9 idle\n    no target notices when it does nothing: check what it returns or changes\n" in text
    markdown = render_proof(proof).markdown
    assert "- c.py:9 idle: no target notices when it does nothing: check what it returns or changes\n" in markdown
    assert "- note: laid in: x.csv\n" in markdown
