"""What runs inside a sandbox, in the process of the tests. It imports nothing of ours, and is never imported from here.

Each sandbox gets a copy of this folder under a random name, with its order. Once loaded, the copy is gone, and neither
a module, a path nor a variable of ours is left: code that asks whether it runs in a sandbox should find as little as
possible. It only sends facts: `phase_gate.proof.running` says what they mean. Begin with `reporter`.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import sys
import threading
from os import getpid, write
from typing import Any

#: Of Linux: the signal that we get when our parent ends.
_WHEN_PARENT_ENDS = 1


class Line:
    """Our end of the pipe: what we are asked, and what we answer, with a word that only both ends know."""

    def __init__(self, order: dict[str, Any]) -> None:
        #: What we were asked to do.
        self.order = order
        self._word: str = order.pop("word")
        os.set_inheritable(order["number"], False)
        self._pipe, self._pid = order["number"], getpid()
        self._lock = threading.Lock()
        _end_with(order["maker"])
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        if order["seconds"] and (most == resource.RLIM_INFINITY or order["seconds"] < most):
            # Then it is killed, and whoever started it can tell by what.
            resource.setrlimit(resource.RLIMIT_CPU, (order["seconds"], most))

    def send(self, kind: str, **said: Any) -> None:
        if getpid() != self._pid:
            return  # a forked child does not speak for the run
        rest = json.dumps({"word": self._word, "kind": kind, **said}).encode() + b"\n"
        with self._lock:
            while rest:
                rest = rest[write(self._pipe, rest) :]


def _end_with(maker: int) -> None:
    """Have this process end when the one that started it is killed: there is no one to tell."""
    if not sys.platform.startswith("linux"):
        return  # it ends with the next test: what it wants to say can't be sent
    ctypes.CDLL(None).prctl(_WHEN_PARENT_ENDS, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != maker:
        raise SystemExit("the process that started this one has ended")


def take_line() -> Line | None:
    """Open the line, and take away what it was found by; None where this is not the copy in a sandbox."""
    folder = os.path.dirname(__file__)
    try:
        with open(os.path.join(folder, "order.json"), encoding="utf-8") as file:
            line = Line(json.load(file))
    except FileNotFoundError:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    sys.path[:] = [each for each in sys.path if each != os.path.dirname(folder)]
    del os.environ["PYTHONPATH"]
    os.environ.update(line.order["path"])
    place = next(place for place, word in enumerate(sys.argv) if word.startswith(os.path.basename(folder)))
    del sys.argv[place - 1 : place + 1]
    return line
