"""How often an agent was held up, and what has to change before it is held up anew.

Pure. Some agents would be sent on for ever, so the stop hook counts. Where the counts are kept is `block_files`.
"""

from __future__ import annotations

import hashlib
import json

from phase_gate.codec import to_json
from phase_gate.gate.state import State
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
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
