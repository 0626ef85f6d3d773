"""What a task looks like from outside, without what differs from one run to the next.

Two pictures are equal if nobody could tell the two tasks apart, but for times, random ids and process numbers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from phase_gate.errors import TamperedError
from phase_gate.gate.codec import state_to_json
from phase_gate.gate.state import NEW_STATE, State
from phase_gate.storage.opening import apply_line
from phase_gate.storage.signal_file import read_signal_file
from phase_gate.storage.store import TaskStore

#: The picture of a task that is refused: nothing of it can be seen.
DAMAGED = "damaged"

_RUN = re.compile(r"\b[0-9a-f]{16}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_VOLATILE = frozenset({"at", "duration_s", "undo"})


def plain(value: Any) -> Any:
    """Return a JSON document without times, run ids and durations."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in sorted(value.items()) if key not in _VOLATILE}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, str):
        return _TIME.sub("TIME", _RUN.sub("RUN", value))
    return value


def picture(state: State, signal: str | None) -> str:
    # The identity of a signal that was spent has its file's time in it.
    document = {name: value for name, value in state_to_json(state).items() if name != "spent"}
    return json.dumps([plain(document), signal], sort_keys=True)


def waiting_signal(store: TaskStore, state: State) -> str | None:
    """Return the answer that the next evaluation would read from the file; None if it would read none."""
    found = read_signal_file(store.signal_file, spent=state.spent_signal)
    return None if found is None else (found.signal.answer if found.signal is not None else found.problem)


def without_gate_2(seen: str) -> str:
    """Return a picture without what Gate 2 says, and without what follows from it."""
    if seen == DAMAGED:
        return seen
    document, _ = json.loads(seen)
    # An exit also clears the breaker, and remembers how things are for the phase that follows.
    for name in ("exited", "breaker", "exit_memory"):
        document.pop(name, None)
    verdict = document.get("evaluation")
    if verdict is not None:
        document["evaluation"] = {name: verdict[name] for name in ("phase", "cycle", "iteration", "gate_1")}
    return json.dumps(document, sort_keys=True)


def could_not_read_signal(seen: str, cause: str) -> bool:
    """Tell whether the last verdict says that the signal could not be read, and keeps the gate closed."""
    if seen == DAMAGED:
        return False
    verdict = json.loads(seen)[0].get("evaluation") or {}
    gate_2 = verdict.get("gate_2", {})
    is_said = gate_2.get("answer") == "malformed" and cause in gate_2.get("problem", "")
    return is_said and not verdict["can_exit"]


def take_picture(store: TaskStore) -> str:
    """Return what the real reader makes of the task now."""
    try:
        opened = store.look()
        store.check_objects(opened.state)
    except TamperedError:
        return DAMAGED
    return picture(opened.state, waiting_signal(store, opened.state))


def pictures_on_the_way(store: TaskStore, *, after: int, signal: str | None) -> list[str]:
    """Return the task after each transaction later than line `after`, folded from the ledger.

    :param signal: what waited before the first of them; at the end, what waits now does.
    """
    found, state = [], NEW_STATE
    for line in store.lines():
        state = apply_line(state, line)
        if not line.more and line.seq > after:
            found.append(picture(state, signal))
    return [*found[:-1], picture(state, waiting_signal(store, state))]


def files_of(folder: Path) -> tuple[str, ...]:
    """Return which files there are, numbers and random parts left out."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(re.sub(r"\.\d+\.tmp$", ".tmp", _RUN.sub("RUN", name)) for name in names))
