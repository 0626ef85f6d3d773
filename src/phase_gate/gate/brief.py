"""What the ledger does not write twice: a line has what is new in its event.

What the state before it tells anyway (the last verdict, what the last run measured and left) is left out of the line.
Read behind the same lines, it gives the whole event again. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import spell_out
from phase_gate.gate.state import Event, Json, State
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Names what is known and is not in the event; all of it.
_GONE, _ALL = "-", "*"
#: The rows of a list that are others than the known ones, by their numbers; and how long it is, where it is shorter.
#: Rows beyond the known ones are told by what differs from the last of those.
_ROWS, _LENGTH = "#", "n"

#: What stands in place of a verdict before the first one: mostly so, and not written either.
_NO_VERDICT: Json = {
    "schema": 1,
    "warnings": [],
    "facts": [],
    "overrides": [],
    "can_exit": False,
    "forced_exit": False,
    "gate_1": {
        "clauses": [{"met": True, "values": {}, "unknown": [], "group": None, "problem": ""}],
        "guards": [{"met": True, "detail": "", "remedy": "", "waived": False}],
        "replaced": False,
    },
    "gate_2": {
        "satisfied": False,
        "open": False,
        "source": "explicit_signal",
        "answer": "absent",
        "reason": "",
        "by": "",
        "problem": "",
    },
    "breaker": {
        "state": "closed",
        "no_progress": 0,
        "same_error": 0,
        "exit_blocked": 0,
        "infrastructure": 0,
        "reason": "",
        "since": "",
    },
}


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
    number, last = state.iteration + 1, state.snapshots.latest
    found: dict[str, Any] = {
        "kind": "complete",
        "why": "",
        "green": "green",
        "exit_status": 0,
        "iteration": number,
        "narrowed_by": [],
        "changed": [],
        "beside": list(state.beside),
        "metrics": {**_last_metrics(state), "iteration": number, "consecutive_green_runs": state.streak.count + 1},
    }
    if state.open_runs:
        found["tree"] = state.open_runs[-1].tree
    if last is None:
        return found
    found |= {"findings": [], "notes": [], "told": {}, "tables": [], "recovered": [], "remembered": {}}
    return found | spell_out(last) | {"known": state.snapshots.known}


def _of_verdict(state: State, at: str) -> dict[str, Any]:
    run, measured = state.last_run, state.measurement
    evaluation: dict[str, Any] = {
        **(_NO_VERDICT if state.evaluation is None else state.evaluation),
        "task": state.task,
        "cycle": state.cycle,
        "phase": state.phase,
        "timestamp": at,
        "iteration": state.iteration,
        "metrics": _last_metrics(state),
    }
    if run is not None:
        evaluation |= {"run": run.id, "run_kind": run.kind, "run_note": run.why}
    if measured is not None:
        evaluation |= {"findings": list(measured.findings), "notes": list(measured.notes)}
        evaluation |= {"tables": list(measured.tables)}
    return {"evaluation": evaluation, "breaker": spell_out(state.breaker) | {"tree": state.trees.last}}


def _last_metrics(state: State) -> Json:
    if state.measurement is not None:
        return state.measurement.metrics
    return {} if state.evaluation is None else state.evaluation["metrics"]


_KNOWN: Mapping[str, Callable[[State, str], dict[str, Any]]] = {
    "run-started": _of_start,
    "run-ended": _of_end,
    "evaluated": _of_verdict,
}


# --- the difference of two documents, and back


def _less(value: Json, known: Json) -> dict[str, Any]:
    """Return what has to be added to what is known to come to a value."""
    gone = [name for name in known if name not in value]
    changed = {
        name: _change(each, known.get(name))
        for name, each in value.items()
        if name not in known or not _is_same(each, known[name])
    }
    return {**changed, _GONE: sorted(gone) if value else _ALL} if gone else changed


def _is_same(each: object, known: object) -> bool:
    # 1 and True are equal, and are not the same.
    return each == known and isinstance(each, bool) is isinstance(known, bool)


def _change(value: Any, known: Any) -> Any:
    """Return how one part differs: fields of an object and rows of a list by themselves."""
    if isinstance(value, dict) and isinstance(known, dict):
        return _less(value, known)
    if not (isinstance(value, list) and isinstance(known, list) and known):
        return value
    rows = {}
    for index, each in enumerate(value):
        like = known[min(index, len(known) - 1)]
        if index >= len(known) or not _is_same(each, like):
            rows[str(index)] = _change(each, like)
    return {_ROWS: rows} if len(value) >= len(known) else {_ROWS: rows, _LENGTH: len(value)}


def _more(brief: Json, known: Json) -> dict[str, Any]:
    """Return the value that `_less` was called with."""
    gone = brief.get(_GONE, ())
    kept = {name: each for name, each in known.items() if gone != _ALL and name not in gone}
    return kept | {name: _changed(each, kept.get(name)) for name, each in brief.items() if name != _GONE}


def _changed(brief: Any, known: Any) -> Any:
    if isinstance(brief, dict) and isinstance(known, dict):
        return _more(brief, known)
    if not (isinstance(brief, dict) and isinstance(known, list) and known and _ROWS in brief):
        return brief
    found = known[: brief.get(_LENGTH, len(known))]
    for index, each in sorted((int(index), each) for index, each in brief[_ROWS].items()):
        row = _changed(each, known[min(index, len(known) - 1)])
        found[index : index + 1] = [row]
    return found
