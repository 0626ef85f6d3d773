"""The brief forms of a task's history: the new parts of an event for the ledger, and the content of `state.json`.

A line of the ledger omits values that follow from the state before it (the last verdict, the measurements and files of
the last run). Reading the same lines in order restores the whole event. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import spell_out, to_json
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import MEASURED
from phase_gate.gate.state import Event, Json, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Names the known values that are not in the event.
_GONE = "-"


def abridge(event: Event, state: State) -> tuple[Event, Event]:
    """Return the event as the ledger stores it after this state, and as every later reader restores it."""
    known = _KNOWN.get(event.kind)
    if known is None:
        return event, event
    before = known(state, event.at)
    less = _less(event.data, before)
    return replace(event, data=less), replace(event, data=_more(less, before))


def restore(event: Event, state: State) -> Event:
    """Return the whole event of a line after this state. Raises TypeError or ValueError if it is invalid."""
    known = _KNOWN.get(event.kind)
    return event if known is None else replace(event, data=_more(event.data, known(state, event.at)))


# --- the parts of an event that follow from the state before it


def _of_start(state: State, at: str) -> dict[str, Any]:
    return {"nested": False, "rewinds": False, "criteria_given": "", "reports": [], "rules": state.rules}


def _of_end(state: State, at: str) -> dict[str, Any]:
    number, last = state.iteration + 1, state.latest_snapshot
    before = state.evaluation if state.measurement is None else state.measurement.measured
    metrics = {} if before is None else before.metrics
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
    found |= {"findings": [], "notes": [], "tables": [], "evidence": {}, "recovered": [], "remembered": {}}
    return found | spell_out(last) | {"known": state.known_tests}


def _of_verdict(state: State, at: str) -> dict[str, Any]:
    run, measured = state.last_run, state.measurement
    # An event has its breaker next to the verdict.
    evaluation = {} if state.evaluation is None else to_json(replace(state.evaluation, breaker=Breaker()))
    about = {"task": state.task, "cycle": state.cycle, "phase": state.phase, "timestamp": at}
    evaluation |= about | {"iteration": state.iteration}
    if run is not None:
        evaluation["run"] = run.id
    if measured is not None:
        others = {name: row for name, row in evaluation.items() if name not in MEASURED}
        evaluation = others | to_json(measured.measured)
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


# --- the content of `state.json`: the position of a task, its last run and its verdict, for people

#: The shown metrics of the last complete run.
_TOTALS = ("tests_total", "tests_passing", "tests_failing", "tests_skipped", "suite_total", "duration_s")


def show_state(state: State) -> dict[str, Any]:
    """Return the task's position, streak, last run and verdict; missing values are omitted."""
    shown: dict[str, Any] = {
        "task": state.task,
        "workflow": state.workflow,
        "cycle": state.cycle,
        "phase": state.phase,
        "visited": list(state.visited),
        "iteration": state.iteration,
        "exited": state.exited,
        "forced": state.forced,
        "streak": state.streak,
    }
    breaker, verdict = state.breaker, state.evaluation
    more: dict[str, Any] = {
        **{name: str(getattr(part, "status", "")) for name, part in state.parts.items()},
        "stuck": state.stuck,
        "running": [run.id for run in state.open_runs],
        "last_run": _show_last_run(state),
        "verdict": None if verdict is None else {**_show_verdict(verdict), "stale": state.evaluation_is_stale},
        "circuit": breaker.status != "closed" and {"status": breaker.status, "reason": breaker.reason},
        "facts": {fact.name: fact.value for fact in state.facts},
        "waived": [waiver.guard for waiver in state.waivers],
        "overrides": [record.get("kind") for record in state.overrides],
    }
    return shown | {name: each for name, each in more.items() if each}


def _show_last_run(state: State) -> dict[str, Any]:
    run, measured = state.last_run, state.measurement
    if run is None:
        return {}
    metrics = measured.measured.metrics if measured is not None and measured.run == run.id else {}
    return {
        "id": run.id,
        "kind": run.kind,
        "phase": run.phase,
        "at": run.at,
        **({"why": run.why} if run.why else {}),
        **{name: metrics[name] for name in _TOTALS if name in metrics},
    }


def _show_verdict(evaluation: Evaluation) -> dict[str, Any]:
    """Return the verdict, and the reasons why Gate 1 is closed."""
    gate_1 = evaluation.gate_1
    unmet = [] if gate_1.is_open else [clause.text for clause in gate_1.clauses if not clause.met]
    unmet += [guard.name for guard in gate_1.guards if not guard.met]
    return {
        "status": evaluation.status,
        "reason": evaluation.reason,
        "next": evaluation.next_command or evaluation.next_hint,
        "can_exit": evaluation.can_exit,
        "gate_1": "open" if gate_1.is_open else "closed",
        "gate_2": evaluation.gate_2.answer,
        **({"unmet": unmet} if unmet else {}),
    }
