"""A shared store on a git remote: one ref per task, one commit per transaction, one push to add it.

The server compares: a push names the commit that it follows, and is refused if that is not the last one. On the server
only refs below `refs/phase-gate` change.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path

from phase_gate.bound import sha256
from phase_gate.errors import MovedError, RollbackError, StateError, StoreUnreachableError, UsageError
from phase_gate.storage.git_command import try_git
from phase_gate.stores.choosing import StoreAddress, hide_secret
from phase_gate.stores.git_repository import ROLLBACK, Answer, Repository, Sent
from phase_gate.stores.shared import UNKNOWN, Head, Tail

_TASKS = "refs/phase-gate"
#: How often a push is tried that the server refuses though no other was first: a lock there is held for a moment.
_PUSHES = 5
_FIRST_PAUSE = 0.05
#: Options of a fetch with minimal output, and of a push that reports a lost race.
_FETCH = ("-q", "--no-tags", "--no-write-fetch-head")
_STALE = b"(stale info)"


def open_store(address: StoreAddress, folder: Path, environment: Mapping[str, str]) -> GitStore:
    """Return the store of an address. Raises UsageError for a remote that can't be one."""
    state_folder = folder.parent
    # A state folder elsewhere does not show the project: then it is the current folder.
    project = state_folder.parent if state_folder.name == ".phase-gate" else Path.cwd()
    return GitStore(address, folder, environment, remote=find_remote(address, project))


class GitStore:
    def __init__(self, address: StoreAddress, folder: Path, environment: Mapping[str, str], *, remote: str) -> None:
        """Take the tasks of a project on a remote.

        :param folder: for what is kept on this machine.
        """
        self.shown = str(address)
        self._prefix, self._remote = f"{_TASKS}/{address.project}", remote
        own = folder / f"git-{sha256(f'{remote}#{address.project}'.encode()).hexdigest()[:16]}"
        self._repository = Repository(own / "repository.git", self.shown, environment)

    # --- the protocol ---------------------------------------------------------------------------------------------

    def read(self, task: str, after: Head) -> Tail:
        tip, sent = self._fetch_task(task)
        return self._tail(task, tip, sent, after)

    def read_all(self, known: Mapping[str, Head]) -> dict[str, Tail]:
        """Return what each task has after the line that is known of it: one question, and one fetch for all of them."""
        repository = self._repository
        tips = self._list_tips()
        seen = {task: repository.read_ref(self._ref(task)) for task in tips}
        new = [self._ref(task) for task, tip in tips.items() if seen[task] != tip]
        if new:
            given = "\n".join(new).encode()
            answer = repository.call("fetch", *_FETCH, "--refmap=", "--stdin", "--", self._remote, given=given)
            if answer.status != 0:
                raise self._unreachable(answer)
        old = [task for task in tips if seen[task] == tips[task]]
        heads = repository.find_heads(tips[task] for task in old)
        found = {task: Tail(head=heads[tips[task]]) for task in old if heads[tips[task]] == known.get(task)}
        for task in tips.keys() - found.keys():
            try:
                sent = self._follow(task, tips[task], seen[task])
                found[task] = self._tail(task, tips[task], sent, known.get(task, Head()))
            except StoreUnreachableError:
                raise
            except StateError:
                found[task] = UNKNOWN
        return found

    def append(self, task: str, after: Head, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> None:
        tip = self._repository.read_ref(self._ref(task))
        sent = self._follow(task, tip, tip)
        if _head_of(sent) != after:
            tip, sent = self._fetch_task(task)
        if last in [each.head for each in sent]:
            return
        if _head_of(sent) != after:
            raise self._moved(task)
        mine = self._repository.write_transaction(tip, last, rows, objects)
        self._send(task, tip, mine)
        self._repository.write_ref(self._ref(task), mine.commit)

    def list_tasks(self) -> tuple[str, ...]:
        return tuple(sorted(self._list_tips()))

    def forget(self, task: str) -> None:
        self._repository.remove_ref(self._ref(task))

    # --- reading --------------------------------------------------------------------------------------------------

    def _fetch_task(self, task: str) -> tuple[str, list[Sent]]:
        """Return the last commit that the server has of a task, empty if it has none; and the transactions up to it,
        from the one on that this machine has seen last.
        """
        # In this order: what another process of this machine adds meanwhile is news, and no rollback.
        ref, known = self._ref(task), self._repository.read_ref(self._ref(task))
        tip, answer = self._fetch(ref)
        if answer.status != 0 and ref in self._list_refs(ref):
            tip, answer = self._fetch(ref)  # another machine may have made it just now
            if answer.status != 0:
                raise self._unreachable(answer)
        if known and not tip:
            raise self._rollback(f"no longer has task {task}, which it had")
        return tip, self._follow(task, tip, known)

    def _fetch(self, ref: str) -> tuple[str, Answer]:
        """Fetch a ref by one connection; return the commit that it names, empty where the server has none."""
        # Into a ref of its own, for another process of this machine may ask, too.
        fetched = f"refs/fetched/{os.urandom(8).hex()}"
        try:
            answer = self._repository.call("fetch", *_FETCH, "--", self._remote, f"{ref}:{fetched}")
            return self._repository.read_ref(fetched) if answer.status == 0 else "", answer
        finally:
            self._repository.remove_ref(fetched)

    def _follow(self, task: str, tip: str, known: str) -> list[Sent]:
        """Return the transactions from the known one on. Raises RollbackError for a rewritten ref."""
        if not tip:
            return []
        sent = self._repository.list_sent(tip, known)
        if tip != known:
            self._repository.write_ref(self._ref(task), tip)
        return sent

    def _tail(self, task: str, tip: str, sent: list[Sent], after: Head) -> Tail:
        head = _head_of(sent)
        if head.serial < after.serial or head == after:
            return Tail(head=head)
        if after not in [each.head for each in sent]:
            sent = self._repository.list_sent(tip)
        if after.serial and after not in [each.head for each in sent]:
            raise self._rollback(f"does not have line {after.serial} of task {task} any more")
        news = [each for each in sent if each.head.serial > after.serial]
        rows, objects = self._repository.load(news)
        return Tail(head=head, rows=rows, objects=objects)

    # --- writing --------------------------------------------------------------------------------------------------

    def _send(self, task: str, parent: str, mine: Sent) -> None:
        """Push a transaction. Raises MovedError if another was first."""
        ref = self._ref(task)
        for number in range(_PUSHES):
            answer = self._push(ref, parent, mine.commit)
            if answer.status == 0:
                return
            if number == 0 and _STALE in answer.output:
                raise self._moved(task)  # what was never sent can't be there
            tip, sent = self._fetch_task(task)
            if mine in sent:
                return  # only the answer was lost
            if tip != parent:
                raise self._moved(task)
            _pause(number)
        # For another reason than a lost race.
        raise StoreUnreachableError(
            f"{self.shown} does not accept {ref}: {answer.first_line}",
            remedy="let it accept pushes to refs/phase-gate/*, or use another remote",
        )

    # --- asking the server ----------------------------------------------------------------------------------------

    def _list_tips(self) -> dict[str, str]:
        """Return the last commit of each task: one question."""
        found = self._list_refs(f"{self._prefix}/*")
        return {ref.removeprefix(f"{self._prefix}/"): tip for ref, tip in found.items()}

    def _list_refs(self, pattern: str) -> dict[str, str]:
        answer = self._repository.call("ls-remote", "--refs", "-q", "--", self._remote, pattern)
        if answer.status != 0:
            raise self._unreachable(answer)
        rows = (row.partition("\t") for row in answer.output.decode("utf-8", "replace").splitlines())
        # For git a pattern is the end of a name: others may have it, too.
        return {ref: value for value, _, ref in rows if ref == pattern or ref.startswith(f"{self._prefix}/")}

    def _push(self, ref: str, expected: str, value: str) -> Answer:
        """Push a ref from the value that it is expected to have to a new one; empty: none."""
        words = ("--porcelain", "--no-verify", "--no-signed", f"--force-with-lease={ref}:{expected}")
        return self._repository.call("push", *words, "--", self._remote, f"{value}:{ref}")

    # --- names and errors -----------------------------------------------------------------------------------------

    def _ref(self, task: str) -> str:
        return f"{self._prefix}/{task}"

    def _moved(self, task: str) -> MovedError:
        return MovedError(f"another machine has added to task {task} in {self.shown}", remedy="try again")

    def _rollback(self, problem: str) -> RollbackError:
        return RollbackError(f"{self.shown} {problem}", remedy=ROLLBACK)

    def _unreachable(self, answer: Answer) -> StoreUnreachableError:
        is_missing = os.path.isabs(self._remote) and not os.path.lexists(self._remote)
        remedy = f"check the output of: git ls-remote {hide_secret(self._remote)}"
        if is_missing:
            remedy = f"check the address, and that {self._remote} is mounted"
            # In the place of a store that is only away, a new one would hide it.
            if not self._repository.has_seen(self._prefix):
                remedy += f"; for a new store: git init --bare {self._remote}"
        return StoreUnreachableError(f"{self.shown} does not answer: {answer.first_line}", remedy=remedy)


def _head_of(sent: list[Sent]) -> Head:
    return sent[-1].head if sent else Head()


def _pause(number: int) -> None:
    time.sleep(_FIRST_PAUSE * 2**number * random.uniform(0.5, 1.5))


# --- which git remote an address means: as it is written, a folder, or a remote of the user's repository


def find_remote(address: StoreAddress, folder: Path) -> str:
    """Return what git is to ask. Raises UsageError for what can't be a remote.

    :param folder: of the project.
    """
    place = address.place
    if _is_path(place):
        return os.path.normpath(os.path.join(folder, place))
    if any(mark in place for mark in (":", "/", "\\")):
        return place
    output = try_git(folder, "config", "--get", f"remote.{place}.url")
    found = "" if output is None else os.fsdecode(output).rstrip("\n")
    if not found:
        raise UsageError(
            f"{place!r} is no remote of this repository",
            remedy=f"git remote -v shows those that there are; a folder is written as ./{place}",
        )
    if not _is_path(found):
        return found
    path = os.path.normpath(os.path.join(folder, found))
    if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        # Hooks of a folder's repository run as this user: an unpacked archive must not bring both along.
        raise UsageError(
            f"the remote {place!r} is a folder of this very project", remedy="name a remote outside of the project"
        )
    return path


def _is_path(place: str) -> bool:
    if "://" in place:
        return False
    before = place.partition("/")[0]
    return os.path.isabs(place) or place.startswith(".") or ("/" in place and ":" not in before)
