"""The bare repository that a git store keeps on this machine, and the form of a transaction in it.

A transaction is a commit: its parent is the one before, its subject names the last line, its tree has the lines as the
file `rows` and beside it the stored objects that came with them, each under its digest. Nothing else may be in it. The
same transaction is always the same commit, whichever machine makes it and when.

The repository is a copy: it may be removed at any time. No branch, index or file of the user's project is touched.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from phase_gate.errors import RollbackError, StorageError, TamperedError
from phase_gate.storage.files import REAL, exists, read_bytes, refuse, remove_file, write_atomically
from phase_gate.storage.ledger import REPAIR
from phase_gate.storage.objects import MAX_SIZE
from phase_gate.storage.places import make_state_folder
from phase_gate.storage.tree.git import NoGitError
from phase_gate.stores.own_repository import Answer, call_git
from phase_gate.stores.shared import Head
from phase_gate.values import Value

ROLLBACK = "bring the store's newer ledger back, or phase-gate audit --accept-rollback"

#: All the settings that it has.
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n"
_HEAD = b"ref: refs/heads/none\n"
#: Would make git look for settings, objects or parents in other places.
_LEADS_ELSEWHERE = (
    *("commondir", "config.worktree", "info/grafts", "shallow"),
    *("objects/info/alternates", "objects/info/http-alternates"),
)

#: Files with an object each, as git itself has it.
_MAX_LOOSE = 6700
#: Bytes: of what comes with one question, and of one transaction's lines.
_MAX_ALL = 1 << 30
_MAX_ROWS = 256 << 20

_KNOWN = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([0-9]{1,18}) ([0-9a-f]{64})\n")
_SUBJECT = re.compile(rb"phase-gate ([1-9][0-9]{0,17}) ([0-9a-f]{64})")
_ROWS = b"rows"
_OBJECT = re.compile(rb"[0-9a-f]{64}")
_FILE_MODE = b"100644"
#: No person's name, and no time: those are in the lines, where they are vouched for.
_AUTHOR = b"phase-gate <phase-gate@localhost> 0 +0000"


class Sent(Value):
    """A transaction as a commit."""

    commit: str
    tree: str
    head: Head


class Content(Value):
    rows: bytes
    objects: Mapping[str, bytes]


class OwnRepository:
    def __init__(self, folder: Path, shown: str, environment: Mapping[str, str]) -> None:
        """Take the bare repository in that folder.

        :param shown: how messages name the store.
        """
        self.folder, self._shown, self._environment = folder, shown, environment
        self._is_made = False

    def call(self, *words: str, given: bytes = b"", **more: object) -> Answer:
        """Call git for it. Raises NoGitError."""
        self.make()
        return call_git(self.folder, *words, environment=self._environment, given=given, **more)  # type: ignore[arg-type]

    def make(self) -> None:
        """Make it, or see to it that its settings are ours: the folder may have come with foreign files."""
        if self._is_made:
            return
        make_state_folder(self.folder.parents[2])
        links = [name for name in (".", "objects", "refs", "known") if (self.folder / name).is_symlink()]
        for name in (*_LEADS_ELSEWHERE, *links):
            if exists(self.folder / name):
                raise StorageError(
                    f"{self.folder.name} has a file {name!r}, which is not ours", remedy=f"remove {self.folder}"
                )
        for name in ("objects", "refs"):
            _make_folder(self.folder / name)
        for name, content in (("config", _CONFIG), ("HEAD", _HEAD)):
            if read_bytes(self.folder / name) != content:
                self._write_file(self.folder / name, content)
        self._is_made = True

    # --- what this machine knows of a task ------------------------------------------------------------------------

    def read_known(self, ref: str) -> Sent | None:
        """Return the last transaction of a task that this machine has seen; another process may have seen it."""
        match = _KNOWN.fullmatch(read_bytes(self._known_file(ref), limit=256) or b"")
        if match is None:
            return None
        commit, tree, serial, line = (part.decode() for part in match.groups())
        return Sent(commit=commit, tree=tree, head=Head(int(serial), line))

    def keep_known(self, ref: str, sent: Sent) -> None:
        known = f"{sent.commit} {sent.tree} {sent.head.serial} {sent.head.hash}\n"
        # The ref is for git: it tells the server by it what need not be sent.
        for path, text in ((self.folder / ref, f"{sent.commit}\n"), (self._known_file(ref), known)):
            self._write_file(path, text.encode())
        self._tidy()

    def _tidy(self) -> None:
        """Pack its objects when there are thousands of files: about once in 1,500 transactions."""
        sample = self.folder / "objects" / "17"
        with contextlib.suppress(OSError, NoGitError):
            if len(os.listdir(sample)) > _MAX_LOOSE // 256:
                # Only what is old goes: another process may be about to name what it has just written.
                self.call("gc", "--quiet", "--prune=2.weeks.ago")

    def forget_known(self, ref: str) -> None:
        for path in (self.folder / ref, self._known_file(ref)):
            if exists(path):
                remove_file(path)

    def _known_file(self, ref: str) -> Path:
        return self.folder / "known" / ref.rpartition("/")[2]

    # --- writing --------------------------------------------------------------------------------------------------

    def write_transaction(self, parent: str | None, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> Sent:
        """Write a transaction's commit and what is in it; no ref names it yet."""
        self.make()
        files = {_ROWS: self._write("blob", rows)}
        files |= {name.encode(): self._write("blob", packed) for name, packed in objects.items()}
        tree = self._write(
            "tree",
            b"".join(_FILE_MODE + b" " + name + b"\0" + bytes.fromhex(found) for name, found in sorted(files.items())),
        )
        subject = f"phase-gate {last.serial} {last.hash}"
        return Sent(commit=self._write_commit(tree, parent, subject), tree=tree, head=last)

    def write_mark(self, text: str) -> str:
        """Write a commit without files, for what is a ref's value alone."""
        self.make()
        return self._write_commit(self._write("tree", b""), None, text)

    def _write_commit(self, tree: str, parent: str | None, subject: str) -> str:
        rows = [f"tree {tree}".encode(), *([f"parent {parent}".encode()] if parent else [])]
        rows += [b"author " + _AUTHOR, b"committer " + _AUTHOR, b"", subject.encode()]
        return self._write("commit", b"\n".join(rows) + b"\n")

    def _write(self, kind: str, content: bytes) -> str:
        """Write an object as git does, without git: a process for each would take longer than all the rest."""
        from hashlib import sha1  # here: only writers need it

        data = f"{kind} {len(content)}\0".encode() + content
        name = sha1(data, usedforsecurity=False).hexdigest()
        path = self.folder / "objects" / name[:2] / name[2:]
        if not exists(path):
            self._write_file(path, zlib.compress(data, 1))
        return name

    def _write_file(self, path: Path, content: bytes) -> None:
        """Write what need not survive a power failure: the server has it."""
        # Not beside it: of a process that is killed here something would stay, and among refs that is a broken one.
        temporary = self.folder / os.urandom(8).hex()
        write_atomically(REAL, temporary, content, durable=False)
        _make_folder(path.parent)
        try:
            REAL.replace(temporary, path)
        except OSError as error:
            raise refuse(path, error) from error

    # --- reading --------------------------------------------------------------------------------------------------

    def is_ancestor(self, one: str, other: str) -> bool:
        """Tell whether the history of the other commit has this one in it."""
        return self.call("merge-base", "--is-ancestor", one, other).status == 0

    def list_sent(self, tip: str, known: str | None = None) -> list[Sent]:
        """Return the transactions up to that commit, the oldest first; those after a known one.

        Raises TamperedError for a history that is not one transaction after the other, RollbackError for one without
        the known one.
        """
        form = "--format=tformat:%H %T %P %x00%s"
        given = f"{tip}\n^{known}\n" if known else f"{tip}\n"
        rows: dict[str, tuple[str, str, bytes]] = {}
        for row in self._ask("log", "--topo-order", "--stdin", form, given=given.encode()).splitlines():
            ids, _, subject = row.partition(b"\0")
            commit, tree, *parents = ids.decode("ascii", "replace").split()
            rows[commit] = tree, " ".join(parents), subject
        return self._history(rows, tip, known or "")

    def _history(self, rows: Mapping[str, tuple[str, str, bytes]], tip: str, known: str) -> list[Sent]:
        found: list[Sent] = []
        at = tip
        while at != known and at in rows:
            tree, parents, subject = rows[at]
            match = _SUBJECT.fullmatch(subject)
            if match is None or " " in parents:
                raise self._tampered(f"commit {at[:12]} is not one of ours")
            found.append(Sent(commit=at, tree=tree, head=Head(int(match[1]), match[2].decode())))
            at = parents
        if at != known:
            raise RollbackError(f"{self._shown} has another history than the one that was read before", remedy=ROLLBACK)
        return found[::-1]

    def load_contents(self, sent: Iterable[Sent]) -> list[Content]:
        """Return what is in transactions. Raises TamperedError for anything in them that is not ours."""
        sent = list(sent)
        names = [*(each.tree for each in sent), *(f"{each.commit}:rows" for each in sent)]
        # Together: a process more takes longer than to look at both.
        loaded = self._load(names, ("tree", "blob"), _MAX_ROWS)
        trees = [self._read_tree(data) for data in loaded[: len(sent)]]
        wanted = list(dict.fromkeys(found for tree in trees for name, found in tree.items() if name != _ROWS))
        blobs = dict(zip(wanted, self._load(wanted, ("blob",), MAX_SIZE), strict=True))
        return [
            Content(rows=rows, objects={name.decode(): blobs[found] for name, found in tree.items() if name != _ROWS})
            for tree, rows in zip(trees, loaded[len(sent) :], strict=True)
        ]

    def _read_tree(self, data: bytes) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        begin = 0
        while begin < len(data):
            end = data.find(b"\0", begin)
            mode, _, name = data[begin:end].partition(b" ")
            if end < 0 or mode != _FILE_MODE or not (name == _ROWS or _OBJECT.fullmatch(name)) or name in found:
                raise self._tampered(f"there is {os.fsdecode(name[:40])!a} in a transaction")
            found[name] = data[end + 1 : end + 21].hex()
            begin = end + 21
        if _ROWS not in found or begin != len(data):
            raise self._tampered("a transaction has no lines")
        return found

    def _load(self, names: list[str], kinds: tuple[str, ...], largest: int) -> list[bytes]:
        """Return the contents of git's objects. Sizes first: a few bytes may unpack to gigabytes."""
        if not names:
            return []
        given = "".join(f"{name}\n" for name in names).encode()
        sizes: list[int] = []
        for name, row in zip(names, self._ask("cat-file", "--batch-check", given=given).splitlines(), strict=True):
            said = row.decode("ascii", "replace").split()
            if len(said) != 3 or said[1] not in kinds or not said[2].isdigit():
                raise self._tampered(f"{name[:12]} is not there, or is something else")
            sizes.append(int(said[2]))
        if max(sizes) > largest or sum(sizes) > _MAX_ALL:
            raise self._tampered("there is more in it than a ledger has")
        data = self._ask("cat-file", "--batch", given=given)
        found = []
        begin = 0
        for size in sizes:
            begin = data.index(b"\n", begin) + 1
            found.append(data[begin : begin + size])
            begin += size + 1
        return found

    def _ask(self, *words: str, given: bytes = b"") -> bytes:
        answer = self.call(*words, given=given)
        if answer.status != 0:
            raise NoGitError(answer.complaint)
        return answer.said

    def _tampered(self, problem: str) -> TamperedError:
        return TamperedError(f"{self._shown}: {problem}", remedy=REPAIR)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refuse(path, error) from error
