"""Abridged events: a line of the ledger has only the new parts of its event.

Values that follow from the state before it (the last verdict, the measurements and files of the last run) are omitted.
Reading the same lines in order restores the whole event. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import spell_out, to_json
from phase_gate.gate.state import Event, Json, State
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Names the known values that are not in the event.
_GONE = "-"


def abridge(event: Event, state: State) -> Event:
    """Return the event as the ledger stores it after this state."""
    known = _KNOWN.get(event.kind)
    return event if known is None else replace(event, data=_less(event.data, known(state, event.at)))


def restore(event: Event, state: State) -> Event:
    """Return the whole event of a line after this state. Raises TypeError or ValueError if it is invalid."""
    known = _KNOWN.get(event.kind)
    return event if known is None else replace(event, data=_more(event.data, known(state, event.at)))


# --- the parts of an event that follow from the state before it


def _of_start(state: State, at: str) -> dict[str, Any]:
    return {"nested": False, "rewinds": False, "criteria_given": "", "reports": [], "rules": state.rules}


def _of_end(state: State, at: str) -> dict[str, Any]:
    number, last, before = state.iteration + 1, state.latest_snapshot, state.measurement or state.evaluation
    metrics = {} if before is None else before.measured.metrics
    found: dict[str, Any] = {
        "kind": "complete",
        "why": "",
        "green": "green",
        "exit_status": 0,
        "iteration": number,
        "narrowed_by": [],
        "changed": [],
        "beside": list(state.beside),
        "metrics": {**metrics, "iteration": number, "consecutive_green_runs": state.streak + 1},
    }
    if state.open_runs:
        found["tree"] = state.open_runs[-1].tree
    if last is None:
        return found
    found |= {"findings": [], "notes": [], "told": {}, "tables": [], "recovered": [], "remembered": {}}
    return found | spell_out(last) | {"known": state.known_tests}


def _of_verdict(state: State, at: str) -> dict[str, Any]:
    run, measured = state.last_run, state.measurement
    evaluation = {} if state.evaluation is None else to_json(state.evaluation)
    about = {"task": state.task, "cycle": state.cycle, "phase": state.phase, "timestamp": at}
    evaluation |= about | {"iteration": state.iteration}
    if run is not None:
        evaluation["run"] = run.id
    if measured is not None:
        evaluation["measured"] = to_json(measured.measured)
    return {"evaluation": evaluation, "breaker": {**to_json(state.breaker), "tree": state.last_tree}}


_KNOWN: Mapping[str, Callable[[State, str], dict[str, Any]]] = {
    "run-started": _of_start,
    "run-ended": _of_end,
    "evaluated": _of_verdict,
}


# --- the difference of two documents, and back


def _less(value: Json, known: Json) -> dict[str, Any]:
    """Return the additions that turn the known document into the value."""
    less: dict[str, Any] = {}
    for name, each in value.items():
        before = known.get(name)
        if isinstance(each, dict) and isinstance(before, dict):
            changed = _less(each, before)
            if changed:
                less[name] = changed
        elif name not in known or repr(each) != repr(before):  # 1 and True are equal, but not the same
            less[name] = each
    gone = sorted(name for name in known if name not in value)
    return {**less, _GONE: gone} if gone else less


def _more(brief: Json, known: Json) -> dict[str, Any]:
    """Return the value that `_less` was called with."""
    gone = brief.get(_GONE, ())
    more = {name: each for name, each in known.items() if name not in gone}
    for name, each in brief.items():
        if name != _GONE:
            before = more.get(name)
            more[name] = _more(each, before) if isinstance(each, dict) and isinstance(before, dict) else each
    return more
