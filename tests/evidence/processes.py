"""Processes that tests start, and how they are looked at."""

from __future__ import annotations

import os
import time
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Tell whether a process lives; one that was ended a moment ago may still be there as a name."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


def wait_for(path: Path) -> str:
    """Return what a child wrote into a file, as soon as it did."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text(encoding="utf-8")):
            return text
        time.sleep(0.02)
    raise AssertionError(f"{path.name} never came")


class Reached(float):
    """A time that is over as soon as something stands in a file."""

    def __new__(cls, path: Path) -> Reached:
        made = super().__new__(cls, 60.0)
        made.path = path
        return made

    path: Path

    def __le__(self, spent: float) -> bool:
        return float(self) <= spent or (self.path.exists() and self.path.stat().st_size > 0)
