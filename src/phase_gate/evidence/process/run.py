"""Run a command of the project: its output to the terminal and to capped files, its time limited, its tree ended."""

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

from phase_gate.evidence.process.output import Output, Pipes, hidden_in
from phase_gate.evidence.process.tree import KILL, MARK, Interrupts, ProcessTree
from phase_gate.values import Value

How = Literal["ended", "timed-out", "interrupted", "not-started"]

#: Seconds between two looks at a command that prints nothing.
_POLL = 0.05
#: Seconds that a tree has to end by itself, before it is made to.
_GRACE = 2.0
#: Seconds that a process which was made to end may take, and that we read what is left in its pipes.
_PATIENCE = 5.0


class Ended(Value):
    """How a command ended, and where what it printed is kept."""

    #: What it ended with; negative for a signal, None if it did not end by itself.
    code: int | None
    how: How
    seconds: float
    #: Both streams in the order in which they came, capped.
    output: Path
    #: Each alone, capped; None where they were not asked for.
    stdout: Path | None = None
    stderr: Path | None = None
    #: Why it did not start, or what became of its output, or of its children; empty if all went well.
    problem: str = ""
    #: Bytes that the capped file does not have.
    left_out: int = 0
    #: False if its output could not be kept, or not all of it: the disk was full.
    is_kept: bool = True
    #: The signal that interrupted us; 0 if none did.
    interrupted_by: int = 0
    #: Which of several commands was the last one that ran, counted from 0.
    step: int = 0


def say_nothing(seconds: float) -> None:
    """Where no user waits."""


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
    tick: Callable[[float], None] = say_nothing,
    is_apart: bool = True,
    then: Sequence[str] = (),
    stdin: Path | None = None,
    secrets: Mapping[str, str] | None = None,
    interrupts: Interrupts | None = None,
    mark: str = "",
    leaves_none: bool = False,
) -> Ended:
    """Run the command to its end, whatever that is. A signal to us ends it, too, and is left to the caller then.

    :param command: as it is typed, or its words.
    :param environment: all of it; values of secret-looking names in it are blotted out of what is kept and shown.
    :param log: the file for both streams; `is_apart` puts each alone into a file beside it, too. Between two streams
        the order is the one in which we read them.
    :param limit: bytes that each file keeps, half of them from the beginning and half from the end.
    :param stream: where the output is shown while it comes.
    :param tick: called several times a second with the seconds since the start.
    :param then: commands that follow, in the same files and the same time: each if the one before ended with 0.
    :param stdin: the file that it reads; nothing by default.
    :param secrets: an environment whose secret-looking values are blotted out, too.
    :param interrupts: hears signals already, and says when they end the command.
    :param mark: what everything that it starts is known by, should we die; any by default.
    :param leaves_none: what it left running is ended, even if the command ended by itself.
    """
    began = time.monotonic()
    output = Output(log, limit, is_apart=is_apart, hidden=hidden_in(environment, secrets or {}), screen=stream)
    mark = mark or os.urandom(16).hex()
    marks = ":".join(filter(None, (environment.get(MARK), mark)))

    def run_one(words: str | Sequence[str]) -> _One:
        with contextlib.ExitStack() as stack:
            heard = interrupts or stack.enter_context(Interrupts())
            try:
                process = subprocess.Popen(
                    shlex.split(words) if isinstance(words, str) and not shell else words,
                    shell=shell,
                    cwd=cwd,
                    env={**environment, MARK: marks},
                    stdin=subprocess.DEVNULL if stdin is None else stack.enter_context(open(stdin, "rb")),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if is_apart else subprocess.STDOUT,
                    # A session of its own: what it started goes with it when its time is over.
                    start_new_session=True,
                )
            except (OSError, ValueError, IndexError) as error:
                return _One(how="not-started", problem=getattr(error, "strerror", None) or str(error))
            watch = _Watch(process, ProcessTree(process, mark=mark), output, heard)
            is_whole = True
            try:
                how = watch.wait(began, timeout, tick)
                # When it ended by itself, a server that it left running is its own affair.
                is_whole = how != "ended" or leaves_none
            finally:
                watch.end_rest(is_whole=is_whole)
            code = process.returncode if how == "ended" else None
            return _One(how=how, code=code, problem=watch.problem, interrupted_by=heard.number)

    try:
        step, one = 0, run_one(command)
        while one.how == "ended" and one.code == 0 and step < len(then):
            one = run_one(then[step])
            step += 1
    finally:
        output.finish()  # even if tick raises: nothing is left open
    lost = f"its output could not be kept: {output.problem}" if output.problem else ""
    return Ended(
        code=one.code,
        how=one.how,
        seconds=time.monotonic() - began,
        output=log,
        stdout=output.alone[0].path if is_apart else None,
        stderr=output.alone[1].path if is_apart else None,
        problem="; ".join(filter(None, (one.problem, lost))),
        left_out=output.both.left_out,
        is_kept=not lost,
        interrupted_by=one.interrupted_by if one.how == "interrupted" else 0,
        step=step,
    )


class _One(Value):
    """How one of the commands ended."""

    how: How
    code: int | None = None
    problem: str = ""
    interrupted_by: int = 0


class _Watch:
    """A command that runs: reads what it prints, and ends it."""

    def __init__(
        self, process: subprocess.Popen[bytes], tree: ProcessTree, output: Output, interrupts: Interrupts
    ) -> None:
        self.problem = ""
        self._process, self._tree, self._output, self._interrupts = process, tree, output, interrupts
        self._pipes = Pipes((process.stdout, process.stderr))

    def wait(self, began: float, timeout: float, tick: Callable[[float], None]) -> How:
        """Read until it ended, its time is over, or the user interrupts us."""
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
        """End what still lives, and read what is left in the pipes.

        :param is_whole: whether the tree has to go whole, or the command's own group is enough.
        """
        self._end_tree(is_whole=is_whole)
        # Only now: until its end is taken note of, no other process can get its number.
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
            told: set[int] = set()
            while True:
                living = set(self._tree.find(whole=is_whole))
                if not living and self._has_ended():
                    return
                # Again and again, for it may start more in the meantime; but each of them once, for a program may
                # take the second time for an order not to tidy up.
                self._tree.send(number, living - told)
                told |= living
                self._take(self._pipes.read(_POLL))
                is_in_a_hurry = number == signal.SIGTERM and self._interrupts.count > 1
                if is_in_a_hurry or time.monotonic() >= deadline:
                    break
        if left := self._tree.find(whole=is_whole):  # another user's, or one that hangs in the kernel
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
