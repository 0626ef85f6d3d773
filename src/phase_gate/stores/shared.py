"""What a shared store is: a ledger for each task that many machines append to, compared before each write.

The state folder is always there: with a shared store it is a verified copy of it, so that opening does not depend on
the ledger's length and reading a task is one question. The store decides who is first; it decides nothing else, and
what comes from it is checked line by line like what lies on the disk.
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
    #: Whole transactions, as they stand in a ledger's file; empty where nothing was added.
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
        raise NotImplementedError

    def read_all(self, known: Mapping[str, Head]) -> Mapping[str, Tail]:
        """Return what each task has after the line that is known of it, in one question; unknown tasks whole.

        Of a task that it can't answer for, it tells another last line than the known one, and no rows: `read` says why.
        """
        raise NotImplementedError

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        """Add a transaction behind the line `after`, all of it or nothing.

        Raises MovedError if another line is the last one by now. What was added is safe when this returns. Asked to
        add what is there already, as the last one, it returns: an answer may have been lost.

        :param last: the last line among the rows.
        """
        raise NotImplementedError

    def age(self, task: str, serial: int) -> float:
        """Return how many seconds ago a line was added, or less: by one clock, the server's or this machine's."""
        raise NotImplementedError

    def list_tasks(self) -> tuple[str, ...]:
        raise NotImplementedError

    def wait(self, task: str, after: Head, seconds: float) -> bool:
        """Wait until the task has another line after this one; tell whether it has."""
        raise NotImplementedError

    def notes(self) -> tuple[str, ...]:
        """Return what a user should know about the store, a line each."""
        raise NotImplementedError

    def forget(self, task: str) -> None:
        """Forget what this machine has seen of a task: a person accepts what the store has now."""
        raise NotImplementedError
