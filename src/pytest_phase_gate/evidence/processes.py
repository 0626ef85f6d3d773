"""Run a command of the project: its output to the terminal and to capped files, its time limited, its tree ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Literal

from pytest_phase_gate.core.values import Value


class Ended(Value):
    """How a command ended, and where what it printed is kept."""

    #: What it ended with; negative for a signal, None if it did not end by itself.
    code: int | None
    how: Literal["ended", "timed-out", "interrupted", "not-started"]
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


def say_nothing(seconds: float) -> None:
    """Where nobody waits."""


def run_process(
    command: str,
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
) -> Ended:
    """Run the command to its end, whatever that is.

    :param environment: all of it; values of secret-looking names in it are blotted out of what is kept and shown.
    :param log: the file for both streams; `is_apart` puts each alone into a file beside it, too.
    :param limit: bytes that each file keeps, half of them from the beginning and half from the end.
    :param stream: where the output is shown while it comes.
    :param tick: called several times a second with the seconds since the start.
    """
    raise NotImplementedError
