"""How each event changes the state of a task.

Pure: `apply(state, event)` is the only way a state comes about. The ledger holds the events; replaying them gives
the state again, bit for bit, so nothing here may look at a clock or a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import from_json
from phase_gate.gate.breaker import Breaker, observe_crash
from phase_gate.gate.flakiness import after_run
from phase_gate.gate.parts import PART_KINDS, change_parts
from phase_gate.gate.runs import Green, Kind
from phase_gate.gate.state import (
    Aim,
    Claims,
    Event,
    Fact,
    Freeze,
    Json,
    Measurement,
    Memory,
    OpenRun,
    Overrides,
    RunSummary,
    Snapshot,
    State,
    Streak,
    Trees,
    Undo,
)
from phase_gate.gate.waivers import Waiver
from phase_gate.values import replace
from phase_gate.workflow.names import DONE, STUCK

#: What a person accepts as it is, and the kind of override that it is.
_ACCEPTED = {"rollback-accepted": "rollback-accept", "key-adopted": "key-adopt"}


def apply(state: State, event: Event) -> State:
    """Return the state after one more event. Kinds that change nothing are kept for history only."""
    change = _CHANGES.get(event.kind)
    if change is None:
        return state
    state = change(state, event)
    parts = change_parts(state.parts, event)
    if parts != state.parts:
        state = replace(state, parts=parts)
    if state.undo is not None and event.data.get("run") != state.undo.run:
        # Something else happened since: taking the run back would take that back too.
        state = replace(state, undo=None)
    return state


def _created(state: State, event: Event) -> State:
    return replace(state, task=event.data["task"], vanished=event.data.get("vanished", False))


def _cycle_began(state: State, event: Event) -> State:
    return replace(
        state,
        cycle=state.cycle + 1,
        workflow=event.data["workflow"],
        vanished=event.data.get("vanished", False),
        visited=(),
        stuck="",
        snapshots=replace(state.snapshots, baseline=_snapshot(event.data.get("baseline")), first=None),
        aim=Aim(),
        freeze=Freeze(),
        overrides=Overrides(allow_non_interactive=event.data.get("allow_non_interactive", False)),
        signals_premature=0,
        memory=replace(state.memory, cycle=event.data.get("remembered", {})),
        rules=event.data.get("rules", state.rules),
        undo=_remember(state, event),
    )


def _stuck(state: State, event: Event) -> State:
    return replace(state, phase=STUCK, stuck=event.data["reason"], exited=True, forced=False)


def _part_changed(state: State, event: Event) -> State:
    """What changes a part; it may name the rules that the task is judged by from now on."""
    return replace(state, rules=event.data.get("rules") or state.rules)


def _phase_entered(state: State, event: Event) -> State:
    phase = event.data["phase"]
    # A clean sheet: no iteration, streak, fact or verdict of the phase before counts in this one.
    return replace(
        state,
        phase=phase,
        visited=state.visited if phase in state.visited else (*state.visited, phase),
        iteration=0,
        exited=False,
        forced=False,
        streak=Streak(),
        measurement=None,
        evaluation_is_stale=state.evaluation is not None,
        facts=(),
        memory=Memory(cycle=state.memory.cycle, phase=event.data.get("remembered", {})),
        breaker=Breaker(),
        claims=Claims(),
        freeze=_freeze_on_entry(state.freeze, event),
        undo=_remember(state, event),
    )


def _freeze_on_entry(freeze: Freeze, event: Event) -> Freeze:
    """Going back to the first phase takes the freeze back; so does an entry that says it, where no RED came before."""
    is_first = event.data.get("how") == "rewind" and event.data.get("first")
    if not is_first and not event.data.get("unfreezes"):
        return freeze
    return replace(freeze, withdrawn=freeze.would_withdraw, current=None, upcoming=None, red_exited=False)


def _remember(state: State, event: Event) -> Undo | None:
    run = event.data.get("run")
    if run is None:
        return None
    if state.undo is not None and state.undo.run == run:
        return state.undo
    return Undo(run, replace(state, undo=None))


def _run_started(state: State, event: Event) -> State:
    data = event.data
    run = OpenRun(
        id=data["run"],
        phase=data["phase"],
        at=event.at,
        tree=data["tree"],
        nested=data.get("nested", False),
        rewinds=data.get("rewinds", False),
    )
    others, undo = state.open_runs, state.undo if run.nested else _remember(state, event)
    if not run.nested and any(not other.nested for other in others):
        # Two runs at once share one tree and one machine: neither proves that the suite is green by itself.
        others = tuple(other if other.nested else replace(other, overlaps=True) for other in others)
        run = replace(run, overlaps=True)
    state = replace(state, open_runs=(*others, run), undo=undo)
    if run.nested:
        return state
    aim = replace(state.aim, criteria_file=data.get("criteria_given", ""))
    return replace(state, rules=data["rules"], aim=aim)


def _run_lost(state: State, event: Event) -> State:
    run = state.open_run(event.data["run"])
    if run is None:
        return state
    lost = RunSummary(id=run.id, kind=Kind.LOST, phase=run.phase, at=event.at, why="it began and never ended")
    state = _close(state, run, lost)
    if run.nested:
        return state
    return replace(
        state,
        breaker=observe_crash(state.breaker),
        streak=Streak(),
        trees=replace(state.trees, last=None),
        evaluation_is_stale=state.evaluation is not None,
    )


def _run_forked(state: State, event: Event) -> State:
    """A child came back when its run had ended: nobody knows which of the runs that count it disturbed."""
    event.data["run"]
    return replace(
        state,
        streak=Streak(),
        trees=replace(state.trees, green=None),
        last_run=None if state.last_run is None else replace(state.last_run, forked=True),
        evaluation_is_stale=state.evaluation is not None,
    )


def _run_ended(state: State, event: Event) -> State:
    data = event.data
    run = state.open_run(data["run"])
    if run is None:
        return state
    kind = Kind(data["kind"])
    summary = RunSummary(
        id=run.id, kind=kind, phase=run.phase, at=event.at, iteration=data.get("iteration"), why=data.get("why", "")
    )
    if kind is Kind.VOID:
        return _take_back(state, run, summary)
    state = _close(state, run, summary)
    if kind is Kind.NESTED:
        return state
    state = replace(
        state,
        streak=streak_after(state.streak, run, kind=kind, green=Green(data["green"]), tree=data["tree"]),
        trees=replace(state.trees, last=data["tree"]),
        beside=tuple(data.get("beside", ())),
        evaluation_is_stale=state.evaluation is not None,
    )
    if kind is Kind.COMPLETE:
        return _measured(state, run, data)
    return replace(state, breaker=observe_crash(state.breaker)) if kind is Kind.INCOMPLETE else state


def _measured(state: State, run: OpenRun, data: Json) -> State:
    snapshot = _snapshot(data)
    return replace(
        state,
        iteration=data["iteration"],
        exited=False,
        forced=False,
        measurement=Measurement(
            run=run.id,
            iteration=data["iteration"],
            tree=data["tree"],
            metrics=data["metrics"],
            findings=tuple(data.get("findings", ())),
            notes=tuple(data.get("notes", ())),
            tables=tuple(data.get("tables", ())),
        ),
        snapshots=replace(
            state.snapshots, known=data["known"], latest=snapshot, first=state.snapshots.first or snapshot
        ),
        aim=replace(
            state.aim,
            targets=data.get("targets") or state.aim.targets,
            recovered=tuple(sorted({*state.aim.recovered, *data.get("recovered", ())})),
            criteria=data.get("criteria"),
        ),
        freeze=_freeze_after_run(state.freeze, data),
        outputs=data.get("outputs"),
        memory=replace(state.memory, run=data.get("remembered", {})),
        flakiness=after_run(state.flakiness, data["tree"], is_green=data["green"] != Green.NOT_GREEN)
        if data.get("wants_green")
        else state.flakiness,
        trees=replace(
            state.trees, green={Green.GREEN: data["tree"], Green.ODD: state.trees.green}.get(Green(data["green"]))
        ),
    )


def _freeze_after_run(freeze: Freeze, data: Json) -> Freeze:
    return replace(
        freeze,
        # A cycle that began later than RED is held to what its first complete run saw.
        current=freeze.current or (None if data.get("red") else data.get("frozen")),
        upcoming=data.get("frozen") or freeze.upcoming,
        red_bodies=data.get("red") or freeze.red_bodies,
        red_sources=data.get("sources") or freeze.red_sources,
    )


def streak_after(streak: Streak, run: OpenRun, *, kind: Kind, green: Green, tree: str) -> Streak:
    """Return the streak after a run that ended on `tree`."""
    unbroken = streak.tree is not None and streak.tree == run.tree
    if kind is Kind.COMPLETE and green is Green.GREEN and not run.overlaps:
        return Streak(count=streak.count + 1 if unbroken else 1, tree=tree)
    if kind is Kind.EMPTY or green is Green.NOT_GREEN:
        return Streak(tree=tree)
    return Streak(count=streak.count, tree=tree if unbroken else None)


def _close(state: State, run: OpenRun, summary: RunSummary) -> State:
    undo = None if state.undo is not None and state.undo.run == run.id else state.undo
    return replace(
        state,
        open_runs=tuple(other for other in state.open_runs if other.id != run.id),
        last_run=state.last_run if run.nested else summary,
        undo=undo,
    )


def _take_back(state: State, run: OpenRun, summary: RunSummary) -> State:
    if state.undo is None or state.undo.run != run.id:
        return _close(state, run, summary)
    return replace(state.undo.state, spent_signal=state.spent_signal)  # what was refused meanwhile stays refused


def _evaluated(state: State, event: Event) -> State:
    evaluation = _check_verdict(event.data["evaluation"])
    return replace(
        state,
        evaluation=evaluation,
        evaluation_is_stale=False,
        iteration=max(state.iteration, evaluation["iteration"] or 0),
        breaker=_breaker(state, event),
        exited=False,
        forced=False,
    )


def _breaker(state: State, event: Event) -> Breaker:
    document = event.data.get("breaker")
    return state.breaker if document is None else from_json(Breaker, document)


def _breaker_changed(state: State, event: Event) -> State:
    return replace(state, breaker=_breaker(state, event))


def _claimed(state: State, event: Event) -> State:
    claim = _check_claim(event.data)
    kept = {name: claim[name] for name in ("iteration", "decision", "explicit", "indicators", "confidence")}
    return replace(
        state,
        claims=Claims(last=kept, low=claim["claims_low"], done=claim["claims_done"]),
        memory=replace(state.memory, claim=event.data["remembered"] or state.memory.claim),
        breaker=_breaker(state, event),
    )


def _overridden(state: State, event: Event) -> State:
    return _override(state, event.data)


def _override(state: State, record: Json) -> State:
    return replace(state, overrides=replace(state.overrides, others=(*state.overrides.others, record)))


def _check_verdict(evaluation: Json) -> Json:
    """Raise KeyError or TypeError for a verdict without what everybody who looks at one asks of it."""
    for name in ("phase", "run", "can_exit", "status", "reason", "next_command", "next_hint"):
        evaluation[name]
    evaluation["gate_1"]["satisfied"]
    evaluation["metrics"].get("")
    return evaluation


def _check_claim(data: Json) -> Json:
    """Raise KeyError or TypeError for a claim without what everybody who looks at one asks of it."""
    claim: Json = data["claim"]
    for name in ("phase", "gate", "reason"):
        claim[name]
    for name in ("iteration", "indicators", "confidence", "claims_low", "claims_done"):
        if not isinstance(claim[name], int):
            raise TypeError(f"{name} has to be a whole number")
    data["tree"]
    return claim


def _signal_spent(state: State, event: Event) -> State:
    state = _file_spent(state, event)
    return replace(state, signals_premature=state.signals_premature + bool(event.data.get("premature")))


def _file_spent(state: State, event: Event) -> State:
    return replace(state, spent_signal=event.data.get("file") or state.spent_signal)


def _phase_exited(state: State, event: Event) -> State:
    state = replace(state, breaker=Breaker())
    if event.data.get("freezes"):
        freeze = replace(state.freeze, current=state.freeze.upcoming, withdrawn=None, red_exited=True)
        state = replace(state, freeze=freeze)
    state = replace(state, memory=replace(state.memory, exit=event.data.get("remembered", {})))
    if event.data["next"] == DONE:
        return replace(state, phase=DONE, exited=True, forced=event.data.get("forced", False))
    return replace(state, exited=True, forced=event.data.get("forced", False))


def _fact_declared(state: State, event: Event) -> State:
    data = event.data
    fact = Fact(name=data["name"], value=data["value"], reason=data["reason"], by=data["by"], at=event.at)
    return replace(state, facts=(*(each for each in state.facts if each.name != fact.name), fact))


def _fact_withdrawn(state: State, event: Event) -> State:
    return replace(state, facts=tuple(each for each in state.facts if each.name != event.data["name"]))


def _baseline_taken(state: State, event: Event) -> State:
    snapshot = _snapshot(event.data)
    assert snapshot is not None
    if state.phase is not None and not state.is_done:
        # For the next cycle. This one may still go on, and there it would excuse what is skipped, failing or gone.
        return replace(state, snapshots=replace(state.snapshots, latest=snapshot))
    # It is also what the next cycle begins with, and what the task knows.
    known = replace(state.snapshots, baseline=snapshot, latest=snapshot, known=snapshot.inventory)
    return replace(state, snapshots=known)


def _waived(state: State, event: Event) -> State:
    data = event.data
    waiver = Waiver(
        guard=data["guard"],
        findings=tuple(data["findings"]),
        reason=data["reason"],
        by=data["by"],
        at=event.at,
        expires=data.get("expires", ""),
    )
    return replace(state, overrides=replace(state.overrides, waivers=(*state.overrides.waivers, waiver)))


def _doubted(state: State, event: Event) -> State:
    # Part of the history is gone or came back: what it proved is not proved any more.
    return replace(
        state,
        open_runs=(),
        exited=False,
        forced=False,
        streak=Streak(),
        trees=Trees(),
        measurement=None,
        evaluation_is_stale=state.evaluation is not None,
    )


def _repaired(state: State, event: Event) -> State:
    state = _doubted(state, event)
    # The cycle that was cut off had a RED of its own: what is left can't stand for it.
    if not event.data.get("vanished"):
        return state
    return replace(state, vanished=True, freeze=replace(state.freeze, red_exited=False))


def _accepted(state: State, event: Event) -> State:
    """A person answers for a history that nothing else vouches for."""
    said = {name: event.data.get(name) for name in ("reason", "by")}
    state = _doubted(state, event)
    if state.phase is None or not all(said.values()):
        return state  # no cycle yet that it could be listed in
    where = {"phase": state.phase, "iteration": state.iteration, "at": event.at}
    return _override(state, {"kind": _ACCEPTED[event.kind], **where, **said})


def _known_taken(state: State, event: Event) -> State:
    return replace(state, snapshots=replace(state.snapshots, known=event.data["known"]))


def _snapshot(data: Json | None) -> Snapshot | None:
    if data is None:
        return None
    return Snapshot(inventory=data["inventory"], outcomes=data["outcomes"], surroundings=data.get("surroundings", ""))


_CHANGES: Mapping[str, Callable[[State, Event], State]] = {
    "created": _created,
    "cycle-began": _cycle_began,
    "phase-entered": _phase_entered,
    "run-started": _run_started,
    "run-lost": _run_lost,
    "run-forked": _run_forked,
    "run-ended": _run_ended,
    "evaluated": _evaluated,
    "signal-spent": _signal_spent,
    "signal-refused": _file_spent,
    "signal-withdrawn": _file_spent,
    "phase-exited": _phase_exited,
    "fact-declared": _fact_declared,
    "fact-withdrawn": _fact_withdrawn,
    "baseline-taken": _baseline_taken,
    "waived": _waived,
    "breaker-reset": _breaker_changed,
    "overridden": _overridden,
    "claimed": _claimed,
    "repaired": _repaired,
    **dict.fromkeys(_ACCEPTED, _accepted),
    "known-taken": _known_taken,
    "stuck": _stuck,
    **dict.fromkeys(PART_KINDS, _part_changed),
}

#: Kinds that are kept for history and change no state.
HISTORY_KINDS = frozenset({"rewound"})
EVENT_KINDS = frozenset(_CHANGES) | HISTORY_KINDS
