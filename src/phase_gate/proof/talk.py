"""Our end of the line to a process that we started: what it is asked, what it answers, and its end whatever happens.

`phase_gate.proof.line` is the other end.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakSet

from phase_gate.values import Value

#: How much of what pytest printed is kept, for those who ask why a sandbox told nothing.
_OUTPUT_KEPT = 4000
#: Seconds that pytest has to end by itself once it was interrupted: fixtures clean up.
_GRACE = 20.0


class Heard(Value):
    """What was said until the process ended."""

    #: Those that had the word.
    answers: tuple[Mapping[str, Any], ...]
    seconds: float
    #: The end of what it printed.
    output: str = ""
    is_late: bool = False
    status: int = 0
    #: The user stopped it.
    is_interrupted: bool = False


class Conversation:
    """The socket between us and a process."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self._word = os.urandom(16).hex()
        self._ours, self._theirs = socket.socketpair()
        self.number = self._theirs.fileno()
        self._order = json.dumps({**order, "word": self._word, "maker": os.getpid()}).encode() + b"\n"

    def __enter__(self) -> Conversation:
        # From a thread: a long order would wait for a reader that is not there yet.
        threading.Thread(target=self._ask, daemon=True).start()
        return self

    def _ask(self) -> None:
        with contextlib.suppress(OSError):
            self._ours.sendall(self._order)

    def __exit__(self, *details: object) -> None:
        self._ours.close()
        self._theirs.close()

    def hear(self, process: subprocess.Popen[bytes], timeout: float, silence: float = math.inf) -> Heard:
        """Read until the process has ended, or its time is over.

        :param silence: seconds without a word after which its time is over, too.
        """
        self._theirs.close()
        began = time.monotonic()
        said, printed = bytearray(), bytearray()
        is_late = is_interrupted = False
        with selectors.DefaultSelector() as waiting, ended(process):
            waiting.register(self._ours, selectors.EVENT_READ, said)
            assert process.stdout is not None, "it is a pipe"
            waiting.register(process.stdout, selectors.EVENT_READ, printed)
            try:
                is_late = _listen(waiting, process, began + timeout, silence)
            except KeyboardInterrupt:
                is_interrupted = True
                # It has a group of its own: what the terminal sends does not reach it.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
                with contextlib.suppress(KeyboardInterrupt):
                    _listen(waiting, process, time.monotonic() + _GRACE)
        return Heard(
            answers=tuple(_with_word(bytes(said), self._word)),
            seconds=time.monotonic() - began,
            output=bytes(printed[-_OUTPUT_KEPT:]).decode("utf-8", "replace"),
            is_late=is_late,
            status=process.returncode,
            is_interrupted=is_interrupted,
        )


def _with_word(said: bytes, word: str) -> Iterator[Mapping[str, Any]]:
    for line in said.split(b"\n"):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and answer.get("word") == word:
            yield answer


def _listen(
    waiting: selectors.BaseSelector, process: subprocess.Popen[bytes], ends_at: float, silence: float = math.inf
) -> bool:
    """Read until the process ends; return whether its time was over before."""
    silent_since = time.monotonic()
    while waiting.get_map():
        left = min(ends_at, silent_since + silence) - time.monotonic()
        if left <= 0:
            return True
        # A grandchild may hold the output open for ever: the end of the process is what counts.
        if _read_ready(waiting, min(left, 0.05)):
            silent_since = time.monotonic()
        elif process.poll() is not None:
            while _read_ready(waiting, 0):
                pass
            break
    while process.poll() is None:
        if time.monotonic() > ends_at:
            return True
        time.sleep(0.01)
    return False


def _read_ready(waiting: selectors.BaseSelector, timeout: float) -> bool:
    """Read once from all that have something; tell whether any had."""
    has_read = False
    for key, _ in waiting.select(timeout):
        try:
            part = os.read(key.fd, 1 << 16)
        except ConnectionResetError:  # it ended, and has not read our order
            part = b""
        if part:
            key.data.extend(part)
            has_read = True
        else:
            waiting.unregister(key.fileobj)
    return has_read


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process and all that it started, whatever happens; one that was ended already is left alone."""
    try:
        yield
    finally:
        if process not in _over:
            _end(process)


#: Those that were ended: their numbers may belong to other processes by now.
_over: WeakSet[subprocess.Popen[bytes]] = WeakSet()


def _end(process: subprocess.Popen[bytes]) -> None:
    _over.add(process)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None, "it is a pipe"
    process.stdout.close()


def start(
    command: list[str], folder: str, environment: Mapping[str, str], inherited: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=inherited,
        start_new_session=True,
    )
