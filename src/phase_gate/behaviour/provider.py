"""Keep the project's files when a phase ends, for a comparison that the next one may ask for."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.storage.keeping import hidden_sources, keep_files


class BehaviourProvider(Provider):
    """Measures nothing: the comparison is made by its command, and the ledger keeps it."""

    def measure(self, context: EvidenceContext) -> Measured:
        return Measured()

    def remember(self, context: EvidenceContext) -> Any:
        files = context.files()
        return to_json(keep_files(context.root, {**files, **hidden_sources(files, context.beside())}))


PROVIDER = BehaviourProvider()
