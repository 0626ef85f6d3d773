"""Ask a git server, and push to it: what it has, what is missing here, and in which words it says no."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from phase_gate.errors import StoreUnreachableError
from phase_gate.storage.tree.git import NoGitError
from phase_gate.stores.address import hide_secret
from phase_gate.stores.git_objects import OwnRepository
from phase_gate.stores.own_repository import SERVER_LIMIT, Answer, protocols_for
from phase_gate.visible import show_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

_LONGEST_COMPLAINT = 200
#: What `git push --porcelain` says of a ref that it did not try to push; all else was refused by the server.
_NOT_TRIED = "[rejected]"


class GitServer:
    def __init__(self, own: OwnRepository, remote: str, shown: str) -> None:
        """Take the server behind a remote.

        :param shown: how messages name the store.
        """
        self._own, self._remote, self._shown = own, remote, shown

    def list_refs(self, *patterns: str) -> dict[str, str]:
        """Return the values of refs by their names: one question.

        :param patterns: names, or beginnings of names with a `*` behind.
        """
        answer = self._call("ls-remote", "--refs", "-q", "--", self._remote, *patterns)
        if answer.status != 0:
            raise self._unreachable(answer)
        found = {}
        names = frozenset(patterns)
        beginnings = tuple(pattern.rstrip("*") for pattern in patterns if pattern.endswith("*"))
        for row in answer.said.decode("utf-8", "replace").splitlines():
            value, _, ref = row.partition("\t")
            # For git a pattern is the end of a name: others may have it, too.
            if ref in names or ref.startswith(beginnings):
                found[ref] = value
        return found

    def fetch(self, *refs: str) -> None:
        """Fetch the history of refs."""
        answer = self._call("fetch", "-q", "--no-tags", "--no-write-fetch-head", "--refmap=", "--", self._remote, *refs)
        if answer.status != 0:
            raise self._unreachable(answer)

    def push(self, changes: Mapping[str, tuple[str, str]]) -> Answer:
        """Push refs by their names, each from the value that it is expected to have to a new one; empty: none."""
        words = ["push", "--porcelain", "--no-verify", "--no-signed"]
        words += [f"--force-with-lease={ref}:{expected}" for ref, (expected, _) in changes.items()]
        return self._call(*words, "--", self._remote, *(f"{value}:{ref}" for ref, (_, value) in changes.items()))

    def is_overtaken(self, ref: str, answer: Answer) -> bool:
        """Tell whether git did not even try to push that one ref, for it is not what was expected any more."""
        rows = (row.split("\t") for row in answer.said.decode("utf-8", "replace").splitlines())
        return any(
            row[0] == "!" and row[1].endswith(f":{ref}") and row[2].startswith(_NOT_TRIED)
            for row in rows
            if len(row) == 3
        )

    def refused(self, ref: str, answer: Answer) -> StoreUnreachableError:
        """Return what to say when a push is refused though no other was first."""
        return StoreUnreachableError(
            f"{self._shown} does not accept {ref}{_complaint(answer)}",
            remedy="let it accept pushes to refs/phase-gate/*, or use another remote",
        )

    def local(self, look: Callable[[], T]) -> T:
        """Return what a look at our own repository finds. Raises StoreUnreachableError where git can't look."""
        try:
            return look()
        except NoGitError as error:
            raise self._no_git(error) from error

    def _call(self, *words: str) -> Answer:
        try:
            return self._own.call(
                *words,
                protocols=protocols_for(self._remote),
                limit=SERVER_LIMIT,
            )
        except NoGitError as error:
            raise self._no_git(error) from error

    def _no_git(self, error: NoGitError) -> StoreUnreachableError:
        return StoreUnreachableError(
            f"{self._shown} needs git, which fails: {_first_line(str(error)) or 'no answer'}",
            remedy=f"install git 2.30 or newer; if it is there, remove {self._own.folder.parent}, which is a copy",
        )

    def _unreachable(self, answer: Answer) -> StoreUnreachableError:
        why = f" within {answer.limit:.0f} s" if answer.status is None else _complaint(answer)
        is_missing = os.path.isabs(self._remote) and not os.path.lexists(self._remote)
        asks = f"see what this says: git ls-remote {hide_secret(self._remote)}"
        return StoreUnreachableError(
            f"{self._shown} does not answer{why}",
            remedy=f"git init --bare {self._remote}" if is_missing else asks,
        )


def _complaint(answer: Answer) -> str:
    said = _first_line(answer.complaint)
    return f": {said}" if said else ""


def _first_line(text: str) -> str:
    """Return the line in which git says what is wrong, as it may be shown."""
    said = next((row.strip() for row in text.splitlines() if row.strip()), "")
    return show_line(hide_secret(said))[:_LONGEST_COMPLAINT]
