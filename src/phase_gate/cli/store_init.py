"""`phase-gate store init`: make what a store needs, and say what others will be able to read there."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._store import require_chosen, say_readable
from phase_gate.errors import StoreUntrustedError, UsageError
from phase_gate.stores.address import POSTGRESQL, StoreAddress, parse_address
from phase_gate.visible import count, show_rows

if TYPE_CHECKING:
    from phase_gate.stores.postgresql_tables import Initialised


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
    done = _make(address, project.state_folder, project.environment, writers=tuple(call.arguments.writer))
    readable = say_readable(project, address)
    rows = [
        f"{address} can be used",
        *(f"  {row}" for row in done),
        *readable,
        f"  next: set PHASE_GATE_STORE={address}, or `store:` in phase-gate.yaml and phase-gate store trust",
    ]
    return Answer(text=show_rows(rows), document={"store": str(address), "done": list(done), "readable": readable})


def _make(
    address: StoreAddress, cache: Path, environment: Mapping[str, str], *, writers: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Make what the store needs, and return what was done, a line each. Raises PhaseGateError where it can't be.

    :param writers: users of a database that may add to it.
    """
    if writers and address.kind != POSTGRESQL:
        raise UsageError("only a database has users that are writers", remedy="leave --writer out")
    if address.kind == POSTGRESQL:
        from phase_gate.stores import postgresql

        return tuple(_say(postgresql.init_store(address, cache / "store", environment, writers=writers)))
    from phase_gate.stores import git

    found = git.init_store(address, cache / "store", environment)
    return (
        "the remote takes refs/phase-gate",
        f"it has {count(found, 'task')} of {address.project}",
    )


def _say(done: Initialised) -> Iterator[str]:
    yield "tables: made" if done.made_tables else "tables: there already"
    if done.role:
        members = f", and now also {', '.join(done.writers)}" if done.writers else ""
        yield f"role {done.role}: may read and add, never change or remove{members}"
    else:
        yield "no role: this user may not make one; ask the database's owner for users that may only SELECT and INSERT"
    yield from done.rights.said
