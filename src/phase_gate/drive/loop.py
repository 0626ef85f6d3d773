"""The one loop: let agents work, step by step, until the work is done, a person is needed, or the budget is spent.

What is driven is a source of steps: the phases of a cycle or of a pipeline, or a list of verify tasks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from phase_gate.drive.agent import Played, Step, hand_in
from phase_gate.drive.chain import Decision, Outcome
from phase_gate.drive.clients import choose_environment
from phase_gate.drive.session import Session
from phase_gate.errors import ForeignRootError, PhaseGateError
from phase_gate.evidence.process.run import run_process
from phase_gate.evidence.process.tree import hide_environment
from phase_gate.project import Project
from phase_gate.storage.files import REAL, make_folder
from phase_gate.values import Value, field, replace

#: Ends that a person is told of by the command of the project.
_CALLS_PERSON = frozenset({Outcome.PERSON, Outcome.HALTED, Outcome.STUCK})
#: Seconds that the call may take, and bytes of its output that are kept.
_CALL_TIMEOUT, _CALL_KEPT = 60.0, 16 * 1024


class End(Value):
    """How a drive ended."""

    decision: Decision
    #: What to type next.
    next_command: str = ""
    #: What the last line tells beside it.
    told: Mapping[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """What a drive works on."""

    def held(self) -> AbstractContextManager[None]:
        """Hold what only one drive may work on. Raises NotAllowedError where another one does."""

    def begin(self) -> None:
        """Record and tell that the drive begins, or goes on."""

    def next(self) -> Step | End:
        """Return the next agent's turn, or how the drive ends."""

    def take(self, step: Step, played: Played) -> None:
        """Judge and record what the agent left."""

    def fail(self, reason: str) -> None:
        """Record, as far as that is possible, that the drive ends by an error."""


def drive(session: Session, source: Source) -> End:
    """Drive to the end.

    Raises PhaseGateError where it may not begin, or where the state can't be trusted any more.
    """
    refuse_foreign_folder(session.project)
    hide_keys(session.project)
    with source.held(), session.interrupts:
        source.begin()
        try:
            while isinstance(step := source.next(), Step):
                source.take(step, play(session, step))
        except BaseException as error:
            source.fail(error.problem if isinstance(error, PhaseGateError) else type(error).__name__)
            raise
        return _tell_end(session, step)


def play(session: Session, step: Step) -> Played:
    """Let an agent take its turn; where its client is busy, wait: who asked decides what follows."""
    played = hand_in(session, step)
    if not played.is_busy:
        session.waits = 0
        return played
    return replace(played, waited=session.wait_for_client(step.working, step.left - played.seconds))


def _tell_end(session: Session, end: End) -> End:
    decision = end.decision
    if decision.outcome in _CALLS_PERSON:
        session.tell("person-needed", reason=decision.reason)
        call_person(session, decision.reason)
    session.tell(
        "drive-ended",
        outcome=str(decision.outcome),
        reason=decision.reason,
        exit_code=decision.exit_code,
        next_command=end.next_command,
        **end.told,
    )
    return end


def call_person(session: Session, reason: str) -> None:
    """Run the project's command for calling a person; tell where that goes wrong."""
    words = session.settings.on_person_needed
    if not words:
        return
    project = session.project
    folder = project.store("phase-gate drive").drive_folder
    make_folder(REAL, folder)
    ended = run_process(
        [word.replace("{reason}", reason) for word in words],
        shell=False,
        cwd=project.root,
        environment=choose_environment(project),
        timeout=_CALL_TIMEOUT,
        log=folder / "person.log",
        limit=_CALL_KEPT,
        secrets=project.environment,
        interrupts=session.interrupts,
        is_apart=False,
    )
    if ended.how != "ended" or ended.code != 0:
        why = ended.problem or ended.how if ended.code is None else ended.code
        session.note(f"{words[0]} could not call a person: {why}")


def hide_keys(project: Project) -> None:
    """Keep what no agent is given out of what an agent could read of our own process."""
    if choose_environment(project) != project.environment:
        hide_environment()


def refuse_foreign_folder(project: Project) -> None:
    """Refuse to start an agent in a folder of another user, though the user may trust the rules there."""
    if not hasattr(os, "geteuid"):
        return
    for folder in (project.root, project.state_folder):
        try:
            owner = os.stat(folder).st_uid
        except FileNotFoundError:
            continue  # it is about to be made
        if owner != os.geteuid():
            raise ForeignRootError(
                f"{folder} belongs to uid {owner}, and an agent would work there as you (uid {os.geteuid()})",
                remedy="drive in a copy of your own, or as the user who owns it",
            )
