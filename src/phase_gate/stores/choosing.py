"""Choose the store of a project's tasks: by the user's environment, or by the project's file, once it is trusted.

A repository must not choose where data goes or what runs: a store in `phase-gate.yaml` is used only after
`phase-gate store trust`, which is recorded in the user's state directory.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from phase_gate.errors import StateError, StoreUntrustedError, UsageError
from phase_gate.hashing import sha256
from phase_gate.storage import cache
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.rollback_guard import user_state_folder
from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from phase_gate.stores.shared import Head, SharedStore, Tail

# --- where a store is, as people write it: `git:REMOTE#PROJECT` or `postgresql://...#PROJECT`


POSTGRESQL, GIT = "postgresql", "git"

#: A part of a ref's name on every server, and a plain word in a table.
_PROJECT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")

#: A user's name and password in an address: up to the last `@`, because people forget to quote passwords.
_SECRET = re.compile(r"(?<=://)\S+(?=@)|(?<=password=)[^&#\s]+|(?<=\?)[^#\s]*%[^#\s]*", re.IGNORECASE)

#: A password in what libpq connects with, or a word that hides behind percent signs that it is one.
_PASSWORD = re.compile(r"://[^?]*:[^?]*@|[?&](?:ssl)?password=|[?&][^=&]*%[^=&]*=", re.IGNORECASE)

#: What an address in a database begins with.
_DATABASE = ("postgresql://", "postgres://")
#: And one on a git remote.
_GIT = "git:"

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
        """Return it as messages and the ledger may show it: without a password."""
        if self.kind == POSTGRESQL and not _PASSWORD.search(self.place):
            return f"{self.place}#{self.project}"  # as it may be typed again
        prefix = "" if self.kind == POSTGRESQL else f"{self.kind}:"
        return f"{prefix}{hide_secret(self.place)}#{self.project}"


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
    if not _PROJECT.fullmatch(project) or ".." in project or project.endswith(".lock"):
        raise UsageError(
            f"{project!r} can't be a project's name in a store",
            remedy="use 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    if place.startswith(_DATABASE):
        return StoreAddress(kind=POSTGRESQL, place=place, project=project)
    if place.startswith(_GIT) and place != _GIT:
        return StoreAddress(kind=GIT, place=place.removeprefix(_GIT), project=project)
    raise UsageError(f"{hide_secret(text)!r} is no store that we know", remedy=f"write {FORMS}")


# --- the store of a project


#: One for each address in a process: a connection is made once.
_opened: dict[tuple[StoreAddress, Path], SharedStore] = {}


#: What a driven agent finds in place of the store's address.
WITHHELD = "withheld"


def find_address(named: str, environment: Mapping[str, str]) -> tuple[StoreAddress | None, bool]:
    """Return the store to use, None for the state folder alone; and whether the user's environment names it.

    :param named: the store in the project's file.
    """
    given = environment.get("PHASE_GATE_STORE")
    if given is None:
        return parse_address(named) if named else None, False
    # `folder` overrides the file and uses the folder alone.
    return (None if given in ("", "folder") else parse_address(given)), True


def open_shared(root: Path, cache: Path, named: str, environment: Mapping[str, str]) -> SharedStore | None:
    """Return the store of the project's tasks; None without a shared store.

    :param cache: a folder for the store's local data.

    A store that the user has not agreed to, or that can't be used here, raises an error for every query, so that the
    user's tests still run.
    """
    if environment.get("PHASE_GATE_STORE") == WITHHELD:
        return WithheldStore()
    address, is_users = find_address(named, environment)
    if address is None:
        return None
    if not is_users and not is_trusted(root, address, environment):
        return RefusedStore(
            str(address),
            StoreUntrustedError(
                f"the settings keep this project's tasks in {address}, and you have not agreed to that yet",
                remedy="look at it, then: phase-gate store trust",
            ),
        )
    try:
        return open_address(address, cache, environment)
    except StateError as error:
        return RefusedStore(str(address), error)


def open_address(address: StoreAddress, cache: Path, environment: Mapping[str, str]) -> SharedStore:
    """Return the store of an address; asked twice, the same one. Raises PhaseGateError where it can't be used here."""
    key = (address, cache)
    if key not in _opened:
        # One module a kind, loaded where it is used: a database's client takes longer to load than all of us.
        module = importlib.import_module(f"phase_gate.stores.{address.kind}_store")
        _opened[key] = module.open_store(address, cache / "store", environment)
    return _opened[key]


class RefusedStore:
    """A store that is not asked: every question is answered with the reason."""

    def __init__(self, shown: str, reason: StateError) -> None:
        self.shown, self._reason = shown, reason

    def __getattr__(self, name: str) -> Any:
        def refuse(*asked: object) -> NoReturn:
            raise self._reason

        return refuse


class WithheldStore(RefusedStore):
    """The store of a driven agent: the drive has one that no agent is given, and keeps the folder's copy up to date."""

    def __init__(self) -> None:
        super().__init__(
            "a store that agents are not given",
            StoreUntrustedError(
                "this task is driven, and kept in a store that its agent is not given: nothing is recorded here",
                remedy="stop when you are done: phase-gate drive runs the tests, and records them",
            ),
        )

    def read(self, task: str, after: Head) -> Tail:
        from phase_gate.stores.shared import Tail

        return Tail(head=after)

    def read_all(self, known: Mapping[str, Head]) -> Mapping[str, Tail]:
        return {}

    def list_tasks(self) -> tuple[str, ...]:
        return ()


def is_trusted(root: Path, address: StoreAddress, environment: Mapping[str, str]) -> bool:
    file = _trust_file(root, environment)
    return file is not None and bool(cache.load(file) == _trusted(root, address))


def trust(root: Path, address: StoreAddress, environment: Mapping[str, str]) -> bool:
    """Remember that this user agrees to the store that the project's file names; False: that can't be kept."""
    file = _trust_file(root, environment)
    if file is None:
        return False
    make_folder(REAL, file.parent)
    write_atomically(REAL, file, json.dumps(_trusted(root, address)).encode())
    return True


def find_place(root: Path, address: StoreAddress) -> str:
    """Return where data goes: the address of a git remote where only its name is given."""
    if address.kind != GIT:
        return address.place
    from phase_gate.stores.git_store import find_remote

    return find_remote(address, root)


def _trusted(root: Path, address: StoreAddress) -> dict[str, str]:
    # A name can be given to another remote later: that needs another agreement.
    place = find_place(root, address)
    return {"store": sha256(f"{address.kind} {place} {address.project}".encode()).hexdigest()}


def _trust_file(root: Path, environment: Mapping[str, str]) -> Path | None:
    folder = user_state_folder(environment)
    if folder is None:
        return None
    # Resolved: another spelling of the folder's name is the same folder.
    name = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    return folder / "stores" / f"{name}.json"
