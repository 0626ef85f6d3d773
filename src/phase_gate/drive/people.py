"""Ask a person who is there; call one who is not, by the command that the project names for it."""

from __future__ import annotations

from phase_gate.drive.chain import Decision, Outcome, Seen
from phase_gate.drive.clients import choose_environment
from phase_gate.drive.session import DriveSession, Question
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.process.run import run_process
from phase_gate.evidence.process.tree import Interrupts
from phase_gate.gate.overrides import Person
from phase_gate.gate.signals import Signal
from phase_gate.project import Project, who_am_i
from phase_gate.storage.files import REAL, make_folder
from phase_gate.tasks.pipeline_steps import resume_with_guidance
from phase_gate.values import replace
from phase_gate.workflow.settings import DriveSettings

#: Seconds that the call may take, and bytes of its output that are kept.
_TIMEOUT, _KEPT = 60.0, 16 * 1024


def ask_person(session: DriveSession, seen: Seen, decision: Decision) -> Signal | None:
    """Ask for the signal of Gate 2 where it is what the drive waits for; None: no person is there, or none answers."""
    ask = session.watchers.ask
    waits = decision.outcome is Outcome.PERSON and seen.gate_1_open and not seen.outside
    if ask is None or not waits or session.interrupts.is_asked_to_end:
        return None
    call_person(session, decision.reason)  # who may be in another room
    signal = ask(Question(phase=seen.phase, task=session.project.task, reason=decision.reason))
    return None if signal is None else replace(signal, by=signal.by or who_am_i(session.environment))


def guide(session: DriveSession, decision: Decision) -> bool:
    """Ask how to go on where a pipeline is stuck; tell whether it goes on."""
    task, ask = session.task(), session.watchers.guide
    if ask is None or decision.outcome is not Outcome.HALTED or not task.state.is_stuck:
        return False
    said = ask(Question(phase=str(task.state.phase), task=session.project.task, reason=decision.reason))
    if not said:
        return False
    person = Person(by=who_am_i(session.environment), reason=said, is_at_terminal=True)
    try:
        resume_with_guidance(task, person)
    except (NotAllowedError, UsageError) as error:
        session.note(f"{error.problem}: {error.remedy}")
        return False
    return True


def call_person(session: DriveSession, reason: str) -> str:
    """Run the project's command with the reason; return what went wrong, empty if nothing did."""
    return run_call(session.project, session.settings, reason, session.interrupts)


def run_call(project: Project, settings: DriveSettings, reason: str, interrupts: Interrupts) -> str:
    """Run the command of `on_person_needed`; return what went wrong, empty if nothing did."""
    words = settings.on_person_needed
    if not words:
        return ""
    folder = project.store("phase-gate drive").drive_folder
    make_folder(REAL, folder)
    ended = run_process(
        [word.replace("{reason}", reason) for word in words],
        shell=False,
        cwd=project.root,
        environment=choose_environment(project),
        timeout=_TIMEOUT,
        log=folder / "person.log",
        limit=_KEPT,
        secrets=project.environment,
        interrupts=interrupts,
        is_apart=False,
    )
    if ended.how == "ended" and ended.code == 0:
        return ""
    return f"{words[0]} could not call a person: {ended.problem or ended.how if ended.code is None else ended.code}"
