"""The local bare repository of a git store, in which transactions are commits.

The parent of a commit is the transaction before, its subject names the last line, and its tree has the lines as `rows`
and the stored objects that came with them as `objects`. The same transaction always gives the same commit, on
any machine and at any time. The rest of a commit is not read.

The repository is a copy, which may be removed at any time. Branches, index and files of the user's project are not
touched, and its settings, hooks and commands are not used: git gets the path of this repository, with our settings.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

# By name: a test that puts another `subprocess.Popen` in its place must not be called here.
from subprocess import PIPE, Popen, TimeoutExpired

from phase_gate.bound import sha1
from phase_gate.codec import parse_foreign
from phase_gate.errors import RollbackError, StoreUnreachableError, TamperedError
from phase_gate.storage.files import REAL, exists, make_folder, read_bytes, refusing, remove_file, write_atomically
from phase_gate.storage.git_command import GIT_SETTINGS, NO_HOOKS, find_git, read_batch
from phase_gate.storage.ledger import REPAIR
from phase_gate.storage.root import make_state_folder, refuse_links
from phase_gate.stores.choosing import hide_secret
from phase_gate.stores.shared import Head
from phase_gate.values import Value
from phase_gate.visible import show_line

ROLLBACK = "bring the store's newer ledger back, or phase-gate audit --accept-rollback"

#: Seconds that git may take for one answer, its own or a server's.
LIMIT = 30.0
_MAX_COMPLAINT = 1 << 16
_LONGEST_COMPLAINT = 200

#: All the settings that it has.
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n"
_HEAD = b"ref: refs/heads/none\n"
#: Variables of the user's environment about connections. Other GIT_* variables may be about another repository.
_CONNECTIONS = ("GIT_SSH", "GIT_ASKPASS", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_")
#: English output, because it is parsed, and no prompts, because the user would not see them.
_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Nothing is sent in the clear, and none runs a command that the address names.
    "GIT_ALLOW_PROTOCOL": "file:ssh:https",
}
#: Overrides of the user's settings: git sends, fetches and signs nothing else, and has cleaned up when it answers.
_SETTINGS = (
    *NO_HOOKS,
    *("-c", "core.fsmonitor=false"),
    *("-c", "gc.autoDetach=false"),
    *("-c", "maintenance.autoDetach=false"),
    # Refs are read as files.
    *("-c", "gc.packRefs=false"),
    *("-c", "maintenance.pack-refs.enabled=false"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "fetch.writeCommitGraph=false"),
    *("-c", "push.recurseSubmodules=no"),
    *("-c", "push.followTags=false"),
    *("-c", "push.gpgSign=false"),
    *("-c", "push.useForceIfIncludes=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.version=2"),
)

#: No person's name, and no time: those are in the lines, where they are vouched for.
_SIGNED = tuple(f"{who} phase-gate <phase-gate@localhost> 0 +0000" for who in ("author", "committer"))
_SUBJECT = re.compile(r"phase-gate ([1-9][0-9]{0,17}) ([0-9a-f]{64})")


class Answer(Value, kw_only=False):
    """The output of git."""

    #: 0 where it did what was asked; None where it took too long and was ended.
    status: int | None
    output: bytes
    #: For a reader's eyes only: nothing is decided by it.
    complaint: str

    @property
    def first_line(self) -> str:
        """The first line of the complaint, without secrets."""
        message = next((row.strip() for row in self.complaint.splitlines() if row.strip()), "no answer")
        return show_line(hide_secret(message))[:_LONGEST_COMPLAINT]


class Sent(Value, kw_only=False):
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

    def call(self, *words: str, given: bytes = b"") -> Answer:
        """Call git. Raises StoreUnreachableError where it can't be started."""
        self._make()
        command = [find_git(), *_SETTINGS, f"--git-dir={self.folder}", *words]
        with tempfile.TemporaryFile() as complaints:
            try:
                process = Popen(
                    command,
                    cwd=self.folder,
                    env=self._environment,
                    stdin=PIPE,
                    stdout=PIPE,
                    # A file: what stays behind to keep a connection open would keep a pipe open, too.
                    stderr=complaints,
                    # A session of its own: ssh asks no question that no one sees, and all of it can be ended at once.
                    start_new_session=True,
                )
            except OSError as error:
                raise self._failed(Answer(None, b"", str(error))) from error
            output = b""
            try:
                with contextlib.suppress(TimeoutExpired):
                    output = process.communicate(given, timeout=LIMIT)[0]
            finally:
                status = process.poll()
                if status is None:
                    _end(process)
            complaints.seek(0)
            complaint = complaints.read(_MAX_COMPLAINT).decode("utf-8", "replace")
        return Answer(status, output, f"nothing within {LIMIT:g} s" if status is None else complaint)

    def _ask(self, *words: str, given: bytes = b"") -> bytes:
        answer = self.call(*words, given=given)
        if answer.status != 0:
            raise self._failed(answer)
        return answer.output

    def _failed(self, answer: Answer) -> StoreUnreachableError:
        return StoreUnreachableError(
            f"{self._shown} needs git, which fails: {answer.first_line}",
            remedy=f"install git 2.30 or newer; if it is there, remove {self.folder}, which is a copy",
        )

    def _make(self) -> None:
        """Make it, or see to it that its settings are ours: the folder may have come with foreign files."""
        if self._is_made:
            return
        make_state_folder(self.folder.parents[2])
        refuse_links(self.folder / name for name in (".", "objects", "refs"))
        leads_elsewhere = self.folder / "commondir"  # to settings that may run a program
        with refusing(leads_elsewhere), contextlib.suppress(FileNotFoundError):
            REAL.unlink(leads_elsewhere)
        for name in ("objects", "refs"):
            make_folder(REAL, self.folder / name)
        for name, content in (("config", _CONFIG), ("HEAD", _HEAD)):
            if read_bytes(self.folder / name) != content:
                self._write_file(self.folder / name, content)
        self._is_made = True

    # --- refs: the last transaction of each task that this machine has seen ------------------------------------------

    def read_ref(self, ref: str) -> str:
        """Return the commit of one of our refs; empty without one."""
        return (read_bytes(self.folder / ref) or b"").decode("ascii", "replace").strip()

    def has_seen(self, prefix: str) -> bool:
        """Return whether a ref below that prefix was ever written."""
        return (self.folder / prefix).is_dir()

    def write_ref(self, ref: str, commit: str) -> None:
        # By it git tells the server what need not be sent.
        self._write_file(self.folder / ref, f"{commit}\n".encode())

    def remove_ref(self, ref: str) -> None:
        remove_file(self.folder / ref)

    def _write_file(self, path: Path, content: bytes) -> None:
        """Write what need not survive a power failure: the server has it."""
        # Not in the same folder: a process that is killed here would leave a file, which git reads as a broken ref.
        temporary = self.folder / os.urandom(8).hex()
        write_atomically(REAL, temporary, content, durable=False)
        make_folder(REAL, path.parent)
        with refusing(path):
            REAL.replace(temporary, path)

    # --- transactions ---------------------------------------------------------------------------------------------

    def write_transaction(self, parent: str, last: Head, rows: bytes, objects: Mapping[str, bytes]) -> Sent:
        """Write a transaction's commit and what is in it; no ref names it yet.

        :param parent: the commit before it; empty for the first.
        """
        sizes = json.dumps({name: len(packed) for name, packed in objects.items()})
        files = {"objects": b"\n".join((sizes.encode(), b"".join(objects.values())))} if objects else {}
        names = {name: bytes.fromhex(self._write("blob", data)) for name, data in (*files.items(), ("rows", rows))}
        tree = self._write("tree", b"".join(b"100644 %b\0%b" % (name.encode(), blob) for name, blob in names.items()))
        subject = f"phase-gate {last.serial} {last.hash}"
        text = "\n".join((f"tree {tree}", *([f"parent {parent}"] if parent else []), *_SIGNED, "", subject, ""))
        return Sent(self._write("commit", text.encode()), last)

    def _write(self, kind: str, content: bytes) -> str:
        """Write an object as git does, without git: three processes more would double the time of a change."""
        self._make()
        data = f"{kind} {len(content)}\0".encode() + content
        name = sha1(data, usedforsecurity=False).hexdigest()
        path = self.folder / "objects" / name[:2] / name[2:]
        if not exists(path):
            self._write_file(path, zlib.compress(data, 1))
        return name

    def list_sent(self, tip: str, known: str = "") -> list[Sent]:
        """Return the transactions up to that commit, the oldest first; from a known one on, with it.

        Raises TamperedError for a history that is not one transaction after the other, RollbackError for one without
        the known one.
        """
        given = f"{tip}\n^{known}^@\n" if known else f"{tip}\n"
        rows = {each.commit: (each, parents) for each, parents in self._log("--topo-order", given=given)}
        found: list[Sent] = []
        at = tip
        while at in rows:
            sent, parents = rows[at]
            if len(parents) > 1:
                raise self._tampered(f"commit {at[:12]} is not a transaction")
            found.append(sent)
            at = "" if sent.commit == known else "".join(parents)
        if at or (known and found[-1].commit != known):
            raise RollbackError(f"{self._shown} has another history than the one that was read before", remedy=ROLLBACK)
        return found[::-1]

    def find_heads(self, commits: Iterable[str]) -> dict[str, Head]:
        """Return the last line of each transaction."""
        given = "".join(f"{commit}\n" for commit in commits)
        return {sent.commit: sent.head for sent, _ in self._log("--no-walk", given=given)} if given else {}

    def _log(self, *words: str, given: str) -> Iterable[tuple[Sent, list[str]]]:
        output = self._ask("log", *words, "--stdin", "--format=tformat:%H %P%x00%s", given=given.encode())
        for row in output.decode("utf-8", "replace").splitlines():
            ids, _, subject = row.partition("\0")
            commit, *parents = ids.split()
            match = _SUBJECT.fullmatch(subject)
            if match is None:
                raise self._tampered(f"commit {commit[:12]} is not a transaction")
            yield Sent(commit, Head(int(match[1]), match[2])), parents

    def load(self, sent: Iterable[Sent]) -> tuple[bytes, dict[str, bytes]]:
        """Return the lines of transactions, and their objects. Raises TamperedError where there are none."""
        names = "".join(f"{each.commit}:{name}\n" for each in sent for name in ("rows", "objects"))
        files = read_batch(self._ask("cat-file", "--batch", given=names.encode()))
        found = [content if kind == b"blob" else b"" for kind, content in files]
        if not all(found[::2]):
            raise self._tampered("a transaction has no lines")
        objects: dict[str, bytes] = {}
        for brought in filter(None, found[1::2]):
            sizes, _, packed = brought.partition(b"\n")
            try:
                for name, size in parse_foreign(sizes).items():
                    objects[name], packed = packed[:size], packed[size:]
            except (ValueError, TypeError, AttributeError):
                raise self._tampered("the objects of a transaction are damaged") from None
        return b"".join(filter(None, found[::2])), objects

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
