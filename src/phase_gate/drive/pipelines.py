"""What a phase of a pipeline needs beside its agent: files to fill in, a snapshot, votes, the begin of a recovery."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

from phase_gate.agents.endings import classify
from phase_gate.drive.agent_process import KEPT
from phase_gate.drive.clients import Client, choose_environment
from phase_gate.drive.session import DriveSession
from phase_gate.drive.side_by_side import Answered, Asked, run_side_by_side
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.output import blot
from phase_gate.pipeline.artifacts import digest_of, find_files
from phase_gate.pipeline.asking import needs_in, write_skeletons
from phase_gate.pipeline.begin import start_recovery
from phase_gate.pipeline.model import find_pipeline
from phase_gate.pipeline.order import rules_of
from phase_gate.pipeline.snapshots import write_snapshot
from phase_gate.pipeline.votes import MAX_BYTES, VoteStanding, cast_vote, parse_vote, show_votes
from phase_gate.storage.files import REAL, remove_file, write_atomically
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.model import SNAPSHOT, Phase, requires_of
from phase_gate.workflow.names import ANSWER_VARIABLE

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
    return replace(_ask_voters(session, task, standing, drive, number), has_asked=True)


# --- votes


class _Voter(Value):
    name: str
    client: Client
    prompt: Path
    answer: Path
    log: Path


def _ask_voters(session: DriveSession, task: Task, standing: VoteStanding, drive: str, number: int) -> Completed:
    """Ask all who have not voted on this version, side by side; record what they say."""
    voted = {vote.by for vote in standing.tally.counted}
    voters = [
        _prepare_voter(session, task, standing, name, client, session.file(drive, number, f"voter{place}"))
        for place, (name, client) in enumerate(session.roles.voters, start=1)
        if name not in voted
    ]
    limit = session.settings.time_limit
    chosen = choose_environment(session.project, session.settings.env)
    asked = [
        Asked(
            words=tuple(each.client.fill(each.prompt)),
            root=str(session.project.root),
            environment={**chosen, ANSWER_VARIABLE: str(each.answer)},
            secrets=dict(session.environment),
            log=str(each.log),
            timeout=limit,
            limit=KEPT,
            stdin=str(each.prompt) if each.client.reads_stdin else None,
        )
        for each in voters
    ]
    serial = task.store.look().serial
    answers = run_side_by_side(
        asked,
        choose_environment(session.project),
        session.interrupts,
        lambda seconds: session.show_votes(seconds, limit, number),
    )
    outside = next((line.event.kind for line in task.store.lines() if line.seq > serial), "")
    if outside:
        return Completed(is_agreed=False, trouble=f"{outside} was recorded while the voters were asked")
    notes: list[str] = []
    for voter, answer in zip(voters, answers, strict=True):
        trouble = _find_trouble(voter, answer)
        if trouble:
            return Completed(notes=tuple(notes), is_agreed=False, trouble=trouble)
        notes += _take_vote(session, voter, standing.version)
    return Completed(notes=tuple(notes), is_agreed=show_votes(session.task()).is_reached)


def _prepare_voter(
    session: DriveSession, task: Task, standing: VoteStanding, name: str, client: Client, begin: Path
) -> _Voter:
    voter = _Voter(
        name=name,
        client=client,
        prompt=begin.with_name(f"{begin.name}.md"),
        answer=begin.with_name(f"vote-{secrets.token_hex(8)}.yaml"),
        log=begin.with_name(f"{begin.name}.log"),
    )
    text = "\n".join(_write_ballot(session, task, standing, voter))
    write_atomically(REAL, voter.prompt, blot(text, session.hidden).encode(), durable=False)
    return voter


def _write_ballot(session: DriveSession, task: Task, standing: VoteStanding, voter: _Voter) -> Iterator[str]:
    root, described = task.project.root, rules_of(task.rules).artifacts
    yield f"You are a reviewer, and vote on: {', '.join(standing.on)}. Read it, and change no file."
    yield f"The phase is {standing.phase}. Nothing that you print is taken for a vote."
    yield ""
    if session.goal:
        yield from ("# What is to be built", "", show_text(session.goal.strip()), "")
    for name in standing.on:
        for path in find_files(root, described[name]):
            yield from (f"# {show_line(path)}", "")
            text = (root / path).read_text(encoding="utf-8", errors="replace")[:_SHOWN]
            yield from (f"    {show_line(row)}" for row in text.splitlines())
            yield ""
    yield from (
        "# Your vote",
        "",
        "Write this, filled in, as YAML alone into",
        f"`{session.relative(voter.answer)}`:",
        "",
    )
    yield "    vote: <approve, conditional or reject>"
    yield "    confidence: <how sure you are, 0 to 1>"
    yield f"    by: {voter.name}"
    yield "    reason: <what has to change; not needed to approve>"
    yield ""


def _find_trouble(voter: _Voter, answer: Answered) -> str:
    if answer.how == "not-started":
        return f"{voter.name} can't work: {answer.problem}"
    if answer.how != "ended" or not answer.code:
        return ""
    try:
        said = voter.log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        said = ""
    ending = classify(voter.client.signs, answer.code, said)
    return f"{voter.name} can't work: {ending.said}" if ending.is_for_people else ""


def _take_vote(session: DriveSession, voter: _Voter, version: str) -> list[str]:
    """Record what a voter wrote; return what there is to tell the author of it."""
    try:
        with voter.answer.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError:
        session.note(f"{voter.name} did not vote")
        return []
    finally:
        remove_file(voter.answer)
    try:
        ballot = parse_vote(data, "the vote")
        # Theirs by the file that they were given, on what they were shown.
        cast_vote(session.task(), replace(ballot, by=voter.name, version=version))
    except StateError:
        raise
    except PhaseGateError as error:
        session.note(f"the vote of {voter.name} does not count: {error.problem}")
        return []
    session.note(f"{voter.name} votes {ballot.vote}" + (f": {ballot.reason}" if ballot.reason else ""))
    return [] if ballot.vote == "approve" else [f"{voter.name} votes {ballot.vote}: {ballot.reason}"]


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
