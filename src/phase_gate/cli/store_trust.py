"""`phase-gate store trust`: a person agrees to the store that the project's file names, on this machine."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._override import ask_for_word
from phase_gate.cli._store import require_chosen, say_readable
from phase_gate.errors import NotAllowedError
from phase_gate.stores.choosing import trust
from phase_gate.visible import show_rows

#: What has to be typed: it can't be hit by accident.
WORD = "TRUST"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--word", metavar="WORD", help=f"{WORD}, without being asked")


def run(call: Call) -> Answer:
    project = call.project()
    chosen = require_chosen(project)
    document = {"store": str(chosen.address), "trusted": True}
    if chosen.is_trusted:
        return Answer(text=f"{chosen.address}: {chosen.why}; nothing is to be done", document=document)
    rows = say_readable(project, chosen.address)
    if not call.interactive:
        raise NotAllowedError(
            "trusting a store is for a person at a terminal",
            remedy="type it yourself at a terminal; a script or a CI job names the store in PHASE_GATE_STORE",
        )
    ask_for_word(call, show_rows(rows), "trusting a store", expected=WORD)
    if not trust(project.root, chosen.address, project.environment):
        raise NotAllowedError(
            "there is no home folder to keep this in", remedy=f"set PHASE_GATE_STORE={chosen.address}"
        )
    return Answer(
        text=f"trusted: tasks of this project are in {chosen.address} from now on, on this machine\n"
        "  next: phase-gate store status",
        document=document,
    )
