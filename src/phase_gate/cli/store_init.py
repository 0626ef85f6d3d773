"""`phase-gate store init`: make what a store needs, and say what others will be able to read there."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._store import require_chosen, say_readable
from phase_gate.errors import StoreUntrustedError
from phase_gate.stores.address import parse_address
from phase_gate.stores.making import init_store
from phase_gate.visible import show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", nargs="?", metavar="STORE", help="its address; without: the one that is named already")
    parser.add_argument(
        "--writer", action="append", default=[], metavar="USER", help="a database's user who may add (again for more)"
    )


def run(call: Call) -> Answer:
    project = call.project()
    if call.arguments.store is not None:
        address, is_trusted = parse_address(call.arguments.store), True
    else:
        chosen = require_chosen(project)
        address, is_trusted = chosen.address, chosen.is_trusted
    if not is_trusted:
        raise StoreUntrustedError(
            f"phase-gate.yaml names {address}, and you have not agreed to that yet",
            remedy="look at it, then: phase-gate store trust",
        )
    done = init_store(address, project.state_folder, project.environment, writers=tuple(call.arguments.writer))
    readable = say_readable(project, address)
    rows = [
        f"{address} can be used",
        *(f"  {row}" for row in done),
        *readable,
        f"  next: set PHASE_GATE_STORE={address}, or `store:` in phase-gate.yaml and phase-gate store trust",
    ]
    return Answer(text=show_rows(rows), document={"store": str(address), "done": list(done), "readable": readable})
