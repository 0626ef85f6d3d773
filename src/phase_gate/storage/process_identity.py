"""Which process is this? A forked child has every object of its parent, and must not act in its name.

Everything is bound at import: tests patch `os.getpid`, and some forget to take the patch back.
"""

from __future__ import annotations

import os
from os import getpid

#: How many forks lie between this process and the one that imported this module: one number in a list, so that a
#: function that is called for every test can hold the list and compare.
FORKS = [0]


def _count_fork() -> None:
    FORKS[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class ProcessIdentity:
    """The process that made this object."""

    __slots__ = ("_pid", "forks")

    def __init__(self) -> None:
        self._pid, self.forks = getpid(), FORKS[0]

    def is_this(self) -> bool:
        """Tell whether it is the one that asks.

        By number, for a library may fork past Python; by forks, for a child in a namespace of its own may have its
        parent's number.
        """
        return self.forks == FORKS[0] and self._pid == getpid()
