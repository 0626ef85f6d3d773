"""Decide whether a phase may end: two gates, one iteration.

Pure: no files, no clock, no pytest. Whatever a rule needs is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from phase_gate.codec import spell_out_each
from phase_gate.gate.advice import advise, advise_halt
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.findings import KEEP_IDS, Finding
from phase_gate.gate.measured import Measured, Table, wanted_names
from phase_gate.gate.signals import Reading
from phase_gate.gate.state import Fact
from phase_gate.gate.verdict import UNDONE, Verdict, way_out
from phase_gate.gate.waivers import Waiver, waiver_to_json
from phase_gate.values import Value, as_dict, field, replace
from phase_gate.visible import name_first
from phase_gate.workflow.conditions import Clause
from phase_gate.workflow.metrics import Metrics, MetricValue, show_value
from phase_gate.workflow.model import Guard, Phase, Workflow

#: Of the evaluation as JSON.
SCHEMA = 1

#: The guard that no workflow can leave out: it would be the first thing that another workflow leaves out.
_RULES = "rules-unchanged"

PREMATURE = "Exit signal set but Gate 1 not satisfied"


class GuardResult(Value):
    name: str
    met: bool | None
    detail: str
    #: What to do, and what else there is; and what to type once it is done.
    remedy: str
    waived: bool = False
    command: str = ""

    @property
    def passes(self) -> bool:
        return self.met is True or self.waived


class Gate1Result(Value):
    is_open: bool
    name: str
    condition: str
    values: Mapping[str, MetricValue]
    clauses: tuple[Clause, ...]
    guards: tuple[GuardResult, ...]
    replaced: bool = False


class FactSource(Value):
    """Where the value of a fact comes from: it was declared or measured."""

    name: str
    value: MetricValue
    source: Literal["declared", "measured"]
    by: str = ""
    reason: str = ""
    at: str = ""

    @property
    def who(self) -> str:
        return f"declared by {self.by}" if self.source == "declared" else self.source


class Subject(Value):
    """What an evaluation speaks of. `iteration` is None for a run that did not count."""

    task: str
    cycle: int
    phase: str
    iteration: int | None
    run: str | None
    at: str
    #: The project's root: every report names it.
    root: str = ""
    kind: str = "complete"
    #: Why the run did not count, or how it was narrowed.
    why: str = ""


class Evaluation(Verdict):
    """The verdict of one iteration, with everything that a renderer needs."""

    subject: Subject
    gate_1: Gate1Result
    gate_2: Reading
    metrics: Metrics
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    facts: tuple[FactSource, ...] = ()
    overrides: tuple[Mapping[str, Any], ...] = ()
    forced_exit: bool = False
    breaker: Breaker = field(default_factory=Breaker)

    @property
    def can_exit(self) -> bool:
        return self.forced_exit or (
            self.subject.iteration is not None
            and self.gate_1.is_open
            and self.gate_2.is_done
            and not self.breaker.is_open
        )

    @property
    def is_premature(self) -> bool:
        return self.gate_2.is_done and not self.gate_1.is_open


def evaluate(
    workflow: Workflow,
    phase: Phase,
    subject: Subject,
    measured: Measured,
    reading: Reading,
    *,
    facts: Iterable[Fact] = (),
    waivers: Iterable[Waiver] = (),
    overrides: Iterable[Mapping[str, Any]] = (),
) -> Evaluation:
    """Return the verdict on one iteration of a phase. What was declared wins over what was measured."""
    findings, declared = measured.findings, tuple(facts)
    said = who_said(workflow, phase, declared, measured.metrics)
    metrics = {**measured.metrics, **{fact.name: fact.value for fact in declared}}
    in_force = tuple(waiver for waiver in waivers if waiver.is_in_force(subject.at))
    gate_1 = evaluate_gate_1(workflow, phase, metrics, findings, in_force, task=subject.task)
    warnings = list(measured.warnings)
    if reading.is_done and not gate_1.is_open:
        warnings.insert(0, PREMATURE)
    if reading.problem:
        warnings.append(f"exit signal {reading.answer}: {reading.problem}")
    advice = advise(workflow, phase, subject, gate_1, reading, metrics, findings)
    return Evaluation(
        subject=subject,
        gate_1=gate_1,
        gate_2=reading,
        **as_dict(advice),
        metrics=metrics,
        warnings=tuple(warnings),
        notes=(
            *measured.notes,
            *measured.told.values(),
            *_contradictions(declared, measured.metrics),
            *_limit_reached(gate_1, metrics),
        ),
        findings=findings,
        tables=measured.tables,
        facts=said,
        overrides=(*(waiver_to_json(waiver) for waiver in in_force), *overrides),
    )


def with_breaker(evaluation: Evaluation, breaker: Breaker) -> Evaluation:
    """Return the verdict beside what the breaker says: an open circuit halts, whatever the gates say."""
    evaluation = replace(evaluation, breaker=breaker)
    if not breaker.is_open or evaluation.gate_2.calls_person:
        return evaluation
    return with_advice(evaluation, advise_halt(breaker, evaluation.subject, evaluation))


def with_advice(evaluation: Evaluation, advice: Verdict) -> Evaluation:
    """Return the verdict with another status, reason and next step."""
    return replace(evaluation, **as_dict(advice))


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


def who_of(document: Mapping[str, Any]) -> dict[str, str]:
    """Return who said each fact, from an evaluation's document."""
    return {row["name"]: FactSource(**row).who for row in document.get("facts", ())}


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
        clauses=outcome.clauses,
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
        return GuardResult(name=guard.name, met=True, detail="", remedy="")
    covered = {key for waiver in waivers if waiver.guard == guard.name for key in waiver.findings}
    found = [finding for finding in findings if finding.belongs_to(guard.name) and finding.tier == "hard"]
    present = [finding.key for finding in found]
    # Nothing was taken away: each of these tests is there under another id.
    is_renamed = bool(found) and all(finding.change == "renamed" for finding in found)
    remedy = KEEP_IDS if is_renamed else guard.remedy
    if guard.name in UNDONE and found and not is_renamed:
        remedy = f"{remedy}: {name_first(dict.fromkeys(finding.place or finding.detail for finding in found))}"
    command, hint = way_out(guard.name, remedy, *where, has_findings=bool(present))
    return GuardResult(
        name=guard.name,
        met=outcome.met,
        detail=_describe(guard, values),
        remedy=hint,
        # Exactly what was there when it was given: one finding more, or another one, and it does not apply.
        waived=bool(present) and covered.issuperset(present),
        command=command,
    )


def _describe(guard: Guard, values: Metrics) -> str:
    unknown = sorted(name for name in guard.condition.names if name not in values)
    if unknown:
        return f"not measured: {', '.join(unknown)}"
    detail = guard.detail or guard.condition.text
    for name, value in values.items():
        detail = detail.replace(f"{{{name}}}", str(value))
    return detail


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation as the published schema describes it."""
    subject, gate_1, gate_2 = evaluation.subject, evaluation.gate_1, evaluation.gate_2
    return {
        "schema": SCHEMA,
        "root": subject.root,
        "task": subject.task,
        "cycle": subject.cycle,
        "phase": subject.phase,
        "iteration": subject.iteration,
        "run": subject.run,
        "run_kind": subject.kind,
        "run_note": subject.why,
        "gate_1": {
            "satisfied": gate_1.is_open,
            "open": gate_1.is_open,
            "name": gate_1.name,
            "condition": gate_1.condition,
            "replaced": gate_1.replaced,
            "values": dict(gate_1.values),
            "clauses": [
                {
                    "text": clause.text,
                    "met": clause.met,
                    "values": dict(clause.values),
                    "unknown": list(clause.unknown),
                    "shown": clause.shown,
                    "group": clause.group,
                    "problem": clause.problem,
                }
                for clause in gate_1.clauses
            ],
            "guards": [
                {
                    "name": guard.name,
                    "met": guard.met,
                    "detail": guard.detail,
                    "remedy": guard.remedy,
                    "waived": guard.waived,
                }
                for guard in gate_1.guards
            ],
        },
        "gate_2": {
            "satisfied": gate_2.is_done,
            "open": gate_2.is_done,
            "source": "explicit_signal",
            "answer": gate_2.answer,
            "reason": gate_2.reason,
            "by": gate_2.by,
            "problem": gate_2.problem,
        },
        "can_exit": evaluation.can_exit,
        "forced_exit": evaluation.forced_exit,
        "status": evaluation.status,
        "reason": evaluation.reason,
        "next_command": evaluation.next_command,
        "next_hint": evaluation.next_hint,
        "warnings": list(evaluation.warnings),
        "notes": list(evaluation.notes),
        "findings": spell_out_each(evaluation.findings),
        "tables": spell_out_each(evaluation.tables),
        "facts": [as_dict(each) for each in evaluation.facts],
        "overrides": [dict(each) for each in evaluation.overrides],
        "breaker": {
            "state": evaluation.breaker.status,
            "no_progress": evaluation.breaker.no_progress,
            "same_error": evaluation.breaker.same_error,
            "exit_blocked": evaluation.breaker.exit_blocked,
            "infrastructure": evaluation.breaker.infrastructure,
            "reason": evaluation.breaker.reason,
            "since": evaluation.breaker.opened_at,
        },
        "metrics": dict(evaluation.metrics),
        "timestamp": subject.at,
    }
