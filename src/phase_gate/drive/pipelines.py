"""What a phase of a pipeline needs beside its agent: files to fill in, a snapshot, votes, a recovery, guidance."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from phase_gate.drive.agent import Played, Step, make_answer
from phase_gate.drive.chain import Decision, Outcome
from phase_gate.drive.loop import play
from phase_gate.drive.session import Question, Session, Working
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, UsageError
from phase_gate.gate.overrides import Person
from phase_gate.project import who_am_i
from phase_gate.task import Task
from phase_gate.tasks.artifacts import digest_of, find_files
from phase_gate.tasks.asking import needs_in, write_skeletons
from phase_gate.tasks.handins import parse_vote
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.tasks.pipeline_steps import resume_with_guidance, start_recovery, write_snapshot
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.voting import VoteStanding, cast_vote, show_votes
from phase_gate.values import Value, replace
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.model import SNAPSHOT, Phase, requires_of

if TYPE_CHECKING:
    from phase_gate.drive.judging import Turn

#: Characters of a document that a voter is shown.
_SHOWN = 40_000


class Completed(Value):
    """What was added to the agent's work."""

    #: For the agent's next prompt.
    notes: tuple[str, ...] = ()
    #: Whether the reviewers agree, or need not.
    is_agreed: bool = True
    #: Why a voter needs a person.
    trouble: str = ""


def prepare_phase(session: Session, task: Task, phase: Phase) -> None:
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
            "fix it here, in the recovery: if `requires_phase_rewind_to` is null, the checks of the failed phase are"
            " run on what you leave"
        )
    return tuple(rows)


def progress_in(task: Task) -> str:
    """Return what changes where an agent writes a document of the pipeline."""
    if find_pipeline(task.state) is None:
        return ""
    return " ".join(digest_of(task.project.root, each) for each in rules_of(task.rules).artifacts.values())


def complete_phase(session: Session, task: Task, turn: Turn) -> Completed:
    """Make the snapshot that the phase asks for, and ask for votes on what is there."""
    if find_pipeline(task.state) is None:
        return Completed()
    requires, described = requires_of(turn.phase), rules_of(task.rules).artifacts
    if any(described[name].schema == SNAPSHOT for name in requires.artifacts):
        try:
            session.note(f"snapshot: {write_snapshot(task).path}")
        except NotAllowedError as error:
            return Completed(notes=(error.problem,))
    if requires.consensus is None or task.state.exited:
        return Completed()
    try:
        standing = show_votes(task)
    except NotAllowedError as error:
        return Completed(notes=(error.problem,), is_agreed=False)
    if standing.is_reached or not turn.roles.voters:
        return Completed(is_agreed=standing.is_reached)
    began = time.monotonic()
    notes, trouble = _ask_voters(session, task, standing, turn)
    passed = round(time.monotonic() - began, 3)
    turn.waited += passed
    turn.spent += passed
    is_agreed = not trouble and show_votes(session.task()).is_reached
    return Completed(notes=tuple(notes), is_agreed=is_agreed, trouble=trouble)


# --- votes


def _ask_voters(session: Session, task: Task, standing: VoteStanding, turn: Turn) -> tuple[list[str], str]:
    """Ask all who have not voted on this version, one after the other.

    Return what there is to tell the author, and why a person is needed. A voter whose client is busy is asked again, as
    long as the user and the budget allow: that is no vote.
    """
    voted = {vote.by for vote in standing.tally.counted}
    notes: list[str] = []
    began = time.monotonic()
    for place, (name, client) in enumerate(turn.roles.voters, start=1):
        while name not in voted and not session.is_asked_to_end:
            left = session.settings.budget.seconds - turn.spent - (time.monotonic() - began)
            if left <= 0:
                break
            answer = make_answer(session, turn.folder(task.store), "vote")
            step = Step(
                client=client,
                store=task.store,
                text="\n".join(_write_ballot(session, task, standing, name, session.relative(answer))),
                prompt=turn.file(task.store, f"voter{place}.md"),
                answer=answer,
                mark=turn.mark,
                working=Working(
                    role=name,
                    where=turn.phase.name,
                    number=turn.number,
                    limit=session.settings.time_limit,
                    spent=turn.spent,
                ),
                left=left,
            )
            played = play(session, step)
            if played.recorded:
                return notes, f"{played.recorded[0]} was recorded while the voters were asked"
            if played.trouble:
                return notes, f"{name} can't work: {played.trouble}"
            if played.is_busy:
                session.note(f"{name} can't vote yet: the client is busy")
                continue
            notes += _take_vote(session, played, name, standing.version)
            break
    return notes, ""


def _write_ballot(session: Session, task: Task, standing: VoteStanding, name: str, answer: str) -> Iterator[str]:
    root, described = task.project.root, rules_of(task.rules).artifacts
    yield f"You are a reviewer, and vote on: {', '.join(standing.on)}. Read it, and change no file."
    yield f"The phase is {standing.phase}. Nothing that you print is taken for a vote."
    yield ""
    if session.goal:
        yield from ("# What is to be built", "", show_text(session.goal.strip()), "")
    for each in standing.on:
        for path in find_files(root, described[each]):
            yield from (f"# {show_line(path)}", "")
            text = (root / path).read_text(encoding="utf-8", errors="replace")[:_SHOWN]
            yield from (f"    {show_line(row)}" for row in text.splitlines())
            yield ""
    yield from ("# Your vote", "", "Write this, filled in, as YAML alone into", f"`{answer}`:", "")
    yield "    vote: <approve, conditional or reject>"
    yield "    confidence: <how sure you are, 0 to 1>"
    yield f"    by: {name}"
    yield "    reason: <what has to change; not needed to approve>"
    yield ""


def _take_vote(session: Session, played: Played, name: str, version: str) -> list[str]:
    """Record what a voter wrote; return what there is to tell the author of it."""
    if played.data is None:
        session.note(f"{name} did not vote")
        return []
    try:
        ballot = parse_vote(played.data, "the vote")
        # Theirs by the file that they were given, on what they were shown.
        cast_vote(session.task(), replace(ballot, by=name, version=version))
    except StateError:
        raise
    except PhaseGateError as error:
        session.note(f"the vote of {name} does not count: {error.problem}")
        return []
    session.note(f"{name} votes {ballot.vote}" + (f": {ballot.reason}" if ballot.reason else ""))
    return [] if ballot.vote == "approve" else [f"{name} votes {ballot.vote}: {ballot.reason}"]


# --- recovery


def begin_recovery(session: Session, task: Task, phase: Phase) -> str:
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


def guide(session: Session, task: Task, decision: Decision) -> str:
    """Ask how to go on where a pipeline is stuck; return what a person says, empty if it does not go on."""
    if decision.outcome is not Outcome.HALTED or not task.state.is_stuck:
        return ""
    ways = ("  Type what has to be done differently; or nothing, to end the drive here.",)
    question = Question(text=f"{decision.reason}.", ways=ways, prompt="go on, and: ")
    while said := session.ask(question):
        person = Person(by=who_am_i(session.project.environment), reason=said, is_at_terminal=True)
        try:
            resume_with_guidance(task, person)
        except (NotAllowedError, UsageError) as error:
            session.note(f"{error.problem}: {error.remedy}")
            continue
        return said
    return ""
