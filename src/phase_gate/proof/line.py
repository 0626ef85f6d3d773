"""The line from a process that we started back to ours: a socket, and a word that only both know.

The number of the socket stands in a variable, which is taken away before the project's code can look at it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import threading
from os import getpid
from typing import Any

#: Of Linux: the signal that we get when our parent ends.
_WHEN_PARENT_ENDS = 1


class Line:
    """Our end of it."""

    def __init__(self, number: int) -> None:
        os.set_inheritable(number, False)
        self._socket, self._pid = socket.socket(fileno=number), getpid()
        self._lock = threading.Lock()
        with self._socket.makefile("rb", buffering=0) as asked:
            #: What we were asked to do.
            self.order: dict[str, Any] = json.loads(_read_line(asked))
        end_with(self.order["maker"])
        self._word: str = self.order.pop("word")

    @classmethod
    def take(cls, variable: str) -> Line | None:
        """Return the line whose number stands in the variable, and take that away; None where there is none."""
        number = os.environ.pop(variable, "")
        return cls(int(number)) if number else None

    def send(self, kind: str, **said: Any) -> None:
        if getpid() != self._pid:
            return  # a forked child does not speak for the run
        with self._lock:
            self._socket.sendall(json.dumps({"word": self._word, "kind": kind, **said}).encode() + b"\n")


def end_with(maker: int) -> None:
    """Have this process end when the one that started it is killed: there is no one to tell."""
    if not sys.platform.startswith("linux"):
        return  # it ends with the next test: what it wants to say can't be sent
    ctypes.CDLL(None).prctl(_WHEN_PARENT_ENDS, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != maker:
        raise SystemExit("the process that started this one has ended")


def _read_line(asked: Any) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        part = asked.read(1)
        if not part:
            break
        line += part
    return line
