"""What a command writes into its pipes, as it comes.

Windows can wait for sockets only: there a thread hands on what comes through a pipe.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from typing import IO

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
