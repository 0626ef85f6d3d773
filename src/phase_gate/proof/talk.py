"""Our end of the line to a process that we start: what it says, and its end whatever happens.

The other end is in `inside.line`, which runs there.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from phase_gate.values import Value

#: How much of what pytest printed is kept, for those who ask why a sandbox told nothing.
_OUTPUT_KEPT = 4000
#: Seconds that pytest has to end by itself once it was interrupted: fixtures clean up.
_GRACE = 20.0


#: Seconds between two looks at what a process uses.
_LOOK = 1.0


class Limits(Value):
    """What a process and all that it starts may take."""

    #: Seconds of processors, all of them together: a busy machine does not change these. Counted on Linux.
    processor: float
    #: Seconds of the clock: for what waits, and never ends.
    clock: float
    #: Both are counted anew with every word: for a run of many tests, of which none may take longer than that.
    is_each: bool = False


class Heard(Value):
    """What was said until the process ended."""

    #: Those that had the word.
    answers: tuple[Mapping[str, Any], ...]
    seconds: float
    #: The end of what it printed.
    output: str = ""
    #: The limit that it went over, in words; empty if it ended by itself.
    late: str = ""
    status: int = 0
    #: The user stopped it.
    is_interrupted: bool = False
    #: It was killed, and the system had no memory left.
    is_out_of_memory: bool = False


def hear(command: list[str], folder: str, environment: Mapping[str, str], line: Line, limits: Limits) -> Heard:
    """Run a process in a group of its own, and read what it says until it has ended, or is over its limits."""
    kills = _count_memory_kills()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(line.number,),
        start_new_session=True,
    )
    line.theirs.close()
    usage = _Usage(process.pid, limits)
    said, printed = bytearray(), bytearray()
    late, is_interrupted = "", False
    try:
        with selectors.DefaultSelector() as waiting:
            waiting.register(line.ours, selectors.EVENT_READ, said)
            assert process.stdout is not None, "it is a pipe"
            waiting.register(process.stdout, selectors.EVENT_READ, printed)
            try:
                late = _listen(waiting, process, usage)
            except KeyboardInterrupt:
                is_interrupted = True
                # It has a group of its own: what the terminal sends does not reach it.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)
                with contextlib.suppress(KeyboardInterrupt):
                    _listen(waiting, process, _Usage(process.pid, Limits(processor=_GRACE, clock=_GRACE)))
    finally:
        _end(process)
    return Heard(
        answers=tuple(_with_word(bytes(said), line.word)),
        seconds=usage.seconds,
        output=bytes(printed).decode("utf-8", "replace"),
        late=late,
        status=process.returncode,
        is_interrupted=is_interrupted,
        is_out_of_memory=process.returncode == -signal.SIGKILL and _count_memory_kills() > kills,
    )


class Line:
    """A socket to a process, and a word that only both ends know."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.number, self.word = self.theirs.fileno(), os.urandom(16).hex()

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *details: object) -> None:
        self.ours.close()
        self.theirs.close()


def _with_word(said: bytes, word: str) -> Iterator[Mapping[str, Any]]:
    for line in said.split(b"\n"):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and answer.get("word") == word:
            yield answer


def _listen(waiting: selectors.BaseSelector, process: subprocess.Popen[bytes], usage: _Usage) -> str:
    """Read until the process ends; return the limit that it went over before, in words."""
    while waiting.get_map():
        if late := usage.find_excess():
            return late
        # A grandchild may hold the output open for ever: the end of the process is what counts.
        if _read_ready(waiting, 0.05):
            usage.hear_word()
        elif process.poll() is not None:
            while _read_ready(waiting, 0):
                pass
            break
    while process.poll() is None:
        if late := usage.find_excess():
            return late
        time.sleep(0.01)
    return ""


class _Usage:
    """What a process and those that it has started use, looked at now and then."""

    def __init__(self, pid: int, limits: Limits) -> None:
        self._pid, self._limits = pid, limits
        self._began = self._counted_from = self._looked = time.monotonic()
        #: Processor seconds at the last look, and at the last word.
        self._used = self._used_before = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def hear_word(self) -> None:
        if self._limits.is_each:
            self._counted_from, self._used_before = time.monotonic(), self._used

    def find_excess(self) -> str:
        """Return the limit that is over, in words; empty if none is."""
        now, limits = time.monotonic(), self._limits
        if now - self._counted_from > limits.clock:
            return f"{limits.clock:.0f} s"
        if now - self._looked < _LOOK:
            return ""
        self._looked = now
        self._used = _processor_seconds(self._pid)
        is_over = self._used - self._used_before > limits.processor
        return f"{limits.processor:.0f} s of processor time" if is_over else ""


def _count_memory_kills() -> int:
    """Return how many processes Linux has killed since it started because there was no memory; 0 on other systems."""
    try:
        with open("/proc/vmstat", encoding="ascii") as rows:
            return next((int(row.split()[1]) for row in rows if row.startswith("oom_kill ")), 0)
    except OSError:
        return 0


def _processor_seconds(session: int) -> float:
    """Return what the processes of a session have taken, with their children that have ended; 0.0 where none tells."""
    ticks = 0
    for name in os.listdir("/proc") if sys.platform.startswith("linux") else ():
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                # The name of the program stands in brackets, and may hold some itself.
                fields = file.read().rpartition(")")[2].split()
                if int(fields[3]) == session:
                    ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


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
            if not isinstance(key.fileobj, socket.socket):
                del key.data[:-_OUTPUT_KEPT]  # it may print for ever
            has_read = True
        else:
            waiting.unregister(key.fileobj)
    return has_read


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None, "it is a pipe"
    process.stdout.close()
