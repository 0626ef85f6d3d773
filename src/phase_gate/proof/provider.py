"""Save the project's files when a phase ends and when a cycle begins, for a later proof."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.storage.git_command import head_of
from phase_gate.storage.snapshots import FileSnapshot, hidden_sources, take_snapshot


class ProofProvider(Provider):
    """Saves the files, and measures nothing: the proof is made when a phase would exit, and recorded in the ledger."""

    def measure(self, context: EvidenceContext) -> Measured:
        return Measured()

    def remember(self, context: EvidenceContext) -> Any:
        if context.configuration.proof.mode == "off":
            return None
        files = context.files()
        return to_json(take_snapshot(context.root, {**files, **hidden_sources(files, context.beside())}))


class BeginningProvider(ProofProvider):
    """Saves the files from the start of a cycle: those that the last green cycle left, else the last commit.

    The first run of RED would be too late, because its tests, and perhaps stubs, are written by then.
    """

    def remember(self, context: EvidenceContext) -> Any:
        left = context.recall("proof at exit") or context.recall("proof")
        commit = "" if left else head_of(context.root)
        return left or (to_json(FileSnapshot(commit=commit)) if commit else None)


PROVIDER, BEGINNING = ProofProvider(), BeginningProvider()
