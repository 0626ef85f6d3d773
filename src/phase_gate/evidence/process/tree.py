"""A command with everything that it started, and how all of it is ended.

On Linux the whole tree is found: by parents, by session and group, and by a variable that every child inherits. What
leaves all of these behind, changes its user, or is started by a service on the command's behalf (systemd, cron,
docker), is out of reach. On other systems it is the command's own group, and a child that made a group of its own is
not reached. Windows has no groups: there it is what `taskkill` finds below the command, and what outlives a command
that ended by itself is not reached.
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

#: The variable by which we know again what a command started. Nested commands add to it.
MARK = "PHASE_GATE_PROCESS"

_PROC = Path("/proc")
#: How often, and how many seconds apart, what has a mark is looked for until nothing is left.
_ROUNDS, _PAUSE = 100, 0.02
_SET_DUMPABLE = 4
#: Whether processes can be looked at.
IS_LINUX = sys.platform == "linux"
#: Whether processes have groups: not on Windows, where asking for the signal 0 would be Ctrl-C for us all.
HAS_GROUPS = hasattr(os, "killpg")
#: What no process can refuse.
KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)
_TASKKILL_LIMIT = 10.0


class _Row(Value, kw_only=False):
    """A process that lives, as /proc shows it."""

    parent: int
    group: int
    session: int


class ProcessTree:
    """What the process `leader` started, itself among it. The leader has a session of its own."""

    def __init__(self, process: Popen[bytes], *, mark: str) -> None:
        """Take over the tree.

        :param process: the leader.
        :param mark: stands in the variable `MARK` of the leader.
        """
        self._process, self._leader, self._mark = process, process.pid, mark

    def find(self, *, whole: bool) -> list[int]:
        """Return what lives of it; of the whole tree, or only of the leader's own session and group.

        Where processes can't be looked at, it is the group as one, as a negative number; where there are no groups, it
        is the leader, for as long as it lives.
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

    def send(self, number: int, pids: Iterable[int]) -> None:
        """Send a signal to what was found."""
        if not HAS_GROUPS:
            for pid in pids:
                _end_with_children(pid)
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _end_with_children(pid: int) -> None:
    """End a process of Windows, with what it started: at once, for no signal asks it to end by itself."""
    import subprocess

    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = [_task_killer(), "/F", "/T", "/PID", str(pid)]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TASKKILL_LIMIT, check=False)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGTERM)  # which ends it there, too, and it alone


def _task_killer() -> str:
    """Return Windows' own program: one of that name in the current folder would be found first."""
    return os.path.join(os.environ.get("SYSTEMROOT", ""), "System32", "taskkill.exe")


def end_marked(mark: str) -> int:
    """End what still runs of a command whose starter died; return how many processes that were."""
    ended: set[int] = set()
    # A process may start another one while it is ended; one that can't be ended must not hold us up.
    for _ in range(_ROUNDS):
        rows = _rows()
        found = _with_children(_marked(mark, rows), rows) - {os.getpid()}
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, KILL)
        if not found:
            break
        ended |= found
        time.sleep(_PAUSE)
    return len(ended)


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
    """Return what lives; nothing where that can't be looked at."""
    rows: dict[int, _Row] = {}
    try:
        # One that was mounted for others would show us numbers that are not ours to end.
        if not IS_LINUX or os.readlink(_PROC / "self") != str(os.getpid()):
            return rows
        names = [name for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:
        return rows
    for name in names:
        with contextlib.suppress(OSError):
            stat = (_PROC / name / "stat").read_bytes()
            # The name of the program stands in brackets, and may have any in it. One that just ended may have no more.
            fields = stat.rpartition(b")")[2].split()
            if len(fields) > 3 and fields[0] not in (b"Z", b"X"):
                rows[int(name)] = _Row(*map(int, fields[1:4]))
    return rows


def hide_environment() -> None:
    """Let no other process of the user read ours from /proc: what an agent is not given, it can't look up either."""
    if IS_LINUX:
        with contextlib.suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals by which a user, or the system, asks a program to end: as many as there are here."""
    return tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupts:
    """Hears SIGINT, SIGTERM and SIGHUP instead of dying of them, so that the command can be ended first.

    What is ignored stays ignored, and beside the main thread nothing can be heard.
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
    """Takes the first Ctrl-C for a wish to end when that does no harm; the second, or another signal, ends at once."""

    def __init__(self) -> None:
        super().__init__()
        #: The user wants it to end.
        self.is_asked_to_end = False

    def _hear(self, number: int, frame: object) -> None:
        is_first = not self.is_asked_to_end
        self.is_asked_to_end = True
        if number != signal.SIGINT or not is_first:
            super()._hear(number, frame)
