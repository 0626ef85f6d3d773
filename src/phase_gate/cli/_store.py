"""What the commands of a shared store have in common: which one is meant, and what others read there."""

from __future__ import annotations

from phase_gate.errors import NotAllowedError
from phase_gate.project import Project
from phase_gate.stores.address import FORMS, StoreAddress, hide_secret
from phase_gate.stores.choosing import find_address, find_place, is_trusted
from phase_gate.values import Value

#: What is in ledgers and their objects.
READABLE = (
    "ids, outcomes and failure messages of tests; sources of the tests that a phase is about",
    "reasons, signals, votes and reviews, with the names that they are signed with",
    "names of tasks and files, command lines of runs, the path of the project's folder on each machine",
)
_REWRITES = "a forced push can rewrite a git store: every machine that knew it refuses it then, a new one can't"
_OWNER = "a writer can't rewrite what is in the tables; the owner of the database can"


class Chosen(Value):
    """The store that a project's tasks are in."""

    address: StoreAddress
    #: The user's environment names it, not the project's file.
    is_users: bool
    is_trusted: bool

    @property
    def why(self) -> str:
        if self.is_users:
            return "PHASE_GATE_STORE names it"
        return f"phase-gate.yaml names it, {'and you trust it' if self.is_trusted else 'and you have not agreed yet'}"


def choose(project: Project) -> Chosen | None:
    """Return the store that is named for the project; None where the state folder is all there is."""
    address, is_users = find_address(project.configuration.store, project.environment)
    if address is None:
        return None
    trusted = is_users or is_trusted(project.root, address, project.environment)
    return Chosen(address=address, is_users=is_users, is_trusted=trusted)


def require_chosen(project: Project) -> Chosen:
    chosen = choose(project)
    if chosen is None:
        raise NotAllowedError(
            "no shared store is named: tasks are in the state folder alone",
            remedy=f"set PHASE_GATE_STORE, or `store:` in phase-gate.yaml, to {FORMS}",
        )
    return chosen


def say_readable(project: Project, address: StoreAddress) -> list[str]:
    """Return what is shown before a store is agreed to, or made."""
    place = hide_secret(find_place(project.root, address))
    where = "" if place == hide_secret(address.place) else f" ({place})"
    rows = [f"all who can read {address}{where} will be able to read:", *(f"  - {row}" for row in READABLE)]
    if address.kind == "git":
        rows.append(f"  {_REWRITES}")
    if address.kind == "postgresql":
        rows.append(f"  {_OWNER}")
    return rows
