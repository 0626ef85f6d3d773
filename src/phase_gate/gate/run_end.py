"""What the end of a run means: its metrics, its verdict, and the events that record them.

Pure: it takes values and returns values. The shell has gathered and stored before, and writes what comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.codec import spell_out_each
from phase_gate.errors import NotAllowedError
from phase_gate.gate.advice import STASH
from phase_gate.gate.breaker import RunSeen, observe_run
from phase_gate.gate.criteria import table_to_json
from phase_gate.gate.events import apply
from phase_gate.gate.failures import Reason, fingerprint
from phase_gate.gate.freeze import freeze, frozen_to_json
from phase_gate.gate.inventory import Inventory, merge_inventories
from phase_gate.gate.judged_run import JudgedRun
from phase_gate.gate.judging import Case, conclude, evaluate
from phase_gate.gate.measured import Measured, cap_findings
from phase_gate.gate.measuring import find_findings, find_weakened, measure, note_unseen, take_notes
from phase_gate.gate.outcomes import (
    FAILING,
    Bucket,
    Kind,
    Outcomes,
    all_passed,
)
from phase_gate.gate.signals import ABSENT, Reading
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import SENDS_BACK, Evaluation, waive_command
from phase_gate.values import Value, replace
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Workflow
from phase_gate.workflow.names import run_command

#: Failing tests whose message is stored with a run.
_MESSAGES_KEPT = 50


class RunEnd(Value):
    """The end of a run, before anything of it is written."""

    events: tuple[Event, ...]
    #: None for a void or nested run.
    evaluation: Evaluation | None
    #: The task after these events.
    state: State


def end_run(
    judged: JudgedRun, workflow: Workflow, *, stored: Mapping[str, Any] | None = None, reading: Reading = ABSENT
) -> RunEnd:
    """Return the verdict on a run, and the event of its end.

    :param stored: the digests of its objects; only a run that counts has some.
    :param reading: what Gate 2 says of it.
    """
    if judged.kind in (Kind.VOID, Kind.NESTED):
        event = Event(kind="run-ended", data=_end_data(judged, {}), at=judged.at)
        return RunEnd(events=(event,), evaluation=None, state=apply(judged.state, event))
    shown = _show(judged, workflow)
    data = _end_data(judged, shown.metrics)
    if judged.iteration is not None:
        data |= _counted_data(judged, shown) | dict(stored or {})
    event = Event(kind="run-ended", data=data, at=judged.at)
    state = apply(judged.state, event)
    return RunEnd(
        events=(*judged.events, event),
        evaluation=_evaluate(judged, shown, state, workflow, reading),
        state=state,
    )


def _show(judged: JudgedRun, workflow: Workflow) -> Measured:
    record, unseen = judged.record, note_unseen(judged.state, workflow)
    return Measured(
        metrics=measure(judged),
        findings=cap_findings((*find_findings(judged, unseen), *record.evidence.findings)),
        notes=(*record.notes, *take_notes(judged), *unseen),
        told=record.evidence.told,
        tables=record.evidence.tables,
        warnings=record.warnings,
    )


def _evaluate(judged: JudgedRun, shown: Measured, state: State, workflow: Workflow, reading: Reading) -> Evaluation:
    phase = judged.phase
    case = Case(state=state, workflow=workflow, phase=phase, at=judged.at, root=judged.record.root, reading=reading)
    run, kind, why = judged.run.id, judged.kind, judged.why
    evaluation = evaluate(case, shown, iteration=judged.iteration, run=run, kind=kind, why=why)
    if judged.stays and state.phase is not None:
        evaluation = _stay(evaluation, state, workflow)
    if judged.iteration is None:
        return conclude(evaluation, case)
    breaker = observe_run(state.breaker, _see_run(judged, evaluation), phase.breaker, at=judged.at)
    return conclude(evaluation, case, breaker)


def _stay(evaluation: Evaluation, state: State, workflow: Workflow) -> Evaluation:
    """Say how to get on where a run was to go back to the first phase, and no test of the step fails there."""
    assert state.phase is not None, "it stays in some phase"
    last = state.evaluation
    guards = last.gate_1.guards if last is not None and last.subject.phase == state.phase else ()
    closed = [guard.name for guard in guards if not guard.passes]
    sent_back = next((name for name in closed if name in SENDS_BACK), None)
    if sent_back is None:
        return replace(evaluation, next_command=run_command(state.phase, state.task), next_hint="")
    # That phase has sent the user here, and would do so again: only a person, or tests that fail, can end it.
    red = run_command(workflow.first.name, state.task)
    return replace(
        evaluation,
        status="needs-person",
        reason=f"{evaluation.reason}; {sent_back} keeps {state.phase} closed",
        next_command=waive_command(sent_back, state.task),
        next_hint=f"a person types it; or take this step's code back ({STASH}), then {red}",
    )


def _see_run(judged: JudgedRun, evaluation: Evaluation) -> RunSeen:
    """Return what the breaker looks at."""
    phase, record, outcomes = judged.phase, judged.record, judged.outcomes
    tests = outcomes.failing | outcomes.too_early if phase.tests == "failing" else outcomes.failing
    unmet = {f"guard {guard.name}" for guard in evaluation.gate_1.guards if not guard.passes}
    return RunSeen(
        tree=record.sources.tree,
        began=judged.run.tree,
        obstacles=frozenset(tests | unmet),
        passing=len(outcomes.passing) if phase.tests == "passing" else 0,
        errors=fingerprint(record.session.messages.get(test_id, "") for test_id in outcomes.failing),
        gate_is_open=evaluation.gate_1.is_open,
        needs_person=evaluation.gate_2.calls_person,
    )


def _end_data(judged: JudgedRun, metrics: Mapping[str, MetricValue]) -> dict[str, Any]:
    session, sources = judged.record.session, judged.record.sources
    return {
        "run": judged.record.run,
        "kind": judged.kind,
        "why": judged.why,
        "green": judged.green,
        "iteration": judged.iteration,
        "exit_status": session.exit_status,
        "tree": sources.tree,
        "beside": sorted(sources.beside),
        "tally": dict(session.tally),
        "metrics": dict(metrics),
        "narrowed_by": list(session.narrowed_by),
        "duration_s": round(session.duration_s, 3),
        "changed": None if sources.changed_since is None else list(sources.changed_since),
    }


def _counted_data(judged: JudgedRun, shown: Measured) -> dict[str, Any]:
    return {
        "findings": spell_out_each(shown.findings),
        "notes": list(shown.notes),
        "told": dict(shown.told),
        "tables": spell_out_each(judged.record.evidence.tables),
        "recovered": sorted(judged.outcomes.recovered),
        "surroundings": judged.record.session.surroundings,
        "targets_s": round(sum(judged.record.session.durations.get(each, 0.0) for each in judged.outcomes.targets), 3),
    }


# --- what a run leaves behind beside these events: documents too big for the ledger, which names them


def known_tests(judged: JudgedRun) -> Inventory:
    """Return the tests that the task knows from now on."""
    inventory, frozen = judged.record.inventory, judged.past.frozen
    # In the first phase the known set follows the sources. Then what was frozen has to stay; the rest comes and goes.
    held = judged.past.known if frozen is None else frozen.inventory
    return inventory if judged.in_first_phase or held is None else merge_inventories(held, inventory)


def objects_of(judged: JudgedRun, *, inventory: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the documents of a run that counts, by the names that the event of its end has for them.

    :param inventory: the digest of the known tests, which are stored already.
    :param texts: the sources of the target files.
    """
    record, outcomes = judged.record, judged.outcomes
    session = record.session
    odd = () if all_passed(session.outcomes) else session.outcomes.items()
    objects: dict[str, Any] = {"outcomes": dict(sorted(row for row in odd if row[1] is not Bucket.PASSED))}
    if judged.traced.rows:
        objects["criteria"] = table_to_json(record.criteria, judged.traced.rows, phase=judged.phase.name)
    if outcomes.failing:
        # How tests failed, for the report on what was tried; not all, if they are many.
        shown = sorted(outcomes.failing)[:_MESSAGES_KEPT]
        objects["failures"] = {test_id: session.messages.get(test_id, "") for test_id in shown}
    if record.meaning.written:
        objects["outputs"] = sorted(record.meaning.written)
    if judged.in_first_phase or judged.state.freeze.current is None:
        objects["frozen"] = frozen_to_json(
            freeze(known_tests(judged), record.meaning, find_weakened(judged)), inventory=inventory
        )
    if judged.in_first_phase:
        objects |= {
            "targets": sorted(outcomes.targets),
            # So that `explain` can show what changed. Only the files that this cycle is about.
            "sources": dict(texts),
            "red": _red(judged),
        }
    return objects


def _red(judged: JudgedRun) -> dict[str, Any]:
    """Return what has been red in this cycle."""
    record = judged.record
    accepted = {
        test_id: failure
        for test_id, failure in record.session.failures.items()
        if test_id in judged.outcomes.failing and failure.is_accepted
    }
    return {
        "bodies": {**judged.past.red, **{test_id: record.inventory.body(test_id) for test_id in accepted}},
        "modules": sorted({failure.missing for failure in accepted.values() if failure.missing}),
        "structural": sorted(test_id for test_id, failure in accepted.items() if failure.reason is Reason.STRUCTURAL),
    }


def baseline_event(
    outcomes: Outcomes,
    inventory: Inventory,
    *,
    interrupted: str,
    keep: Callable[[str, Any], str],
    revision: str,
    narrowed_by: tuple[str, ...],
    surroundings: str = "",
) -> Event:
    """Return the event that records a baseline. Raises NotAllowedError for a session that proves nothing."""
    not_run = sum(bucket is Bucket.NOT_RUN for bucket in outcomes.values())
    if interrupted or not_run or not outcomes:
        why = interrupted or (f"{not_run} tests did not run" if not_run else "no test was collected")
        raise NotAllowedError(f"this is no baseline: {why}", remedy="run the whole suite to its end")
    odd = {test_id: bucket for test_id, bucket in sorted(outcomes.items()) if bucket is not Bucket.PASSED}
    return Event(
        kind="baseline-taken",
        data={
            "inventory": keep("inventory", inventory),
            "outcomes": keep("outcomes", odd),
            "total": len(outcomes),
            "failing": sum(bucket in FAILING for bucket in odd.values()),
            "revision": revision,
            "narrowed_by": list(narrowed_by),
            "surroundings": surroundings,
        },
    )
