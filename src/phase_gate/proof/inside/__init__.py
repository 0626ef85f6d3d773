"""Code that runs inside a sandbox, in the process of the tests.

It imports no other module of this project, and is never imported from this location. Each sandbox gets a copy of this
folder under a random name, with an order file. Once loaded, the copy is deleted, with its modules, paths and variables,
so that code under test finds as few signs of a sandbox as possible. This package only sends facts, which
`phase_gate.proof.sandbox_runs` interprets. Begin with `reporter`.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from os import getpid, write
from typing import Any

#: Linux: PR_SET_PDEATHSIG, which sets the signal to receive when the parent ends.
_WHEN_PARENT_ENDS = 1


class Line:
    """The sandbox's end of the pipe: the order, and answers with a word that only both ends know."""

    def __init__(self, order: dict[str, Any]) -> None:
        #: The instructions for this run.
        self.order = order
        self._word: str = order.pop("word")
        self._pipe, self._pid = order["number"], getpid()
        _end_with(order["maker"])

    def send(self, kind: str, **data: Any) -> None:
        if getpid() != self._pid:
            return  # a forked child must not send answers
        rest = json.dumps({"word": self._word, "kind": kind, **data}).encode() + b"\n"
        while rest:
            rest = rest[write(self._pipe, rest) :]


def _end_with(maker: int) -> None:
    """Let this process end when its parent is killed, because then no process reads the answers."""
    if not sys.platform.startswith("linux"):
        return  # it ends with the next test, when it can't send its answer
    ctypes.CDLL(None).prctl(_WHEN_PARENT_ENDS, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != maker:
        raise SystemExit("the process that started this one has ended")


def take_line() -> Line | None:
    """Open the line, and remove its traces. Return None if this is not the copy in a sandbox."""
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
    name = os.path.basename(folder)
    place = next(place for place, word in enumerate(sys.argv) if word.startswith(name))
    del sys.argv[place - 1 : place + 1]
    return line
