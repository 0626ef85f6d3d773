"""Call code with made-up input, and let it do no harm: no files, no processes, no network, no more time than it has.

Runs in a room, in the process that calls. A room keeps the project as it is; made-up input may name any other file.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from types import FrameType
from typing import TextIO

from phase_gate.values import Value

#: Events of Python that are refused, and what they are called.
_REFUSED = {
    **dict.fromkeys(
        [
            *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"),
            *("os.chown", "os.utime", "os.setxattr", "os.removexattr", "os.chflags", "os.lchown", "os.lockf"),
            *("shutil.rmtree", "shutil.move", "shutil.copyfile", "shutil.copytree", "tempfile.mkstemp"),
            *("tempfile.mkdtemp", "sqlite3.connect"),
        ],
        "writes files",
    ),
    **dict.fromkeys(
        [
            *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
            *("pty.spawn", "os.startfile", "webbrowser.open"),
        ],
        "starts processes",
    ),
    **dict.fromkeys(["os.kill", "os.killpg", "signal.pthread_kill"], "sends signals"),
    **dict.fromkeys(
        [
            *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
            *("socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request"),
        ],
        "uses the network",
    ),
    **dict.fromkeys(["ctypes.dlopen"], "loads libraries"),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Places that take everything and keep nothing.
_HARMLESS = frozenset({os.devnull})


class RefusedError(BaseException):
    """The code wanted to do something that made-up input must not do. No error that code would catch."""


class LateError(BaseException):
    """The time for a call is over. No error that code would catch."""


class Limits(Value):
    """How long one call may take."""

    #: Seconds of work, and seconds in all.
    cpu: float
    wall: float


class Guard:
    """The hook of this process: it can't be taken away again, and looks on from the first call."""

    def __init__(self) -> None:
        #: What the code wanted to do, the last time that it was refused.
        self.refused = ""
        self._is_on = False
        self._before: tuple[str, TextIO, TextIO] | None = None
        sys.addaudithook(self._see)

    def _see(self, event: str, details: tuple[object, ...]) -> None:
        if not self._is_on:
            return
        if event == "open":
            path, _, flags = details
            if not (isinstance(flags, int) and flags & _WRITING) or path in _HARMLESS:
                return
            self._refuse("writes files")
        elif event in _REFUSED:
            self._refuse(_REFUSED[event])

    def _refuse(self, what: str) -> None:
        self.refused = what
        raise RefusedError(what)

    def begin(self, limits: Limits) -> io.BytesIO:
        """Let code of the project's run, until `end`; return what will hold all that it prints."""
        self.refused = ""
        printed = io.BytesIO()
        self._before = (os.getcwd(), sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = _stream(printed), _stream(io.BytesIO())
        self._is_on = _timed[0] = True
        signal.setitimer(signal.ITIMER_PROF, limits.cpu, limits.cpu)
        signal.setitimer(signal.ITIMER_REAL, limits.wall, limits.wall)
        return printed

    def end(self) -> None:
        """Put everything back."""
        _timed[0] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if self._before is not None:
            folder, sys.stdout, sys.stderr = self._before
            self._before = None
            with contextlib.suppress(OSError):
                os.chdir(folder)

    def rest(self) -> None:
        """Look away, while a module of the project's is imported: as every test run imports it."""
        self._is_on = False


def _stream(target: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(target, encoding="utf-8", errors="backslashreplace", newline="\n", write_through=True)


#: Whether a call is under way: a signal that comes late must not hit our own code.
_timed = [False]


def take_signals() -> None:
    """Have the timers end a call."""
    signal.signal(signal.SIGPROF, _late)
    signal.signal(signal.SIGALRM, _late)


def _late(number: int, frame: FrameType | None) -> None:
    if _timed[0]:
        raise LateError


def limit_memory(more: int) -> None:
    """Let this process have so many bytes more than it has: made-up sizes may be large."""
    import resource

    try:
        with open("/proc/self/statm", "rb") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return  # no such figure here
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + more
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most < 0 else min(wanted, most), most))
