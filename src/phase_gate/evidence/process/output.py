"""Copy the output of a command from its pipes to files of limited size and to a terminal, without secrets."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, BinaryIO

from phase_gate.storage.files import REAL

#: Bytes that are searched for the beginning of a line, in the second part of a cut file.
_LOOKS_FOR_LINE = 1024
#: Surplus bytes of the end that may accumulate before they are cut off.
_MAX_SURPLUS = 1 << 20


class CappedFile:
    """Keeps the beginning and the end of the written data, and notes how much is missing between them.

    The beginning is written at once, the end by `finish`. Never raises, because a full disk must not end a command:
    `problem` has the error then, and further data is only counted.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.problem = ""
        self.left_out = 0
        self._head_left = limit // 2
        self._tail_size = limit - limit // 2
        self._tail = bytearray()
        self._descriptor = -1
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = REAL.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except OSError as error:
            self._give_up(error)

    def write(self, data: bytes) -> None:
        if self._head_left > 0:
            self._put(data[: self._head_left])
            data, self._head_left = data[self._head_left :], max(0, self._head_left - len(data))
        self._tail += data
        if len(self._tail) > 2 * self._tail_size + _MAX_SURPLUS:
            self._cut_tail()

    def finish(self) -> None:
        """Write the end, and close the file."""
        self._cut_tail()
        if self.left_out:
            line_end = self._tail.find(b"\n", 0, _LOOKS_FOR_LINE)
            self.left_out += line_end + 1
            del self._tail[: line_end + 1]
            self._put(f"\n[phase gate: {self.left_out} bytes are left out here]\n".encode())
        self._put(bytes(self._tail))
        self._tail.clear()
        if self._descriptor >= 0:
            try:
                REAL.close(self._descriptor)
            except OSError as error:
                self._give_up(error)
            self._descriptor = -1

    def _cut_tail(self) -> None:
        surplus = len(self._tail) - self._tail_size
        if surplus > 0:
            self.left_out += surplus
            del self._tail[:surplus]

    def _put(self, data: bytes) -> None:
        while data and self._descriptor >= 0:
            try:
                data = data[REAL.write(self._descriptor, data) :]
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.problem = error.strerror or str(error)
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                REAL.close(descriptor)


class Output:
    """Writes the output of a command to a file for both streams, optionally to one for each, and to a terminal.

    :param is_apart: also write each stream to its own file next to the log.
    :param hidden: values that are removed from files and terminal.
    :param screen: shows the output at once. If it is closed, the command continues without it.
    """

    def __init__(
        self, log: Path, limit: int, *, is_apart: bool, hidden: tuple[bytes, ...], screen: BinaryIO | None
    ) -> None:
        names = [f"{log.stem}.{name}{log.suffix}" for name in ("stdout", "stderr")] if is_apart else []
        self.both = CappedFile(log, limit)
        self.alone = [CappedFile(log.with_name(name), limit) for name in names]
        self._screen = screen
        self._blotters = (Blotter(hidden), Blotter(hidden))

    @property
    def problem(self) -> str:
        """Why output could not be written to a file. Empty if there was no error."""
        return next((each.problem for each in (self.both, *self.alone) if each.problem), "")

    def take(self, which: int, data: bytes) -> None:
        """Write and show data of a stream."""
        self._put(which, self._blotters[which].feed(data))

    def flush(self) -> None:
        """Write the data that was held back because it might have been the beginning of a secret."""
        for which, blotter in enumerate(self._blotters):
            self._put(which, blotter.finish())

    def finish(self) -> None:
        for each in (self.both, *self.alone):
            each.finish()

    def _put(self, which: int, data: bytes) -> None:
        self.both.write(data)
        if self.alone:
            self.alone[which].write(data)
        if self._screen is not None and data:
            try:
                self._screen.write(data)
                self._screen.flush()
            except (OSError, ValueError):
                self._screen = None


# --- the pipes of a command, with a thread for each, because Windows can't wait for pipes


_CHUNK = 1 << 16
#: The size of the queue. A command that prints faster than we read has to wait.
_WAITING = 64
#: Seconds within which a thread passes on the data that is already in a pipe.
_HANDING_ON = 0.25


class Pipes:
    """The numbered pipes of one command."""

    def __init__(self, pipes: Iterable[IO[bytes] | None]) -> None:
        self._came: queue.Queue[tuple[int, bytes]] = queue.Queue(_WAITING)
        self._is_left = False
        #: Those without a thread.
        self._unread = [(which, pipe) for which, pipe in enumerate(pipes) if pipe is not None]
        self._open = len(self._unread)

    def start(self) -> None:
        """Start reading. Raises RuntimeError if the system has no thread left."""
        while self._unread:
            threading.Thread(target=self._read, args=self._unread[-1], daemon=True).start()
            self._unread.pop()

    def _read(self, which: int, pipe: IO[bytes]) -> None:
        # Close the pipe only here: elsewhere, closing would wait for a read that a grandchild may block forever.
        with pipe, contextlib.suppress(OSError):
            while data := os.read(pipe.fileno(), _CHUNK):
                self._put(which, data)
        self._put(which, b"")

    def _put(self, which: int, data: bytes) -> None:
        if not self._is_left:
            self._came.put((which, data))

    def leave(self) -> None:
        """Stop reading. A server that the command left running may still print, and must not be blocked."""
        self._is_left = True
        while list(self.read(0)):  # unblocks threads that wait for the queue
            pass
        for _, pipe in self._unread:
            pipe.close()

    def read(self, seconds: float) -> Iterator[tuple[int, bytes]]:
        """Yield the data that arrives within that time, with the number of its pipe. If all are closed, only wait."""
        try:
            if not self._open:
                time.sleep(seconds / 5)  # the command is usually about to end
            wait = seconds if self._open else 0.0
            while True:
                which, data = self._came.get(timeout=wait) if wait else self._came.get_nowait()
                wait = 0.0
                self._open -= not data
                yield which, data
        except queue.Empty:
            return

    def read_rest(self, seconds: float) -> Iterator[tuple[int, bytes]]:
        """Yield the data that is already there. Does not wait for the end: a running process may keep a pipe open."""
        deadline = time.monotonic() + seconds
        while self._open and (rows := list(self.read(_HANDING_ON))) and time.monotonic() < deadline:
            yield from rows


# --- find values of an environment that look like secrets, and remove them from a stream of bytes


MIN_LENGTH = 6
BLOT = b"***"

#: Anywhere in a name, in any case: `GITHUB_TOKEN`, `npm_config__authToken`.
_PARTS = re.compile("token|secret|passw(?:or)?d|passphrase|credential|apikey", re.IGNORECASE)
#: As a word of a name; `PWD` alone is a folder.
_WORDS = re.compile(r"(?:^|_)(?:keys?|pass|auth|pat|cookie|dsn|salt)(?=_|$)|_pwd(?=_|$)", re.IGNORECASE)
#: Endings of names for the location or lifetime of a secret, not for the secret itself.
_PLACES = re.compile("_(?:sock|file|path|dir|home|type|name|size|ttl|timeout)$", re.IGNORECASE)
#: `https://user:password@host`, in a variable of any name.
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
#: A line of a multi-line key is a secret, too, if it is longer than a heading.
_MIN_LINE = 20


def find_secrets(*environments: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the secret values of environments, the longest first."""
    found: set[str] = set()
    for name, value in (pair for environment in environments for pair in environment.items()):
        if is_secret_name(name):
            found.add(value.strip())
            found.update(line.strip() for line in value.splitlines()[1:-1] if len(line) >= _MIN_LINE)
        found.update(_IN_ADDRESS.findall(value))
    long_enough = (each.encode("utf-8", "surrogateescape") for each in found if len(each) >= MIN_LENGTH)
    return tuple(sorted(long_enough, key=lambda each: (-len(each), each)))


def blot(text: str, hidden: tuple[bytes, ...]) -> str:
    """Return a text with these values replaced."""
    blotter = Blotter(hidden)
    shown = blotter.feed(text.encode("utf-8", "surrogateescape")) + blotter.finish()
    return shown.decode("utf-8", "surrogateescape")


def is_secret_name(name: str) -> bool:
    return bool(_PARTS.search(name) or _WORDS.search(name)) and not _PLACES.search(name)


class Blotter:
    """Removes secrets from a stream of chunks. Holds back data that may be the beginning of a secret."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        self._secrets = tuple(secrets)
        self._longest = max(map(len, self._secrets), default=0)
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets)))
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return the data that can be shown already."""
        if not self._secrets:
            return data
        text, shown, at = self._held + data, [], 0
        while True:
            begins = self._first_beginning(text, at)
            found = self._pattern.search(text, at)
            if found is None or found.start() >= begins:
                break
            shown += [text[at : found.start()], BLOT]
            at = found.end()
        self._held = text[begins:]
        return b"".join((*shown, text[at:begins]))

    def finish(self) -> bytes:
        """Return the data that was held back, replaced if it is long enough to be a large part of a secret."""
        held, self._held = self._held, b""
        return held if len(held) < MIN_LENGTH else BLOT

    def _first_beginning(self, text: bytes, at: int) -> int:
        """Return where an incomplete secret may begin."""
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            rest = text[start:]
            if any(len(each) > len(rest) and each.startswith(rest) for each in self._secrets):
                return start
        return len(text)
