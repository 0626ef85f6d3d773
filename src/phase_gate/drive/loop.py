"""The one loop: let agents work, step by step, until the work is done, a person is needed, or the budget is spent.

What is driven is a source of steps: the phases of a cycle or of a pipeline, or a list of verify tasks.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from phase_gate.drive.clients import choose_environment
from phase_gate.drive.model import Decision, Outcome
from phase_gate.drive.people import call_person
from phase_gate.drive.step import Played, Session, Step, play
from phase_gate.evidence.process.tree import hide_environment
from phase_gate.project import Project

#: Ends that a person is told of by the command of the project.
_CALLS_PERSON = frozenset({Outcome.PERSON, Outcome.HALTED, Outcome.STUCK})


class Source(Protocol):
    """What a drive works on."""

    def held(self) -> AbstractContextManager[None]:
        """Hold what only one drive may work on, and record an error. Raises NotAllowedError where another one does."""

    def begin(self) -> None:
        """Record and tell that the drive begins, or goes on."""

    def next(self) -> Step | Decision:
        """Return the next agent's turn, or how the drive ends."""

    def take(self, step: Step, played: Played) -> None:
        """Judge and record what the agent left."""


def drive(session: Session, source: Source) -> Decision:
    """Drive to the end.

    Raises PhaseGateError where it may not begin, or where the state can't be trusted any more.
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
    """Keep what no agent is given out of what an agent could read of our own process."""
    if choose_environment(project) != project.environment:
        hide_environment()
