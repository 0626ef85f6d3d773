"""Run several commands at the same time, each below a process of its own: what one leaves running is not another's.

`python -m phase_gate.drive.side_by_side` is that process: an order on standard input, how it ended on standard output.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phase_gate.codec import from_json, to_json
from phase_gate.evidence.process.run import run_process
from phase_gate.evidence.process.tree import PatientInterrupts
from phase_gate.values import Value

_PAUSE = 0.05


class Command(Value):
    """One command, with its prompt as standard input where it wants that."""

    words: tuple[str, ...]
    root: str
    environment: Mapping[str, str]
    #: Names of the environment's values that are blotted out stand in these values, too.
    secrets: Mapping[str, str]
    log: str
    timeout: float
    limit: int
    stdin: str | None = None


class Answered(Value):
    how: str
    code: int | None = None
    seconds: float = 0.0
    problem: str = ""


def run_side_by_side(
    asked: Sequence[Command],
    environment: Mapping[str, str],
    interrupts: PatientInterrupts,
    tick: Callable[[float], None],
) -> list[Answered]:
    """Run all of them to their ends.

    :param environment: of our own processes, not of the commands.
    """
    began, told = time.monotonic(), False
    processes = [_start(each, environment) for each in asked]
    while any(process.poll() is None for process in processes):
        tick(time.monotonic() - began)
        if interrupts.number and not told:
            told = True
            for process in processes:
                process.send_signal(signal.SIGTERM)
        time.sleep(_PAUSE)
    return [_end(process) for process in processes]


def _start(asked: Command, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "phase_gate.drive.side_by_side"],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    hand_over(process, asked)
    return process


def hand_over(process: subprocess.Popen[bytes], order: Value) -> None:
    """Write what a process of ours is to do into its standard input."""
    assert process.stdin is not None, "it is a pipe"
    try:
        process.stdin.write(json.dumps(to_json(order)).encode())
        process.stdin.close()
    except BrokenPipeError:
        pass  # it died at once: its end says so


def _end(process: subprocess.Popen[bytes]) -> Answered:
    assert process.stdout is not None, "it is a pipe"
    said = process.stdout.read()
    process.stdout.close()
    try:
        return from_json(Answered, json.loads(said))
    except ValueError:
        return Answered(how="not-started", problem=f"its process ended with {process.returncode}")


def main() -> int:
    order: Any = json.loads(sys.stdin.buffer.read())
    asked = from_json(Command, order)
    ended = run_process(
        asked.words,
        shell=False,
        cwd=Path(asked.root),
        environment=asked.environment,
        timeout=asked.timeout,
        log=Path(asked.log),
        limit=asked.limit,
        stdin=None if asked.stdin is None else Path(asked.stdin),
        secrets=asked.secrets,
        leaves_none=True,
    )
    answer = Answered(how=ended.how, code=ended.code, seconds=round(ended.seconds, 3), problem=ended.problem)
    sys.stdout.write(json.dumps(to_json(answer)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
