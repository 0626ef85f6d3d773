"""Where a task's files are: `default` in the state folder itself, others below `tasks/`."""

from __future__ import annotations

import re
from pathlib import Path

from phase_gate.errors import TaskNameError

DEFAULT_TASK = "default"

#: A folder's name on every system, and nothing that leads elsewhere. 64 is plenty and fits every file system.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")


def task_folder(state_folder: Path, task: str) -> Path:
    """Return the folder of a task. Raises TaskNameError for a name that can't be one."""
    if not _NAME.fullmatch(task):
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
