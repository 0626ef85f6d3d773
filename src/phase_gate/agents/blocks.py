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
    #: The last complete run, and the phase that it was in.
    complete: str = ""


class Blocks(Value):
    """How often an agent was held up."""

    #: In a row, with no run recorded and no file changed.
    in_row: int = 0
    #: With no complete run: an agent that only ever edits, or runs a part, comes to an end, too.
    unmeasured: int = 0
    progress: Progress = Progress()

    def after(self, now: Progress) -> Blocks:
        """Return the count with one more."""
        return Blocks(
            in_row=1 + (self.in_row if now.mark == self.progress.mark else 0),
            unmeasured=1 + (self.unmeasured if now.complete == self.progress.complete else 0),
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
    measured = "" if state.measurement is None else state.measurement.run
    return Progress(
        mark=digest([to_json(seen), tree]), complete=digest([state.cycle, state.phase, state.exited, measured])
    )


def digest(value: object) -> str:
    """Return a short name for a value that JSON has."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
