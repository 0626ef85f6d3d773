"""The interface of a shared store: a ledger per task to which many machines append, comparing before each write.

The state folder is a verified copy of the store, so that opening a task does not depend on the ledger's length and
reading one is a single query. The store only decides which writer is first. Its lines are verified like those on disk.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.storage.ledger import GENESIS
from phase_gate.values import Value, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Head(Value, kw_only=False):
    """The last line of a ledger: its number and its hash."""

    serial: int = 0
    hash: str = GENESIS


class Tail(Value):
    """What a store has beyond a line that is known."""

    head: Head = Head()
    #: Whole transactions, as in a ledger's file; empty if nothing was added.
    rows: bytes = b""
    #: The stored objects that came with them, packed, by their digests.
    objects: Mapping[str, bytes] = field(default_factory=dict)


#: The answer for a task that a store can't answer for.
UNKNOWN = Tail(head=Head(-1, ""))


class SharedStore(Protocol):
    """The ledgers of one project's tasks on a server.

    Every method raises StoreUnreachableError where the store can't be asked, and then nothing is known.
    """

    #: How messages name it: without a password.
    shown: str

    def read(self, task: str, after: Head) -> Tail:
        """Return what the task has after that line, which ends a transaction.

        Raises RollbackError if its ledger does not have that line.
        """

    def read_all(self, known: Mapping[str, Head]) -> Mapping[str, Tail]:
        """Return the lines of each task after the known one, in one query; unknown tasks as a whole.

        For a task that fails, return another last line than the known one and no rows: `read` raises the error.
        """

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        """Add a transaction after the line `after`, all of it or nothing.

        Raises MovedError if that is no longer the last line. When this returns, the transaction is safe. If it is
        already there as the last one, return without an error, because an earlier answer may have been lost.

        :param last: the last line among the rows.
        """

    def list_tasks(self) -> tuple[str, ...]:
        """Return the names of all tasks that have a ledger."""

    def forget(self, task: str) -> None:
        """Forget what this machine has seen of a task: a person accepts what the store has now."""
