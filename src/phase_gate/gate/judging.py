"""Evaluate one iteration of a task, at the end of a run or again with later input; and record the verdict.

Pure. A signal or a fact that comes after a run is evaluated with the metrics of that run, by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.codec import to_json
from phase_gate.gate.breaker import Breaker, at_time
from phase_gate.gate.measured import (
    NOTHING_REMEMBERED,
    Evidence,
    Finding,
    Measured,
    Remembered,
    covered_by,
    join,
    waiver_to_json,
    wanted_names,
)
from phase_gate.gate.measuring import code_as_tested, proof_measured
from phase_gate.gate.order import next_phase
from phase_gate.gate.state import WORK, Case, Claims, Event, Measurement, State, load_part
from phase_gate.gate.verdict import (
    PREMATURE,
    Evaluation,
    Fact,
    Gate1Result,
    GuardResult,
    Verdict,
    advise_open,
    phase_command,
    with_advice,
)
from phase_gate.values import as_dict, replace
from phase_gate.workflow.metrics import Metrics, MetricValue, show_value
from phase_gate.workflow.model import Guard, Phase, Workflow

# --- again, and without a run


def judged_event(evaluation: Evaluation, *, at: str, by_person: bool = False) -> Event:
    """Return the event of a verdict.

    :param by_person: the breaker is not involved, and stays unchanged.
    """
    data = {"evaluation": to_json(replace(evaluation, breaker=Breaker()))}
    return Event(kind="evaluated", data=data if by_person else {**data, "breaker": to_json(evaluation.breaker)}, at=at)


def judgement_events(
    evaluation: Evaluation,
    case: Case,
    *,
    remember_next: Callable[[], Mapping[str, str]] = dict,
    look: Callable[[Phase], Remembered] = lambda phase: NOTHING_REMEMBERED,
) -> list[Event]:
    """Return the events of a verdict: evaluated, signal spent, phase exited; and the consequences in a pipeline.

    :param remember_next: called if the phase exits; returns the references for the next phase.
    :param look: called in a pipeline when a phase is entered, or artifacts are agreed on.
    """
    at, phase = case.at, case.phase
    events = [judged_event(evaluation, at=at)]
    reading = evaluation.gate_2
    if reading.answer not in ("absent", "held", "malformed"):
        where = {"phase": evaluation.phase, "iteration": evaluation.iteration, "premature": evaluation.is_premature}
        events.append(Event(kind="signal-spent", data={**as_dict(reading), **where}, at=at))
    exit_data: dict[str, Any] = {}
    if case.state.work is not None:
        more, exit_data = load_part(WORK).verdict_events(evaluation, case, look=look)
        events += more
    if evaluation.can_exit:
        data: dict[str, Any] = {
            "phase": phase.name,
            "iteration": evaluation.iteration,
            "next": phase.next,
            "forced": False,
            **exit_data,
            "freezes": phase.scope == "targets",
        }
        remembered = remember_next()
        if remembered:
            data["remembered"] = dict(remembered)
        events.append(Event(kind="phase-exited", data=data, at=at))
    return events


def evaluate_again(case: Case, later: Mapping[str, Measured] = {}) -> Evaluation:
    """Evaluate the last complete run again, with a signal, facts or evidence that came after it."""
    run = case.state.measurement
    assert run is not None, "only a measured iteration can be judged again"
    return evaluate(case, update(case.state, run, later), iteration=run.iteration, run=run.run)


def update(state: State, run: Measurement, later: Mapping[str, Measured] = {}) -> Measured:
    """Return the measurements of the last complete run, with everything that came after it.

    :param later: evidence gathered after the run: it replaces that of the same providers.
    """
    outdated = {name for each in later.keys() & run.evidence.keys() for name in run.evidence[each].metrics}
    metrics = {name: value for name, value in run.measured.metrics.items() if name not in outdated}
    proof, evidence = proof_measured(state, run.tree, run.iteration), {**run.evidence, **later}
    return join((replace(run.measured, metrics=metrics), proof, *evidence.values(), _claimed(state)))


def evaluate_without_run(case: Case, evidence: Evidence, *, tree: str) -> Evaluation:
    """Evaluate a phase that needs no test run: each evaluation that a user requests is an iteration."""
    state, iteration = case.state, case.state.iteration + 1
    metrics: dict[str, MetricValue] = {"iteration": iteration, "consecutive_green_runs": state.streak}
    own = Measured(metrics={**metrics, **code_as_tested(state.green_tree, tree)})
    seen = join((own, *evidence.values(), _claimed(state)))
    return evaluate(case, seen, iteration=iteration, kind="no run")


def _claimed(state: State) -> Measured:
    """Return what the signals and the last claim show. A claim of an earlier iteration does not count."""
    claims = state.claims if state.claims.iteration == state.iteration else Claims()
    return Measured(
        metrics={"signals_premature": state.signals_premature, **claims.metrics},
        # Leniency by settings or a person is listed in each verdict that uses the claim.
        notes=tuple(f"claim: {text}" for text in claims.leniency),
    )


def evaluate_call(case: Case, *, why: str) -> Evaluation:
    """Answer a call for a person if there is no run to evaluate. It is not an iteration, and never opens a gate.

    :param why: why there is no such run; empty if the phase has exited.
    """
    seen = Measured(notes=(f"Gate 1 was not measured: {why}",) if why else ())
    evaluation = evaluate(case, seen, iteration=None, kind="no run", why=why)
    state, workflow = case.state, case.workflow
    if state.exited and case.reading.answer != "test-wrong":
        # The phase has exited and stays so: another run would undo that.
        following = workflow.phase(next_phase(state, workflow, case.phase)[0]) or workflow.first
        evaluation = replace(evaluation, next_command=phase_command(following, state.task))
    return evaluation


# --- both gates of one iteration

#: The guard that no workflow can omit: a changed workflow could omit exactly this one.
_RULES = "rules-unchanged"


def evaluate(
    case: Case,
    measured: Measured,
    *,
    iteration: int | None,
    run: str | None = None,
    kind: str = "complete",
    why: str = "",
    watch: Callable[[Evaluation], Breaker] | None = None,
) -> Evaluation:
    """Return the verdict on an iteration, with the effects of the breaker and of the task's work.

    A declared value takes precedence over a measured one.

    :param iteration: None for a run that did not count.
    :param kind: the kind of the run; `why`: why it did not count, or how it was narrowed.
    :param watch: returns the breaker after the run. Default: the present one.
    """
    state, workflow, phase, reading = case.state, case.workflow, case.phase, case.reading
    declared = state.facts
    metrics = {**measured.metrics, **{fact.name: fact.value for fact in declared}}
    gate_1 = evaluate_gate_1(case, metrics, measured.findings)
    in_force = (waiver_to_json(waiver) for waiver in state.waivers if waiver.is_in_force(case.at))
    premature = (PREMATURE,) if reading.is_done and not gate_1.is_open else ()
    problem = (f"exit signal {reading.answer}: {reading.problem}",) if reading.problem else ()
    evaluation = Evaluation(
        status="closed",
        reason="",
        task=state.task,
        cycle=state.cycle,
        phase=phase.name,
        iteration=iteration,
        run=run,
        timestamp=case.at,
        root=case.root,
        run_kind=kind,
        run_note=why,
        gate_1=gate_1,
        gate_2=reading,
        metrics=metrics,
        findings=measured.findings,
        notes=(*measured.notes, *_contradictions(declared, measured.metrics), *_limit_reached(gate_1, metrics)),
        tables=measured.tables,
        missing_extra=measured.missing_extra,
        warnings=(*premature, *measured.warnings, *problem),
        facts=fact_sources(workflow, phase, declared, measured.metrics),
        overrides=(*in_force, *state.overrides),
    )
    evaluation = with_advice(evaluation, _advise(evaluation, workflow, phase))
    evaluation = with_breaker(evaluation, at_time(state.breaker, case.at) if watch is None else watch(evaluation))
    return evaluation if state.work is None else load_part(WORK).with_consequences(evaluation, case)


def _advise(evaluation: Evaluation, workflow: Workflow, phase: Phase) -> Verdict:
    if evaluation.gate_1.is_open and evaluation.iteration is not None and not evaluation.gate_2.calls_person:
        return advise_open(evaluation, workflow, phase)
    from phase_gate.gate.advice import advise_closed  # here, not above: as long as a gate is open, nothing asks

    return advise_closed(evaluation, workflow, phase)


def with_breaker(evaluation: Evaluation, breaker: Breaker) -> Evaluation:
    """Return the verdict with the state of the breaker: an open circuit halts the work even if both gates are open."""
    evaluation = replace(evaluation, breaker=breaker)
    if not breaker.is_open or evaluation.gate_2.calls_person:
        return evaluation
    from phase_gate.gate.advice import advise_halt

    return with_advice(evaluation, advise_halt(evaluation))


def fact_sources(workflow: Workflow, phase: Phase, declared: tuple[Fact, ...], metrics: Metrics) -> tuple[Fact, ...]:
    """Return the facts that are relevant for a phase and have a value, with the source of the value."""
    names = wanted_names(workflow, phase) & workflow.facts.keys()
    facts = {name: Fact(name=name, value=metrics[name], source="measured") for name in names & metrics.keys()}
    facts |= {fact.name: fact for fact in declared if fact.name in names}
    return tuple(facts[name] for name in sorted(facts))


def _contradictions(declared: tuple[Fact, ...], metrics: Metrics) -> list[str]:
    return [
        f"{fact.by} declared {fact.name} to be {show_value(fact.value)}; measured, it is "
        f"{show_value(metrics[fact.name])}"
        for fact in declared
        if fact.name in metrics and metrics[fact.name] != fact.value
    ]


def _limit_reached(gate_1: Gate1Result, metrics: Metrics) -> list[str]:
    """Return a note if a gate is open only because of the iteration limit."""
    notes = []
    for group in dict.fromkeys(clause.group for clause in gate_1.clauses if clause.group is not None):
        met = [clause for clause in gate_1.clauses if clause.group == group and clause.met]
        if len(met) == 1 and "iteration" in met[0].values:
            delta = metrics.get("quality_delta")
            quality = "quality was not measured" if delta is None else f"quality_delta is {delta}"
            notes.append(
                f"limit reached: {met[0].text} ({met[0].shown}) is met, and nothing else of its group; {quality}"
            )
    return notes


def evaluate_gate_1(case: Case, metrics: Metrics, findings: tuple[Finding, ...]) -> Gate1Result:
    workflow, phase = case.workflow, case.phase
    values = {**workflow.parameters, **metrics}
    outcome = phase.gate_1.evaluate(values)
    # Rules that changed mid-cycle close every gate, even one without that guard.
    names = dict.fromkeys(phase.gate_1.guards)
    if values.get("rules_changed"):
        names[_RULES] = None
    guards = tuple(
        _evaluate_guard(case, workflow.guards[name], values, findings) for name in names if name in workflow.guards
    )
    return Gate1Result(
        # all(()) is true: a phase without a clause must not open by accident.
        is_open=bool(outcome.clauses) and outcome.met is True and all(guard.passes for guard in guards),
        name=phase.gate_1.name,
        condition=phase.gate_1.condition,
        values={name: values[name] for name in sorted(phase.gate_1.names) if name in values},
        guards=guards,
        replaced=phase.gate_1.replaced,
    )


def _evaluate_guard(case: Case, guard: Guard, values: Metrics, findings: tuple[Finding, ...]) -> GuardResult:
    outcome = guard.evaluate(values)
    if outcome.met:
        return GuardResult(name=guard.name)
    from phase_gate.gate.advice import suggest_steps

    found = [finding for finding in findings if finding.belongs_to(guard.name) and finding.tier == "hard"]
    return GuardResult(
        name=guard.name,
        met=outcome.met,
        detail=_describe(guard, values),
        remedy=suggest_steps(guard, found, case.workflow, case.phase, case.state.task),
        # Exactly the findings at the time of the waiver: it does not cover additional or different ones.
        waived=bool(found) and covered_by(case.state.waivers, guard.name, found, at=case.at),
    )


def _describe(guard: Guard, values: Metrics) -> str:
    unknown = sorted(name for name in guard.names if name not in values)
    if unknown:
        return f"not measured: {', '.join(unknown)}"
    detail = guard.detail or guard.condition
    for name, value in values.items():
        detail = detail.replace(f"{{{name}}}", str(value))
    return detail
