"""The process that a session began in.

A forked child that falls out of a test goes on with the rest of the session: it reaches every hook, with all objects of
its parent. It records nothing, prints nothing and sets no status: only the process that began a run ends it.
"""

from __future__ import annotations

from os import getpid  # bound at import: tests patch `os.getpid`, and some forget to take the patch back


class Process:
    """Made before the project's code runs; asked by every hook that ends a session."""

    def __init__(self) -> None:
        self._pid = getpid()

    def is_left(self) -> bool:
        """Tell whether a forked child asks, which must do nothing in its parent's name."""
        return getpid() != self._pid
