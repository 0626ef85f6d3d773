"""How each event changes the state of a task.

Pure: `apply(state, event)` is the only way a state comes about. The ledger holds the events; replaying them gives
the state again, bit for bit, so nothing here may look at a clock or a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from phase_gate.codec import from_json
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import Waiver
from phase_gate.gate.parts import PART_KINDS, change_parts
from phase_gate.gate.run_events import RUN_CHANGES, remember, snapshot_of
from phase_gate.gate.state import (
    Aim,
    Claims,
    Event,
    Fact,
    Freeze,
    Json,
    Memory,
    Overrides,
    ProofRecord,
    State,
    Streak,
    Trees,
)
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import replace
from phase_gate.workflow.names import DONE, STUCK

#: What rules may ask of a claim: numbers and answers.
_CLAIM_NUMBERS = ("indicators", "threshold", "confidence", "confidence_needed")
_CLAIM_ANSWERS = ("claimed_done", "met_both")

#: Reports that are remembered: names that hold a time would grow without end.
_REPORTS = 50


def apply(state: State, event: Event) -> State:
    """Return the state after one more event. Kinds that change nothing are kept for history only."""
    change = _CHANGES.get(event.kind)
    if change is None:
        return state
    state = change(state, event)
    parts = change_parts(state.parts, event)
    if parts != state.parts:
        state = replace(state, parts=parts)
    if event.data.get("reports"):
        # What options of a run name, or what was handed to a command: no part of the tree. The newest are kept.
        reports = dict.fromkeys((*event.data["reports"], *state.reports))
        state = replace(state, reports=tuple(reports)[:_REPORTS])
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
        snapshots=replace(state.snapshots, baseline=snapshot_of(event.data.get("baseline")), first=None),
        aim=Aim(),
        freeze=Freeze(before=state.freeze.current),
        overrides=Overrides(allow_non_interactive=event.data.get("allow_non_interactive", False)),
        signals_premature=0,
        memory=replace(state.memory, cycle=event.data.get("remembered", {})),
        rules=event.data.get("rules", state.rules),
        undo=remember(state, event),
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
        stuck="",
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
        proof=None,
        freeze=_freeze_on_entry(state.freeze, event),
        undo=remember(state, event),
    )


def _freeze_on_entry(freeze: Freeze, event: Event) -> Freeze:
    """Going back to the first phase takes the freeze back; so does an entry that says it, where no RED came before."""
    is_first = event.data.get("how") == "rewind" and event.data.get("first")
    if not is_first and not event.data.get("unfreezes"):
        return freeze
    return replace(freeze, withdrawn=freeze.would_withdraw, current=None, upcoming=None, red_exited=False)


def _proved(state: State, event: Event) -> State:
    return replace(state, proof=from_json(ProofRecord, event.data["proof"]))


def _evaluated(state: State, event: Event) -> State:
    evaluation = verdict_of(event)
    iteration, run = evaluation.subject.iteration, evaluation.subject.run
    # Neither a run nor an iteration: a person was called, and that takes no exit back.
    is_call = run is None and iteration is None
    return replace(
        state,
        evaluation=evaluation,
        evaluation_is_stale=False,
        iteration=max(state.iteration, iteration or 0),
        breaker=_breaker(state, event),
        exited=state.exited and is_call,
        forced=state.forced and is_call,
    )


def verdict_of(event: Event) -> Evaluation:
    """Return the verdict that an event tells of."""
    breaker = from_json(Breaker, event.data.get("breaker", {}))
    return replace(from_json(Evaluation, event.data["evaluation"]), breaker=breaker)


def _breaker(state: State, event: Event) -> Breaker:
    document = event.data.get("breaker")
    return state.breaker if document is None else from_json(Breaker, document)


def _breaker_changed(state: State, event: Event) -> State:
    return replace(state, breaker=_breaker(state, event))


def _claimed(state: State, event: Event) -> State:
    claim = _check_claim(event.data)
    before, breaker, iteration = state.claims, _breaker(state, event), claim["iteration"]
    low, done = claim["claims_low"], claim["claims_done"]
    return replace(
        state,
        claims=Claims(
            last={
                **{name: claim[name] for name in ("iteration", *_CLAIM_NUMBERS, *_CLAIM_ANSWERS)},
                "leniency": claim.get("leniency", []),
            },
            low=low,
            done=done,
            low_in=iteration if low > before.low else before.low_in,
            done_in=iteration if done > before.done else before.done_in,
            blocked_in=iteration if breaker.exit_blocked > state.breaker.exit_blocked else before.blocked_in,
        ),
        breaker=breaker,
    )


def _overridden(state: State, event: Event) -> State:
    return _override(state, event.data)


def _override(state: State, record: Json) -> State:
    return replace(state, overrides=replace(state.overrides, others=(*state.overrides.others, record)))


def _check_claim(data: Json) -> Json:
    """Raise KeyError or TypeError for a claim without the fields that all readers use."""
    claim: Json = data["claim"]
    for name in ("phase", "gate", "reason"):
        claim[name]
    for name in ("iteration", *_CLAIM_NUMBERS, "claims_low", "claims_done"):
        if not isinstance(claim[name], int):
            raise TypeError(f"{name} has to be a whole number")
    for name in _CLAIM_ANSWERS:
        if not isinstance(claim[name], bool):
            raise TypeError(f"{name} has to be true or false")
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
    snapshot = snapshot_of(event.data)
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
    return _override(state, {"kind": "rollback-accept", **where, **said})


def _known_taken(state: State, event: Event) -> State:
    return replace(state, snapshots=replace(state.snapshots, known=event.data["known"]))


_CHANGES: Mapping[str, Callable[[State, Event], State]] = {
    "created": _created,
    "cycle-began": _cycle_began,
    "phase-entered": _phase_entered,
    **RUN_CHANGES,
    "proved": _proved,
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
    "rollback-accepted": _accepted,
    "known-taken": _known_taken,
    "stuck": _stuck,
    **dict.fromkeys(PART_KINDS, _part_changed),
}

#: Kinds that are kept for history and change no state.
HISTORY_KINDS = frozenset({"rewound"})
EVENT_KINDS = frozenset(_CHANGES) | HISTORY_KINDS
