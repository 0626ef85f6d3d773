"""A shared store on a git remote: one ref a task, one commit a transaction, one push to add it.

The server compares: a push says which commit it follows, and is refused where that is not the last one. Refs are all
that is touched on the server, and below `refs/phase-gate` only. It tells no time: each machine counts a line's age from
when it saw it first.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from phase_gate.errors import MovedError
from phase_gate.hashing import sha256
from phase_gate.storage import cache
from phase_gate.stores.address import StoreAddress
from phase_gate.stores.git_objects import OwnRepository, Sent
from phase_gate.stores.git_reading import Reader, head_of
from phase_gate.stores.git_server import GitServer
from phase_gate.stores.remotes import find_remote, project_of
from phase_gate.stores.shared import Head, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.stores.own_repository import Answer

_TASKS = "refs/phase-gate"
#: How often a push is tried that the server refuses though no other was first: a lock there is held for a moment.
_PUSHES = 5
_FIRST_PAUSE = 0.05
#: Lines of a task of which it is kept when they were first seen: more than runs are ever open at once.
_KEPT_SEEN = 100
#: Seconds between two looks while waiting: at first, and at most.
_FIRST_LOOK, _LAST_LOOK = 0.5, 5.0


def open_store(address: StoreAddress, folder: Path, environment: Mapping[str, str]) -> GitStore:
    """Return the store of an address. Raises UsageError for a remote that can't be one."""
    return GitStore(address, folder, environment, remote=find_remote(address, project_of(folder)))


def init_store(address: StoreAddress, folder: Path, environment: Mapping[str, str]) -> int:
    """Look whether the remote can be a store: it answers, and takes refs of ours. Return how many tasks it has."""
    store = open_store(address, folder, environment)
    found = len(store.list_tasks())
    store.try_refs()
    return found


class GitStore:
    def __init__(
        self,
        address: StoreAddress,
        folder: Path,
        environment: Mapping[str, str],
        *,
        remote: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the tasks of a project on a remote.

        :param folder: for what is kept on this machine.
        """
        self.shown = str(address)
        self._project, self._clock = address.project, clock
        self._folder = folder / f"git-{sha256(f'{remote}#{address.project}'.encode()).hexdigest()[:16]}"
        # A copy: a test that changes the environment changes no connection.
        self._own = OwnRepository(self._folder / "repository.git", self.shown, dict(environment))
        #: The last answer of each task: a look and the lock behind it ask the same.
        self._read: dict[str, tuple[tuple[Head, str], Tail]] = {}
        self._server = GitServer(self._own, remote, self.shown)
        self._reader = Reader(self._own, self._server, self._ref, self.shown)

    # --- the protocol ---------------------------------------------------------------------------------------------

    def read(self, task: str, after: Head) -> Tail:
        before = self._reader.find_known(task)
        tip = self._ask(task)
        if tip is None:
            if before is not None:
                raise self._reader.rollback(f"no longer has task {task}, which it had")
            return Tail()
        known = self._reader.follow(task, tip, before)
        if known.head == after:
            return Tail(head=after)
        question = (after, tip)
        if self._read.get(task, (None, None))[0] != question:
            self._read[task] = (question, self._reader.load(task, known, after, before))
        return self._read[task][1]

    def read_all(self, known: Mapping[str, Head]) -> dict[str, Tail]:
        """Return what each task has after the line that is known of it: one question, and one fetch for all of them."""
        prefix = f"{_TASKS}/{self._project}/"
        tips = {_unescape(ref.removeprefix(prefix)): tip for ref, tip in self._server.list_refs(f"{prefix}*").items()}
        found: dict[str, Tail] = {}
        news: dict[str, tuple[str, Sent | None, Head]] = {}
        for task, tip in tips.items():
            seen, after = self._reader.find_known(task), known.get(task, Head())
            if seen is not None and seen.commit == tip and seen.head == after:
                found[task] = Tail(head=after)
            else:
                news[task] = tip, seen, after
        return found | self._reader.read_many(news)

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        known = self._reader.find_known(task)
        if head_of(known) != after:
            tip = self._ask(task)
            known = None if tip is None else self._reader.follow(task, tip, known)
        if known is not None and known.head == last:
            return
        if head_of(known) != after:
            raise self._moved(task)
        sent = self._own.write_transaction(None if known is None else known.commit, last, rows, objects)
        self._send(task, known, sent)
        self._own.keep_known(self._ref(task), sent)

    def age(self, task: str, serial: int) -> float:
        """Return for how many seconds this machine has known of a line: the first question is the first sight."""
        file, now = self._folder / "seen" / f"{_escape(task)}.json", self._clock()
        seen = _read_seen(file)
        # A clock that was put back must not make a run live longer than it may.
        first = min(seen.get(str(serial), now), now)
        if seen.get(str(serial)) != first:
            cache.save(file, {**dict(list(seen.items())[-_KEPT_SEEN:]), str(serial): first})
        return now - first

    def list_tasks(self) -> tuple[str, ...]:
        prefix = f"{_TASKS}/{self._project}/"
        return tuple(sorted(_unescape(ref.removeprefix(prefix)) for ref in self._server.list_refs(f"{prefix}*")))

    def wait(self, task: str, after: Head, seconds: float) -> bool:
        end = time.monotonic() + seconds
        pause = _FIRST_LOOK
        while True:
            tip = self._ask(task)
            known = self._reader.find_known(task)
            if tip is not None and (known is None or known.commit != tip or known.head != after):
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _LAST_LOOK)

    def notes(self) -> tuple[str, ...]:
        return ()

    def forget(self, task: str) -> None:
        self._own.forget_known(self._ref(task))
        self._read.pop(task, None)

    def try_refs(self) -> None:
        """Find out whether the server takes refs of ours: one is made and removed again.

        Raises StoreUnreachableError where it does not.
        """
        ref = f"{_TASKS}/{self._project}.try/{os.urandom(8).hex()}"
        value = self._own.write_mark("phase-gate: a try")
        answer = self._server.push({ref: ("", value)})
        if answer.status != 0:
            raise self._server.refused(ref, answer)
        self._server.push({ref: (value, "")})  # where it lets no ref go, it stays: below another name than any task's

    # --- reading --------------------------------------------------------------------------------------------------

    def _ask(self, task: str) -> str | None:
        """Return the last commit that the server has of a task: one question."""
        ref = self._ref(task)
        return self._server.list_refs(ref).get(ref)

    # --- writing --------------------------------------------------------------------------------------------------

    def _send(self, task: str, before: Sent | None, sent: Sent) -> None:
        """Push a transaction."""
        ref, parent = self._ref(task), "" if before is None else before.commit
        answer: Answer | None = None
        for number in range(_PUSHES):
            answer = self._server.push({ref: (parent, sent.commit)})
            if answer.status == 0:
                return
            if self._server.is_overtaken(ref, answer):
                raise self._moved(task)  # mostly: the next look says by whom
            tip = self._ask(task)
            if tip == sent.commit or self._is_in(task, before, sent, tip):
                return
            _pause(number)
        assert answer is not None, "it was tried"
        raise self._server.refused(ref, answer)

    def _is_in(self, task: str, before: Sent | None, sent: Sent, tip: str | None) -> bool:
        """Tell whether a transaction arrived and only the answer was lost. Raises MovedError if another was first."""
        if tip == (None if before is None else before.commit):
            return False
        if tip is not None:
            self._reader.follow(task, tip, before)
            if self._server.local(lambda: self._own.is_ancestor(sent.commit, tip)):
                return True
        raise self._moved(task)

    # --- helpers --------------------------------------------------------------------------------------------------

    def _ref(self, task: str) -> str:
        return f"{_TASKS}/{self._project}/{_escape(task)}"

    def _moved(self, task: str) -> MovedError:
        return MovedError(f"another machine has added to task {task} in {self.shown}", remedy="try again")


def _pause(number: int) -> None:
    time.sleep(_FIRST_PAUSE * 2**number * random.uniform(0.5, 1.5))


def _read_seen(file: Path) -> dict[str, float]:
    try:
        return {str(serial): float(at) for serial, at in cache.load(file).items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _escape(name: str) -> str:
    """Return a task's name as a part of a ref's: some dots can't be in those."""
    is_odd = ".." in name or name.endswith((".", ".lock"))
    return name.replace(".", "%2E") if is_odd else name


def _unescape(part: str) -> str:
    return part.replace("%2E", ".")
