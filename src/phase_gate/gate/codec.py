"""The state as JSON, and back.

Pure. The document's canonical form is what the ledger vouches for, so the same state always gives the same document.
"""

from __future__ import annotations

from phase_gate.codec import from_json, to_json
from phase_gate.gate.parts import load_part
from phase_gate.gate.state import Json, State
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def state_to_json(state: State) -> dict[str, Any]:
    return to_json(state)


def state_from_json(document: Json) -> State:
    """Return the state that `state_to_json` wrote. Raises KeyError, TypeError or ValueError on anything else."""
    return _with_parts(from_json(State, document))


def _with_parts(state: State) -> State:
    """Return the state with its parts read: only the table knows what they are."""
    if state.undo is not None:
        state = replace(state, undo=replace(state.undo, state=_with_parts(state.undo.state)))
    if not state.parts:
        return state
    return replace(state, parts={name: from_json(load_part(name).kind, row) for name, row in state.parts.items()})
