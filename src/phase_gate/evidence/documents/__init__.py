"""Documents as evidence: what was written in this cycle, whether diagrams are valid, whether decisions are recorded.

Every cycle begins with a list of the documents, so this module imports the parsers only when documents are measured.
May read files below the root. Begin with `document_metrics`.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.evidence.documents.library import Catalogue, Library
from phase_gate.gate.measured import Measured
from phase_gate.workflow.metrics import DOCUMENT_METRICS


class DocumentProvider(Provider):
    """Measures documents, their diagrams and decision records."""

    def remember(self, context: EvidenceContext) -> Any:
        catalogue = Catalogue.of(context.configuration)
        return {"rules": to_json(catalogue), "documents": Library(context, catalogue).seen()}

    def measure(self, context: EvidenceContext) -> Measured:
        from phase_gate.evidence.documents.document_metrics import measure_documents

        return measure_documents(context)


def missing_extra(wanted: Collection[str]) -> str:
    """Return the extra of this package that must be installed to measure these metrics; empty if none."""
    return "documents" if DOCUMENT_METRICS & {*wanted} and find_spec("markdown_it") is None else ""


PROVIDER = DocumentProvider()
