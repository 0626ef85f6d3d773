"""Judge one iteration of a task, at the end of a run or again with what came after it; and what a verdict records.

Pure. A signal or a fact that comes after a run is judged with what that run measured, by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from phase_gate.codec import to_json
from phase_gate.gate.breaker import Breaker, at_time
from phase_gate.gate.evaluation import evaluate, with_breaker
from phase_gate.gate.findings import cap_findings
from phase_gate.gate.measured import EVIDENCE_SLUGS, NOTHING_REMEMBERED, Measured, Remembered
from phase_gate.gate.measuring import PROOF_SLUGS, code_as_tested, proof_findings, proof_notes, proof_values
from phase_gate.gate.order import way_on
from phase_gate.gate.parts import parts_of
from phase_gate.gate.signals import Reading
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.values import replace
from phase_gate.workflow.metrics import MetricValue
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import look_command, run_command

# --- again, and without a run

T = TypeVar("T")


def judged_event(evaluation: Evaluation, *, at: str, by_person: bool = False) -> Event:
    """Return the event of a verdict.

    :param by_person: the breaker is not asked, and stays as it is.
    """
    data = {"evaluation": to_json(replace(evaluation, breaker=Breaker()))}
    return Event(kind="evaluated", data=data if by_person else {**data, "breaker": to_json(evaluation.breaker)}, at=at)


def judgement_events(
    evaluation: Evaluation,
    phase: Phase,
    *,
    at: str,
    remember_next: Callable[[], Mapping[str, str]] = dict,
    state: State | None = None,
    workflow: Workflow | None = None,
    look: Callable[[Phase], Remembered] = lambda phase: NOTHING_REMEMBERED,
) -> list[Event]:
    """Return the events of a verdict: evaluated, the signal spent, the phase exited; and what follows in a pipeline.

    :param remember_next: called where the phase exits; returns how things are, for the phase that follows.
    :param look: called in a pipeline where a phase is entered, or artifacts are agreed on.
    """
    events = [judged_event(evaluation, at=at)]
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
            "file": reading.file,
        }
        events.append(Event(kind="signal-spent", data=spent, at=at))
    said: dict[str, Any] = {}
    if state is not None and workflow is not None:
        for part, value in parts_of(state):
            more, also = part.verdict_events(value, evaluation, state, workflow, phase, at=at, look=look)
            events += more
            said |= also
    if evaluation.can_exit:
        data: dict[str, Any] = {
            "phase": phase.name,
            "iteration": subject.iteration,
            "next": phase.next,
            "forced": False,
            **said,
        }
        data["freezes"] = phase.scope == "targets"
        remembered = remember_next()
        if remembered:
            data["remembered"] = dict(remembered)
        events.append(Event(kind="phase-exited", data=data, at=at))
    return events


def evaluate_again(
    state: State,
    workflow: Workflow,
    phase: Phase,
    reading: Reading,
    *,
    at: str,
    root: str,
    evidence: Measured | None = None,
    replaces: frozenset[str] = frozenset(),
    drops: frozenset[str] = EVIDENCE_SLUGS,
) -> Evaluation:
    """Judge the last complete run anew, with a signal or facts that came after it.

    :param evidence: of a look that came after it, too.
    :param replaces: the names that this look could measure: what the run has measured of them is past.
    :param drops: what the look could find: what the run has found of it is past.
    """
    run = state.measurement
    assert run is not None, "only a measured iteration can be judged again"
    measured = run.measured
    findings = (
        *(finding for finding in measured.findings if finding.slug not in PROOF_SLUGS),
        *proof_findings(state, run.tree),
    )
    notes = tuple(dict.fromkeys((*measured.notes, *proof_notes(state, run.tree))))
    if evidence is None:
        evidence = Measured(tables=measured.tables)
    else:
        findings = tuple(finding for finding in findings if finding.slug not in drops)
    seen = replace(
        evidence,
        metrics={
            **_left(measured.metrics, replaces),
            **evidence.metrics,
            **proof_values(state, run.tree, run.iteration),
            "signals_premature": state.signals_premature,
            **claim_values(state),
        },
        findings=(*findings, *cap_findings(evidence.findings)),
        notes=(*notes, *evidence.notes, *claim_notes(state)),
        told={**_left(measured.told, replaces), **evidence.told},
    )
    evaluation = evaluate(state, workflow, phase, seen, reading, iteration=run.iteration, run=run.run, at=at, root=root)
    return with_consequences(with_breaker(evaluation, at_time(state.breaker, at)), state, workflow, phase)


def _left(of_run: Mapping[str, T], replaced: frozenset[str]) -> dict[str, T]:
    return {name: value for name, value in of_run.items() if name not in replaced}


def with_consequences(evaluation: Evaluation, state: State, workflow: Workflow, phase: Phase) -> Evaluation:
    """Return the verdict with what the task's parts make of it."""
    for part, value in parts_of(state):
        evaluation = part.with_consequences(value, evaluation, state, workflow, phase)
    return evaluation


def evaluate_without_run(
    state: State,
    workflow: Workflow,
    phase: Phase,
    reading: Reading,
    *,
    evidence: Measured,
    tree: str,
    at: str,
    root: str,
) -> Evaluation:
    """Judge a phase that needs no test run: each look that a user asks for on purpose is an iteration."""
    iteration = state.iteration + 1
    metrics: dict[str, MetricValue] = {
        "iteration": iteration,
        "signals_premature": state.signals_premature,
        "consecutive_green_runs": state.streak.count,
        **code_as_tested(state.trees.green, tree),
        **evidence.metrics,
        **claim_values(state),
    }
    seen = replace(
        evidence,
        metrics=metrics,
        findings=cap_findings(evidence.findings),
        notes=(*evidence.notes, *claim_notes(state)),
    )
    evaluation = evaluate(
        state, workflow, phase, seen, reading, iteration=iteration, run=None, at=at, root=root, kind="no run"
    )
    return with_consequences(with_breaker(evaluation, at_time(state.breaker, at)), state, workflow, phase)


def evaluate_call(
    state: State, workflow: Workflow, phase: Phase, reading: Reading, *, why: str, at: str, root: str
) -> Evaluation:
    """Answer a call for a person where no run can be judged with it. It is no iteration, and opens nothing.

    :param why: why there is no such run; empty if the phase has exited.
    """
    seen = Measured(notes=(f"Gate 1 was not measured: {why}",) if why else ())
    evaluation = evaluate(
        state, workflow, phase, seen, reading, iteration=None, run=None, at=at, root=root, kind="no run", why=why
    )
    if state.exited and reading.answer != "test-wrong":
        # The phase has exited and stays so: a run of it would take that back.
        evaluation = replace(evaluation, next_command=_enter_next(state, workflow, phase))
    return with_breaker(evaluation, at_time(state.breaker, at))


def _enter_next(state: State, workflow: Workflow, phase: Phase) -> str:
    following = workflow.phase(way_on(state, workflow, phase)[0]) or workflow.first
    return look_command(state.task) if following.tests == "none" else run_command(following.name, state.task)


def claim_values(state: State) -> dict[str, MetricValue]:
    """Return what the last claim gave, if it was made about the last iteration; else nothing is known."""
    claim = state.claims.last
    if claim is None or claim["iteration"] != state.iteration:
        return {}
    return {
        "indicators": claim["indicators"],
        "indicators_needed": claim["threshold"],
        "confidence": claim["confidence"],
        "confidence_needed": claim["confidence_needed"],
        "claimed_done": claim["claimed_done"],
        "claim_passed": claim["met_both"],
    }


def claim_notes(state: State) -> tuple[str, ...]:
    """Return what settings or a person let pass of the last claim: each verdict that it reaches tells it."""
    claim = state.claims.last
    if claim is None or claim["iteration"] != state.iteration:
        return ()
    return tuple(f"claim: {text}" for text in claim["leniency"])
