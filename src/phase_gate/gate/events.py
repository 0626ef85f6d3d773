"""The effect of each event on the state of a task.

Pure: `apply(state, event)` is the only way to make a state. The ledger contains the events, and replaying them gives
the identical state, so this module must not use a clock or a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import from_json
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import MEASURED, Measured, Waiver
from phase_gate.gate.outcomes import Green, Kind
from phase_gate.gate.state import (
    NEW_STATE,
    Claims,
    Event,
    Freeze,
    Json,
    Measurement,
    Memory,
    ProofRecord,
    Run,
    Snapshot,
    State,
    change_parts,
    state_from_json,
)
from phase_gate.gate.verdict import Evaluation, Fact
from phase_gate.values import Value, fields, replace
from phase_gate.workflow.names import DONE, STUCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T", bound=Value)

#: Number of remembered reports: names with a timestamp would add up without limit.
_REPORTS = 50


def apply(state: State, event: Event) -> State:
    """Return the state after one more event. Kinds without effect are kept for history only."""
    change = _CHANGES.get(event.kind)
    if change is not None:
        state = change(state, event)
    parts = change_parts(state.parts, event)
    if parts != state.parts:
        state = replace(state, parts=parts)
    if event.data.get("reports"):
        # Files named by options of a run, or passed to a command, are not part of the tree. Keep the newest.
        reports = dict.fromkeys((*event.data["reports"], *state.reports))
        state = replace(state, reports=tuple(reports)[:_REPORTS])
    return state


def _reset(*names: str) -> dict[str, Any]:
    """Return these fields of a state as they are in a new one."""
    return {name: getattr(NEW_STATE, name) for name in names}


def _cycle_began(state: State, event: Event) -> State:
    baseline = event.data.get("baseline")
    baseline = None if baseline is None else _pick(Snapshot, baseline)
    return replace(
        state,
        cycle=state.cycle + 1,
        workflow=event.data["workflow"],
        vanished=event.data.get("vanished", False),
        **_reset("visited", "stuck", "first_snapshot", "targets", "recovered", "criteria", "criteria_file"),
        **_reset("waivers", "overrides", "signals_premature"),
        baseline=baseline,
        freeze=Freeze(before=state.freeze.current),
        allow_non_interactive=event.data.get("allow_non_interactive", False),
        memory=replace(state.memory, cycle=event.data.get("remembered", {})),
        rules=event.data.get("rules", state.rules),
    )


def _phase_entered(state: State, event: Event) -> State:
    phase = event.data["phase"]
    # Start from scratch: no iteration, streak, fact or verdict of the previous phase counts in this one.
    return replace(
        state,
        phase=phase,
        visited=state.visited if phase in state.visited else (*state.visited, phase),
        **_reset("stuck", "iteration", "exited", "forced", "streak", "streak_tree"),
        **_reset("measurement", "facts", "breaker", "claims", "proof"),
        evaluation_is_stale=state.evaluation is not None,
        # Why a run did not count matters only in the phase that it was for.
        last_run=None if state.last_run is None else replace(state.last_run, why=""),
        memory=Memory(cycle=state.memory.cycle, phase=event.data.get("remembered", {})),
        freeze=_freeze_on_entry(state.freeze, event),
    )


def _freeze_on_entry(freeze: Freeze, event: Event) -> Freeze:
    """Withdraw the freeze on return to the first phase, or if the entry requests it because there was no RED."""
    is_first = event.data.get("how") == "rewind" and event.data.get("first")
    if not is_first and not event.data.get("unfreezes"):
        return freeze
    return replace(freeze, withdrawn=freeze.would_withdraw, current=None, upcoming=None, red_exited=False)


def _evaluated(state: State, event: Event) -> State:
    evaluation = verdict_of(event)
    iteration, run = evaluation.iteration, evaluation.run
    # Neither a run nor an iteration: a call for a person, which does not undo an exit.
    is_call = run is None and iteration is None
    return replace(
        state,
        evaluation=evaluation,
        evaluation_is_stale=False,
        iteration=max(state.iteration, iteration or 0),
        breaker=evaluation.breaker if "breaker" in event.data else state.breaker,
        exited=state.exited and is_call,
        forced=state.forced and is_call,
    )


def verdict_of(event: Event) -> Evaluation:
    """Return the verdict of an event."""
    breaker = from_json(Breaker, event.data.get("breaker", {}))
    return replace(from_json(Evaluation, event.data["evaluation"]), breaker=breaker)


def _breaker(state: State, event: Event) -> Breaker:
    document = event.data.get("breaker")
    return state.breaker if document is None else from_json(Breaker, document)


def _claimed(state: State, event: Event) -> State:
    claim, claims, breaker = event.data["claim"], state.claims, _breaker(state, event)
    low, done, iteration = claim["claims_low"], claim["claims_done"], claim["iteration"]
    claims = Claims(
        iteration=iteration,
        metrics={
            **{name: claim[name] for name in ("indicators", "confidence", "confidence_needed", "claimed_done")},
            "indicators_needed": claim["threshold"],
            "claim_passed": claim["gate"] == "passed",
        },
        leniency=tuple(claim.get("leniency", ())),
        low=low,
        done=done,
        low_in=iteration if low > claims.low else claims.low_in,
        done_in=iteration if done > claims.done else claims.done_in,
        blocked_in=iteration if breaker.exit_blocked > state.breaker.exit_blocked else claims.blocked_in,
    )
    return replace(state, claims=claims, breaker=breaker)


def _override(state: State, record: Json) -> State:
    return replace(state, overrides=(*state.overrides, record))


def _phase_exited(state: State, event: Event) -> State:
    freeze = state.freeze
    if event.data.get("freezes"):
        freeze = replace(freeze, current=freeze.upcoming, withdrawn=None, red_exited=True)
    return replace(
        state,
        phase=DONE if event.data["next"] == DONE else state.phase,
        exited=True,
        forced=event.data.get("forced", False),
        freeze=freeze,
        memory=replace(state.memory, exit=event.data.get("remembered", {})),
        breaker=Breaker(),
    )


def _fact_declared(state: State, event: Event) -> State:
    fact = _pick(Fact, {**event.data, "at": event.at})
    return replace(state, facts=(*_other_facts(state, event), fact))


def _other_facts(state: State, event: Event) -> tuple[Fact, ...]:
    return tuple(each for each in state.facts if each.name != event.data["name"])


def _baseline_taken(state: State, event: Event) -> State:
    snapshot = _pick(Snapshot, event.data)
    if state.phase is not None and not state.is_done:
        # For the next cycle. In this one, which may be unfinished, it would excuse skipped, failing or missing tests.
        return replace(state, latest_snapshot=snapshot)
    # It is also the start of the next cycle, and the tests that the task knows.
    return replace(state, baseline=snapshot, latest_snapshot=snapshot, known_tests=snapshot.inventory)


def _waived(state: State, event: Event) -> State:
    waiver = _pick(Waiver, {**event.data, "at": event.at})
    return replace(state, waivers=(*state.waivers, waiver))


def _doubted(state: State, event: Event) -> State:
    # Part of the history is lost or was restored, so its proofs are no longer valid.
    return replace(
        state,
        **_reset("open_runs", "exited", "forced", "streak", "streak_tree", "last_tree", "green_tree", "measurement"),
        evaluation_is_stale=state.evaluation is not None,
    )


def _repaired(state: State, event: Event) -> State:
    state = _doubted(state, event)
    # The cycle that was cut off had its own RED, which the rest of the history does not replace.
    if not event.data.get("vanished"):
        return state
    return replace(state, vanished=True, freeze=replace(state.freeze, red_exited=False))


def _task_taken(state: State, event: Event) -> State:
    get = event.data.get
    return replace(state, rules=get("rules", state.rules), known_tests=get("known") or state.known_tests)


def _accepted(state: State, event: Event) -> State:
    """Record that a person vouches for a history without other proof."""
    confirmation = {name: event.data.get(name) for name in ("reason", "by")}
    state = _doubted(state, event)
    if state.phase is None or not all(confirmation.values()):
        return state  # there is no cycle yet to list it in
    where = {"phase": state.phase, "iteration": state.iteration, "at": event.at}
    return _override(state, {"kind": "rollback-accept", **where, **confirmation})


def _file_spent(state: State, event: Event) -> State:
    premature = state.signals_premature + bool(event.data.get("premature"))
    return replace(state, spent_signal=event.data.get("file") or state.spent_signal, signals_premature=premature)


# --- the effect of the start and the end of a run


def _run_started(state: State, event: Event) -> State:
    data = event.data
    run, others = _pick(Run, {**data, "id": data["run"], "at": event.at}), state.open_runs
    if not run.nested and any(not other.nested for other in others):
        # Two runs at once share one tree and one machine: neither proves that the suite is green by itself.
        others = tuple(other if other.nested else replace(other, overlaps=True) for other in others)
        run = replace(run, overlaps=True)
    state = replace(state, open_runs=(*others, run))
    if run.nested:
        return state
    return replace(state, rules=data["rules"], criteria_file=data.get("criteria_given", ""))


def _run_lost(state: State, event: Event) -> State:
    run = state.open_run(event.data["run"])
    if run is None:
        return state
    state = _close(state, replace(run, kind="lost", at=event.at, why="it began and never ended"))
    if run.nested:
        return state
    return replace(
        state,
        **_reset("streak", "streak_tree", "last_tree"),
        evaluation_is_stale=state.evaluation is not None,
    )


def _run_ended(state: State, event: Event) -> State:
    data = event.data
    run = state.open_run(data["run"])
    if run is None:
        return state
    kind: Kind = data["kind"]
    ended = replace(run, kind=kind, at=event.at, iteration=data.get("iteration"), why=data.get("why", ""))
    if kind == "void":
        if "before" not in data:
            return _close(state, ended)  # another event happened since it began
        # A signal that was refused in the meantime stays refused.
        return replace(state_from_json(data["before"]), spent_signal=state.spent_signal)
    state = _close(state, ended)
    if kind == "nested":
        return state
    streak, streak_tree = streak_after(state, run, kind=kind, green=data["green"], tree=data["tree"])
    state = replace(
        state,
        streak=streak,
        streak_tree=streak_tree,
        last_tree=data["tree"],
        beside=tuple(data.get("beside", ())),
        evaluation_is_stale=state.evaluation is not None,
    )
    return _measured(state, run, data) if kind == "complete" else state


def _measured(state: State, run: Run, data: Json) -> State:
    snapshot = _pick(Snapshot, data)
    return replace(
        state,
        iteration=data["iteration"],
        exited=False,
        forced=False,
        measurement=Measurement(
            run=run.id,
            iteration=data["iteration"],
            tree=data["tree"],
            measured=from_json(Measured, {name: data[name] for name in MEASURED if name in data}),
            evidence={name: from_json(Measured, row) for name, row in data.get("evidence", {}).items()},
            targets_s=data.get("targets_s"),
        ),
        known_tests=data["known"],
        latest_snapshot=snapshot,
        first_snapshot=state.first_snapshot or snapshot,
        targets=data.get("targets") or state.targets,
        recovered=tuple(sorted({*state.recovered, *data.get("recovered", ())})),
        criteria=data.get("criteria"),
        freeze=_freeze_after_run(state.freeze, data),
        outputs=data.get("outputs"),
        memory=replace(state.memory, run=data.get("remembered", {})),
        green_tree={"green": data["tree"], "odd": state.green_tree}.get(data["green"]),
    )


def _freeze_after_run(freeze: Freeze, data: Json) -> Freeze:
    return replace(
        freeze,
        # A cycle that began after RED is compared with its first complete run.
        current=freeze.current or (None if data.get("red") else data.get("frozen")),
        upcoming=data.get("frozen") or freeze.upcoming,
        red_bodies=data.get("red") or freeze.red_bodies,
        red_sources=data.get("sources") or freeze.red_sources,
    )


def streak_after(state: State, run: Run, *, kind: Kind, green: Green, tree: str) -> tuple[int, str | None]:
    """Return the streak after a run that ended on `tree`, and its tree."""
    unbroken = state.streak_tree is not None and state.streak_tree == run.tree
    if kind == "complete" and green == "green" and not run.overlaps:
        return state.streak + 1 if unbroken else 1, tree
    if kind == "empty" or green == "not-green":
        return 0, tree
    return state.streak, tree if unbroken else None


def _close(state: State, run: Run) -> State:
    open_runs = tuple(other for other in state.open_runs if other.id != run.id)
    return replace(state, open_runs=open_runs, last_run=state.last_run if run.nested else run)


def _pick(kind: type[T], data: Json) -> T:
    """Return a value from the data of an event that have the names of its fields."""
    return from_json(kind, {name: data[name] for name in fields(kind) if name in data})


_CHANGES: Mapping[str, Callable[[State, Event], State]] = {
    "created": lambda state, event: replace(state, task=event.data["task"], vanished=event.data.get("vanished", False)),
    "cycle-began": _cycle_began,
    "phase-entered": _phase_entered,
    "run-started": _run_started,
    "run-lost": _run_lost,
    "run-ended": _run_ended,
    "proved": lambda state, event: replace(state, proof=from_json(ProofRecord, event.data["proof"])),
    "evaluated": _evaluated,
    **dict.fromkeys(("signal-spent", "signal-refused", "signal-withdrawn"), _file_spent),
    "phase-exited": _phase_exited,
    "fact-declared": _fact_declared,
    "fact-withdrawn": lambda state, event: replace(state, facts=_other_facts(state, event)),
    "baseline-taken": _baseline_taken,
    "waived": _waived,
    "breaker-reset": lambda state, event: replace(state, breaker=_breaker(state, event)),
    "overridden": lambda state, event: _override(state, event.data),
    "claimed": _claimed,
    "repaired": _repaired,
    "rollback-accepted": _accepted,
    "stuck": lambda state, event: replace(state, phase=STUCK, stuck=event.data["reason"], exited=True, forced=False),
    "task-taken": _task_taken,
}

#: Kinds that are kept for history, without effect on the state; and all kinds, except those of parts.
HISTORY_KINDS = frozenset({"rewound"})
EVENT_KINDS = frozenset(_CHANGES) | HISTORY_KINDS
