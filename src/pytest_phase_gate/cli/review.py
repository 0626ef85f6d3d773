"""`phase-gate review`: a reviewer's vote in a consensus phase of a pipeline."""

from __future__ import annotations

import argparse

from pytest_phase_gate.cli._answer import Answer, Call
from pytest_phase_gate.cli._pipeline import require_pipeline


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="YAML with vote, confidence, by and reason; - for stdin; none: look"
    )


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    require_pipeline(project, store)
    from pytest_phase_gate.cli._votes import vote

    return vote(call, project, store)
