"""What reviewers' votes come to. Pure: a vote counts for one version of one attempt, and no reviewer has two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phase_gate.names import name_key
from phase_gate.pipeline.model import Choice, Vote
from phase_gate.values import Value

#: What a vote weighs, times how sure the reviewer is.
WEIGHTS: Mapping[Choice, float] = {"approve": 1.0, "conditional": 0.5, "reject": 0.0}


class Tally(Value):
    """What the votes on the present version come to."""

    #: None without a vote: no score is not a score of nothing.
    score: float | None
    counted: tuple[Vote, ...] = ()
    #: Votes on another version: they do not count.
    outdated: tuple[Vote, ...] = ()


def count_votes(votes: Iterable[Vote], *, phase: str, attempt: int, on: Mapping[str, str]) -> Tally:
    """Return what the votes come to.

    :param on: digests of what has to be agreed on, as it is now; none of them empty, or nothing is there to vote on.
    """
    last: dict[str, Vote] = {}
    for vote in votes:
        if vote.phase == phase and vote.attempt == attempt:
            last[name_key(vote.by)] = vote
    counted = tuple(vote for vote in last.values() if dict(vote.on) == dict(on) and all(on.values()))
    outdated = tuple(vote for vote in last.values() if vote not in counted)
    if not counted:
        return Tally(score=None, outdated=outdated)
    score = sum(WEIGHTS[vote.vote] * vote.confidence for vote in counted) / len(counted)
    return Tally(score=round(score, 6), counted=counted, outdated=outdated)
