"""What a phase of a pipeline needs beside its agent: files to fill in, a snapshot, votes, the begin of a recovery."""

from __future__ import annotations

from phase_gate.drive.session import DriveSession
from phase_gate.drive.voting import ask_voters
from phase_gate.errors import NotAllowedError
from phase_gate.task import Task
from phase_gate.tasks.artifacts import digest_of
from phase_gate.tasks.asking import needs_in, write_skeletons
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.tasks.pipeline_steps import start_recovery, write_snapshot
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.voting import show_votes
from phase_gate.values import Value
from phase_gate.workflow.model import SNAPSHOT, Phase, requires_of


class Completed(Value):
    """What was added to the agent's work."""

    #: For the agent's next prompt.
    notes: tuple[str, ...] = ()
    #: Whether the reviewers agree, or need not.
    is_agreed: bool = True
    #: Why a voter needs a person.
    trouble: str = ""
    #: Whether voters were asked, which takes its time.
    has_asked: bool = False


def prepare_phase(session: DriveSession, task: Task, phase: Phase) -> None:
    """Write the files that the phase asks for and that are missing, to be filled in."""
    if find_pipeline(task.state) is None or task.state.phase != phase.name:
        return
    written, _ = write_skeletons(task, phase, votes=False)
    if written:
        session.note(f"to be filled in: {', '.join(written)}")


def tell_needs(task: Task, phase: Phase) -> tuple[str, ...]:
    """Return what the phase asks for, in rows for the prompt."""
    pipeline = find_pipeline(task.state)
    if pipeline is None or task.state.phase != phase.name:
        return ()
    rows = [f"{name}: {text}" for name, text in needs_in(task, phase)]
    if phase.recovers:
        failed = [each for each in pipeline.failures if each.phase == pipeline.failed_phase]
        rows += [f"failed: {pipeline.failed_phase}: {failed[-1].reason}"] if failed else []
        rows.append(
            "mend it here, in the recovery: if `requires_phase_rewind_to` is null, the checks of the failed phase are"
            " run on what you leave"
        )
    return tuple(rows)


def progress_in(task: Task) -> str:
    """Return what changes where an agent writes a document of the pipeline."""
    if find_pipeline(task.state) is None:
        return ""
    return " ".join(digest_of(task.project.root, each) for each in rules_of(task.rules).artifacts.values())


def complete_phase(session: DriveSession, task: Task, phase: Phase, drive: str, number: int) -> Completed:
    """Make the snapshot that the phase asks for, and ask for votes on what is there."""
    if find_pipeline(task.state) is None:
        return Completed()
    described = rules_of(task.rules).artifacts
    if any(described[name].schema == SNAPSHOT for name in requires_of(phase).artifacts):
        try:
            session.note(f"snapshot: {write_snapshot(task).path}")
        except NotAllowedError as error:
            return Completed(notes=(error.problem,))
    if requires_of(phase).consensus is None or task.state.exited:
        return Completed()
    try:
        standing = show_votes(task)
    except NotAllowedError as error:
        return Completed(notes=(error.problem,), is_agreed=False)
    if standing.is_reached or not session.roles.voters:
        return Completed(is_agreed=standing.is_reached)
    asked = ask_voters(session, task, standing, drive, number)
    is_agreed = not asked.trouble and show_votes(session.task()).is_reached
    return Completed(notes=asked.notes, is_agreed=is_agreed, trouble=asked.trouble, has_asked=True)


# --- recovery


def begin_recovery(session: DriveSession, task: Task, phase: Phase) -> str:
    """Enter the recovery where the tests of a phase fail; return what there is to say of it, empty if none begins."""
    if find_pipeline(task.state) is None or phase.tests == "none" or phase.recovers or not phase.on_failure:
        return ""
    standing = task.standing()
    if task.state.phase != phase.name or task.state.exited or standing.status not in ("closed", "early"):
        return ""
    try:
        state = start_recovery(task, reason=standing.reason, by="phase-gate drive")
    except NotAllowedError as error:
        session.note(error.problem)
        return ""
    session.note(f"the gate of {phase.name} failed: {state.phase} begins")
    return f"the gate of {phase.name} failed: {standing.reason}"


def tests_of_recovery(task: Task, phase: Phase) -> bool:
    """Tell whether a recovery has to show that the tests of the failed phase pass."""
    pipeline = find_pipeline(task.state)
    if pipeline is None or not phase.recovers:
        return False
    failed = task.rules.phase(pipeline.failed_phase)
    return failed is not None and failed.tests != "none"
