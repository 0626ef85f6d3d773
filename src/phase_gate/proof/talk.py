"""Run a process that speaks to us through a pipe: what it says, and its end whatever happens.

The other end is in `inside`, which runs there. It is a pipe, for sandboxes of agents refuse what sockets need.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from phase_gate.values import Value

#: How much of what pytest printed is kept, for those who ask why a sandbox told nothing.
_OUTPUT_KEPT = 4000
#: Seconds that pytest has to end by itself once it was interrupted: fixtures clean up.
_GRACE = 20.0
#: Seconds between two looks at what a process uses.
_LOOK = 1.0
#: Seconds in which what was said is read, once the process has ended: a process that it left may hold the pipe.
_REST = 5.0


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
    #: It was killed, and the system had no memory left.
    is_out_of_memory: bool = False


#: Gets what the process has to know of the pipe; returns its command and its environment.
Prepare = Callable[[Mapping[str, Any]], tuple[list[str], Mapping[str, str]]]


def hear(prepare: Prepare, folder: str, limits: Limits) -> Heard:
    """Run a process in a group of its own, and read what it says until it has ended, or is over its limits."""
    reading, writing = os.pipe()
    word = os.urandom(16).hex()  # only both ends know it
    command, environment = prepare({"number": writing, "word": word, "maker": os.getpid()})
    kills, began, said = _count_memory_kills(), time.monotonic(), bytearray()
    with open(reading, "rb", buffering=0) as ours, tempfile.TemporaryFile() as printed:
        with open(writing, "wb", buffering=0):
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                pass_fds=(writing,),
                start_new_session=True,
            )
        listener = threading.Thread(target=_listen, args=(ours, said), daemon=True)
        listener.start()
        try:
            late = _wait(process, limits, said)
        except KeyboardInterrupt:
            # It has a group of its own: what the terminal sends does not reach it.
            with contextlib.suppress(ProcessLookupError, KeyboardInterrupt):
                os.kill(process.pid, signal.SIGINT)
                _wait(process, Limits(processor=_GRACE, clock=_GRACE), said)
            raise
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        listener.join(_REST)
        printed.seek(max(0, os.fstat(printed.fileno()).st_size - _OUTPUT_KEPT))
        output = printed.read().decode("utf-8", "replace")
    return Heard(
        answers=tuple(_with_word(bytes(said), word)),
        seconds=time.monotonic() - began,
        output=output,
        late=late,
        status=process.returncode,
        is_out_of_memory=process.returncode == -signal.SIGKILL and _count_memory_kills() > kills,
    )


def _listen(ours: io.FileIO, said: bytearray) -> None:
    with contextlib.suppress(OSError, ValueError):  # it is closed when we have heard enough
        while part := ours.read(1 << 16):
            said.extend(part)


def _with_word(said: bytes, word: str) -> Iterator[Mapping[str, Any]]:
    for line in said.split(b"\n"):
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
            if isinstance(answer, dict) and answer.get("word") == word:
                yield answer


def _wait(process: subprocess.Popen[bytes], limits: Limits, said: bytearray) -> str:
    """Wait until the process ends; return the limit that it went over before, in words."""
    heard, used, used_before = 0, 0.0, 0.0
    since = looked = time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            return ""
        now = time.monotonic()
        if limits.is_each and len(said) > heard:
            heard, since, used_before = len(said), now, used
        if now - since > limits.clock:
            return f"{limits.clock:.0f} s"
        if now - looked >= _LOOK:
            looked, used = now, _processor_seconds(process.pid)
            if used - used_before > limits.processor:
                return f"{limits.processor:.0f} s of processor time"


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
