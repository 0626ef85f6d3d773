"""`--phase-confirm`: run again, same arguments, fresh process, until the streak is long enough."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence

from phase_gate.gate.state import State
from phase_gate.recording.run import RUN_VARIABLE
from phase_gate.storage.store import TaskStore


def confirm_runs(store: TaskStore, arguments: Sequence[str], *, further: int, exit_signal: str | None) -> int | None:
    """Start up to `further` runs; return the status of the last, None if none was started."""
    status: int | None = None
    for index in range(1, further + 1):
        before = store.look().state
        command = [*_pytest_command(), *_without_ours(arguments), f"--phase-confirming={index}/{further}"]
        if index == further and exit_signal is not None:
            # A signal goes with the last one: it speaks of the run that it is given with.
            command.append(f"--exit-signal={exit_signal}")
        with contextlib.suppress(AttributeError, OSError, ValueError):  # a test may have closed it
            sys.stdout.flush()
        environment = {name: value for name, value in os.environ.items() if name != RUN_VARIABLE}
        status = subprocess.run(command, env=environment, check=False).returncode
        if not _is_confirmed(before, store.look().state):
            break
    return status


def _is_confirmed(before: State, after: State) -> bool:
    return after.streak.count == before.streak.count + 1


def _pytest_command() -> list[str]:
    # The same way in: `python -m pytest` puts the current folder on the path, the script does not.
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    script = sys.argv[0]
    if os.path.isfile(script) and os.path.basename(script) in ("pytest", "py.test"):
        return [sys.executable, *flags, script]
    return [sys.executable, *flags, "-m", "pytest"]


def _without_ours(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without those that only the first run may have."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == "--exit-signal":
            skip = True
        elif argument != "--phase-confirm" and not argument.startswith("--exit-signal="):
            kept.append(argument)
    return kept
