"""Which git remote an address means: as it is written, a folder, or a remote of the user's repository."""

from __future__ import annotations

import os
from pathlib import Path

from phase_gate.errors import UsageError
from phase_gate.storage.tree.git import try_git
from phase_gate.stores.address import StoreAddress, make_address
from phase_gate.stores.own_repository import protocols_for

#: Where the state folder mostly is.
_STATE_FOLDER = ".phase-gate"


def find_remote(address: StoreAddress, folder: Path) -> str:
    """Return what git is to ask. Raises UsageError for what can't be a remote.

    :param folder: of the project.
    """
    place = address.place
    if _is_path(place):
        return os.path.normpath(os.path.join(folder, place))
    if not _is_name(place):
        return _require_safe(place)
    return _find_named(address, folder)


def project_of(cache: Path) -> Path:
    """Return the folder that relative paths, and names of remotes, are looked up in."""
    state_folder = cache.parent
    # A state folder elsewhere says nothing of the project: then it is where the user stands.
    return state_folder.parent if state_folder.name == _STATE_FOLDER else Path.cwd()


def _is_path(place: str) -> bool:
    if "://" in place:
        return False
    before = place.partition("/")[0]
    return os.path.isabs(place) or place.startswith(".") or ("/" in place and ":" not in before)


def _is_name(place: str) -> bool:
    return not any(mark in place for mark in (":", "/", "\\"))


def _find_named(address: StoreAddress, folder: Path) -> str:
    name = address.place
    said = try_git(folder, "config", "--get", f"remote.{name}.url")
    found = "" if said is None else os.fsdecode(said).rstrip("\n")
    if not found:
        raise UsageError(
            f"{name!r} is no remote of this repository",
            remedy=f"git remote -v shows those that there are; a folder is written as ./{name}",
        )
    remote = make_address(kind="git", place=found, project=address.project).place
    if not _is_path(remote):
        return _require_safe(remote)
    path = os.path.normpath(os.path.join(folder, remote))
    if _is_below(path, folder):
        # Hooks of a folder's repository run as this user: an unpacked archive must not bring both along.
        raise UsageError(
            f"the remote {name!r} is a folder of this very project", remedy="name a remote outside of the project"
        )
    return path


def _is_below(path: str, folder: Path) -> bool:
    above, below = os.path.realpath(folder), os.path.realpath(path)
    return os.path.commonpath((above, below)) == above


def _require_safe(remote: str) -> str:
    if remote.startswith("http://") and "http" not in protocols_for(remote):
        raise UsageError("http:// sends all in the clear", remedy="use https:// or ssh://")
    return remote
