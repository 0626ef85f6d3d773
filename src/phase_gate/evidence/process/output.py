"""The output of a command: from its pipes to files of a limited size and a terminal, without secrets."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
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


class Screen:
    """Shows bytes as they come. A terminal that is gone is no reason to end a command: nothing is shown any more.

    :param stream: nothing is shown without one.
    """

    def __init__(self, stream: BinaryIO | None) -> None:
        self._stream = stream

    def show(self, data: bytes) -> None:
        if self._stream is None or not data:
            return
        try:
            self._stream.write(data)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None


# --- what comes through the pipes of a command. Windows can wait for sockets only: there a thread hands it on.


#: Whether a pipe can be waited for.
HAS_WAITABLE_PIPES = os.name != "nt"
#: Seconds within which a thread hands on what is in a pipe already.
_HANDING_ON = 0.25
_CHUNK = 1 << 16


class Pipes:
    """The pipes of one command, each with a number."""

    def __init__(self) -> None:
        self._waiting = selectors.DefaultSelector()
        self._open: list[IO[bytes] | socket.socket] = []

    @property
    def are_open(self) -> bool:
        return bool(self._waiting.get_map())

    def add(self, which: int, pipe: IO[bytes]) -> None:
        """Read that one, too; it is closed with the others."""
        if HAS_WAITABLE_PIPES:
            os.set_blocking(pipe.fileno(), False)
            self._add(which, pipe, lambda: os.read(pipe.fileno(), _CHUNK))
        else:
            line = _hand_on(pipe)
            self._add(which, line, lambda: line.recv(_CHUNK))

    def _add(self, which: int, source: IO[bytes] | socket.socket, read: Callable[[], bytes]) -> None:
        self._open.append(source)
        self._waiting.register(source, selectors.EVENT_READ, (which, read))

    def read(self, seconds: float) -> Iterator[tuple[int, bytes]]:
        """Yield what comes within that time, with the number of its pipe: empty at its end."""
        if not self.are_open:
            return
        for key, _ in self._waiting.select(seconds):
            which, read = key.data
            try:
                data = read()
            except BlockingIOError:
                data = None
            except ConnectionError:
                data = b""
            if data == b"":
                self._waiting.unregister(key.fileobj)
            yield which, data or b""

    def read_rest(self) -> Iterator[tuple[int, bytes]]:
        """Yield what is there already."""
        return self.read(0.0 if HAS_WAITABLE_PIPES else _HANDING_ON)

    def close(self) -> None:
        for each in self._open:
            each.close()
        self._waiting.close()


def _hand_on(pipe: IO[bytes]) -> socket.socket:
    """Return a socket that has what comes through the pipe."""
    ours, theirs = socket.socketpair()

    def hand_on() -> None:
        # Closed here alone: elsewhere that would wait for a read that a grandchild may keep waiting for ever.
        with pipe, theirs, contextlib.suppress(OSError):
            while data := os.read(pipe.fileno(), _CHUNK):
                theirs.sendall(data)

    threading.Thread(target=hand_on, daemon=True).start()
    ours.setblocking(False)
    return ours


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
