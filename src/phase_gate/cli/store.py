"""`phase-gate store status` and `init`: tasks in a shared store."""

from __future__ import annotations

from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done, describe_error
from phase_gate.errors import NotAllowedError, StateError, UsageError
from phase_gate.stores.choosing import FORMS, POSTGRESQL, find_address, parse_address
from phase_gate.stores.shared import Head
from phase_gate.visible import count, show_rows

#: The content of ledgers and their objects.
READABLE = (
    "ids, outcomes and failure messages of tests; sources of the tests that a phase is about",
    "reasons, signals, votes and reviews, with the names that they are signed with",
    "names of tasks and files, command lines of runs, the path of the project's folder on each machine",
)
_REWRITES = "a forced push can rewrite a git store: every machine that knew it refuses it then, a new one can't"
_OWNER = "a writer can't rewrite what is in the tables; the owner of the database can"


# --- `phase-gate store status`: which store, why, and whether it can be reached. Read-only


def run_store_status(call: Call) -> Done:
    project = call.project()
    address = find_address(project.environment)
    if address is None:
        return Done(text=f"state folder {project.state_folder}: no shared store is named", document={"store": None})
    store = call.store(project)
    document: dict[str, Any] = {"store": str(address), "kind": address.kind, "task": project.task}
    rows = [str(address)]
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
    given = call.arguments.store
    address = find_address(project.environment) if given is None else parse_address(given)
    if address is None:
        raise NotAllowedError("no shared store is named", remedy=f"set PHASE_GATE_STORE to {FORMS}")
    writers = tuple(call.arguments.writer)
    if address.kind == POSTGRESQL:
        from phase_gate.stores.postgresql_store import PostgresqlStore

        PostgresqlStore(address).make_tables(writers)
        warning, grants = _OWNER, (f"{name} may read and add, never change or remove" for name in writers)
        done = ("the tables are there", *grants)
    elif writers:
        raise UsageError("only a database has users that are writers", remedy="leave --writer out")
    else:
        from phase_gate.stores.git_store import open_store

        found = len(open_store(address, project.state_folder / "store", project.environment).list_tasks())
        warning, done = _REWRITES, ("the remote answers", f"it has {count(found, 'task')} of {address.project}")
    readable = [f"all who can read {address} will be able to read:"]
    readable += [*(f"  - {row}" for row in READABLE), f"  {warning}"]
    rows = [f"{address} can be used", *(f"  {row}" for row in done), *readable]
    rows.append(f"  next: set PHASE_GATE_STORE={address}")
    return Done(text=show_rows(rows), document={"store": str(address), "done": list(done), "readable": readable})
