"""Where a task's files are: `default` in the state folder itself, others below `tasks/`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from phase_gate.errors import TamperedError, TaskNameError
from phase_gate.storage.files import REAL, FileSystem, exists, make_folder, read_bytes, write_atomically
from phase_gate.storage.ledger import REPAIR

#: In the state folder, and held while a list of verify tasks is driven: a free one was left by a drive that was killed.
LIST_LOCK = "verify-drive.lock"
#: Our folder's own `.gitignore`.
IGNORE = b"# State of pytest-phase-gate: not for commits.\n*\n"
DEFAULT_TASK = "default"

#: A folder's name on every system, and nothing that leads elsewhere. 64 is plenty and fits every file system.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?"


class TaskPlaces:
    """The files of one task by their names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger_file = folder / "ledger.jsonl"
        self.state_file = folder / "state.json"
        self.lock_file = folder / "state.json.lock"
        self.signal_file = folder / "exit-signal.yaml"
        #: What `state.json` is made from, so that no process has to read the whole ledger.
        self.checkpoint_file = folder / "cache" / "checkpoint.json"
        #: The lock that a drive of the task holds while it lives; its prompts and transcripts.
        self.drive_lock_file = folder / "drive.lock"
        self.drive_folder = folder / "drive"
        #: Tells that runs of a task in a shared store were made in this folder, not only taken over from it.
        self.here_file = folder / "runs" / "here"

    def run_lock_file(self, run: str) -> Path:
        """Return a run's own lock. Raises TamperedError for a name that leads elsewhere."""
        if not run.isascii() or not run.replace("-", "").isalnum():
            raise TamperedError(f"{run[:12]!a} can't be a run's name", remedy=REPAIR)
        return self.folder / "runs" / f"{run}.lock"


def task_folder(state_folder: Path, task: str) -> Path:
    """Return the folder of a task. Raises TaskNameError for a name that can't be one."""
    if task != DEFAULT_TASK and not re.fullmatch(_NAME, task):
        shown = repr(task if len(task) <= 40 else f"{task[:37]}...")
        raise TaskNameError(
            f"{shown} can't be a task's name",
            remedy="use 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    return state_folder if task == DEFAULT_TASK else state_folder / "tasks" / task


def task_names(state_folder: Path) -> list[str]:
    """Return the tasks that have a folder with a ledger, the default one first."""
    names = [DEFAULT_TASK] if (state_folder / "ledger.jsonl").exists() else []
    others = state_folder / "tasks"
    if others.is_dir():
        names += sorted(each.name for each in others.iterdir() if (each / "ledger.jsonl").exists())
    return names


def place_name(state_folder: Path, files: FileSystem = REAL) -> str:
    """Return the random name of this state folder, by which machines that share tasks tell work trees apart."""
    path = state_folder / "place"
    # Of two processes that write it at once, both take the one that stays.
    while not (found := re.fullmatch(rb"([0-9a-f]{16})\n", read_bytes(path, files) or b"")):
        make_state_folder(state_folder, files)
        write_atomically(files, path, os.urandom(8).hex().encode() + b"\n")
    return found[1].decode()


def make_state_folder(folder: Path, files: FileSystem = REAL) -> None:
    """Make a state folder. Its own `.gitignore` comes first: no commit takes anything else of it along."""
    make_folder(files, folder)
    ignore = folder / ".gitignore"
    if not exists(ignore, files):
        write_atomically(files, ignore, IGNORE, durable=False)
