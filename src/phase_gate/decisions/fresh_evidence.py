"""Evidence for a verdict that needs no test run. Taken before the lock: a command of the project may take minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.evidence import gathering
from phase_gate.gate.freeze import find_changed_settings
from phase_gate.gate.judging import Case, judgement_events
from phase_gate.gate.measured import Finding, Measured
from phase_gate.gate.signals import ABSENT, Reading
from phase_gate.gate.state import State
from phase_gate.gate.verdict import Evaluation
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.model_json import name_rules

#: Stores and returns what the phase that follows is compared with, should this one end.
Remembering = Callable[[Phase], Mapping[str, str]]


def measure_now(task: Task, *, show: Callable[[str], None]) -> Measured:
    """Return what the rules of the present phase speak of; nothing where that takes a run of the tests.

    :param show: says what is going on while a command of the project runs.
    """
    store, state = task.store, task.state
    if state.phase is None or state.exited:
        return Measured()
    workflow = task.rules
    phase = workflow.phase(state.phase)
    if phase is None:
        return Measured()
    if phase.tests != "none":
        return _look_again(task, phase)
    measured = gathering.gather(task, workflow, phase, show=show)
    changed = _changed_rules(store, state, workflow)
    return replace(
        measured,
        metrics={**measured.metrics, "rules_changed": len(changed)},
        findings=(*measured.findings, *changed),
    )


def _look_again(task: Task, phase: Phase) -> Measured:
    """Return what a pipeline looks at anew after a run: votes and artifacts are no part of its tree."""
    if not task.state.is_pipeline:
        return Measured()
    from phase_gate.tasks.evidence import look_again

    return look_again(task, task.rules, phase)


def case_of(change: Transaction, task: Task, phase: Phase, reading: Reading = ABSENT) -> Case:
    """Return what is judged within a transaction: the task as it is there, with the rules that it has."""
    root = str(task.project.root)
    return Case(state=change.state, workflow=task.rules, phase=phase, at=change.at, root=root, reading=reading)


def record_verdict(
    change: Transaction, task: Task, evaluation: Evaluation, case: Case, remembered: Remembering
) -> None:
    """Record a verdict, and what follows from it.

    :param task: as it is within the transaction; a pipeline looks at it where the verdict enters a phase.
    :param remembered: what `remember_next` returned.
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
    """Return what the last run's rules say otherwise than those that were frozen: a run may bring others."""
    frozen = store.objects.load_frozen(state.freeze.current)
    if frozen is None:
        return []
    now = {f"workflow {name}": text for name, text in name_rules(workflow).items()}
    then = {name: text for name, text in frozen.settings.items() if name.startswith("workflow ")}
    return find_changed_settings(replace(frozen, settings=then), now)


def remember_next(task: Task, *, may_end: bool = True) -> Remembering:
    """Look at what the next phase is to be compared with; return what gives it, should the present one end."""
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
    # Stored only where the phase really ends; another process may have moved the task on meanwhile.
    return lambda phase: {
        provider: task.store.keep(*held[name]) for provider, name in seen.items() if phase.name == state.phase
    }
