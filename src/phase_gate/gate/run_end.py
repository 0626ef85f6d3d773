"""The end of a run in one step: its classified outcomes, its metrics, its verdict, and the events that record it.

Pure: it takes values and returns values. The caller gathers the input, stores the documents, and writes the returned
events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from phase_gate.codec import spell_out, to_json
from phase_gate.gate.breaker import Breaker, fingerprint, observe_run
from phase_gate.gate.events import apply, streak_after
from phase_gate.gate.inventory import Inventory, bare_id, freeze, frozen_to_json, merge_inventories, split_id
from phase_gate.gate.judging import evaluate
from phase_gate.gate.measured import (
    MEASURED,
    NO_NEW_SKIPS,
    NOTHING_REMEMBERED,
    Measured,
    Remembered,
    Waiver,
    cap_findings,
    covered_by,
    join,
)
from phase_gate.gate.measuring import find_new_skips, find_weakened, proof_measured, take_measure
from phase_gate.gate.outcomes import Judgement, Kind, References, all_passed, judge_outcomes, odd_buckets
from phase_gate.gate.record import SLOW, JudgedRun, RunRecord
from phase_gate.gate.state import Event, Run, State, state_to_json
from phase_gate.gate.verdict import ABSENT, Evaluation, Signal, Verdict, with_advice
from phase_gate.values import replace
from phase_gate.visible import count, name_first
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.names import run_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.criteria import CriterionRow

#: Maximum number of failing tests whose message is stored with a run.
_MESSAGES_KEPT = 50


def judge_run(
    state: State,
    workflow: Workflow,
    record: RunRecord,
    past: References,
    *,
    at: str,
    keep: Callable[[str, Any], str],
    answer: Callable[[JudgedRun], Signal] = lambda run: ABSENT,
    before: State | None = None,
    remembered: Remembered = NOTHING_REMEMBERED,
) -> JudgedRun:
    """Return the evaluated run.

    :param keep: stores a document of a run that counts, and returns its digest; for `sources`, it gets the paths.
    :param answer: returns the reading of Gate 2 for a run that counts.
    :param before: the task before the run began, if no other event happened since: a void run changes nothing.
    :param remembered: references from the start of the run, for a phase that it returns to.
    """
    run = _compare(state, workflow, record, past, at=at, remembered=remembered)
    is_judged = run.kind not in ("void", "nested")
    traced, rows = _trace(run)
    own = join((take_measure(run), traced)) if is_judged else Measured()
    proof = proof_measured(run.state, record.tree, run.iteration)
    seen = join((own, proof, *record.evidence.values())) if is_judged else own
    data = _end_data(run, seen.metrics)
    reading = ABSENT
    if run.kind == "void" and before is not None:
        data["before"] = state_to_json(before)
    if run.iteration is not None:
        reading = answer(run)
        data |= _counted_data(run, own, seen) | _store(run, rows, keep)
    event = Event(kind="run-ended", data=data, at=at)
    run = replace(run, state=apply(run.state, event), events=(*run.events, event), reading=reading)
    return replace(run, evaluation=_judge(run, seen)) if is_judged else run


# --- the kind of the run, its classified outcomes, and whether it counts


def _compare(
    state: State, workflow: Workflow, record: RunRecord, past: References, *, at: str, remembered: Remembered
) -> JudgedRun:
    run = state.open_run(record.run)
    assert run is not None, "a run ends only after it was started"
    phase = workflow.phase(run.phase)
    assert phase is not None, "a run starts only in a phase of its workflow"
    in_first_phase = phase.scope == "targets"
    goes_back = run.rewinds and state.phase != phase.name
    if goes_back and past.frozen is not None:
        # This run itself withdraws the freeze: from now on, RED is about the changes since.
        past = replace(past, withdrawn=past.frozen.inventory)
    before = past
    past, moves = _follow_moves(past, record, in_first_phase=in_first_phase)
    missing = () if in_first_phase else _name_missing(record.missing, before, moves)
    session, waivers = record.session, state.waivers
    outcomes = judge_outcomes(
        session.outcomes,
        record.inventory,
        past,
        in_first_phase=in_first_phase,
        guarding=session.guarding,
        failures=session.failures,
    )
    outcomes = excuse_skips(outcomes, waivers, at=at)
    kind, why = _classify(record, run, state)
    stays = _why_it_stays(state, record, outcomes) if goes_back and kind == "complete" else ""
    if stays:
        kind, why = "incomplete", stays
    counts = kind == "complete"
    events: tuple[Event, ...] = ()
    if goes_back and counts:
        data = {"phase": phase.name, "how": "rewind", "first": True, "run": run.id}
        events = (Event(kind="phase-entered", data={**data, "remembered": dict(remembered.phase)}, at=at),)
        state = apply(state, events[0])
    # Doubtful outcomes are never green, unless a person has waived exactly these findings.
    is_doubtful = any(not covered_by(waivers, each.guard, (each,), at=at) for each in session.doubts)
    green = "not-green" if session.internal_error or is_doubtful else outcomes.green
    return JudgedRun(
        state=state,
        workflow=workflow,
        phase=phase,
        at=at,
        root=record.root,
        run=run,
        record=record,
        past=past,
        events=events,
        missing=missing,
        moves=moves,
        kind=kind,
        why=why,
        outcomes=outcomes,
        green=green,
        streak=streak_after(state, run, kind=kind, green=green, tree=record.tree)[0],
        iteration=state.iteration + 1 if counts else None,
        stays=bool(stays),
    )


def _follow_moves(past: References, record: RunRecord, *, in_first_phase: bool) -> tuple[References, Mapping[str, str]]:
    """Return the references with the new locations of moved tests, and the moves."""
    if not (record.missing or record.missing_since or past.withdrawn is not None or past.baseline is not None):
        return past, {}  # in most runs, all tests are at their old locations
    from phase_gate.gate.renames import follow_moves

    return follow_moves(past, record, in_first_phase=in_first_phase)


def _why_it_stays(state: State, record: RunRecord, outcomes: Judgement) -> str:
    """Return why a run does not go back to RED; empty if it does.

    If no test fails, the user typed the wrong phase, or corrected a test that passes at once: RED would be a dead end.
    """
    fails = [record.session.failures.get(test_id) for test_id in outcomes.failing & outcomes.targets]
    if not all(each and each.reason == "syntax-error" for each in fails):
        return ""
    but = " but by its syntax" if fails else ""
    return f"no test of this step fails{but}, so the task stays in {state.phase} with its frozen tests"


def _name_missing(missing: Iterable[str], past: References, moves: Mapping[str, str]) -> tuple[str, ...]:
    """Return the frozen tests that are gone and did not move. Tests that came after the freeze may go again."""
    frozen = None if past.frozen is None or not missing else frozenset(past.frozen.inventory.ids())
    return tuple(each for each in missing if bare_id(each) not in moves and (frozen is None or each in frozen))


def _classify(record: RunRecord, run: Run, state: State) -> tuple[Kind, str]:
    """Return the first kind that matches, and why it is not a complete run."""
    session = record.session
    buckets = odd_buckets(session.outcomes)
    skipped = buckets.count("skipped") + buckets.count("skipped-if")
    not_run, uncollectable = buckets.count("not-run"), buckets.count("uncollectable")
    collected = len(session.outcomes) - uncollectable
    interrupted = session.interrupted
    if not interrupted and not run.rewinds and state.phase != run.phase:
        interrupted = f"the task moved on to {state.phase} while it ran"
    if session.is_void:
        return "void", interrupted or "no test was meant to run"
    if run.nested:
        return "nested", "it ran inside another run of this task"
    if interrupted:
        return "incomplete", interrupted
    if not_run:
        return "incomplete", f"{count(not_run, 'collected test')} did not run"
    if record.changed:
        return "incomplete", f"sources changed while it ran: {name_first(record.changed)}"
    if record.unselected:
        folder = record.folder
        # Elsewhere pytest collects what is below: the same command would leave the same tests out for ever.
        is_outside = folder and any(not test_id.startswith(f"{folder}/") for test_id in record.unselected)
        where = (f"in {folder} only: run it in the root",) if is_outside else ()
        narrowed = session.narrowed_by or where
        by = f" ({'; '.join(narrowed)})" if narrowed else ""
        return "partial", f"{count(len(record.unselected), 'known test')} did not run{by}"
    if uncollectable or collected > skipped:
        return "complete", ""
    return "empty", "every test was skipped" if collected else "no test was collected"


def excuse_skips(outcomes: Judgement, waivers: Iterable[Waiver], *, at: str) -> Judgement:
    """Return the outcomes with the new skips exempt, if an active waiver covers all of them."""
    skipped = outcomes.newly_skipped
    if not skipped or not covered_by(waivers, NO_NEW_SKIPS, cap_findings(find_new_skips(outcomes)), at=at):
        return outcomes
    return replace(outcomes, newly_skipped=frozenset(), exempt=outcomes.exempt | skipped, excused=skipped)


def _trace(run: JudgedRun) -> tuple[Measured, tuple[CriterionRow, ...]]:
    """Return what is measured of the criteria, and their table."""
    criteria = run.record.criteria
    if not criteria.are_given:
        return Measured(metrics={"criteria_count": criteria.count, "criteria_open": 0}), ()
    from phase_gate.gate.criteria import trace_criteria

    session, state = run.record.session, run.state
    return trace_criteria(
        criteria, session, run.outcomes, in_first_phase=run.in_first_phase, waivers=state.waivers, at=run.at
    )


# --- its verdict


def _judge(run: JudgedRun, seen: Measured) -> Evaluation:
    watch = None if run.iteration is None else partial(_break, run)
    verdict = evaluate(
        run,
        seen,
        iteration=run.iteration,
        run=run.run.id,
        kind=run.kind,
        why=run.why,
        watch=watch,
    )
    return _stay(verdict, run.state, run.workflow) if run.stays and not verdict.breaker.is_open else verdict


def _stay(evaluation: Evaluation, state: State, workflow: Workflow) -> Evaluation:
    """Return the next step for a run that should have returned to the first phase, but has no failing test there."""
    from phase_gate.gate.advice import SENDS_BACK, STASH, waive_command

    assert state.phase is not None, "it stays in some phase"
    last = state.evaluation
    guards = last.gate_1.guards if last is not None and last.phase == state.phase else ()
    waived = {waiver.guard for waiver in state.waivers}
    closing = (guard.name for guard in guards if not guard.passes and guard.name not in waived)
    sent_back = next((name for name in closing if name in SENDS_BACK), None)
    if sent_back is None:
        return replace(evaluation, next_command=run_command(state.phase, state.task), next_hint="")
    # The current phase sent the user here, and would do so again: only a person, or failing tests, can end the loop.
    red = run_command(workflow.first.name, state.task)
    reason = f"{evaluation.reason}; {sent_back} keeps {state.phase} closed"
    hint = f"take this step's code back ({STASH}), then run: {red}; put the code back after the signal; "
    hint += f"or have a person waive it: {waive_command(sent_back, state.task)}"
    return with_advice(evaluation, Verdict("needs-person", reason, next_hint=hint))


def _break(run: JudgedRun, evaluation: Evaluation) -> Breaker:
    """Return the breaker after the run."""
    phase, record, outcomes = run.phase, run.record, run.outcomes
    tests = outcomes.failing | outcomes.too_early if phase.tests == "failing" else outcomes.failing
    unmet = {f"guard {guard.name}" for guard in evaluation.gate_1.guards if not guard.passes}
    return observe_run(
        run.state.breaker,
        phase.breaker,
        at=run.at,
        tree=record.tree,
        began=run.run.tree,
        obstacles=frozenset(tests | unmet),
        passing=len(outcomes.passing) if phase.tests == "passing" else 0,
        errors=fingerprint(record.session.messages.get(test_id, "") for test_id in outcomes.failing),
        gate_is_open=evaluation.gate_1.is_open,
        needs_person=evaluation.gate_2.calls_person,
    )


# --- the data that is recorded


def _end_data(run: JudgedRun, metrics: Mapping[str, MetricValue]) -> dict[str, Any]:
    record, session = run.record, run.record.session
    return {
        "run": record.run,
        "kind": run.kind,
        "why": run.why,
        "green": run.green,
        "iteration": run.iteration,
        "exit_status": session.exit_status,
        "tree": record.tree,
        "beside": sorted(record.beside),
        "tally": dict(session.tally),
        "metrics": dict(metrics),
        "narrowed_by": list(session.narrowed_by),
        "duration_s": round(session.duration_s, 3),
        "changed": None if record.changed_since is None else list(record.changed_since),
    }


def _counted_data(run: JudgedRun, own: Measured, seen: Measured) -> dict[str, Any]:
    session = run.record.session
    measured = spell_out(replace(own, metrics=seen.metrics))
    evidence = {name: replace(each, warnings=(), remembered={}) for name, each in run.record.evidence.items()}
    return {
        **{name: measured[name] for name in MEASURED},
        "evidence": {name: to_json(each) for name, each in evidence.items() if each != Measured()},
        "recovered": sorted(run.outcomes.recovered),
        "surroundings": session.surroundings,
        # At the most: they decide only how long a sandbox may take.
        "targets_s": round(sum(session.durations.get(each, SLOW) for each in run.outcomes.targets), 3),
    }


def _store(run: JudgedRun, rows: tuple[CriterionRow, ...], keep: Callable[[str, Any], str]) -> dict[str, Any]:
    """Store the documents that are too big for the ledger, and return their digests by their names in the ledger."""
    record, outcomes, session = run.record, run.outcomes, run.record.session
    tests = _known_tests(run)
    known = keep("inventory", tests)
    odd = () if all_passed(session.outcomes) else session.outcomes.items()
    documents: dict[str, Any] = {"outcomes": dict(row for row in odd if row[1] != "passed")}
    if rows:
        from phase_gate.gate.criteria import table_to_json

        documents["criteria"] = table_to_json(record.criteria, rows, phase=run.phase.name)
    if outcomes.failing:
        # Failures for the report on attempts, up to a limit.
        shown = sorted(outcomes.failing)[:_MESSAGES_KEPT]
        documents["failures"] = {test_id: session.messages.get(test_id, "") for test_id in shown}
    if record.meaning.written:
        documents["outputs"] = sorted(record.meaning.written)
    if run.in_first_phase or run.state.freeze.current is None:
        documents["frozen"] = frozen_to_json(freeze(tests, record.meaning, find_weakened(run)), inventory=known)
    if run.in_first_phase:
        documents["targets"] = sorted(outcomes.targets)
        # For `explain`, which shows the changes. Only the test files of this cycle.
        documents["sources"] = sorted({split_id(test_id)[0] for test_id in outcomes.targets})
        documents["red"] = _red(run)
    return {
        "inventory": keep("inventory", record.inventory),
        "known": known,
        **{name: keep(name, document) for name, document in documents.items()},
        "remembered": {
            name: keep("evidence", memory)
            for each in record.evidence.values()
            for name, memory in each.remembered.items()
        },
    }


def _known_tests(run: JudgedRun) -> Inventory:
    """Return the tests that the task knows from now on."""
    inventory, frozen = run.record.inventory, run.past.frozen
    # In the first phase, the known tests follow the sources. Later, frozen tests have to stay; others may change.
    held = run.past.known if frozen is None else frozen.inventory
    return inventory if run.in_first_phase or held is None else merge_inventories(held, inventory)


def _red(run: JudgedRun) -> dict[str, Any]:
    """Return the tests that have been red in this cycle."""
    accepted = {
        test_id: failure
        for test_id, failure in run.record.session.failures.items()
        if test_id in run.outcomes.failing and failure.is_accepted
    }
    return {
        "bodies": {**run.past.red, **{test_id: run.record.inventory.body(test_id) for test_id in accepted}},
        "modules": sorted({failure.missing for failure in accepted.values() if failure.missing}),
    }
