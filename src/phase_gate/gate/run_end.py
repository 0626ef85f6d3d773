"""What the end of a run means: its kind, its metrics, its verdict, and the events that record them.

Pure. The shell hands over what it saw; what comes back is written as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.gate.breaker import RunSeen, at_time, observe_run
from phase_gate.gate.criteria import Traced, table_to_json, trace_criteria
from phase_gate.gate.evaluation import Evaluation, Subject, evaluate, with_breaker
from phase_gate.gate.events import apply, streak_after
from phase_gate.gate.failures import fingerprint
from phase_gate.gate.findings import cap_findings, findings_to_json
from phase_gate.gate.freeze import freeze, frozen_to_json
from phase_gate.gate.inventory import merge_inventories, split_id
from phase_gate.gate.measured import NOTHING_REMEMBERED, Remembered, tables_to_json
from phase_gate.gate.measuring import excuse_skips, find_findings, measure, note_unseen, take_notes
from phase_gate.gate.outcomes import Bucket, Judgement, References, judge_outcomes
from phase_gate.gate.record import RunRecord
from phase_gate.gate.rejudging import judgement_events, with_consequences
from phase_gate.gate.runs import Classified, Green, Kind, RunFacts, classify_run
from phase_gate.gate.selection import Audit
from phase_gate.gate.signals import ABSENT, Reading
from phase_gate.gate.state import Event, OpenRun, State
from phase_gate.values import Value, replace
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import run_command

#: Failing tests whose message is stored with a run.
_MESSAGES_KEPT = 50

#: Stores an object and returns its digest; the shell writes it before the events that name it.
Keep = Callable[[str, Any], str]


class Counted(Value):
    """What Gate 2 has to know of a run that counts."""

    iteration: int
    streak: int
    is_green: bool


#: Reads Gate 2; only asked when the run counts.
ReadSignal = Callable[[Counted], Reading]

#: Returns the text of a file of the project; empty if it has none.
ReadText = Callable[[str], str]


class Finished(Value, kw_only=False):
    events: tuple[Event, ...]
    evaluation: Evaluation | None
    kind: Kind
    is_green: bool = False


def finish_run(
    state: State,
    workflow: Workflow,
    record: RunRecord,
    past: References,
    *,
    at: str,
    keep: Keep,
    read_signal: ReadSignal,
    read_text: ReadText = lambda path: "",
    remembered: Remembered = NOTHING_REMEMBERED,
    remember_next: Callable[[], Mapping[str, str]] = dict,
    look: Callable[[Phase], Remembered] = lambda phase: NOTHING_REMEMBERED,
) -> Finished:
    """Return the events of the run's end and its evaluation (None for a void or nested run)."""
    run = state.open_run(record.run)
    assert run is not None, "a run ends only after it was started"
    phase = workflow.phase(run.phase)
    assert phase is not None, "a run starts only in a phase of its workflow"
    in_first_phase = phase.scope == "targets"
    if run.rewinds and state.phase != phase.name and past.frozen is not None:
        # This very run takes the freeze back: RED is about what changed since, from now on.
        past = replace(past, withdrawn=past.frozen.inventory)
    audit = Audit(record.audit.unselected, ()) if in_first_phase else record.audit
    judgement = judge_outcomes(record.session.outcomes, record.inventory, past, in_first_phase=in_first_phase)
    judgement = excuse_skips(judgement, state.waivers, at=at)
    classified = classify_run(_facts(record, run, audit, _moved_on(state, run)))
    if classified.kind in (Kind.VOID, Kind.NESTED):
        data = _end_data(record, classified, judgement, metrics={}, iteration=None)
        return Finished((Event(kind="run-ended", data=data, at=at),), None, classified.kind)

    events: list[Event] = []
    goes_back = run.rewinds and state.phase != phase.name
    stays = goes_back and classified.kind is Kind.COMPLETE and not judgement.failing & judgement.targets
    if stays:
        # Somebody typed the wrong phase, or corrected a test that passes at once: in RED there would be no way on.
        classified = Classified(
            Kind.INCOMPLETE, f"no test of this step fails, so the task stays in {state.phase} with its frozen tests"
        )
    if goes_back and classified.kind is Kind.COMPLETE:
        data = {"phase": phase.name, "how": "rewind", "first": True, "run": run.id}
        events.append(Event(kind="phase-entered", data={**data, "remembered": dict(remembered.phase)}, at=at))
        state = apply(state, events[-1])
    counts = classified.kind is Kind.COMPLETE
    iteration = state.iteration + 1 if counts else None
    # An outcome that is not the test's own is no green, whatever it says.
    green = Green.NOT_GREEN if record.session.internal_error or record.session.doubts else judgement.green
    streak, _ = streak_after(state, run, kind=classified.kind, green=green, tree=record.sources.tree)
    traced = trace_criteria(
        record.criteria,
        record.links,
        judgement,
        record.session.outcomes,
        in_first_phase=in_first_phase,
        waivers=state.waivers,
        at=at,
    )
    metrics = measure(
        state, phase, record, judgement, audit, classified, past, traced, streak=streak, iteration=iteration
    )
    unseen = note_unseen(state, workflow)
    findings = cap_findings(
        (
            *find_findings(
                record,
                judgement,
                audit,
                classified,
                past,
                phase=phase,
                state=state,
                run=run,
                traced=traced,
                unseen=unseen,
            ),
            *record.evidence.findings,
        )
    )
    notes = (*record.notes, *take_notes(record, judgement, classified, run), *unseen)
    data = _end_data(record, classified, judgement, metrics=metrics, iteration=iteration)
    data["green"] = green
    if counts:
        data |= {
            "findings": findings_to_json(findings),
            "notes": list(notes),
            "tables": tables_to_json(record.evidence.tables),
            "criteria": _criteria_table(record, traced, phase.name, keep),
            "wants_green": phase.tests == "passing",
            "failures": _keep_messages(record, judgement, keep),
            "remembered": {name: keep("evidence", memory) for name, memory in record.evidence.remembered.items()},
            **_kept(record, judgement, past, in_first_phase=in_first_phase, keep=keep),
            **_frozen_now(
                state, record, judgement, past, in_first_phase=in_first_phase, keep=keep, read_text=read_text
            ),
        }
    events.append(Event(kind="run-ended", data=data, at=at))
    state = apply(state, events[-1])

    subject = Subject.about(
        state,
        phase,
        iteration=iteration,
        run=run.id,
        at=at,
        root=record.root,
        kind=classified.kind,
        why=classified.why,
    )
    reading = ABSENT
    if iteration is not None:
        reading = read_signal(Counted(iteration=iteration, streak=streak, is_green=green is Green.GREEN))
    evaluation = evaluate(
        workflow,
        phase,
        subject,
        metrics=metrics,
        facts=state.facts,
        reading=reading,
        findings=findings,
        notes=notes,
        tables=record.evidence.tables,
        warnings=record.warnings,
        waivers=state.waivers,
        overrides=state.overrides,
    )
    if stays and state.phase is not None:
        evaluation = replace(evaluation, next_command=run_command(state.phase, state.task), next_hint="")
    breaker = at_time(state.breaker, at)
    if counts:
        breaker = observe_run(state.breaker, _see_run(record, judgement, evaluation, phase), phase.breaker, at=at)
    evaluation = with_consequences(with_breaker(evaluation, breaker), state, workflow, phase)
    if iteration is not None:
        events += judgement_events(
            evaluation, phase, at=at, remember_next=remember_next, state=state, workflow=workflow, look=look
        )
    return Finished(tuple(events), evaluation, classified.kind, green is Green.GREEN)


def _see_run(record: RunRecord, judged: Judgement, evaluation: Evaluation, phase: Phase) -> RunSeen:
    """Return what the breaker looks at."""
    tests = judged.failing | (judged.passing & judged.targets) if phase.tests == "failing" else judged.failing
    unmet = {f"guard {guard.name}" for guard in evaluation.gate_1.guards if not guard.holds}
    return RunSeen(
        tree=record.sources.tree,
        obstacles=frozenset(tests | unmet),
        passing=len(judged.passing) if phase.tests == "passing" else 0,
        errors=fingerprint(record.session.messages.get(test_id, "") for test_id in judged.failing),
        holds=evaluation.gate_1.satisfied,
        needs_person=evaluation.gate_2.answer in ("blocked", "test-wrong"),
    )


def _moved_on(state: State, run: OpenRun) -> str:
    """Say so if the task left the run's phase while it ran: its result speaks of what is past."""
    if run.nested or run.rewinds or state.phase == run.phase:
        return ""
    return f"the task moved on to {state.phase} while it ran"


def _facts(record: RunRecord, run: OpenRun, audit: Audit, moved_on: str) -> RunFacts:
    buckets = list(record.session.outcomes.values())
    skipped = buckets.count(Bucket.SKIPPED) + buckets.count(Bucket.SKIPPED_IF)
    not_run = buckets.count(Bucket.NOT_RUN)
    uncollectable = buckets.count(Bucket.UNCOLLECTABLE)
    return RunFacts(
        collected=len(buckets) - uncollectable,
        executed=len(buckets) - uncollectable - skipped - not_run,
        is_void=record.session.is_void,
        is_nested=run.nested,
        interrupted=record.session.interrupted or moved_on,
        not_run=not_run,
        changed_sources=record.sources.changed,
        unselected=len(audit.unselected),
        uncollectable=uncollectable,
        narrowed_by=record.session.narrowed_by,
    )


def _end_data(
    record: RunRecord,
    classified: Classified,
    judged: Judgement,
    *,
    metrics: Mapping[str, MetricValue],
    iteration: int | None,
) -> dict[str, Any]:
    return {
        "run": record.run,
        "kind": classified.kind,
        "why": classified.why,
        "green": judged.green,
        "iteration": iteration,
        "exit_status": record.session.exit_status,
        "tree": record.sources.tree,
        "beside": sorted(record.sources.beside),
        "tally": dict(record.session.tally),
        "metrics": dict(metrics),
        "narrowed_by": list(record.session.narrowed_by),
        "foreign_hooks": list(record.session.foreign_hooks),
        "duration_s": round(record.session.duration_s, 3),
        "changed": None if record.sources.changed_since is None else list(record.sources.changed_since),
    }


def _criteria_table(record: RunRecord, traced: Traced, phase: str, keep: Keep) -> str | None:
    return keep("criteria", table_to_json(record.criteria, traced.rows, phase=phase)) if traced.rows else None


def _keep_messages(record: RunRecord, judged: Judgement, keep: Keep) -> str | None:
    """Store how tests failed, for whoever wants to know later what was tried; not all, if they are many."""
    shown = sorted(judged.failing)[:_MESSAGES_KEPT]
    messages = {test_id: record.session.messages.get(test_id, "") for test_id in shown}
    return keep("failures", messages) if messages else None


def _kept(
    record: RunRecord, judged: Judgement, past: References, *, in_first_phase: bool, keep: Keep
) -> dict[str, Any]:
    odd = {
        test_id: bucket for test_id, bucket in sorted(record.session.outcomes.items()) if bucket is not Bucket.PASSED
    }
    inventory = keep("inventory", record.inventory)
    # In the first phase the known set follows the sources; afterwards it may only grow.
    grows = not in_first_phase and past.known is not None
    known = (
        keep("inventory", merge_inventories(past.known, record.inventory))
        if grows and past.known is not None
        else inventory
    )
    return {
        "inventory": inventory,
        "outcomes": keep("outcomes", odd),
        "known": known,
        "targets": keep("ids", sorted(judged.targets)) if in_first_phase else None,
        "recovered": sorted(judged.recovered),
        "surroundings": record.session.surroundings,
        "outputs": keep("ids", sorted(record.meaning.written)) if record.meaning.written else None,
    }


def _frozen_now(
    state: State,
    record: RunRecord,
    judged: Judgement,
    past: References,
    *,
    in_first_phase: bool,
    keep: Keep,
    read_text: ReadText,
) -> dict[str, Any]:
    """Return what RED's exit would freeze, and what has been red; later only if nothing is frozen yet."""
    if not in_first_phase and state.frozen is not None:
        return {}
    frozen = freeze(record.inventory, record.meaning)
    kept: dict[str, Any] = {
        "frozen": keep("frozen", frozen_to_json(frozen, inventory=keep("inventory", record.inventory)))
    }
    if in_first_phase:
        # So that `explain` can show what changed. Only the files that this cycle is about.
        paths = sorted({split_id(test_id)[0] for test_id in judged.targets})
        kept["sources"] = keep("sources", {path: read_text(path) for path in paths})
        accepted = {
            test_id: failure
            for test_id, failure in record.session.failures.items()
            if test_id in judged.failing and failure.is_accepted
        }
        bodies = {**past.red, **{test_id: record.inventory.body(test_id) for test_id in accepted}}
        modules = sorted({failure.missing for failure in accepted.values() if failure.missing})
        files = {"tree": record.sources.shown, "beside": dict(record.sources.beside)}
        kept["red"] = keep("red", {"bodies": bodies, "modules": modules, **files})
    return kept
