"""Find and end the processes that a command has started.

On Linux this is the whole tree, found by parents, by session and group, and by a variable that every child inherits.
It does not include processes that leave all of these, change their user, or are started by a service (systemd, cron,
docker). On other systems it is the command's own group, without children that create their own group. Windows has no
groups: there it is the command alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phase_gate.values import Value

if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Self

#: The variable that identifies the processes of a command. Nested commands add to it.
MARK = "PHASE_GATE_PROCESS"

_PROC = Path("/proc")
#: The number of searches for marked processes until none is left, and the seconds between them.
_ROUNDS, _PAUSE = 100, 0.02
_SET_DUMPABLE = 4
#: Whether processes can be listed.
IS_LINUX = sys.platform == "linux"
#: Whether processes have groups. Not on Windows, where sending the signal 0 would be Ctrl-C for all of us.
HAS_GROUPS = hasattr(os, "killpg")
#: A signal that no process can ignore.
KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)


class _Row(Value, kw_only=False):
    """A running process, from /proc."""

    parent: int
    group: int
    session: int


class ProcessTree:
    """A process, called the leader, and all processes that it started. The leader has its own session."""

    def __init__(self, process: Popen[bytes], *, mark: str) -> None:
        """Take over the tree.

        :param process: the leader.
        :param mark: is in the variable `MARK` of the leader.
        """
        self._process, self._leader, self._mark = process, process.pid, mark

    def find(self, *, whole: bool) -> list[int]:
        """Return the running processes of the whole tree, or only those of the leader's own session and group.

        If processes can't be listed, return the id of the group as a negative number. Without groups, return the leader
        while it is running.
        """
        rows = _rows()
        if not rows:
            return self._find_group()
        found = {pid for pid, row in rows.items() if self._leader in (pid, row.group, row.session)}
        if whole:
            found = _with_children(found | _marked(self._mark, rows), rows)
        return sorted(found - {os.getpid()})

    def _find_group(self) -> list[int]:
        if not HAS_GROUPS:
            return [self._leader] if self._process.poll() is None else []
        try:
            os.killpg(self._leader, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [-self._leader]


def end_marked(mark: str) -> int:
    """End the processes of a command whose parent died. Return their number."""
    ended: set[int] = set()
    # A process may start another one in the meantime. The rounds are limited, because some can't be ended.
    for _ in range(_ROUNDS):
        rows = _rows()
        found = _with_children(_marked(mark, rows), rows) - {os.getpid()}
        send(KILL, found)
        if not found:
            break
        ended |= found
        time.sleep(_PAUSE)
    return len(ended)


def end_children(leader: int) -> None:
    """End a process that was not waited for yet, and all that it has started, as far as processes can be listed."""
    send(KILL, _with_children({leader}, _rows()))


def send(number: int, pids: Iterable[int]) -> None:
    """Send a signal to these processes."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _marked(mark: str, pids: Iterable[int]) -> set[int]:
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            if mark.encode() in (_PROC / str(pid) / "environ").read_bytes():
                found.add(pid)
    return found


def _with_children(pids: set[int], rows: Mapping[int, _Row]) -> set[int]:
    while more := {pid for pid, row in rows.items() if row.parent in pids} - pids:
        pids = pids | more
    return pids


def _rows() -> dict[int, _Row]:
    """Return all running processes. Empty if they can't be listed."""
    rows: dict[int, _Row] = {}
    try:
        # A /proc of another namespace would contain ids that are not valid here.
        if not IS_LINUX or os.readlink(_PROC / "self") != str(os.getpid()):
            return rows
        names = [name for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return rows
    for name in names:
        with contextlib.suppress(OSError):
            stat = (_PROC / name / "stat").read_bytes()
            # The program's name is in parentheses, and may contain any. A process that just ended may lack fields.
            fields = stat.rpartition(b")")[2].split()
            if len(fields) > 3 and fields[0] not in (b"Z", b"X"):
                rows[int(name)] = _Row(*map(int, fields[1:4]))
    return rows


def hide_environment() -> None:
    """Keep other processes of the user from reading our environment in /proc, so that an agent can't read it."""
    if IS_LINUX:
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that ask a program to end, as far as this system has them."""
    return tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupts:
    """Catches SIGINT, SIGTERM and SIGHUP, so that the command can be ended first.

    Ignored signals stay ignored. Signals can be caught only in the main thread.
    """

    def __init__(self) -> None:
        self.number = 0
        self.count = 0
        self._previous: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in ending_signals():
            previous = signal.getsignal(number)
            if previous in (signal.SIG_IGN, None):
                continue
            try:
                signal.signal(number, self._hear)
            except ValueError:  # not the main thread
                break
            self._previous[number] = previous
        return self

    def __exit__(self, *_: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # type: ignore[arg-type]  # what getsignal gave

    def _hear(self, number: int, _frame: object) -> None:
        self.number = self.number or number
        self.count += 1


class PatientInterrupts(Interrupts):
    """Takes the first Ctrl-C as a request to end when it is safe. The second one, or another signal, ends at once."""

    def __init__(self) -> None:
        super().__init__()
        #: The user wants it to end.
        self.is_asked_to_end = False

    def _hear(self, number: int, frame: object) -> None:
        is_first = not self.is_asked_to_end
        self.is_asked_to_end = True
        if number != signal.SIGINT or not is_first:
            super()._hear(number, frame)
