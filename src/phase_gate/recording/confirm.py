"""`--phase-confirm`: run again, same arguments, fresh process, until the streak is long enough."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from phase_gate.codec import spell_out
from phase_gate.gate.state import State
from phase_gate.recording.run import RUN_VARIABLE
from phase_gate.storage.store import TaskStore
from phase_gate.values import Value, replace
from phase_gate.workflow.settings import ExitMeaning

#: Makes a run in a room: it stands above this package, and is a process of its own that loads nothing of the project's.
ROOM_PROGRAM = "phase_gate.cli._confirm_room"
#: Seconds that a run has to write its end down once the user has stopped it.
_GRACE = 30.0


class Confirmation(Value):
    """What a confirming run has to know."""

    #: What starts pytest, and what was typed, without what only the first run may have.
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    #: Those of them that name files, as pytest has read them.
    files: tuple[str, ...]
    #: The current folder when it was typed.
    start: str
    task: str | None
    folder: str | None
    phase: str
    exit_signal: str | None
    exit_meaning: ExitMeaning
    reports: tuple[str, ...] = ()
    #: Files that options name as reports, from the root.
    written: tuple[str, ...] = ()
    #: pytest-cov is there: it measures the first run, and no half of a suite.
    has_coverage: bool = False
    is_quiet: bool = False
    width: int = 80
    has_colour: bool = False
    #: Which of the further runs this is, and how many they are.
    index: int = 1
    total: int = 1

    def of(self, index: int, total: int) -> Confirmation:
        """Return it for one of the further runs."""
        # A signal goes with the last one: it speaks of the run that it is given with.
        return replace(self, index=index, total=total, exit_signal=self.exit_signal if index == total else None)

    def ordinary(self, *, why_no_room: str = "") -> list[str]:
        """Return the command of a run outside of any room."""
        words = [*self.command, *self.arguments, f"--phase-confirming={self.index}/{self.total}"]
        if self.exit_signal is not None:
            words.append(f"--exit-signal={self.exit_signal}")
        return [*words, f"--phase-roomless={why_no_room}"] if why_no_room else words

    def in_room(self) -> list[str]:
        """Return the command of a run in a room."""
        # The current folder is not ours to import from.
        return [sys.executable, "-P", "-m", ROOM_PROGRAM, json.dumps(spell_out(self))]


def confirm_runs(store: TaskStore, confirmation: Confirmation, *, further: int, in_room: bool) -> int | None:
    """Start up to `further` runs; return the status of the last, None if none was started."""
    status: int | None = None
    for index in range(1, further + 1):
        before = store.look().state
        run = confirmation.of(index, further)
        with contextlib.suppress(AttributeError, OSError, ValueError):  # a test may have closed it
            sys.stdout.flush()
        environment = {name: value for name, value in os.environ.items() if name != RUN_VARIABLE}
        # Tests may have gone to another folder, and stayed there.
        here = run.start if os.path.isdir(run.start) else None
        command = run.in_room() if in_room else run.ordinary()
        status = wait_for(subprocess.Popen(command, env=environment, cwd=here))
        if not _is_confirmed(before, store.look().state):
            break
    return status


def wait_for(process: subprocess.Popen[bytes]) -> int:
    """Return what it ended with. What stops us at a terminal stops it, too: it writes its end down."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(_GRACE)
        process.kill()
        process.wait()
        return int(pytest.ExitCode.INTERRUPTED)


def _is_confirmed(before: State, after: State) -> bool:
    return after.streak.count == before.streak.count + 1


def pytest_command() -> tuple[str, ...]:
    """Return the same way in: `python -m pytest` puts the current folder on the path, the script does not."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    script = sys.argv[0]
    if os.path.isfile(script) and os.path.basename(script) in ("pytest", "py.test"):
        return (sys.executable, *flags, script)
    return (sys.executable, *flags, "-m", "pytest")


def without_ours(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments without those that only the first run may have."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == "--exit-signal":
            skip = True
        elif argument not in ("--phase-confirm", "--phase-confirm-room") and not argument.startswith("--exit-signal="):
            kept.append(argument)
    return tuple(kept)
