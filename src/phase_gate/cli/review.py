"""`phase-gate review`: the verdict on a task of the verification gate, or a vote in a consensus phase of a pipeline."""

from __future__ import annotations

import argparse
import re

from phase_gate.cli._answer import Answer, Call
from phase_gate.errors import TaskNameError


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
    from phase_gate.pipeline.votes import vote

    project = call.project()
    store = call.store(project)
    require_pipeline(project, store)
    return vote(call, project, store)


def _is_verdict(call: Call) -> bool:
    """Tell whether the file is meant for the verification gate: by what it says, else by the task that is named."""
    said = _first_key(call)
    if said is not None:
        return said == b"verdict"
    try:
        project = call.project()
    except TaskNameError:
        return True  # tasks of the verification gate may be named as people name them
    return call.store(project).look().state.pipeline is None and (project.state_folder / "tasks").is_dir()


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
