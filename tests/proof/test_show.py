"""What a proof says to people: each row says what was seen, and what to do."""

from __future__ import annotations

from phase_gate.proof.base import Change
from phase_gate.proof.model import FunctionProof, Proof, TargetProof
from phase_gate.proof.show import proof_markdown, proof_text

PROVEN = TargetProof(id="t.py::a", verdict="proven", control="fails", treatment="passes", reaches=("c.py::seen",))
IDLE = TargetProof(id="t.py::b", verdict="passes-without", control="passes", treatment="passes")
CHANGE = Change(commit="abc", targets=())
NEXT = 'next: let it fail without the change, or mark it: @pytest.mark.passes_already("why")'


def test_says_what_to_do_about_a_test_that_passes_without_the_change() -> None:
    proof = Proof(targets=(PROVEN, IDLE))
    assert proof_text(proof, CHANGE).splitlines()[-1] == NEXT
    assert NEXT in proof_markdown(proof, CHANGE).splitlines()


def test_says_nothing_to_do_where_all_is_proven_or_no_change_is_asked_about() -> None:
    assert "next:" not in proof_text(Proof(targets=(PROVEN,)), CHANGE) + proof_markdown(Proof(targets=(PROVEN,)))
    assert "next:" not in proof_text(Proof(targets=(PROVEN, IDLE)))


def test_tells_what_no_target_notices_from_what_none_calls() -> None:
    functions = (FunctionProof(file="c.py", name="seen", line=1), FunctionProof(file="c.py", name="other", line=5))
    text = proof_markdown(Proof(targets=(PROVEN,), functions=functions, notes=("laid in: x.csv",)))
    assert "- no target notices when seen does nothing (c.py:1)\n" in text
    assert "- no target calls other, unless in a child process, which is not seen (c.py:5)\n" in text
    assert "- note: laid in: x.csv\n" in text
