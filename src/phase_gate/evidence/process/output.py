"""The output of a command: from its pipes to files of a limited size and a terminal, without secrets."""

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

#: Bytes within which the second part of a cut file looks for the beginning of a line.
_LOOKS_FOR_LINE = 1024
#: Bytes of the end that may be surplus before they are cut off.
_MAX_SURPLUS = 1 << 20


class CappedFile:
    """Keeps the beginning and the end of what is written, and says how much is missing between them.

    The beginning is on the disk at once, the end when it is finished. Never raises: a full disk is no reason to end a
    command, so what went wrong is kept in `problem`, and the rest is only counted.
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
    """Where all goes that a command prints: a file for both streams, perhaps one for each, and a terminal.

    :param is_apart: puts each stream alone into a file beside the log, too.
    :param hidden: values that are blotted out of what is kept and shown.
    :param screen: shows bytes as they come. One that is gone is no reason to end a command: nothing is shown any more.
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
        """Why something of it could not be kept; empty if all was."""
        return next((each.problem for each in (self.both, *self.alone) if each.problem), "")

    def take(self, which: int, data: bytes) -> None:
        """Keep and show what came from a stream."""
        self._put(which, self._blotters[which].feed(data))

    def flush(self) -> None:
        """Put what was held back, for it might have been the beginning of a secret."""
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


# --- what comes through the pipes of a command: a thread for each, for Windows can wait for no pipe


_CHUNK = 1 << 16
#: Chunks that may wait to be taken: a command that prints without end waits for us.
_WAITING = 64
#: Seconds within which a thread hands on what is in a pipe already.
_HANDING_ON = 0.25


class Pipes:
    """The pipes of one command, each with a number."""

    def __init__(self, pipes: Iterable[IO[bytes] | None]) -> None:
        self._came: queue.Queue[tuple[int, bytes]] = queue.Queue(_WAITING)
        self._is_left = False
        given = [(which, pipe) for which, pipe in enumerate(pipes) if pipe is not None]
        self._open = len(given)
        for which, pipe in given:
            threading.Thread(target=self._read, args=(which, pipe), daemon=True).start()

    def _read(self, which: int, pipe: IO[bytes]) -> None:
        # Closed here alone: elsewhere that would wait for a read that a grandchild may keep waiting for ever.
        with pipe, contextlib.suppress(OSError):
            while data := os.read(pipe.fileno(), _CHUNK):
                self._put(which, data)
        self._put(which, b"")

    def _put(self, which: int, data: bytes) -> None:
        if not self._is_left:
            self._came.put((which, data))

    def leave(self) -> None:
        """Take nothing more. A server that the command left running prints on, and must not wait for us."""
        self._is_left = True
        while list(self.read(0)):  # lets those go that wait to hand something on
            pass

    def read(self, seconds: float) -> Iterator[tuple[int, bytes]]:
        """Yield what comes within that time, with the number of its pipe; where all are closed, only wait."""
        try:
            if not self._open:
                time.sleep(seconds / 5)  # mostly on its way to the end
            wait = seconds if self._open else 0.0
            while True:
                which, data = self._came.get(timeout=wait) if wait else self._came.get_nowait()
                wait = 0.0
                self._open -= not data
                yield which, data
        except queue.Empty:
            return

    def read_rest(self, seconds: float) -> Iterator[tuple[int, bytes]]:
        """Yield what is there already. A process that we let live may hold a pipe open: its end is not waited for."""
        deadline = time.monotonic() + seconds
        while self._open and (rows := list(self.read(_HANDING_ON))) and time.monotonic() < deadline:
            yield from rows


# --- which values of an environment look like secrets, and how they are taken out of a stream of bytes


MIN_LENGTH = 6
BLOT = b"***"

#: Anywhere in a name, in any case: `GITHUB_TOKEN`, `npm_config__authToken`.
_PARTS = re.compile("token|secret|passw(?:or)?d|passphrase|credential|apikey", re.IGNORECASE)
#: As a word of a name; `PWD` alone is a folder.
_WORDS = re.compile(r"(?:^|_)(?:keys?|pass|auth|pat|cookie|dsn|salt)(?=_|$)|_pwd(?=_|$)", re.IGNORECASE)
#: How names end that say where a secret is, or how long it holds, and not what it is.
_PLACES = re.compile("_(?:sock|file|path|dir|home|type|name|size|ttl|timeout)$", re.IGNORECASE)
#: `https://user:password@host`, whatever the variable is called.
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
#: A part of a key of several lines is a secret, too, if it is long enough to be no heading.
_MIN_LINE = 20


def find_secrets(environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the values that must not be shown, the longest first."""
    found: set[str] = set()
    for name, value in environment.items():
        if is_secret_name(name):
            found.add(value.strip())
            found.update(line.strip() for line in value.splitlines()[1:-1] if len(line) >= _MIN_LINE)
        found.update(_IN_ADDRESS.findall(value))
    long_enough = (each.encode("utf-8", "surrogateescape") for each in found if len(each) >= MIN_LENGTH)
    return tuple(sorted(long_enough, key=lambda each: (-len(each), each)))


def hidden_in(*environments: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the values that must not be shown of several environments, the longest first."""
    found = {each for environment in environments for each in find_secrets(environment)}
    return tuple(sorted(found, key=lambda each: (-len(each), each)))


def blot(text: str, hidden: tuple[bytes, ...]) -> str:
    """Return a text without these values."""
    blotter = Blotter(hidden)
    shown = blotter.feed(text.encode("utf-8", "surrogateescape")) + blotter.finish()
    return shown.decode("utf-8", "surrogateescape")


def is_secret_name(name: str) -> bool:
    return bool(_PARTS.search(name) or _WORDS.search(name)) and not _PLACES.search(name)


class Blotter:
    """Takes secrets out of bytes that come in pieces: what may be the beginning of one is held back for the next."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        self._secrets = tuple(secrets)
        self._longest = max(map(len, self._secrets), default=0)
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets)))
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be shown by now."""
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
        """Return what was held back; most of a secret is one."""
        held, self._held = self._held, b""
        return held if len(held) < MIN_LENGTH else BLOT

    def _first_beginning(self, text: bytes, at: int) -> int:
        """Return where a secret may begin that has not ended yet."""
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            rest = text[start:]
            if any(len(each) > len(rest) and each.startswith(rest) for each in self._secrets):
                return start
        return len(text)
