"""`phase-gate review`: the verdict on a task of the verification gate, or a vote in a consensus phase of a pipeline."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._dispatch import read_input
from phase_gate.errors import TaskNameError, VoteError
from phase_gate.gate.parts import PIPELINE
from phase_gate.visible import show_rows

if TYPE_CHECKING:
    from phase_gate.pipeline.votes import Ballot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="the verdict (phase-gate schema verdict), or the vote, as YAML; - for stdin; none: see the votes",
    )
    parser.add_argument("--by", metavar="NAME", help="who gives the verdict; must not be who executed the task")


def run(call: Call) -> Answer:
    if call.arguments.file is not None and _is_verdict(call):
        from phase_gate.verification.review import review

        return review(call)
    from phase_gate.pipeline.begin import require_pipeline
    from phase_gate.pipeline.show import vote_rows, votes_to_json
    from phase_gate.pipeline.votes import cast_vote, show_votes

    project = call.project()
    store = call.store(project)
    require_pipeline(project, store)
    ballot = _read_ballot(call)
    votes = show_votes(project, store) if ballot is None else cast_vote(project, store, ballot)
    return Answer(
        text=show_rows(vote_rows(votes)),
        document=votes_to_json(votes),
        exit_code=exit_codes.HOLDS if votes.is_reached else exit_codes.GATE_CLOSED,
    )


def _read_ballot(call: Call) -> Ballot | None:
    """Return the vote that the call hands in; None if it hands in none."""
    from phase_gate.pipeline.votes import MAX_BYTES, parse_vote
    from phase_gate.rules.yaml import read_bytes

    name = call.arguments.file
    if name is None:
        return None
    if name == "-":
        name, text = "vote", read_input(MAX_BYTES + 1)
    else:
        text = read_bytes(call.start / name, name=name, limit=MAX_BYTES, error=VoteError, if_missing="check the path")
    ballot = parse_vote(text, name)
    call.author(name, ballot.by)
    return ballot


def _is_verdict(call: Call) -> bool:
    """Tell whether the file is meant for the verification gate: by what it says, else by the task that is named."""
    said = _first_key(call)
    if said is not None:
        return said == b"verdict"
    try:
        project = call.project()
    except TaskNameError:
        return True  # tasks of the verification gate may be named as people name them
    return PIPELINE not in call.store(project).look().state.parts and (project.state_folder / "tasks").is_dir()


def _first_key(call: Call) -> bytes | None:
    """Return whether a verdict or a vote stands in the file; None if neither does, or it can't be looked at twice."""
    if call.arguments.file == "-":
        return None
    try:
        with (call.start / call.arguments.file).open("rb") as opened:
            found = re.search(rb"(?m)^(verdict|vote)[ \t]*:", opened.read(64 * 1024))
    except OSError:
        return None
    return None if found is None else found[1]
