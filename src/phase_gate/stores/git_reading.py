"""Read transactions from a git server: what follows a line, of one task or of many with one fetch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from phase_gate.errors import RollbackError, StateError, StoreUnreachableError
from phase_gate.stores.git_objects import ROLLBACK, Content, OwnRepository, Sent
from phase_gate.stores.git_server import GitServer
from phase_gate.stores.shared import UNKNOWN, Head, Tail

#: Refs that are fetched by one call: a command line has an end.
_FETCHED = 200


class Reader:
    def __init__(self, own: OwnRepository, server: GitServer, ref: Callable[[str], str], shown: str) -> None:
        """Read from a server.

        :param ref: returns the ref of a task.
        :param shown: how messages name the store.
        """
        self._own, self._server, self._ref, self._shown = own, server, ref, shown

    def find_known(self, task: str) -> Sent | None:
        """Return the last transaction that this machine has seen of a task."""
        return self._own.read_known(self._ref(task))

    def follow(self, task: str, tip: str, before: Sent | None, *, is_fetched: bool = False) -> Sent:
        """Return the task's last transaction, and fetch what is missing. Raises RollbackError for a rewritten ref.

        :param before: the last one that was known when the server was asked. By now another process of this machine
            may know more than the server said.
        """
        newest = self.find_known(task)
        if newest is not None and newest.commit == tip:
            return newest
        if before is not None and before.commit == tip:
            return before  # another process has sent more since the server was asked
        if not is_fetched:
            self._server.fetch(self._ref(task))
        sent = self._server.local(lambda: self._own.list_sent(tip, None if before is None else before.commit))
        self._own.keep_known(self._ref(task), sent[-1])
        return sent[-1]

    def _find_after(self, task: str, known: Sent, after: Head, before: Sent | None) -> list[Sent]:
        """Return the transactions after a line; none where the task is not as far as that."""
        if before is not None and before.head == after:
            commit = before.commit
            return self._server.local(lambda: self._own.list_sent(known.commit, commit))
        sent = self._server.local(lambda: self._own.list_sent(known.commit))
        if after == Head():
            return sent
        if known.head.serial < after.serial:
            return []
        place = next(number for number, each in enumerate(sent, 1) if each.head.serial >= after.serial)
        if sent[place - 1].head != after:
            raise self.rollback(f"does not have line {after.serial} of task {task} any more")
        return sent[place:]

    def read_many(self, news: Mapping[str, tuple[str, Sent | None, Head]]) -> dict[str, Tail]:
        """Return what tasks have that were changed: one fetch for all of them, then each by itself.

        :param news: task -> the commit that the server has, the last one that was seen, and the line that is known.
        """
        unseen = [self._ref(task) for task, (tip, seen, _) in news.items() if seen is None or seen.commit != tip]
        for first in range(0, len(unseen), _FETCHED):
            self._server.fetch(*unseen[first : first + _FETCHED])
        return {task: self._read_fetched(task, *each) for task, each in news.items()}

    def _read_fetched(self, task: str, tip: str, seen: Sent | None, after: Head) -> Tail:
        try:
            newest = self.follow(task, tip, seen, is_fetched=True)
            return Tail(head=after) if newest.head == after else self.load(task, newest, after, seen)
        except StoreUnreachableError:
            raise
        except StateError:
            return UNKNOWN

    def load(self, task: str, known: Sent, after: Head, before: Sent | None) -> Tail:
        sent = self._find_after(task, known, after, before)
        contents = self._server.local(lambda: self._own.load_contents(sent))
        return _tail(known.head, contents)

    def rollback(self, problem: str) -> RollbackError:
        return RollbackError(f"{self._shown} {problem}", remedy=ROLLBACK)


def _tail(head: Head, contents: Iterable[Content]) -> Tail:
    """Return transactions as an answer."""
    objects: dict[str, bytes] = {}
    rows = []
    for content in contents:
        objects |= content.objects
        rows.append(content.rows)
    return Tail(head=head, rows=b"".join(rows), objects=objects)


def head_of(known: Sent | None) -> Head:
    return Head() if known is None else known.head
