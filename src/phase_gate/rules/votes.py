"""Read a reviewer's vote from a file: strict, as every answer that opens something."""

from __future__ import annotations

from phase_gate.core.pipeline import CHOICES, Choice
from phase_gate.errors import VoteError
from phase_gate.rules.fields import Fields
from phase_gate.rules.yaml import read_document
from phase_gate.values import Value

#: Bytes: a vote is a sentence or two.
MAX_BYTES = 64 * 1024


class Ballot(Value):
    """What somebody voted, and what for, as far as they said so."""

    vote: Choice
    confidence: float
    by: str
    reason: str = ""
    phase: str = ""
    version: str = ""


def parse_vote(text: str | bytes, name: str) -> Ballot:
    """Return the vote that the text gives. Raises VoteError, or DocumentError where it is no YAML."""
    fields = Fields(read_document(text, name=name, limit=MAX_BYTES), file=name, error=VoteError)
    ballot = Ballot(
        vote=fields.choice("vote", CHOICES),
        confidence=float(fields.number("confidence", minimum=0)),
        by=fields.name("by"),
        reason=" ".join(fields.text("reason", "").split()),
        phase=fields.text("phase", "").upper(),
        version=fields.text("version", ""),
    )
    fields.finish()
    if ballot.confidence > 1:
        fields.refuse("confidence", f"confidence can't be {ballot.confidence:g}", "write 0 to 1: 0.9 is rather sure")
    if ballot.vote != "approve" and not ballot.reason:
        raise VoteError(f"{fields.place()}: a vote to {ballot.vote} needs a reason", "say what has to change")
    return ballot
