"""A line on loopback between a client and its server that can be disturbed: delayed, cut, doubled, swallowed."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

#: Gets where the bytes go ("up" to the server, "down" to the client) and the bytes; returns what goes on, or None to
#: cut the connection.
Rule = Callable[[str, bytes], "bytes | None"]


def pass_on(way: str, data: bytes) -> bytes | None:
    return data


class Proxy:
    def __init__(self, port: int) -> None:
        self._target = port
        self.rule: Rule = pass_on
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        # An accept that waits is not ended by closing what it waits on.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._ends:
            _end(each)
        self._thread.join(10)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                if self._listener.fileno() < 0:
                    return
                with contextlib.suppress(OSError, UnboundLocalError):
                    client.close()
                continue
            self._ends += [client, server]
            for way, source, sink in (("up", client, server), ("down", server, client)):
                threading.Thread(target=self._pump, args=(way, source, sink), daemon=True).start()

    def _pump(self, way: str, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                found = self.rule(way, data)
                if found is None:
                    break
                sink.sendall(found)
        except OSError:
            pass
        _end(source)
        _end(sink)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        each.close()


class Once:
    """Cut the connection at the first bytes that go one way, and let all others pass."""

    def __init__(self, way: str) -> None:
        self._way = way

    def __call__(self, way: str, data: bytes) -> bytes | None:
        if way == self._way:
            self._way = ""
            return None
        return data
