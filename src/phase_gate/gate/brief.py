"""What the ledger does not write twice: a line has what is new in its event.

What the state before it tells anyway (the last verdict, what the last run measured and left) is left out of the line.
Read behind the same lines, it gives the whole event again. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import spell_out, to_json
from phase_gate.gate.state import Event, Json, State
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Names what is known and is not in the event.
_GONE = "-"


def abridge(event: Event, state: State) -> Event:
    """Return an event as the ledger has it behind this state."""
    known = _KNOWN.get(event.kind)
    return event if known is None else replace(event, data=_less(event.data, known(state, event.at)))


def restore(event: Event, state: State) -> Event:
    """Return the whole event that a line behind this state tells of. Raises TypeError or ValueError for none."""
    known = _KNOWN.get(event.kind)
    return event if known is None else replace(event, data=_more(event.data, known(state, event.at)))


# --- what the state tells of an event before it happens


def _of_start(state: State, at: str) -> dict[str, Any]:
    return {"nested": False, "rewinds": False, "criteria_given": "", "reports": [], "rules": state.rules}


def _of_end(state: State, at: str) -> dict[str, Any]:
    number, last, before = state.iteration + 1, state.snapshots.latest, state.measurement or state.evaluation
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
        "metrics": {**metrics, "iteration": number, "consecutive_green_runs": state.streak.count + 1},
    }
    if state.open_runs:
        found["tree"] = state.open_runs[-1].tree
    if last is None:
        return found
    found |= {"findings": [], "notes": [], "told": {}, "tables": [], "recovered": [], "remembered": {}}
    return found | spell_out(last) | {"known": state.snapshots.known}


def _of_verdict(state: State, at: str) -> dict[str, Any]:
    run, measured = state.last_run, state.measurement
    evaluation = {} if state.evaluation is None else to_json(state.evaluation)
    subject = {"task": state.task, "cycle": state.cycle, "phase": state.phase, "timestamp": at}
    evaluation["subject"] = {**evaluation.get("subject", {}), **subject, "iteration": state.iteration}
    if run is not None:
        evaluation["subject"]["run"] = run.id
    if measured is not None:
        evaluation["measured"] = to_json(measured.measured)
    return {"evaluation": evaluation, "breaker": {**to_json(state.breaker), "tree": state.trees.last}}


_KNOWN: Mapping[str, Callable[[State, str], dict[str, Any]]] = {
    "run-started": _of_start,
    "run-ended": _of_end,
    "evaluated": _of_verdict,
}


# --- the difference of two documents, and back


def _less(value: Json, known: Json) -> dict[str, Any]:
    """Return what has to be added to what is known to come to a value."""
    less: dict[str, Any] = {}
    for name, each in value.items():
        before = known.get(name)
        if isinstance(each, dict) and isinstance(before, dict):
            changed = _less(each, before)
            if changed:
                less[name] = changed
        elif name not in known or repr(each) != repr(before):  # 1 and True are equal, and are not the same
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
