"""Run a command of the project with a time limit, write its output to terminal and files, and end its tree."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from phase_gate.evidence.context import ignore
from phase_gate.evidence.process.output import Output, Pipes, find_secrets
from phase_gate.evidence.process.tree import KILL, MARK, Interrupts, ProcessTree, send
from phase_gate.values import Value

How = Literal["ended", "timed-out", "interrupted", "not-started"]

#: Seconds between two checks of a command that prints nothing.
_POLL = 0.05
#: Seconds that a tree has to end after SIGTERM, before it is killed.
_GRACE = 2.0
#: Seconds that a killed process may take to end, and that we read the rest of its output.
_PATIENCE = 5.0


class Ended(Value):
    """How a command ended, and where its output is."""

    #: The exit status, negative for a signal. None if it did not end by itself.
    code: int | None
    how: How
    seconds: float
    #: Both streams in the order of arrival, capped.
    output: Path
    #: Each stream in its own file, capped. None if not requested.
    stdout: Path | None = None
    stderr: Path | None = None
    #: Why it did not start, or a problem with its output or its children. Empty if there was none.
    problem: str = ""
    #: The signal that interrupted this process. 0 if there was none.
    interrupted_by: int = 0


def run_process(
    command: str | Sequence[str],
    *,
    shell: bool,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    log: Path,
    limit: int,
    stream: BinaryIO | None = None,
    tick: Callable[[float], None] = ignore,
    is_apart: bool = True,
    stdin: Path | None = None,
    secrets: Mapping[str, str] | None = None,
    interrupts: Interrupts | None = None,
    mark: str = "",
    leaves_none: bool = False,
) -> Ended:
    """Run the command until it ends. A signal to this process ends the command, too, and is left to the caller.

    :param command: a command line, or a list of arguments.
    :param environment: the whole environment. Values with secret-looking names are removed from the output.
    :param log: the file for both streams, in the order in which we read them. `is_apart` also writes each stream to
        its own file next to it.
    :param limit: bytes that each file keeps, half of them from the beginning and half from the end.
    :param stream: shows the output while the command runs.
    :param tick: called several times a second with the seconds since the start.
    :param stdin: the file that the command reads. Default: none.
    :param secrets: an environment whose secret-looking values are removed from the output, too.
    :param interrupts: receives signals already, and determines when they end the command.
    :param mark: identifies all processes that the command starts, in case this process dies. Default: random.
    :param leaves_none: also end the processes that the command left running when it ended by itself.
    """
    began = time.monotonic()
    output = Output(log, limit, is_apart=is_apart, hidden=find_secrets(environment, secrets or {}), screen=stream)
    mark = mark or os.urandom(16).hex()
    marks = ":".join(filter(None, (environment.get(MARK), mark)))

    how: How = "not-started"
    code, problem, number = None, "", 0
    try:
        with contextlib.ExitStack() as stack:
            heard = interrupts or stack.enter_context(Interrupts())
            try:
                process = subprocess.Popen(
                    shlex.split(command) if isinstance(command, str) and not shell else command,
                    shell=shell,
                    cwd=cwd,
                    env={**environment, MARK: marks},
                    stdin=subprocess.DEVNULL if stdin is None else stack.enter_context(open(stdin, "rb")),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if is_apart else subprocess.STDOUT,
                    # Its own session, so that its children can be ended with it.
                    start_new_session=True,
                )
            except (OSError, ValueError, IndexError) as error:
                problem = getattr(error, "strerror", None) or str(error)
            else:
                watch = _Watch(process, ProcessTree(process, mark=mark), output, heard)
                is_whole = True
                try:
                    how = watch.wait(began, timeout, tick)
                    # If the command ended by itself, a server that it left running may continue.
                    is_whole = how != "ended" or leaves_none
                finally:
                    watch.end_rest(is_whole=is_whole)
                code, problem = process.returncode if how == "ended" else None, watch.problem
                number = heard.number if how == "interrupted" else 0
    finally:
        output.finish()  # even if tick raises, so that no file stays open
    lost = f"its output could not be kept: {output.problem}" if output.problem else ""
    return Ended(
        code=code,
        how=how,
        seconds=time.monotonic() - began,
        output=log,
        stdout=output.alone[0].path if is_apart else None,
        stderr=output.alone[1].path if is_apart else None,
        problem="; ".join(filter(None, (problem, lost))),
        interrupted_by=number,
    )


class _Watch:
    """Reads the output of a running command, and ends the command."""

    def __init__(
        self, process: subprocess.Popen[bytes], tree: ProcessTree, output: Output, interrupts: Interrupts
    ) -> None:
        self.problem = ""
        self._process, self._tree, self._output, self._interrupts = process, tree, output, interrupts
        self._pipes = Pipes((process.stdout, process.stderr))

    def wait(self, began: float, timeout: float, tick: Callable[[float], None]) -> How:
        """Read until the command ends, its time is over, or the user interrupts."""
        self._pipes.start()
        ticked = began
        while not self._has_ended():
            now = time.monotonic()
            if self._interrupts.number:
                return "interrupted"
            if now - began >= timeout:
                return "timed-out"
            if now - ticked >= _POLL:
                tick(now - began)
                ticked = now
            self._take(self._pipes.read(min(_POLL, began + timeout - now)))
        return "ended"

    def end_rest(self, *, is_whole: bool) -> None:
        """End the processes that are still running, and read the rest of the pipes.

        :param is_whole: end the whole tree, not only the command's own group.
        """
        self._end_tree(is_whole=is_whole)
        # Wait only now: until then, no other process can get its id.
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.problem = "it could not be ended"
        self._take(self._pipes.read_rest(_PATIENCE))
        self._pipes.leave()
        self._output.flush()

    def _end_tree(self, *, is_whole: bool) -> None:
        for number, patience in ((signal.SIGTERM, _GRACE), (KILL, _PATIENCE)):
            deadline = time.monotonic() + patience
            signaled: set[int] = set()
            while True:
                living = set(self._tree.find(whole=is_whole))
                if not living and self._has_ended():
                    return
                # Repeat, because the tree may start more processes. But signal each process once, because a program may
                # skip its cleanup at the second signal.
                send(number, living - signaled)
                signaled |= living
                self._take(self._pipes.read(_POLL))
                is_in_a_hurry = number == signal.SIGTERM and self._interrupts.count > 1
                if is_in_a_hurry or time.monotonic() >= deadline:
                    break
        if left := self._tree.find(whole=is_whole):  # of another user, or blocked in the kernel
            self.problem = f"{len(left)} of its processes could not be ended"

    def _has_ended(self) -> bool:
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True

    def _take(self, rows: Iterable[tuple[int, bytes]]) -> None:
        for which, data in rows:
            self._output.take(which, data)
