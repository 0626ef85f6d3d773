"""What the end of a run means: its kind, its metrics, its verdict, and the events that record them.

Pure. The shell hands over what it saw; what comes back is written as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_phase_gate.core.evaluation import Evaluation, Subject, evaluate, evaluation_to_json
from pytest_phase_gate.core.findings import Finding, findings_from_json, findings_to_json, name_tests
from pytest_phase_gate.core.inventory import Inventory, merge_inventories
from pytest_phase_gate.core.metrics import Metrics, MetricValue
from pytest_phase_gate.core.outcomes import FAILING, Bucket, Judgement, Outcomes, References, judge_outcomes
from pytest_phase_gate.core.runs import Classified, Green, Kind, RunFacts, classify_run, count
from pytest_phase_gate.core.selection import Audit
from pytest_phase_gate.core.signals import ABSENT, Reading
from pytest_phase_gate.core.state import Event, OpenRun, State, apply, streak_after
from pytest_phase_gate.core.workflow import Phase, Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """Everything that one session showed us."""

    run: str
    outcomes: Outcomes
    inventory: Inventory
    audit: Audit
    tree: str
    exit_status: int
    tally: Mapping[str, int]
    duration_s: float
    deselected: int = 0
    collection_errors: tuple[str, ...] = ()
    interrupted: str = ""
    internal_error: bool = False
    is_void: bool = False
    changed_sources: tuple[str, ...] = ()
    narrowed_by: tuple[str, ...] = ()
    criteria_count: int = 1
    #: What providers and plugins measured beside the tests.
    evidence: Mapping[str, MetricValue] = field(default_factory=dict)
    evidence_findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()


#: Stores an object and returns its digest; the shell writes it before the events that name it.
Keep = Callable[[str, Any], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What Gate 2 has to know of a run that counts."""

    iteration: int
    streak: int
    is_green: bool


#: Reads Gate 2; only asked when the run counts.
ReadSignal = Callable[[Counted], Reading]


@dataclass(frozen=True, slots=True)
class Finished:
    events: tuple[Event, ...]
    evaluation: Evaluation | None
    kind: Kind


def finish_run(
    state: State,
    workflow: Workflow,
    record: RunRecord,
    past: References,
    *,
    at: str,
    keep: Keep,
    read_signal: ReadSignal,
) -> Finished:
    """Return the events of the run's end and its evaluation (None for a void or nested run)."""
    run = state.open_run(record.run)
    assert run is not None, "a run ends only after it was started"
    phase = workflow.phase(run.phase)
    assert phase is not None, "a run starts only in a phase of its workflow"
    in_first_phase = phase.scope == "targets"
    audit = Audit(record.audit.unselected, ()) if in_first_phase else record.audit
    judgement = judge_outcomes(record.outcomes, record.inventory, past, in_first_phase=in_first_phase)
    classified = classify_run(_facts(record, run, audit))
    if classified.kind in (Kind.VOID, Kind.NESTED):
        data = _end_data(record, classified, judgement, metrics={}, iteration=None)
        return Finished((Event(kind="run-ended", data=data, at=at),), None, classified.kind)

    events: list[Event] = []
    if run.rewinds and classified.kind is Kind.COMPLETE:
        events.append(Event(kind="phase-entered", data={"phase": phase.name, "how": "rewind", "run": run.id}, at=at))
        state = apply(state, events[-1])
    counts = classified.kind is Kind.COMPLETE
    iteration = state.iteration + 1 if counts else None
    green = Green.NOT_GREEN if record.internal_error else judgement.green
    streak, _ = streak_after(state, run, kind=classified.kind, green=green, tree=record.tree)
    metrics = measure(state, phase, record, judgement, audit, classified, streak=streak, iteration=iteration)
    findings = (*_findings(record, judgement, audit, past, state, run), *record.evidence_findings)
    notes = _notes(record, judgement, classified, run)
    data = _end_data(record, classified, judgement, metrics=metrics, iteration=iteration)
    data["green"] = green
    if counts:
        data |= {
            "findings": findings_to_json(findings),
            "notes": list(notes),
            **_kept(record, judgement, past, in_first_phase=in_first_phase, keep=keep),
        }
    events.append(Event(kind="run-ended", data=data, at=at))
    state = apply(state, events[-1])

    subject = Subject(
        task=state.task,
        cycle=state.cycle,
        phase=phase.name,
        iteration=iteration,
        run=run.id,
        at=at,
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
        metrics={**metrics, **fact_values(state)},
        reading=reading,
        findings=findings,
        notes=notes,
        warnings=record.warnings,
    )
    if iteration is not None:
        events += judgement_events(evaluation, phase, at=at)
    return Finished(tuple(events), evaluation, classified.kind)


def judgement_events(evaluation: Evaluation, phase: Phase, *, at: str) -> list[Event]:
    """Return the events of a verdict: evaluated, the signal spent, the phase exited."""
    events = [Event(kind="evaluated", data={"evaluation": evaluation_to_json(evaluation)}, at=at)]
    reading, subject = evaluation.gate_2, evaluation.subject
    if reading.answer not in ("absent", "held", "malformed"):
        spent = {
            "answer": reading.answer,
            "reason": reading.reason,
            "by": reading.by,
            "problem": reading.problem,
            "phase": subject.phase,
            "iteration": subject.iteration,
            "premature": evaluation.is_premature,
        }
        events.append(Event(kind="signal-spent", data=spent, at=at))
    if evaluation.can_exit:
        data = {"phase": phase.name, "iteration": subject.iteration, "next": phase.next, "forced": False}
        events.append(Event(kind="phase-exited", data=data, at=at))
    return events


def evaluate_again(state: State, workflow: Workflow, phase: Phase, reading: Reading, *, at: str) -> Evaluation:
    """Judge the last complete run anew, with a signal or facts that came after it."""
    measured = state.measurement
    assert measured is not None, "only a measured iteration can be judged again"
    subject = Subject(
        task=state.task,
        cycle=state.cycle,
        phase=phase.name,
        iteration=measured.iteration,
        run=measured.run,
        at=at,
    )
    return evaluate(
        workflow,
        phase,
        subject,
        metrics={**measured.metrics, "signals_premature": state.signals_premature, **fact_values(state)},
        reading=reading,
        findings=findings_from_json(measured.findings),
        notes=measured.notes,
    )


def evaluate_without_run(
    state: State, workflow: Workflow, phase: Phase, reading: Reading, *, evidence: Metrics, tree: str, at: str
) -> Evaluation:
    """Judge a phase that needs no test run: each look that somebody asks for on purpose is an iteration."""
    iteration = state.iteration + 1
    metrics: dict[str, MetricValue] = {
        "iteration": iteration,
        "signals_premature": state.signals_premature,
        "consecutive_green_runs": state.streak,
        **code_as_tested(state.green_tree, tree),
        **evidence,
        **fact_values(state),
    }
    subject = Subject(
        task=state.task, cycle=state.cycle, phase=phase.name, iteration=iteration, run=None, at=at, kind="no run"
    )
    return evaluate(workflow, phase, subject, metrics=metrics, reading=reading)


def fact_values(state: State) -> dict[str, MetricValue]:
    return {fact.name: fact.value for fact in state.facts}


def code_as_tested(green_tree: str | None, tree: str) -> dict[str, MetricValue]:
    return {} if green_tree is None else {"code_as_tested": green_tree == tree}


def measure(
    state: State,
    phase: Phase,
    record: RunRecord,
    judged: Judgement,
    audit: Audit,
    classified: Classified,
    *,
    streak: int,
    iteration: int | None,
) -> dict[str, MetricValue]:
    """Return every metric of the run; a name that is not in it was not measured."""
    in_scope = judged.targets if phase.scope == "targets" else None

    def scoped(ids: frozenset[str]) -> int:
        return len(ids if in_scope is None else ids & in_scope)

    buckets = list(record.outcomes.values())
    passing, failing, newly = scoped(judged.passing), scoped(judged.failing), scoped(judged.newly_skipped)
    green_tree = {Green.GREEN: record.tree, Green.ODD: state.green_tree}.get(judged.green)
    metrics: dict[str, MetricValue] = {
        "tests_total": passing + failing + newly,
        "tests_passing": passing,
        "tests_failing": failing,
        "suite_total": len(judged.passing) + len(judged.failing) + len(judged.newly_skipped),
        "suite_passing": len(judged.passing),
        "suite_failing": len(judged.failing),
        "tests_skipped": buckets.count(Bucket.SKIPPED) + buckets.count(Bucket.SKIPPED_IF),
        "tests_newly_skipped": len(judged.newly_skipped),
        "tests_xfailed": buckets.count(Bucket.XFAILED),
        "tests_xpassed": buckets.count(Bucket.XPASSED),
        "tests_errors": buckets.count(Bucket.ERROR),
        "tests_flaky": len(judged.flaky),
        "tests_known_failing": len(judged.known_failing),
        "tests_not_run": buckets.count(Bucket.NOT_RUN),
        "tests_deselected": record.deselected,
        "tests_unselected": len(audit.unselected),
        "tests_missing": len(audit.missing),
        "tests_uncollectable": buckets.count(Bucket.UNCOLLECTABLE),
        "collection_errors": len(record.collection_errors),
        "baseline_total": judged.baseline_total,
        "baseline_failing": len(judged.baseline_failing),
        "consecutive_green_runs": streak,
        "criteria_count": record.criteria_count,
        "signals_premature": state.signals_premature,
        "run_complete": classified.kind is Kind.COMPLETE,
        "duration_s": round(record.duration_s, 3),
        **code_as_tested(green_tree, record.tree),
        **record.evidence,
    }
    if iteration is not None:
        metrics["iteration"] = iteration
    return metrics


def _facts(record: RunRecord, run: OpenRun, audit: Audit) -> RunFacts:
    buckets = list(record.outcomes.values())
    skipped = buckets.count(Bucket.SKIPPED) + buckets.count(Bucket.SKIPPED_IF)
    not_run = buckets.count(Bucket.NOT_RUN)
    uncollectable = buckets.count(Bucket.UNCOLLECTABLE)
    return RunFacts(
        collected=len(buckets) - uncollectable,
        executed=len(buckets) - uncollectable - skipped - not_run,
        is_void=record.is_void,
        is_nested=run.nested,
        interrupted=record.interrupted,
        not_run=not_run,
        changed_sources=record.changed_sources,
        unselected=len(audit.unselected),
        uncollectable=uncollectable,
        narrowed_by=record.narrowed_by,
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
        "exit_status": record.exit_status,
        "tree": record.tree,
        "tally": dict(record.tally),
        "metrics": dict(metrics),
        "narrowed_by": list(record.narrowed_by),
        "duration_s": round(record.duration_s, 3),
    }


def _kept(
    record: RunRecord, judged: Judgement, past: References, *, in_first_phase: bool, keep: Keep
) -> dict[str, Any]:
    odd = {test_id: bucket for test_id, bucket in sorted(record.outcomes.items()) if bucket is not Bucket.PASSED}
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
    }


def _findings(
    record: RunRecord, judged: Judgement, audit: Audit, past: References, state: State, run: OpenRun
) -> tuple[Finding, ...]:
    return (
        *name_tests("tests-kept", "hard", audit.missing, "known, and no longer in the sources"),
        *name_tests("no-new-skips", "hard", judged.newly_skipped, "skipped now, and not before"),
        *name_tests("baseline-kept", "hard", judged.baseline_failing, "passed before this cycle, fails now"),
        *name_tests("flaky", "advisory", judged.flaky, "passed only after a rerun"),
        *name_tests("odd-xpass", "advisory", judged.odd, "passes against an xfail mark that is new"),
        *name_tests(
            "two-outcomes", "advisory", _two_outcomes(record, past, state, run), "another outcome on the same tree"
        ),
    )


def _two_outcomes(record: RunRecord, past: References, state: State, run: OpenRun) -> list[str]:
    if state.latest is None or state.tree != run.tree or past.latest is None:
        return []
    return [
        test_id
        for test_id, bucket in record.outcomes.items()
        if test_id in past.latest.ids and (bucket in FAILING) != (past.latest.outcomes.get(test_id) in FAILING)
    ]


def _notes(record: RunRecord, judged: Judgement, classified: Classified, run: OpenRun) -> tuple[str, ...]:
    notes = []
    if run.overlaps:
        notes.append("another run of this task was open at the same time: the streak is not extended")
    if record.narrowed_by and classified.kind is Kind.COMPLETE:
        notes.append(f"narrowed: {'; '.join(record.narrowed_by)}")
    exempt = [record.outcomes[test_id] for test_id in judged.exempt]
    skipped = sum(bucket in (Bucket.SKIPPED, Bucket.SKIPPED_IF) for bucket in exempt)
    marked = len(exempt) - skipped
    shown = [
        count(number, noun)
        for number, noun in (
            (skipped, "known skip"),
            (marked, "known xfail"),
            (len(judged.known_failing), "known failure"),
        )
        if number
    ]
    if shown:
        notes.append(f"exempt: {', '.join(shown)}")
    return tuple(notes)
