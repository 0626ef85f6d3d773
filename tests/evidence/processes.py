"""Processes that tests start, and how they are looked at."""

from __future__ import annotations

import os
import time
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Tell whether a process is there, and not only its name."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def has_ended(pid: int) -> bool:
    """Tell whether a process is gone; one that was ended a moment ago ends when it is its turn."""
    for _ in range(600):
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    return False


def wait_for(path: Path) -> str:
    """Return what a child wrote into a file, as soon as it did: the time limit is that of the test."""
    while not (path.exists() and (text := path.read_text(encoding="utf-8"))):
        time.sleep(0.02)
    return text


class Reached(float):
    """A time that is over as soon as something stands in a file."""

    def __new__(cls, path: Path) -> Reached:
        made = super().__new__(cls, 60.0)
        made.path = path
        return made

    path: Path

    def __le__(self, spent: float) -> bool:
        return float(self) <= spent or (self.path.exists() and self.path.stat().st_size > 0)
