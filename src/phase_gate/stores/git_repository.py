"""The bare repository that a git store keeps on this machine: git is called for it, and transactions are commits in it.

The parent of a commit is the transaction before, its subject names the last line, its tree has the lines as the file
`rows` and beside it the stored objects that came with them, each under its digest. Nothing else may be in it. The same
transaction is always the same commit, whichever machine makes it and when.

The repository is a copy: it may be removed at any time. No branch, index or file of the user's project is touched, and
no setting, hook or command of it counts: git is told which repository to take, and the settings of that one are ours.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

# By name: a test that puts another `subprocess.Popen` in its place must not be called here.
from subprocess import PIPE, Popen, TimeoutExpired

from phase_gate.errors import RollbackError, StorageError, TamperedError
from phase_gate.hashing import sha1
from phase_gate.storage import cache
from phase_gate.storage.files import REAL, exists, read_bytes, refuse, remove_file, write_atomically
from phase_gate.storage.ledger import REPAIR
from phase_gate.storage.paths import make_state_folder
from phase_gate.storage.tree.git import GIT_SETTINGS, NO_HOOKS, NoGitError, find_git
from phase_gate.stores.shared import Head
from phase_gate.values import Value

ROLLBACK = "bring the store's newer ledger back, or phase-gate audit --accept-rollback"

#: Seconds that git may take for one answer, its own or a server's.
LIMIT = 30.0
_MAX_COMPLAINT = 1 << 16

#: All the settings that it has.
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n"
_HEAD = b"ref: refs/heads/none\n"
#: Would make git look for settings, objects or parents in other places.
_LEADS_ELSEWHERE = (
    *("commondir", "config.worktree", "info/grafts", "shallow"),
    *("objects/info/alternates", "objects/info/http-alternates"),
)
#: What else the user's environment says of a connection. The rest of GIT_* may speak of another repository.
_CONNECTIONS = ("GIT_SSH", "GIT_ASKPASS", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_")
#: As the names say. What git writes is read by us: in its own language. No one sees a question that it asks.
_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
#: Whatever the user's settings say of their own repositories: nothing more is sent, fetched, signed or tidied up.
_SETTINGS = (
    *NO_HOOKS,
    *("-c", "core.fsmonitor=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "fetch.writeCommitGraph=false"),
    *("-c", "push.recurseSubmodules=no"),
    *("-c", "push.followTags=false"),
    *("-c", "push.gpgSign=false"),
    *("-c", "push.useForceIfIncludes=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.version=2"),
)

#: Files with an object each, as git itself has it.
_MAX_LOOSE = 6700
#: Bytes that are read for one question: a few may unpack to gigabytes.
_MAX_ALL = 1 << 30

_SUBJECT = re.compile(rb"phase-gate ([1-9][0-9]{0,17}) ([0-9a-f]{64})")
_NAME = re.compile(rb"rows|[0-9a-f]{64}")
_ROWS = b"rows"
_FILE_MODE = b"100644"
#: No person's name, and no time: those are in the lines, where they are vouched for.
_AUTHOR = b"phase-gate <phase-gate@localhost> 0 +0000"


class Answer(Value, kw_only=False):
    """What git said."""

    #: 0 where it did what was asked; None where it took too long and was ended.
    status: int | None
    said: bytes
    #: For a reader's eyes only: nothing is decided by it.
    complaint: str


class Sent(Value):
    """A transaction as a commit."""

    commit: str
    head: Head


class Repository:
    def __init__(self, folder: Path, shown: str, environment: Mapping[str, str]) -> None:
        """Take the bare repository in that folder.

        :param shown: how messages name the store.
        """
        self.folder, self._shown = folder, shown
        kept = (*GIT_SETTINGS, *_CONNECTIONS)
        # A copy: a test that changes the environment changes no connection.
        self._environment = {
            name: value for name, value in environment.items() if not name.startswith("GIT_") or name.startswith(kept)
        } | _ENVIRONMENT
        self._is_made = False

    # --- calling git ----------------------------------------------------------------------------------------------

    def call(self, *words: str, given: bytes = b"", protocols: str = "none") -> Answer:
        """Call git. Raises NoGitError where it can't be started.

        :param protocols: by which it may ask a server.
        """
        self._make()
        command = [find_git(), *_SETTINGS, f"--git-dir={self.folder}", *words]
        environment = {**self._environment, "GIT_ALLOW_PROTOCOL": protocols}
        with tempfile.TemporaryFile() as complaints:
            try:
                process = Popen(
                    command,
                    cwd=self.folder,
                    env=environment,
                    stdin=PIPE,
                    stdout=PIPE,
                    # A file: what stays behind to keep a connection open would keep a pipe open, too.
                    stderr=complaints,
                    # A session of its own: ssh asks no question that no one sees, and all of it can be ended at once.
                    start_new_session=True,
                )
            except OSError as error:
                raise NoGitError(str(error)) from error
            said = b""
            try:
                with contextlib.suppress(TimeoutExpired):
                    said = process.communicate(given, timeout=LIMIT)[0]
            finally:
                status = process.poll()
                if status is None:
                    _end(process)
            complaints.seek(0)
            complaint = complaints.read(_MAX_COMPLAINT).decode("utf-8", "replace")
        return Answer(status, said, f"nothing within {LIMIT:g} s" if status is None else complaint)

    def _ask(self, *words: str, given: bytes = b"") -> bytes:
        answer = self.call(*words, given=given)
        if answer.status != 0:
            raise NoGitError(answer.complaint)
        return answer.said

    def _make(self) -> None:
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
        return cache.load_value(Sent, self._known_file(ref))

    def keep_known(self, ref: str, sent: Sent) -> None:
        # The ref is for git: it tells the server by it what need not be sent.
        self._write_file(self.folder / ref, f"{sent.commit}\n".encode())
        cache.save(self._known_file(ref), sent)
        # Pack its objects when there are thousands of files: about once in 1,500 transactions.
        with contextlib.suppress(OSError, NoGitError):
            if len(os.listdir(self.folder / "objects" / "17")) > _MAX_LOOSE // 256:
                # Only what is old goes: another process may be about to name what it has just written.
                self.call("gc", "--quiet", "--prune=2.weeks.ago")

    def forget_known(self, ref: str) -> None:
        for path in (self.folder / ref, self._known_file(ref)):
            remove_file(path)

    def _known_file(self, ref: str) -> Path:
        return self.folder / "known" / ref.rpartition("/")[2]

    # --- writing --------------------------------------------------------------------------------------------------

    def write_transaction(self, parent: str, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> Sent:
        """Write a transaction's commit and what is in it; no ref names it yet.

        :param parent: the commit before it; empty for the first.
        """
        files = {_ROWS: rows, **{name.encode(): packed for name, packed in objects.items()}}
        commit = self.write_commit(f"phase-gate {last.serial} {last.hash}", files, parent)
        return Sent(commit=commit, head=last)

    def write_commit(self, subject: str, files: Mapping[bytes, bytes], parent: str = "") -> str:
        self._make()
        entries = ((name, self._write("blob", content)) for name, content in sorted(files.items()))
        tree = b"".join(_FILE_MODE + b" " + name + b"\0" + bytes.fromhex(found) for name, found in entries)
        rows = [f"tree {self._write('tree', tree)}".encode(), *([f"parent {parent}".encode()] if parent else [])]
        rows += [b"author " + _AUTHOR, b"committer " + _AUTHOR, b"", subject.encode()]
        return self._write("commit", b"\n".join(rows) + b"\n")

    def _write(self, kind: str, content: bytes) -> str:
        """Write an object as git does, without git: a process for each would take longer than all the rest."""
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

    def list_sent(self, tip: str, known: str = "") -> list[Sent]:
        """Return the transactions up to that commit, the oldest first; those after a known one.

        Raises TamperedError for a history that is not one transaction after the other, RollbackError for one without
        the known one.
        """
        given = f"{tip}\n^{known}\n" if known else f"{tip}\n"
        rows: dict[str, tuple[list[str], bytes]] = {}
        form = "--format=tformat:%H %P%x00%s"
        for row in self._ask("log", "--topo-order", "--stdin", form, given=given.encode()).splitlines():
            ids, _, subject = row.partition(b"\0")
            commit, *parents = ids.decode("ascii", "replace").split()
            rows[commit] = parents, subject
        found: list[Sent] = []
        at = tip
        while at != known and at in rows:
            parents, subject = rows[at]
            match = _SUBJECT.fullmatch(subject)
            if match is None or len(parents) > 1:
                raise self._tampered(f"commit {at[:12]} is not one of ours")
            found.append(Sent(commit=at, head=Head(int(match[1]), match[2].decode())))
            at = "".join(parents)
        if at != known:
            raise RollbackError(f"{self._shown} has another history than the one that was read before", remedy=ROLLBACK)
        return found[::-1]

    def load(self, sent: Iterable[Sent]) -> tuple[bytes, dict[str, bytes]]:
        """Return the lines of transactions, and their objects. Raises TamperedError for anything else in them."""
        trees = [self._read_tree(data) for data in self._load([f"{each.commit}^{{tree}}" for each in sent], "tree")]
        names = list(dict.fromkeys(name for tree in trees for name in tree.values()))
        contents = dict(zip(names, self._load(names, "blob"), strict=True))
        rows = b"".join(contents[tree.pop(_ROWS)] for tree in trees)
        return rows, {name.decode(): contents[found] for tree in trees for name, found in tree.items()}

    def _read_tree(self, data: bytes) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        begin = 0
        while begin < len(data):
            end = data.find(b"\0", begin)
            mode, _, name = data[begin:end].partition(b" ")
            if end < 0 or mode != _FILE_MODE or not _NAME.fullmatch(name) or name in found:
                raise self._tampered(f"there is {os.fsdecode(name[:40])!a} in a transaction")
            found[name] = data[end + 1 : end + 21].hex()
            begin = end + 21
        if _ROWS not in found or begin != len(data):
            raise self._tampered("a transaction has no lines")
        return found

    def _load(self, names: list[str], kind: str) -> list[bytes]:
        """Return the contents of git's objects. Sizes first: a few bytes may unpack to gigabytes."""
        if not names:
            return []
        given = "".join(f"{name}\n" for name in names).encode()
        sizes: list[int] = []
        for name, row in zip(names, self._ask("cat-file", "--batch-check", given=given).splitlines(), strict=True):
            said = row.decode("ascii", "replace").split()
            if len(said) != 3 or said[1] != kind or not said[2].isdigit():
                raise self._tampered(f"{name[:12]} is not there, or is something else")
            sizes.append(int(said[2]))
        if sum(sizes) > _MAX_ALL:
            raise self._tampered("there is more in it than a ledger has")
        data = self._ask("cat-file", "--batch", given=given)
        found = []
        begin = 0
        for size in sizes:
            begin = data.index(b"\n", begin) + 1
            found.append(data[begin : begin + size])
            begin += size + 1
        return found

    def _tampered(self, problem: str) -> TamperedError:
        return TamperedError(f"{self._shown}: {problem}", remedy=REPAIR)


def _end(process: Popen[bytes]) -> None:
    """End git, and what it has started."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, 9)
        else:
            process.kill()
    with contextlib.suppress(OSError, TimeoutExpired):
        process.communicate(timeout=10)


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refuse(path, error) from error
