"""Workers of xdist that start fast: forked from a copy of the process that has not begun its session yet.

Loaded as a file in children of the warm server, which can't import this project's tests. A worker is a process of its
own, with its own pipes, as one that execnet starts; only Python and pytest need not start in it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from typing import IO, Any, NoReturn

#: Of a worker: its input and output, where its end is told, and its folder and environment.
_FDS = 4


class _Worker:
    """What execnet asks of a `Popen`."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], pid: int, ended: int) -> None:
        self.stdin, self.stdout, self.pid, self._ended = stdin, stdout, pid, ended
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            message = os.read(self._ended, 16)
            os.close(self._ended)
            self.returncode = int(message or b"-9")
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def offer_workers() -> None:
    """Keep a copy of this process, and let execnet have its forks where it would start Python."""
    for name in ("xdist", "xdist.plugin", "xdist.remote"):
        importlib.import_module(name).__doc__ = "PYTEST_DONT_REWRITE"  # pytest would warn that it comes too late
    execnet: Any = importlib.import_module("execnet.gateway_io")
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        _serve(theirs)
    theirs.close()
    os.register_at_fork(after_in_child=ours.close)  # the copy ends with this process, whatever a test leaves running
    master = execnet.Popen2IOMaster
    started = master.__init__

    def start(self: Any, words: list[str], execmodel: Any) -> None:
        if words != [sys.executable, "-u", "-c", execnet.popen_bootstrapline]:
            started(self, words, execmodel)
            return
        self.popen = worker = _ask(ours)
        super(master, self).__init__(worker.stdin, worker.stdout, execmodel=execmodel)

    master.__init__ = start


def _ask(ours: socket.socket) -> _Worker:
    given, to_worker = os.pipe()
    from_worker, message = os.pipe()
    ended, ends = os.pipe()
    with tempfile.TemporaryFile() as place:
        place.write(json.dumps([os.getcwd(), dict(os.environ)]).encode())
        place.seek(0)
        socket.send_fds(ours, [b"1"], [given, message, ends, place.fileno()])
    for each in (given, message, ends):
        os.close(each)
    pid = int(ours.recv(16))
    return _Worker(open(to_worker, "wb", 0), open(from_worker, "rb", 0), pid, ended)


def _serve(theirs: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        order, fds, _, _ = socket.recv_fds(theirs, 1, _FDS)
        if not order:
            os._exit(0)
        if os.fork() == 0:
            _keep(theirs, *fds)
        for each in fds:
            os.close(each)


def _keep(theirs: socket.socket, given: int, message: int, ends: int, place: int) -> NoReturn:
    """Start a worker, tell its number, and how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        theirs.close()
        os.close(ends)
        with open(place, "rb") as file:
            folder, environment = json.loads(file.read())
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        os.dup2(given, 0)
        os.dup2(message, 1)
        os.close(given)
        os.close(message)
        _work()
    theirs.send(str(pid).encode())
    for each in (given, message, place):
        os.close(each)
    _, status = os.waitpid(pid, 0)
    os.write(ends, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _work() -> NoReturn:
    """Be `python -u -c` with the line that execnet gives."""
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.argv = ["-c"]
    code = 1
    try:
        exec(eval(sys.stdin.readline()), {"__name__": "__main__"})
        code = 0
    finally:
        os._exit(code)
