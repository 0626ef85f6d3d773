"""Compare an agent's claim of completion with the measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from phase_gate.claims.agent_output import read_claim_text, sentences
from phase_gate.claims.blocks import StatusBlocks, read_blocks
from phase_gate.claims.claim_metrics import measure_claim
from phase_gate.claims.confidence import ClaimContext, Threshold
from phase_gate.claims.decision import Decision, decide
from phase_gate.codec import spell_out
from phase_gate.decisions.fresh_evidence import case_of
from phase_gate.errors import NotAllowedError
from phase_gate.gate.judging import evaluate_again, judgement_events
from phase_gate.gate.overrides import Person
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import Evaluation
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.store import Transaction
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.visible import count
from phase_gate.workflow.sections import ExitGate

#: Environment variable: the number of indicators that a claim needs.
THRESHOLD_VARIABLE = "PHASE_GATE_EXIT_THRESHOLD"


class Claim(Value):
    """An agent's claim."""

    blocks: StatusBlocks
    prose: str
    #: The file it was read from, relative to the root, if it is inside: an agent's output does not count as its work.
    handed: tuple[str, ...] = ()
    #: The threshold for this claim; None: the project's.
    threshold: Threshold | None = None
    kind: str | None = None
    by: str
    #: The person who may lower the threshold for this claim; None for an agent.
    person: Person | None = None


class DecidedClaim(Value):
    decision: Decision
    #: The new evaluation, if Gate 1 requires a claim.
    gate_1: Evaluation | None
    #: The task afterwards.
    task: Task


def read_claim(texts: Iterable[str], *, by: str) -> Claim:
    """Return the claim in an agent's messages."""
    text = read_claim_text(texts)
    blocks = read_blocks(text)
    return Claim(blocks=blocks, prose=sentences(text, blocks.reasons), by=by)


def decide_claim(task: Task, claim: Claim, *, show: Callable[[str], None]) -> DecidedClaim:
    """Decide on the claim and record it.

    :param show: reports progress while a command of the project runs.
    """
    task = task.leave_out(claim.handed)
    # Before the lock: a build may take minutes.
    looked = measure_claim(task, handed=claim.handed, show=show)
    own = _own_threshold(ExitGate.of(task.project.configuration), claim.kind)
    threshold = claim.threshold or own
    if looked.asked and threshold.value < own.value:
        threshold = _lower_threshold(task.state, claim.person, threshold, own)
    return _decide(task, claim, replace(looked, threshold=threshold))


def _own_threshold(gate: ExitGate, kind: str | None = None) -> Threshold:
    """Return the project's threshold for a kind of task, or its general one."""
    if kind is not None:
        return Threshold(value=gate.thresholds[kind], source=f"kind {kind}")
    is_usual = gate.indicator_threshold == ExitGate().indicator_threshold
    return Threshold(value=gate.indicator_threshold, source="default" if is_usual else "phase-gate.yaml")


def _lower_threshold(state: State, person: Person | None, threshold: Threshold, own: Threshold) -> Threshold:
    """Return the threshold that a person has lowered. A claim can't lower its own threshold."""
    asks = f"{count(threshold.value, 'indicator')}, where Gate 1 of {state.phase} needs {own.value}"
    if person is None:
        raise NotAllowedError(f"{threshold.source} asks for {asks}", remedy=f"leave {threshold.source} out")
    person.require(state, f"{threshold.source} with {asks}")
    return replace(threshold, lowered=f"{person.by} asks for {asks}: {person.reason}")


@again_if_moved
def _decide(task: Task, claim: Claim, looked: ClaimContext) -> DecidedClaim:
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        if change.state.phase != looked.phase or change.state.iteration != looked.iteration:
            raise NotAllowedError("the task changed while the claim was evaluated", remedy="claim again")
        context = replace(looked, breaker=change.state.breaker, counted=change.state.claims, at=change.at)
        decision, breaker = decide(claim.blocks, claim.prose, context)
        state = change.state
        recorded = {
            **spell_out(decision),
            "phase": state.phase,
            "iteration": state.iteration,
            "run": None if state.measurement is None else state.measurement.run,
            "kind": claim.kind,
            "by": claim.by,
        }
        data = {
            "claim": recorded,
            "breaker": spell_out(breaker),
            "tree": looked.tree,
            "reports": list(claim.handed),
        }
        change.record(Event(kind="claimed", data=data))
        gate_1 = _judge_again(task, looked, change)
    return DecidedClaim(decision=decision, gate_1=gate_1, task=task.after(change))


def _judge_again(task: Task, looked: ClaimContext, change: Transaction) -> Evaluation | None:
    """Evaluate the iteration again if its Gate 1 requires a claim, and record that; return the verdict."""
    phase = task.rules.phase(looked.phase)
    if phase is None or not looked.asked or looked.untested or change.state.measurement is None:
        return None
    case = case_of(change, task, phase)
    evaluation = evaluate_again(case)
    change.record(*judgement_events(evaluation, case))
    return evaluation
