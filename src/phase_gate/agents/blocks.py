"""How often an agent was held up, and what has to change before it is held up anew.

Some agents would be sent on for ever, so the stop hook counts: in a small file for each session of an agent, in the
state folder's cache. It is evidence of nothing, so it is no part of the ledger and may be lost at any time. One file
each, so that two agents that ask at once do not undo each other's count.
"""

from __future__ import annotations

import contextlib
import os
from json import dumps, loads
from pathlib import Path

from phase_gate.codec import from_json, to_json
from phase_gate.errors import PhaseGateError
from phase_gate.gate.state import State
from phase_gate.hashing import sha256
from phase_gate.storage.files import REAL, make_folder, read_bytes, remove_file, write_atomically
from phase_gate.values import Value


class Progress(Value):
    """What has to change before an agent may be held up anew."""

    #: The files, and what is recorded of runs and phases.
    mark: str = ""
    #: The files that the last complete run tested, and the phase that it was in.
    tested: str = ""


class Blocks(Value):
    """How often an agent was held up."""

    #: In a row, with no run recorded and no file changed.
    in_row: int = 0
    #: With no complete run on changed files: one that only ever edits, or only ever runs, comes to an end, too.
    untested: int = 0
    progress: Progress = Progress()

    def after(self, now: Progress) -> Blocks:
        """Return the count with one more."""
        return Blocks(
            in_row=1 + (self.in_row if now.mark == self.progress.mark else 0),
            untested=1 + (self.untested if now.tested == self.progress.tested else 0),
            progress=now,
        )


#: Where nothing of the task can be read: then nothing can be recorded either, whatever the agent changes.
NO_PROGRESS = Progress()


def progress_of(state: State, tree: str) -> Progress:
    """Return how far a task is. Signals and claims are words, so they are no part of it."""
    seen = State(
        cycle=state.cycle,
        phase=state.phase,
        exited=state.exited,
        open_runs=state.open_runs,
        last_run=state.last_run,
        parts=state.parts,
    )
    tested = "" if state.measurement is None else state.measurement.tree
    return Progress(mark=digest([to_json(seen), tree]), tested=digest([state.cycle, state.phase, state.exited, tested]))


def digest(value: object) -> str:
    """Return a short name for a value that JSON has."""
    return sha256(dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


#: Sessions that are remembered at once; the oldest are forgotten first.
MOST_SESSIONS = 32
_MAX_BYTES = 4096


def block_file(state_folder: Path, *, agent: str, session: str, task: str) -> Path:
    """Return where the count of a session is kept; of the task, where the agent does not name its session."""
    return state_folder / "cache" / f"stops-{digest([agent, session, task])}.json"


def count_block(file: Path, now: Progress) -> Blocks | None:
    """Count one more block and return how many there are; None if that can't be kept."""
    if not file.parent.parent.is_dir():
        return None  # a hook makes no state folder
    blocks = _load(file).after(now)
    try:
        make_folder(REAL, file.parent)
        write_atomically(REAL, file, dumps(to_json(blocks)).encode(), durable=False)
    except PhaseGateError:
        return None
    _forget_oldest(file)
    return blocks


def _load(file: Path) -> Blocks:
    with contextlib.suppress(PhaseGateError, ValueError, TypeError, LookupError, RecursionError):
        blocks = from_json(Blocks, loads(read_bytes(file, limit=_MAX_BYTES) or b"{}"))
        if min(blocks.in_row, blocks.untested) >= 0:
            return blocks
    return Blocks()


def _forget_oldest(file: Path) -> None:
    with contextlib.suppress(OSError):
        others = [each for each in os.scandir(file.parent) if each.name.startswith("stops-") and each.name != file.name]
        others.sort(key=lambda each: each.stat().st_mtime_ns)
        for each in others[: len(others) + 1 - MOST_SESSIONS] if len(others) >= MOST_SESSIONS else ():
            remove_file(Path(each.path))
