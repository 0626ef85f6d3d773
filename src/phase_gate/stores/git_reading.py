"""Read transactions from a git server: what follows a line, of one task or of many with as many calls of git."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice

from phase_gate.errors import RollbackError, StateError, StoreUnreachableError
from phase_gate.stores.git_objects import ROLLBACK, Content, OwnRepository, Sent
from phase_gate.stores.git_server import GitServer
from phase_gate.stores.shared import UNKNOWN, Head, Tail
from phase_gate.values import Value

#: Refs that are fetched by one call: a command line has an end.
_FETCHED = 200


class News(Value):
    """A task of which the server has another commit, or this machine another line, than the last one that was seen."""

    task: str
    #: The commit that the server has.
    tip: str
    #: The last one that this machine has seen.
    seen: Sent | None
    #: The line that is known.
    after: Head

    @property
    def is_next(self) -> bool:
        """Tell whether what is asked for is just what follows the last one that was seen."""
        return head_of(self.seen) == self.after and (self.seen is None or self.seen.commit != self.tip)


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

    def read_news(self, news: Sequence[News]) -> dict[str, Tail]:
        """Return what tasks have that were changed: with as many calls of git as for one, if they are not too many."""
        found: dict[str, Tail] = {}
        for first in range(0, len(news), _FETCHED):
            found |= self._read_some(news[first : first + _FETCHED])
        return found

    def _read_some(self, news: Sequence[News]) -> dict[str, Tail]:
        unseen = [each.task for each in news if each.seen is None or each.seen.commit != each.tip]
        if unseen:
            self._server.fetch(*map(self._ref, unseen))
        # Two that have the same commit are not read together: what one has seen would end the other's history, too.
        together = {each.tip: each for each in news if each.is_next}
        try:
            found = self._read_together(together)
        except StoreUnreachableError:
            raise
        except StateError:
            found = {}  # one of them can't be read: each for itself
        return found | {each.task: self._read_one(each) for each in news if each.task not in found}

    def _read_together(self, news: Mapping[str, News]) -> dict[str, Tail]:
        """Return what follows the last line that was seen of each task, by its commit.

        Raises StateError if one can't be read.
        """
        ends = {tip: None if each.seen is None else each.seen.commit for tip, each in news.items()}
        histories = self._server.local(lambda: self._own.list_all_sent(ends)) if news else {}
        contents = iter(self._server.local(lambda: self._own.load_contents(chain.from_iterable(histories.values()))))
        found: dict[str, Tail] = {}
        for tip, each in news.items():
            sent = histories[tip]
            found[each.task] = _tail(sent[-1].head, islice(contents, len(sent)))
            self._own.keep_known(self._ref(each.task), sent[-1])
        return found

    def _read_one(self, news: News) -> Tail:
        try:
            newest = self.follow(news.task, news.tip, news.seen, is_fetched=True)
            if newest.head == news.after:
                return Tail(head=news.after)
            return self.load(news.task, newest, news.after, news.seen)
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
