"""Choose the store of a project's tasks: PHASE_GATE_STORE names it.

Only the user's environment counts, because a repository must not choose where data goes.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path

from phase_gate.errors import StoreUnreachableError, UsageError
from phase_gate.storage.root import is_name
from phase_gate.stores.shared import Head, SharedStore, Tail
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# --- where a store is, as people write it: `git:REMOTE#PROJECT` or `postgresql://...#PROJECT`


POSTGRESQL, GIT = "postgresql", "git"

#: A user's name and password in an address: up to the last `@`, because people forget to quote passwords.
_SECRET = re.compile(r"(?<=://)\S+(?=@)|(?<=password=)[^&#\s]+|(?<=\?)[^#\s]*%[^#\s]*", re.IGNORECASE)

#: A password in what libpq connects with, or a word that hides behind percent signs that it is one.
_PASSWORD = re.compile(r"://[^?]*:[^?]*@|[?&](?:ssl)?password=|[?&][^=&]*%[^=&]*=", re.IGNORECASE)

#: What an address in a database begins with.
_DATABASE = ("postgresql://", "postgres://")

FORMS = "git:REMOTE#PROJECT, or postgresql://HOST/DATABASE#PROJECT"


def hide_secret(text: str) -> str:
    """Return a text without the user's name and the password of an address in it."""
    return _SECRET.sub("...", text)


class StoreAddress(Value):
    #: `git` or `postgresql`.
    kind: str
    #: A git remote, or what libpq connects with.
    place: str
    #: Whose tasks are meant: several projects may share a store.
    project: str

    def __str__(self) -> str:
        """Return it as messages and the ledger may show it: without a password, which a database's never has."""
        place = self.place if self.kind == POSTGRESQL else f"{GIT}:{hide_secret(self.place)}"
        return f"{place}#{self.project}"


def parse_address(text: str) -> StoreAddress:
    """Return the store that a text names. Raises UsageError for one that names none.

    git itself refuses a remote that runs a command: `git_store` names the protocols that it may use.
    """
    place, mark, project = text.rpartition("#")
    if not mark:
        raise UsageError(f"a store is named with its project: {hide_secret(text)!r}", remedy=f"write {FORMS}")
    if place.startswith(_DATABASE) and _PASSWORD.search(place):
        # An address is shown, and handed to agents with the environment.
        raise UsageError(
            "a store's address may not hold a password",
            remedy="put it into the file that PGPASSFILE names, or into a service file, and leave it out",
        )
    if not is_name(project):
        raise UsageError(
            f"{project!r} can't be a project's name in a store",
            remedy="use 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    if place.startswith(_DATABASE):
        return StoreAddress(kind=POSTGRESQL, place=place, project=project)
    kind, _, remote = place.partition(":")
    if kind == GIT and remote:
        return StoreAddress(kind=GIT, place=remote, project=project)
    raise UsageError(f"{hide_secret(text)!r} is no store that we know", remedy=f"write {FORMS}")


# --- the store of a project


#: The stores that this process has opened, so that it connects once.
_opened: dict[tuple[StoreAddress, Path], SharedStore] = {}

#: Replaces the store's address in the environment of a driven agent.
WITHHELD = "withheld"


def find_address(environment: Mapping[str, str]) -> StoreAddress | None:
    """Return the address of the store; None for the state folder alone."""
    given = environment.get("PHASE_GATE_STORE", "")
    return None if given in ("", "folder") else parse_address(given)


def open_shared(cache: Path, environment: Mapping[str, str]) -> SharedStore | None:
    """Return the store of the project's tasks; None without a shared store.

    :param cache: a folder for the store's local data.
    """
    if environment.get("PHASE_GATE_STORE") == WITHHELD:
        return WithheldStore()
    address = find_address(environment)
    return None if address is None else open_address(address, cache, environment)


def open_address(address: StoreAddress, cache: Path, environment: Mapping[str, str]) -> SharedStore:
    """Return the store of an address, the same one each time."""
    key = (address, cache)
    if key not in _opened:
        # Each kind is loaded only if it is used, because a database's client takes longer to load than all of this.
        module = importlib.import_module(f"phase_gate.stores.{address.kind}_store")
        _opened[key] = module.open_store(address, cache / "store", environment)
    return _opened[key]


class WithheldStore:
    """The store in a driven agent's environment. It adds nothing: the drive keeps the folder's copy up to date."""

    shown = "a store that agents are not given"

    def read(self, task: str, after: Head) -> Tail:
        return Tail(head=after)

    def read_all(self, known: Mapping[str, Head]) -> Mapping[str, Tail]:
        return {task: Tail(head=head) for task, head in known.items()}

    def list_tasks(self) -> tuple[str, ...]:
        return ()

    def append(self, task: str, *_: object) -> NoReturn:
        self.forget(task)

    def forget(self, task: str) -> NoReturn:
        raise StoreUnreachableError(
            f"task {task} is driven, and kept in a store that its agent is not given: nothing is recorded here",
            remedy="stop when you are done: phase-gate drive runs the tests, and records them",
        )
