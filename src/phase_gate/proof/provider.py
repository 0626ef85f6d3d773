"""Keep the project's files when a phase ends, and when a cycle begins, for the proof that comes later."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.storage.snapshots import FileSnapshot, hidden_sources, take_snapshot
from phase_gate.storage.tree.git import head_of


class ProofProvider(Provider):
    """Measures nothing: a proof is made where a phase would exit, and the ledger keeps it."""

    def measure(self, context: EvidenceContext) -> Measured:
        return Measured()

    def remember(self, context: EvidenceContext) -> Any:
        if context.configuration.proof.mode == "off":
            return None
        files = context.files()
        return to_json(take_snapshot(context.root, {**files, **hidden_sources(files, context.beside())}))


class BeginningProvider(ProofProvider):
    """Keeps what a cycle begins with: the files as the last one left them when it was green, else the last commit.

    RED's first run comes when its tests are written, and stubs perhaps: then it is too late to look.
    """

    def remember(self, context: EvidenceContext) -> Any:
        left = context.recall("proof at exit") or context.recall("proof")
        commit = "" if left else head_of(context.root)
        return left or (to_json(FileSnapshot(commit=commit)) if commit else None)


PROVIDER, BEGINNING = ProofProvider(), BeginningProvider()
