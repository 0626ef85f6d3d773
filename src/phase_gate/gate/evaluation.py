"""Decide whether a phase may end: two gates, one iteration.

Pure: no files, no clock, no pytest. Whatever a rule needs is an argument.
"""

from __future__ import annotations

from phase_gate.gate.advice import advise, advise_halt
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.findings import KEEP_IDS, Finding, Waiver, waiver_to_json
from phase_gate.gate.measured import Measured, wanted_names
from phase_gate.gate.signals import Reading
from phase_gate.gate.state import Fact, State
from phase_gate.gate.verdict import (
    PREMATURE,
    UNDONE,
    Evaluation,
    FactSource,
    Gate1Result,
    GuardResult,
    Subject,
    way_out,
    with_advice,
)
from phase_gate.values import as_dict, replace
from phase_gate.visible import name_first
from phase_gate.workflow.metrics import Metrics, show_value
from phase_gate.workflow.model import Guard, Phase, Workflow

#: The guard that no workflow can leave out: it would be the first thing that another workflow leaves out.
_RULES = "rules-unchanged"


def evaluate(
    state: State,
    workflow: Workflow,
    phase: Phase,
    measured: Measured,
    reading: Reading,
    *,
    iteration: int | None,
    run: str | None,
    at: str,
    root: str = "",
    kind: str = "complete",
    why: str = "",
) -> Evaluation:
    """Return the verdict on an iteration, without what the breaker and the task's parts make of it.

    What was declared wins over what was measured.

    :param iteration: None for a run that did not count.
    :param kind: what kind of run it was, and why it did not count or how it was narrowed.
    """
    subject = Subject(
        task=state.task,
        cycle=state.cycle,
        phase=phase.name,
        iteration=iteration,
        run=run,
        timestamp=at,
        root=root,
        run_kind=kind,
        run_note=why,
    )
    declared = state.facts
    metrics = {**measured.metrics, **{fact.name: fact.value for fact in declared}}
    in_force = tuple(waiver for waiver in state.overrides.waivers if waiver.is_in_force(at))
    gate_1 = evaluate_gate_1(workflow, phase, metrics, measured.findings, in_force, task=state.task)
    premature = (PREMATURE,) if reading.is_done and not gate_1.is_open else ()
    problem = (f"exit signal {reading.answer}: {reading.problem}",) if reading.problem else ()
    advice = advise(workflow, phase, subject, gate_1, reading, metrics, measured.findings)
    return Evaluation(
        **as_dict(advice),
        subject=subject,
        gate_1=gate_1,
        gate_2=reading,
        # Who looks next compares with what was remembered; a verdict does not.
        measured=replace(measured, metrics=metrics, warnings=(), remembered={}),
        remarks=(*_contradictions(declared, measured.metrics), *_limit_reached(gate_1, metrics)),
        warnings=(*premature, *measured.warnings, *problem),
        facts=who_said(workflow, phase, declared, measured.metrics),
        overrides=(*(waiver_to_json(waiver) for waiver in in_force), *state.overrides.others),
    )


def with_breaker(evaluation: Evaluation, breaker: Breaker) -> Evaluation:
    """Return the verdict beside what the breaker says: an open circuit halts, whatever the gates say."""
    evaluation = replace(evaluation, breaker=breaker)
    if not breaker.is_open or evaluation.gate_2.calls_person:
        return evaluation
    return with_advice(evaluation, advise_halt(breaker, evaluation.subject, evaluation))


def who_said(workflow: Workflow, phase: Phase, declared: tuple[Fact, ...], metrics: Metrics) -> tuple[FactSource, ...]:
    """Return the facts that decide about a phase and have a value, with where it comes from."""
    by_name = {fact.name: fact for fact in declared}
    said = []
    for name in sorted(wanted_names(workflow, phase) & workflow.facts.keys()):
        fact = by_name.get(name)
        if fact is not None:
            said.append(FactSource(**as_dict(fact), source="declared"))
        elif name in metrics:
            said.append(FactSource(name=name, value=metrics[name], source="measured"))
    return tuple(said)


def _contradictions(declared: tuple[Fact, ...], metrics: Metrics) -> list[str]:
    return [
        f"{fact.by} declared {fact.name} to be {show_value(fact.value)}; measured, it is "
        f"{show_value(metrics[fact.name])}"
        for fact in declared
        if fact.name in metrics and metrics[fact.name] != fact.value
    ]


def _limit_reached(gate_1: Gate1Result, metrics: Metrics) -> list[str]:
    """Say so where only the limit of iterations opens a gate."""
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


def evaluate_gate_1(
    workflow: Workflow,
    phase: Phase,
    metrics: Metrics,
    findings: tuple[Finding, ...] = (),
    waivers: tuple[Waiver, ...] = (),
    *,
    task: str = "default",
) -> Gate1Result:
    values = {**workflow.parameters, **metrics}
    outcome = phase.gate_1.condition.evaluate(values)
    guards = tuple(
        _evaluate_guard(workflow.guards[name], values, findings, waivers, (workflow, phase, task))
        for name in _guard_names(phase, values)
        if name in workflow.guards
    )
    return Gate1Result(
        # all(()) is true: a phase without a clause must not open by accident.
        is_open=bool(outcome.clauses) and outcome.met is True and all(guard.passes for guard in guards),
        name=phase.gate_1.name,
        condition=phase.gate_1.condition.text,
        values={name: values[name] for name in sorted(phase.gate_1.condition.names) if name in values},
        guards=guards,
        replaced=phase.gate_1.replaced,
    )


def _guard_names(phase: Phase, values: Metrics) -> tuple[str, ...]:
    """Return the phase's guards. Rules that changed in mid-cycle close every gate, also one that does not ask."""
    names = phase.gate_1.guards
    return names if not values.get("rules_changed") or _RULES in names else (*names, _RULES)


def _evaluate_guard(
    guard: Guard,
    values: Metrics,
    findings: tuple[Finding, ...],
    waivers: tuple[Waiver, ...],
    where: tuple[Workflow, Phase, str],
) -> GuardResult:
    outcome = guard.condition.evaluate(values)
    if outcome.met:
        return GuardResult(name=guard.name)
    covered = {key for waiver in waivers if waiver.guard == guard.name for key in waiver.findings}
    found = [finding for finding in findings if finding.belongs_to(guard.name) and finding.tier == "hard"]
    present = [finding.key for finding in found]
    # Nothing was taken away: each of these tests is there under another id.
    is_renamed = bool(found) and all(finding.change == "renamed" for finding in found)
    remedy = KEEP_IDS if is_renamed else guard.remedy
    if guard.name in UNDONE and found and not is_renamed:
        remedy = f"{remedy}: {name_first(dict.fromkeys(finding.place or finding.detail for finding in found))}"
    return GuardResult(
        name=guard.name,
        met=outcome.met,
        detail=_describe(guard, values),
        remedy=way_out(guard.name, remedy, *where, has_findings=bool(present)),
        # Exactly what was there when it was given: one finding more, or another one, and it does not apply.
        waived=bool(present) and covered.issuperset(present),
    )


def _describe(guard: Guard, values: Metrics) -> str:
    unknown = sorted(name for name in guard.condition.names if name not in values)
    if unknown:
        return f"not measured: {', '.join(unknown)}"
    detail = guard.detail or guard.condition.text
    for name, value in values.items():
        detail = detail.replace(f"{{{name}}}", str(value))
    return detail
