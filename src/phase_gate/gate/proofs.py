"""The last proof, as far as it speaks of the present files and tests: metrics and findings.

Pure. The proof itself is in `proof`; the shells make it where a phase would exit, and the ledger keeps it.
"""

from __future__ import annotations

from phase_gate.gate.findings import Finding
from phase_gate.gate.state import ProofRecord, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase

GUARD = "targets-proven"
#: What a verdict without a proof leaves open.
UNSHOWN = "nothing shows that the targets need the change, or that their checks can fail"
#: What every verdict of a phase that wants a proof says where the project has switched it off.
OFF = f"proof is off: {UNSHOWN}"
#: What a proof finds. A later proof replaces what an earlier one has found.
PROOF_SLUGS = frozenset({GUARD, "checks-nothing", "check-never-fails", "function-unnoticed"})


def current_proof(state: State, tree: str) -> ProofRecord | None:
    """Return the proof that was made on these very files, with the tests that are frozen; None: there is none."""
    proof = state.proof
    if proof is None or proof.tree != tree or proof.freeze != state.freeze.current:
        return None
    return proof


def proof_values(state: State, tree: str, iteration: int | None) -> dict[str, MetricValue]:
    """Return its metrics. Without a proof nothing stands against the targets yet: it is made before a phase exits."""
    proof = current_proof(state, tree)
    if proof is None:
        return {"proof_objections": 0}
    return {**proof.metrics, "proof_age": max(0, (iteration or state.iteration) - proof.iteration)}


def proof_findings(state: State, tree: str) -> tuple[Finding, ...]:
    proof = current_proof(state, tree)
    return () if proof is None else proof.findings


def proof_notes(state: State, tree: str) -> tuple[str, ...]:
    proof = current_proof(state, tree)
    return () if proof is None else proof.notes


def say_no_proof(problem: str) -> str:
    return f"no proof: {problem}; {UNSHOWN}"


def wants_proof(state: State, phase: Phase, evaluation: Evaluation, tree: str, *, confirmed: bool = False) -> bool:
    """Tell whether a proof has to be made before this verdict counts: everything else lets the phase exit.

    :param confirmed: the run is the last of several that confirm each other, and no signal is waited for.
    """
    if GUARD not in phase.gate_1.guards or current_proof(state, tree) is not None:
        return False
    return evaluation.can_exit or (confirmed and evaluation.gate_1.is_open)
