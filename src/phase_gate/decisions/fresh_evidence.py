"""Evidence for a verdict without a test run. Collected before locking: a command of the project may take minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.codec import to_json
from phase_gate.evidence import gathering
from phase_gate.gate.inventory import find_changed_settings
from phase_gate.gate.judging import judgement_events
from phase_gate.gate.measured import LOOKED_AT, Evidence, Finding, Measured
from phase_gate.gate.state import Case, State
from phase_gate.gate.verdict import ABSENT, Evaluation, Signal
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.task import Task
from phase_gate.workflow.model import Phase, Workflow, name_rules

#: Stores and returns the data that the next phase is compared with, if this phase ends.
Remembering = Callable[[Phase], Mapping[str, str]]


def measure_now(task: Task, *, show: Callable[[str], None]) -> Evidence:
    """Return the evidence that the rules of the current phase use; empty if they need a test run.

    :param show: reports progress while a command of the project runs.
    """
    store, state = task.store, task.state
    if state.phase is None or state.exited:
        return {}
    workflow = task.rules
    phase = workflow.phase(state.phase)
    if phase is None:
        return {}
    if phase.tests != "none":
        if not state.is_pipeline:
            return {}
        # Votes and artifacts are not part of the tree: they may have changed since the run, which made the checks.
        return {"pipeline": gathering.gather(task, workflow, phase, wanted=LOOKED_AT)["pipeline"]}
    changed = _changed_rules(store, state, workflow)
    rules = Measured(metrics={"rules_changed": len(changed)}, findings=tuple(changed))
    return {**gathering.gather(task, workflow, phase, show=show), "rules": rules}


def case_of(change: Transaction, task: Task, phase: Phase, reading: Signal = ABSENT) -> Case:
    """Return the input of an evaluation within a transaction."""
    root = str(task.project.root)
    return Case(state=change.state, workflow=task.rules, phase=phase, at=change.at, root=root, reading=reading)


def record_verdict(
    change: Transaction, task: Task, evaluation: Evaluation, case: Case, remembered: Remembering
) -> None:
    """Record a verdict and its consequences.

    :param task: the task within the transaction.
    :param remembered: the result of `remember_next`.
    """
    change.record(
        *judgement_events(
            evaluation,
            case,
            remember_next=lambda: remembered(case.phase),
            look=lambda entered: gathering.remember(task, task.rules, entered),
        )
    )


def _changed_rules(store: TaskStore, state: State, workflow: Workflow) -> list[Finding]:
    """Return the differences between the last run's rules and the frozen ones."""
    frozen = store.objects.load_frozen(state.freeze.current)
    if frozen is None:
        return []
    now = name_rules(to_json(workflow), "workflow ")
    then = {name: text for name, text in frozen.settings.items() if name.startswith("workflow ")}
    return find_changed_settings(then, now)


def remember_next(task: Task, *, may_end: bool = True) -> Remembering:
    """Collect the data that the next phase is compared with; return a function that stores it."""
    state = task.state
    if not may_end or state.phase is None or state.exited:
        return lambda phase: {}
    present = task.rules.phase(state.phase)
    if present is None:
        return lambda phase: {}
    held: dict[str, tuple[str, Any]] = {}

    def hold(kind: str, document: Any) -> str:
        name = str(len(held))
        held[name] = (kind, document)
        return name

    seen = gathering.remember_next(task, task.rules, present, keep=hold)
    # Stored only if the phase really ends, and not if another process has changed the task.
    return lambda phase: {
        provider: task.store.keep(*held[name]) for provider, name in seen.items() if phase.name == state.phase
    }
