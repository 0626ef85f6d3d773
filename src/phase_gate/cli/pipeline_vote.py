"""`phase-gate pipeline vote`: votes in a consensus phase, or how the votes stand."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._streams import read_input
from phase_gate.config.yaml import read_bytes
from phase_gate.errors import VoteError
from phase_gate.tasks.handins import MAX_SIZE, Ballot, parse_vote
from phase_gate.tasks.pipeline_steps import require_pipeline
from phase_gate.tasks.result import votes_to_json
from phase_gate.tasks.show import vote_rows
from phase_gate.tasks.voting import cast_votes, show_votes
from phase_gate.visible import show_rows


def run(call: Call) -> Done:
    task = call.task()
    require_pipeline(task)
    files = call.arguments.files
    reports = tuple(path for name in files for path in call.handed(task.project.root, name))
    ballots = [_read_ballot(call, name) for name in files]
    votes = cast_votes(task, *ballots, reports=reports) if ballots else show_votes(task)
    return Done(
        text=show_rows(vote_rows(votes)),
        document=votes_to_json(votes),
        code=exit_codes.OPEN if votes.is_reached else exit_codes.GATE_CLOSED,
    )


def _read_ballot(call: Call, name: str) -> Ballot:
    """Return the vote in a file."""
    if name == "-":
        name, text = "vote", read_input(MAX_SIZE + 1)
    else:
        text = read_bytes(call.start / name, name=name, limit=MAX_SIZE, error=VoteError, if_missing="check the path")
    ballot = parse_vote(text, name)
    call.author(name, ballot.by)
    return ballot
