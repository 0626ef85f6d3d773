"""`--phase-confirm`: run again with the same arguments in a fresh process, until the streak is long enough."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence

from phase_gate.runs.recorder import RUN_VARIABLE
from phase_gate.storage.store import TaskStore

#: Seconds that a run has for writing its end record after the user has stopped it.
_GRACE = 30.0
#: pytest's own exit code for it.
_INTERRUPTED = 2


def confirm_runs(
    store: TaskStore, command: Sequence[str], *, start: str, exit_signal: str | None, further: int
) -> int | None:
    """Start up to `further` runs; return the status of the last, or None if none was started.

    :param start: the current folder when the command was typed.
    """
    status: int | None = None
    for index in range(1, further + 1):
        streak = store.read().state.streak
        words = [*command, f"--phase-confirming={index}/{further}"]
        if exit_signal is not None and index == further:
            # A signal applies only to the run that it is given with.
            words.append(f"--exit-signal={exit_signal}")
        with contextlib.suppress(AttributeError, OSError, ValueError):  # a test may have closed it
            sys.stdout.flush()
        environment = {name: value for name, value in os.environ.items() if name != RUN_VARIABLE}
        # Tests may have changed the current folder.
        here = start if os.path.isdir(start) else None
        status = _wait_for(subprocess.Popen(words, env=environment, cwd=here))
        if store.read().state.streak != streak + 1:
            break
    return status


def _wait_for(process: subprocess.Popen[bytes]) -> int:
    """Return its exit status. An interrupt at the terminal reaches that process, too, and it writes its end record."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_GRACE)
        process.kill()
        process.wait()
        return _INTERRUPTED


def pytest_command() -> tuple[str, ...]:
    """Return the same command: `python -m pytest` puts the current folder on the path, the script does not."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    script = sys.argv[0]
    if os.path.isfile(script) and os.path.basename(script) in ("pytest", "py.test"):
        return (sys.executable, *flags, script)
    return (sys.executable, *flags, "-m", "pytest")


def without_ours(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments without the options that only the first run may have."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == "--exit-signal":
            skip = True
        elif argument != "--phase-confirm" and not argument.startswith("--exit-signal="):
            kept.append(argument)
    return tuple(kept)
