"""The process that a session began in, and what a forked child of it leaves when it comes back into the session.

A child that falls out of a test goes on with the rest of the session: it reaches every hook, with all objects of its
parent. It records nothing, says nothing and sets no status. It leaves a mark, and the parent says so in its verdict.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from phase_gate.gate.findings import Finding
from phase_gate.gate.forked import forked_child
from phase_gate.storage.files import remove_file
from phase_gate.storage.fork_marks import leave_mark, read_mark
from phase_gate.storage.process_identity import ProcessIdentity


class Origin:
    """Made before the project's code runs; asked by every hook that ends a session."""

    def __init__(self) -> None:
        self._process = ProcessIdentity()
        #: The id of the run that is recorded here: a child that was forked before it began knows it, too.
        self.run = os.urandom(8).hex()
        #: Where a child leaves its mark; None where nothing is recorded that it could put in doubt.
        self.mark: Path | None = None
        #: Gives our own id of a test by pytest's: from our root, and not from pytest's rootdir.
        self.name_test: Callable[[str], str] = str
        self._has_marked = False
        self._is_seen = False

    @property
    def forks(self) -> int:
        """As many as FORKS says in this process, and fewer than it says in any forked child."""
        return self._process.forks

    def is_left(self, test: str = "") -> bool:
        """Tell whether a forked child asks, which must do nothing in its parent's name; it leaves its mark.

        :param test: the one that the child came back from, by pytest's id, if that is known.
        """
        if self._process.is_this():
            return False
        if self.mark is not None and not self._has_marked:
            self._has_marked = True  # once a process: the parent may have dealt with it by the next time
            leave_mark(self.mark, self._name(test))
        return True

    def _name(self, test: str) -> str:
        try:
            return self.name_test(test) if test else ""
        except Exception:
            return test  # whatever a test left patched: the mark matters more than its words

    def doubts(self) -> tuple[Finding, ...]:
        """Return what the marks of children say against the session's outcomes."""
        tests = () if self.mark is None else read_mark(self.mark)
        self._is_seen = bool(tests)
        return tuple(map(forked_child, tests))

    def clear(self) -> None:
        """Take the marks away that the record tells of now."""
        if self._is_seen and self.mark is not None:
            remove_file(self.mark)
