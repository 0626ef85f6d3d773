"""`phase-gate store export`: tasks as plain files, a state folder that `audit` reads without a store."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._store import FOLDER, SHARED, choose, find_place
from phase_gate.cli.store_copy import copy_all
from phase_gate.stores.copying import folder_place
from phase_gate.values import replace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="where to; one that has some of it already is gone on with")


def run(call: Call) -> Answer:
    project = call.project()
    source = find_place(project, FOLDER if choose(project) is None else SHARED)
    folder = call.arguments.folder
    target = folder_place(call.start / folder, key=project.key, shown=folder)
    answer = copy_all(project, source, target, task=call.arguments.task)
    return replace(answer, text=f"{answer.text}\n  next: PHASE_GATE_STORE=folder phase-gate audit --dir {folder}")
