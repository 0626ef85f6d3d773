"""How the begin and the end of a run change the state of a task. Pure: `gate.events` applies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import from_json
from phase_gate.gate.breaker import observe_crash
from phase_gate.gate.measured import Measured
from phase_gate.gate.outcomes import Green, Kind
from phase_gate.gate.state import Event, Freeze, Json, Measurement, OpenRun, RunSummary, Snapshot, State, Streak, Undo
from phase_gate.values import replace

#: What the end of a run tells of what it measured.
MEASURED = ("metrics", "findings", "notes", "told", "tables")


def remember(state: State, event: Event) -> Undo | None:
    """Return what a run that turns out to be void goes back to: the state before it began."""
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
        limit=data.get("limit", 0.0),
    )
    others, undo = state.open_runs, state.undo if run.nested else remember(state, event)
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
    snapshot = snapshot_of(data)
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
            targets_s=data.get("targets_s"),
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


def snapshot_of(data: Json | None) -> Snapshot | None:
    """Return what an event says of one complete run."""
    if data is None:
        return None
    return Snapshot(inventory=data["inventory"], outcomes=data["outcomes"], surroundings=data.get("surroundings", ""))


RUN_CHANGES: Mapping[str, Callable[[State, Event], State]] = {
    "run-started": _run_started,
    "run-lost": _run_lost,
    "run-ended": _run_ended,
}
