"""Keep the project's files when a phase ends, and when a cycle begins, for the proof that comes later."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import from_json, to_json
from phase_gate.evidence.context import EvidenceContext, Provider
from phase_gate.gate.measured import Measured
from phase_gate.storage.keeping import Kept, hidden_sources, keep_files
from phase_gate.storage.references import ask_git, blobs_of
from phase_gate.task import Task
from phase_gate.values import replace


class ProofProvider(Provider):
    """Measures nothing: a proof is made where a phase would exit, and the ledger keeps it."""

    def measure(self, context: EvidenceContext) -> Measured:
        return Measured()

    def remember(self, context: EvidenceContext) -> Any:
        return None if context.configuration.proof.mode == "off" else self._keep(context)

    def _keep(self, context: EvidenceContext) -> Any:
        files = context.files()
        return to_json(keep_files(context.root, {**files, **hidden_sources(files, context.beside())}))


class BeginningProvider(ProofProvider):
    """Keeps what a cycle begins with: the files as the last one left them when it was green, else the last commit.

    RED's first run comes when its tests are written, and stubs perhaps: then it is too late to look.
    """

    def _keep(self, context: EvidenceContext) -> Any:
        left = context.recall("proof at exit") or context.recall("proof")
        commit = "" if left else ask_git(context.root, "rev-parse", "--verify", "-q", "HEAD")
        return left or (to_json(Kept(commit=commit)) if commit else None)


PROVIDER, BEGINNING = ProofProvider(), BeginningProvider()


def files_at_beginning(task: Task) -> Kept | None:
    """Return the files that the cycle began with; None: they are not known."""
    remembered = task.state.memory.cycle.get("beginning")
    if remembered is None:
        return None
    kept = from_json(Kept, task.store.objects.load(remembered))
    return kept if kept.files else replace(kept, files=blobs_of(task.project.root, kept.commit))
