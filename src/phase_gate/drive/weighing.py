"""Compare what the agent says with what our own run measured, by the rules of `phase-gate claim`."""

from __future__ import annotations

from pathlib import Path

from phase_gate.claims.blocks import read_blocks
from phase_gate.claims.decision import Decision, own_threshold
from phase_gate.claims.text import read_claim_text, sentences
from phase_gate.decisions.claiming import Claim, decide_claim
from phase_gate.drive.clients import read_said
from phase_gate.drive.session import DriveSession
from phase_gate.errors import NotAllowedError


def weigh_claim(session: DriveSession, number: int, said: str, file: Path) -> tuple[Decision | None, list[str]]:
    """Record the claim and what it is worth; return that, and what there is to tell the agent of it.

    None: the agent says nothing, or there is nothing left to claim.

    :param file: where it stands.
    """
    task = session.task()
    state = task.state
    texts = read_said(said)
    if not any(text.strip() for text in texts) or state.phase is None or state.exited or state.is_done:
        return None, []
    text = read_claim_text(texts)
    blocks = read_blocks(text)
    threshold = own_threshold(task.project.configuration.exit_gate)
    claim = Claim(
        said=blocks,
        prose=sentences(text, blocks.reasons),
        file=file,
        handed=(),
        threshold=threshold,
        own_threshold=threshold,
        kind=None,
        by=session.client.name,
        # Its output is never searched for a signal, whatever else the project allows.
        as_signal=False,
    )
    try:
        decided = decide_claim(task, claim, show=session.note, show_progress=session.note).decision
    except NotAllowedError as error:
        session.note(f"the claim was not weighed: {error.problem}")
        return None, []
    notes = [f"what you said is not what was measured: {each}" for each in decided.contradictions]
    if decided.is_claim:
        session.tell("claim-weighed", number=number, outcome=str(decided.outcome), reason=decided.reason)
        if not decided.passed:
            notes.append(f"you said that it is done: {decided.reason}")
    return decided, notes
