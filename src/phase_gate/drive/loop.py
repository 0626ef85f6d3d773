"""The main loop: let agents work, step by step, until the work is done, a person is needed, or the budget is spent.

A drive works on a source of steps: the phases of a cycle or of a pipeline, or a list of verify tasks.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from phase_gate.drive.clients import choose_environment
from phase_gate.drive.drive_state import Decision, Outcome
from phase_gate.drive.prompt_user import call_person
from phase_gate.drive.step import Played, Session, Step, play
from phase_gate.evidence.process.tree import hide_environment
from phase_gate.project import Project

#: Outcomes for which the project's command calls a person.
_CALLS_PERSON = frozenset({Outcome.PERSON, Outcome.HALTED, Outcome.STUCK})


class Source(Protocol):
    """The work of a drive, as a source of steps."""

    def held(self) -> AbstractContextManager[None]:
        """Lock the work for this drive, and record errors. Raises NotAllowedError if another drive has the lock."""

    def begin(self) -> None:
        """Record and report that the drive begins or continues."""

    def next(self) -> Step | Decision:
        """Return the next agent's turn, or how the drive ends."""

    def take(self, step: Step, played: Played) -> None:
        """Judge the agent's work and record the result."""


def drive(session: Session, source: Source) -> Decision:
    """Drive to the end.

    Raises PhaseGateError if the drive may not begin, or if the state can no longer be trusted.
    """
    hide_keys(session.project)
    with source.held(), session.interrupts:
        source.begin()
        while isinstance(step := source.next(), Step):
            source.take(step, play(session, step))
        if step.outcome in _CALLS_PERSON:
            session.tell("person-needed", reason=step.reason)
            call_person(session, step.reason)
        session.tell(
            "drive-ended",
            outcome=str(step.outcome),
            reason=step.reason,
            exit_code=step.exit_code,
            next_command=step.next_command,
            **step.told,
        )
        return step


def hide_keys(project: Project) -> None:
    """Remove variables that agents must not have from our own process, where an agent could read them."""
    if choose_environment(project) != project.environment:
        hide_environment()
