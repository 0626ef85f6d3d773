"""The state folder and its tasks: `default` uses the folder itself, other tasks a folder in `tasks/`."""

from __future__ import annotations

import re
from pathlib import Path

from phase_gate.bound import os
from phase_gate.errors import TaskNameError
from phase_gate.storage.files import REAL, FileSystem, exists, make_folder, read_bytes, write_atomically

#: In the state folder; locked while `drive` works on a list of verify tasks. If it exists unlocked, a drive was killed.
LIST_LOCK = "verify-drive.lock"
#: The state folder's own `.gitignore`.
IGNORE = b"# State of pytest-phase-gate: not for commits.\n*\n"
DEFAULT_TASK = "default"
#: In a task's folder.
SIGNAL_FILE = "exit-signal.yaml"

#: Valid as a folder's name on every system, without `..` or slashes. Every file system allows 64 characters.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?"


def task_folder(state_folder: Path, task: str) -> Path:
    """Return the folder of a task. Raises TaskNameError for an invalid name."""
    if task != DEFAULT_TASK and not re.fullmatch(_NAME, task):
        shown = repr(task if len(task) <= 40 else f"{task[:37]}...")
        raise TaskNameError(
            f"{shown} can't be a task's name",
            remedy="use 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    return state_folder if task == DEFAULT_TASK else state_folder / "tasks" / task


def task_names(state_folder: Path) -> list[str]:
    """Return the names of all tasks with a ledger, `default` first."""
    names = [DEFAULT_TASK] if (state_folder / "ledger.jsonl").exists() else []
    others = state_folder / "tasks"
    if others.is_dir():
        names += sorted(each.name for each in others.iterdir() if (each / "ledger.jsonl").exists())
    return names


def folder_id(state_folder: Path, files: FileSystem = REAL) -> str:
    """Return the random id of this state folder, which identifies the work tree to other machines."""
    path = state_folder / "place"
    # If two processes write at the same time, both return the id that is left in the file.
    while not (found := re.fullmatch(rb"([0-9a-f]{16})\n", read_bytes(path, files) or b"")):
        make_state_folder(state_folder, files)
        write_atomically(files, path, os.urandom(8).hex().encode() + b"\n")
    return found[1].decode()


def make_state_folder(folder: Path, files: FileSystem = REAL) -> None:
    """Make a state folder. Its `.gitignore` is written first, so that no file in it is ever committed."""
    make_folder(files, folder)
    ignore = folder / ".gitignore"
    if not exists(ignore, files):
        write_atomically(files, ignore, IGNORE, durable=False)


# --- whether a folder is on a network file system, where locks are unreliable


#: File systems on which `flock` may be local, ignored, or block forever.
NETWORK_TYPES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs"})

_MOUNT_TABLE = Path("/proc/self/mounts")


def network_warning(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return a warning if the folder is on a network file system, otherwise an empty text."""
    kind = filesystem_type(folder, table)
    if kind not in NETWORK_TYPES:
        return ""
    return f"{folder} is on {kind}: locks may not work between machines; PHASE_GATE_DIR can name a local folder"


def filesystem_type(folder: Path, table: Path = _MOUNT_TABLE) -> str:
    """Return the type of the folder's file system from the mount table; empty if that is unknown."""
    try:
        rows = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    path = os.path.join(os.path.realpath(folder), "")
    best = kind = ""
    for _, mount, its_kind, *_ in (words for row in rows if len(words := row.split(" ")) > 2):
        place = os.path.join(mount.replace("\\040", " "), "")
        # The last of equally long ones wins, because it is mounted over the others.
        if path.startswith(place) and len(place) >= len(best):
            best, kind = place, its_kind
    return kind
