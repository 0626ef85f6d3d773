"""Ask reviewers for their votes on a document of a pipeline, one by one; a vote is what a file says, made for it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from phase_gate.drive.agent_process import AgentEnded, run_agent
from phase_gate.drive.clients import Client, choose_environment
from phase_gate.drive.session import DriveSession
from phase_gate.drive.waiting import wait_until_free
from phase_gate.errors import PhaseGateError, StateError
from phase_gate.evidence.process.output import blot
from phase_gate.storage.files import REAL, remove_file, write_atomically
from phase_gate.task import Task
from phase_gate.tasks.artifacts import find_files
from phase_gate.tasks.handins import MAX_SIZE, parse_vote
from phase_gate.tasks.routing import rules_of
from phase_gate.tasks.voting import VoteStanding, cast_vote
from phase_gate.values import Value, replace
from phase_gate.visible import show_line, show_text
from phase_gate.workflow.names import ANSWER_VARIABLE

#: Characters of a document that a voter is shown.
_SHOWN = 40_000


class Voter(Value):
    name: str
    client: Client
    prompt: Path
    answer: Path
    log: Path


class Asked(Value):
    """What came of asking."""

    #: For the author's next prompt.
    notes: tuple[str, ...] = ()
    #: Why a voter needs a person.
    trouble: str = ""
    #: Whose client was busy to the end.
    busy: tuple[Voter, ...] = ()


def ask_voters(session: DriveSession, task: Task, standing: VoteStanding, drive: str, number: int) -> Asked:
    """Ask all who have not voted on this version, one after the other; record what they say.

    A voter whose client is busy is asked again later, as long as the user and the budget allow: that is no vote.
    """
    voted = {vote.by for vote in standing.tally.counted}
    left: Sequence[Voter] = [
        _prepare_voter(session, task, standing, name, client, session.file(drive, number, f"voter{place}"))
        for place, (name, client) in enumerate(session.roles.voters, start=1)
        if name not in voted
    ]
    began, before, waits = time.monotonic(), _spent_before(session), 0
    notes: list[str] = []
    while True:
        asked = _ask_round(session, left, standing.version, number)
        notes += asked.notes
        spent = before + time.monotonic() - began
        if asked.trouble or not asked.busy or spent >= session.settings.budget.seconds:
            break
        session.note(f"{', '.join(each.name for each in asked.busy)} can't vote yet: the client is busy")
        wait_until_free(session, waits=waits, number=number, spent=spent)
        if session.interrupts.is_asked_to_end:
            break
        left, waits = asked.busy, waits + 1
    return replace(asked, notes=tuple(notes))


def _spent_before(session: DriveSession) -> float:
    """Return the seconds of the drive up to now: of its iterations, and of the agent in this one."""
    drive = session.drive(session.task())
    agent = 0.0 if drive.open is None else drive.open.agent_seconds
    return drive.seconds + (agent or 0.0)


def _ask_round(session: DriveSession, voters: Sequence[Voter], version: str, number: int) -> Asked:
    store = session.task().store
    notes: list[str] = []
    busy: list[Voter] = []
    for voter in voters:
        serial = store.look().serial
        agent = _run_voter(session, voter, number)
        outside = next((line.event.kind for line in store.lines() if line.seq > serial), "")
        if outside:
            return Asked(notes=tuple(notes), trouble=f"{outside} was recorded while the voters were asked")
        if agent.ending.is_for_people or agent.how == "not-started":
            trouble = f"{voter.name} can't work: {agent.ending.said or agent.problem}"
            return Asked(notes=tuple(notes), trouble=trouble)
        if agent.ending.kind == "busy":
            busy.append(voter)
        else:
            notes += _take_vote(session, voter, version)
        if session.interrupts.is_asked_to_end:
            break
    return Asked(notes=tuple(notes), busy=tuple(busy))


def _run_voter(session: DriveSession, voter: Voter, number: int) -> AgentEnded:
    limit = session.settings.time_limit
    iteration = session.drive(session.task()).open
    assert iteration is not None, "votes are asked for in an iteration"
    session.tail.clear()
    return run_agent(
        voter.client,
        voter.prompt,
        root=session.project.root,
        environment={**choose_environment(session.project, session.settings.env), ANSWER_VARIABLE: str(voter.answer)},
        secrets=session.environment,
        timeout=limit,
        log=voter.log,
        mark=iteration.mark,
        interrupts=session.interrupts,
        tail=session.tail,
        tick=lambda seconds: session.show_votes(seconds, limit, number),
    )


def _prepare_voter(
    session: DriveSession, task: Task, standing: VoteStanding, name: str, client: Client, begin: Path
) -> Voter:
    voter = Voter(
        name=name,
        client=client,
        prompt=begin.with_name(f"{begin.name}.md"),
        answer=begin.with_name(f"vote-{secrets.token_hex(8)}.yaml"),
        log=begin.with_name(f"{begin.name}.log"),
    )
    text = "\n".join(_write_ballot(session, task, standing, voter))
    write_atomically(REAL, voter.prompt, blot(text, session.hidden).encode(), durable=False)
    return voter


def _write_ballot(session: DriveSession, task: Task, standing: VoteStanding, voter: Voter) -> Iterator[str]:
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


def _take_vote(session: DriveSession, voter: Voter, version: str) -> list[str]:
    """Record what a voter wrote; return what there is to tell the author of it."""
    try:
        with voter.answer.open("rb") as stream:
            data = stream.read(MAX_SIZE + 1)
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
