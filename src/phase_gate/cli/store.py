"""`phase-gate store status`, `init`, `trust`: tasks in a shared store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done, describe_error
from phase_gate.cli.people import ask_for_word
from phase_gate.errors import NotAllowedError, StateError, StoreUntrustedError, UsageError
from phase_gate.project import Project
from phase_gate.stores import choosing
from phase_gate.stores.choosing import FORMS, POSTGRESQL, StoreAddress, hide_secret, parse_address
from phase_gate.stores.shared import Head
from phase_gate.values import Value
from phase_gate.visible import count, show_rows

# --- shared by all store commands: which store is meant, and what others can read in it

#: The content of ledgers and their objects.
READABLE = (
    "ids, outcomes and failure messages of tests; sources of the tests that a phase is about",
    "reasons, signals, votes and reviews, with the names that they are signed with",
    "names of tasks and files, command lines of runs, the path of the project's folder on each machine",
)
_REWRITES = "a forced push can rewrite a git store: every machine that knew it refuses it then, a new one can't"
_OWNER = "a writer can't rewrite what is in the tables; the owner of the database can"


class Chosen(Value):
    """The store of a project's tasks."""

    address: StoreAddress
    #: Whether the user's environment names it, not the project's configuration.
    is_users: bool
    is_trusted: bool

    @property
    def why(self) -> str:
        if self.is_users:
            return "PHASE_GATE_STORE names it"
        return f"the settings name it, {'and you trust it' if self.is_trusted else 'and you have not agreed yet'}"


def choose(project: Project) -> Chosen | None:
    """Return the project's store; None if there is only the state folder."""
    address, is_users = choosing.find_address(project.configuration.store, project.environment)
    if address is None:
        return None
    trusted = is_users or choosing.is_trusted(project.root, address, project.environment)
    return Chosen(address=address, is_users=is_users, is_trusted=trusted)


def require_chosen(project: Project) -> Chosen:
    chosen = choose(project)
    if chosen is None:
        raise NotAllowedError(
            "no shared store is named: tasks are in the state folder alone",
            remedy=f"set PHASE_GATE_STORE, or `store:` in the settings, to {FORMS}",
        )
    return chosen


def describe_access(project: Project, address: StoreAddress) -> list[str]:
    """Return the lines shown before a store is trusted or made."""
    place = hide_secret(choosing.find_place(project.root, address))
    where = "" if place == hide_secret(address.place) else f" ({place})"
    rows = [f"all who can read {address}{where} will be able to read:", *(f"  - {row}" for row in READABLE)]
    return [*rows, f"  {_OWNER if address.kind == POSTGRESQL else _REWRITES}"]


# --- `phase-gate store status`: which store, why, and whether it can be reached. Read-only


def run_store_status(call: Call) -> Done:
    project = call.project()
    chosen = choose(project)
    if chosen is None:
        return Done(text=f"state folder {project.state_folder}: no shared store is named", document={"store": None})
    store = call.store(project)
    document: dict[str, Any] = {
        "store": str(chosen.address),
        "kind": chosen.address.kind,
        "named_by": "environment" if chosen.is_users else "file",
        "trusted": chosen.is_trusted,
        "task": project.task,
    }
    rows = [f"{chosen.address}: {chosen.why}"]
    try:
        opened = store.open()
        here = Head(opened.serial, opened.head)
        document["here"] = here.serial
        assert store.shared is not None, "it was chosen"
        there = store.shared.read(project.task, here).head
    except StateError as error:
        document["problem"] = describe_error(error)
        rows.append(f"{error}")
        return Done(
            text=show_rows(row for text in rows for row in text.splitlines()),
            document=document,
            code=exit_codes.NOT_TRUSTED,
            is_error=True,
        )
    document |= {"there": there.serial, "same": there == here, "problem": None}
    where = "the same here" if there == here else f"line {here.serial} here: the next command takes the rest over"
    rows.append(f"  it answers: task {project.task} at line {there.serial}, {where}")
    return Done(text=show_rows(rows), document=document)


# --- `phase-gate store init`: create the store, and show what others will be able to read there


def run_store_init(call: Call) -> Done:
    project = call.project()
    if call.arguments.store is not None:
        address, is_trusted = parse_address(call.arguments.store), True
    else:
        chosen = require_chosen(project)
        address, is_trusted = chosen.address, chosen.is_trusted
    if not is_trusted:
        raise StoreUntrustedError(
            f"the settings name {address}, and you have not agreed to that yet",
            remedy="look at it, then: phase-gate store trust",
        )
    done = _make(address, project.state_folder, project.environment, writers=tuple(call.arguments.writer))
    readable = describe_access(project, address)
    rows = [
        f"{address} can be used",
        *(f"  {row}" for row in done),
        *readable,
        f"  next: set PHASE_GATE_STORE={address}, or `store:` in the settings and phase-gate store trust",
    ]
    return Done(text=show_rows(rows), document={"store": str(address), "done": list(done), "readable": readable})


def _make(
    address: StoreAddress, cache: Path, environment: Mapping[str, str], *, writers: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Create the store's parts; return a line for each step. Raises PhaseGateError if that fails.

    :param writers: database users that may add to it.
    """
    if writers and address.kind != POSTGRESQL:
        raise UsageError("only a database has users that are writers", remedy="leave --writer out")
    if address.kind == POSTGRESQL:
        from phase_gate.stores.postgresql_store import PostgresqlStore

        PostgresqlStore(address).make_tables(writers)
        return ("the tables are there", *(f"{name} may read and add, never change or remove" for name in writers))
    from phase_gate.stores.git_store import open_store

    found = len(open_store(address, cache / "store", environment).list_tasks())
    return ("the remote answers", f"it has {count(found, 'task')} of {address.project}")


# --- `phase-gate store trust`: a person trusts the store named by the project's configuration, on this machine

#: The word to type, so that it can't happen by accident.
WORD = "TRUST"


def run_store_trust(call: Call) -> Done:
    project = call.project()
    chosen = require_chosen(project)
    document = {"store": str(chosen.address), "trusted": True}
    if chosen.is_trusted:
        return Done(text=f"{chosen.address}: {chosen.why}; nothing is to be done", document=document)
    rows = describe_access(project, chosen.address)
    if not call.interactive:
        raise NotAllowedError(
            "trusting a store is for a person at a terminal",
            remedy="type it yourself at a terminal; a script or a CI job names the store in PHASE_GATE_STORE",
        )
    ask_for_word(call, show_rows(rows), "trusting a store", expected=WORD)
    if not choosing.trust(project.root, chosen.address, project.environment):
        raise NotAllowedError(
            "there is no home folder to keep this in", remedy=f"set PHASE_GATE_STORE={chosen.address}"
        )
    text = f"trusted: tasks of this project are in {chosen.address} from now on, on this machine"
    return Done(text=text, document=document, next_command="phase-gate store status")
