"""End a phase by a person's word, against what was measured: a forced exit, or a skip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from phase_gate.errors import NotAllowedError
from phase_gate.gate.breaker import at_time
from phase_gate.gate.evaluation import Evaluation
from phase_gate.gate.overrides import Kind, Person, forced_events, override_record, refuse_excuse
from phase_gate.gate.state import State
from phase_gate.storage.again import again_if_moved
from phase_gate.task import Task
from phase_gate.values import Value


class EndedPhase(Value):
    #: The override, as it is recorded.
    record: Mapping[str, Any]
    evaluation: Evaluation


def force_exit(task: Task, person: Person, *, confirm: Callable[[str], None]) -> EndedPhase:
    """End the present phase, whatever the gates say.

    :param confirm: called with the phase's name once nothing else is in the way; raises to refuse.
    """
    return _end_phase(task, person, "force", "a forced exit", check=lambda state, at: confirm(str(state.phase)))


def skip_phase(task: Task, person: Person) -> EndedPhase:
    """Give the present phase up while its circuit is open."""
    return _end_phase(task, person, "skip", "a skip", check=_refuse_skip)


def _refuse_skip(state: State, at: str) -> None:
    breaker = at_time(state.breaker, at)
    if not breaker.is_open:
        raise NotAllowedError(
            f"{state.phase} may be skipped only while its circuit is open, and it is {breaker.status}",
            remedy="phase-gate breaker status says how far it is; phase-gate status says what to do",
        )


@again_if_moved
def _end_phase(task: Task, person: Person, kind: Kind, what: str, *, check: Callable[[State, str], None]) -> EndedPhase:
    """Record the override and the exit. A refusal changes nothing, so it may be tried again."""
    project = task.project
    task.require_begun()
    with task.transaction() as change:
        state = change.state
        task.store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        phase = workflow.phase(state.phase or "")
        if phase is None:
            raise NotAllowedError("the cycle is done: there is no phase to end", remedy=project.begin_command)
        if state.exited:
            raise NotAllowedError(f"{phase.name} has exited already", remedy="phase-gate status")
        person.require(change.opened.state, what)
        refuse_excuse(person.reason)
        check(state, change.at)
        record = override_record(kind, state, reason=person.reason, by=person.by, at=change.at)
        evaluation, events = forced_events(state, workflow, phase, record, root=str(project.root))
        change.record(*events)
    return EndedPhase(record=record, evaluation=evaluation)
