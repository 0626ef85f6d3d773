"""What an iteration brought: the agent's answer, votes, our own run of the tests, the claim, and what follows."""

from __future__ import annotations

import time

from phase_gate.agents.endings import describe_event
from phase_gate.claims.decision import Decision as ClaimDecision
from phase_gate.claims.text import read_transcript
from phase_gate.decisions.advancing import advance
from phase_gate.decisions.claiming import decide_claim, read_claim
from phase_gate.drive.model import Decision, Outcome
from phase_gate.drive.prompt import write_ballot
from phase_gate.drive.step import Played, Session, Step, make_answer, play, run_suite
from phase_gate.drive.turn import Turn, decide, give_answer, progress_of, settle
from phase_gate.drive.view import Working
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, StorageError
from phase_gate.exit_codes import NOT_TRUSTED
from phase_gate.gate.signals import Signal
from phase_gate.gate.state import Event
from phase_gate.storage.signal_file import parse_signal, read_signal_file, remove_signal_file
from phase_gate.task import Task
from phase_gate.tasks.handins import parse_vote
from phase_gate.tasks.pipeline import find_pipeline
from phase_gate.tasks.pipeline_steps import VoteStanding, cast_votes, show_votes, start_recovery, write_snapshot
from phase_gate.tasks.routing import rules_of
from phase_gate.values import replace
from phase_gate.workflow.model import SNAPSHOT, Phase, requires_of
from phase_gate.workflow.names import of_task, show_duration

#: What only a person does, or only the drive while its agent works.
_OUTSIDE = frozenset(
    {"phase-exited", "overridden", "waived", "breaker-reset", "rollback-accepted", "repaired"}
    | {"voted", "request-decided"}
)


def judge_turn(session: Session, turn: Turn, played: Played, last_run: str | None) -> tuple[Decision, Task]:
    """Judge what the agent left; return what follows, and the task after it.

    :param last_run: the run that we made last; another one in the state is not ours.
    """
    turn.played, turn.waited = played, played.waited
    turn.spent += played.seconds + played.waited
    if played.how == "timed-out":
        turn.note(f"you were stopped after {show_duration(played.seconds)}: do less in one iteration")
    elif played.code != 0:
        turn.note(f"you {played.shown} last time")
    task = session.task()
    if session.is_cut_off() or played.how == "interrupted":
        return decide(session, task, turn), task
    ended = {"drive": turn.drive, "number": turn.number, "how": played.how, "code": played.code}
    task = task.record(Event(kind="agent-ended", data={**ended, "seconds": played.seconds}))
    task, answer = _take_answer(session, task, turn, played)
    outside = next((kind for kind in played.recorded if kind in _OUTSIDE), "")
    if outside:
        outside = f"{outside} was recorded while the agent worked, and not by the drive"
        outside += f": read {of_task('phase-gate history --events', session.project.task)}, then resume"
    if outside or played.is_busy or played.trouble:
        return decide(session, task, turn, outside=outside), task
    if find_pipeline(task.state) is not None:
        task, is_agreed, trouble = _complete_phase(session, task, turn)
        if trouble:
            return Decision(outcome=Outcome.PERSON, reason=trouble), task
        if answer is not None and answer.answer == "done" and not is_agreed:
            # A plan that is not agreed on is written again: it is no gate that failed.
            turn.note("your signal waits until the reviewers agree")
            answer = None
    task = _run_tests(session, task, turn, last_run, has_answer=answer is not None)
    if session.is_cut_off():
        return decide(session, task, turn), task
    task, claim = _weigh_claim(session, task, turn, played)
    if answer is not None:
        note, task = give_answer(session, task, answer)
        turn.note(note)
    task = _begin_recovery(session, task, turn)
    decision, note, task = settle(session, task, turn, claim)
    turn.note(note)
    return decision, task


# --- the agent's answer to Gate 2


def _take_answer(session: Session, task: Task, turn: Turn, played: Played) -> tuple[Task, Signal | None]:
    """Return what the agent answered, if it may; a signal that it left elsewhere is taken away."""
    signal: Signal | None = None
    #: The answer, why it is refused, and the file that it stands in, if that is not the agent's own.
    refused: list[tuple[str, str, str]] = []
    if played.data is not None:
        try:
            signal = parse_signal(played.data, name="the answer")
        except PhaseGateError as error:
            refused.append(("malformed", error.problem, ""))
    if signal is not None and signal.answer == "done" and session.settings.signal == "ask":
        refused.append(("done", "a person gives the signal in this drive", ""))
        signal = None
    beside = read_signal_file(task.store.signal_file, spent=task.state.spent_signal)
    is_new = beside is not None and beside.identity != turn.signal_before
    if beside is not None and is_new and beside.signal is not None and beside.signal.answer == "done":
        refused.append(("done", "exit-signal.yaml was made while the agent worked", beside.identity))
        remove_signal_file(task.store.signal_file)
    for answer, problem, file in refused:
        data = {"answer": answer, "problem": problem, **({"file": file} if file else {})}
        task = task.record(Event(kind="signal-refused", data=data))
        session.note(f"the agent's answer is refused: {problem}")
        turn.note(f"your answer was refused: {problem}")
    if signal is None:
        return task, None
    session.tell("answer", number=turn.number, answer=signal.answer, reason=signal.reason)
    # Whatever name it gives: the record says that an agent did.
    return task, replace(signal, by=turn.client.name)


# --- what a pipeline needs beside its agent: a snapshot, votes, a recovery


def _complete_phase(session: Session, task: Task, turn: Turn) -> tuple[Task, bool, str]:
    """Make the snapshot that the phase asks for, and ask for votes on what is there.

    Return the task, whether the reviewers agree or need not, and why a voter needs a person.
    """
    requires, described = requires_of(turn.phase), rules_of(task.rules).artifacts
    asks_votes = requires.consensus is not None and not task.state.exited
    try:
        if any(described[name].schema == SNAPSHOT for name in requires.artifacts):
            session.note(f"snapshot: {write_snapshot(task)[0]}")
        standing = show_votes(task) if asks_votes else None
    except NotAllowedError as error:
        turn.note(error.problem)
        return task, not asks_votes, ""
    if standing is None or standing.is_reached or not turn.roles.voters:
        return session.task(), standing is None or standing.is_reached, ""
    began = time.monotonic()
    trouble = _ask_voters(session, task, standing, turn)
    turn.waited += round(time.monotonic() - began, 3)
    task = session.task()
    return task, not trouble and show_votes(task).is_reached, trouble


def _ask_voters(session: Session, task: Task, standing: VoteStanding, turn: Turn) -> str:
    """Ask all who have not voted on this version, one after the other; return why a person is needed.

    A voter whose client is busy is asked again, as long as the user and the budget allow: that is no vote.
    """
    voted = {vote.by for vote in standing.tally.counted}
    waiting = [row for row in enumerate(turn.roles.voters, start=1) if row[1][0] not in voted]
    while waiting and not session.is_asked_to_end and (left := session.settings.budget.seconds - turn.spent) > 0:
        place, (name, client) = waiting[0]
        limit, answer = session.settings.time_limit, make_answer(session, turn.folder, "vote")
        step = Step(
            client=client,
            store=task.store,
            text=write_ballot(session, task, standing, name, answer),
            prompt=turn.file(f"voter{place}.md"),
            answer=answer,
            mark=turn.mark,
            working=Working(role=name, where=turn.phase.name, number=turn.number, limit=limit, spent=turn.spent),
            left=left,
        )
        played = play(session, step)
        turn.spent += played.seconds + played.waited
        if played.recorded:
            return f"{played.recorded[0]} was recorded while the voters were asked"
        if played.trouble:
            return f"{name} can't work: {played.trouble}"
        if played.is_busy:
            session.note(f"{name} can't vote yet: the client is busy")
        else:
            _take_vote(session, turn, played, name, standing.version)
            waiting.pop(0)
    return ""


def _take_vote(session: Session, turn: Turn, played: Played, name: str, version: str) -> None:
    """Record what a voter wrote, and tell the author of it."""
    if played.data is None:
        session.note(f"{name} did not vote")
        return
    try:
        ballot = parse_vote(played.data, "the vote")
        # Theirs by the file that they were given, on what they were shown.
        cast_votes(session.task(), replace(ballot, by=name, version=version))
    except StateError:
        raise
    except PhaseGateError as error:
        session.note(f"the vote of {name} does not count: {error.problem}")
        return
    said = f"{name} votes {ballot.vote}" + (f": {ballot.reason}" if ballot.reason else "")
    session.note(said)
    turn.note("" if ballot.vote == "approve" else said)


def _begin_recovery(session: Session, task: Task, turn: Turn) -> Task:
    """Enter the recovery where the tests of a phase fail."""
    phase, state = turn.phase, task.state
    if find_pipeline(state) is None or phase.tests == "none" or phase.recovers or not phase.on_failure:
        return task
    standing = task.standing()
    if state.phase != phase.name or state.exited or standing.status not in ("closed", "early"):
        return task
    try:
        entered = start_recovery(task, reason=standing.reason, by="phase-gate drive")
    except NotAllowedError as error:
        session.note(error.problem)
        return task
    session.note(f"the gate of {phase.name} failed: {entered.phase} begins")
    turn.note(f"the gate of {phase.name} failed: {standing.reason}")
    return session.task()


# --- our own run of the tests


def _run_tests(session: Session, task: Task, turn: Turn, last_run: str | None, *, has_answer: bool) -> Task:
    """Run the tests where the phase takes any, or look at it; return the task after that."""
    phase = task.rules.phase(task.state.phase or "") or turn.phase
    if phase.tests != "none" or _tests_recovery(task, phase):
        last = task.state.last_run
        is_ours = last is not None and last.id == last_run and progress_of(task) == turn.before
        if is_ours and task.standing().status in ("closed", "early", "waiting", "open"):
            session.note("nothing has changed: the last run stands")
        else:
            task = _run_suite(session, turn, phase)
    if phase.tests == "none" and not has_answer and not session.is_cut_off():
        advance(task, template=False, show=session.note)
        task = session.task()
    return task


def _tests_recovery(task: Task, phase: Phase) -> bool:
    """Tell whether a recovery has to show that the tests of the failed phase pass."""
    pipeline = find_pipeline(task.state)
    failed = None if pipeline is None or not phase.recovers else task.rules.phase(pipeline.failed_phase)
    return failed is not None and failed.tests != "none"


def _run_suite(session: Session, turn: Turn, phase: Phase) -> Task:
    limit, log = session.settings.test_time_limit, turn.file("tests.log")
    working = Working(role="tests", where=phase.name, number=turn.number, limit=limit, spent=turn.spent)
    suite = run_suite(session, phase, log, working)
    turn.suite_seconds = round(suite.seconds, 3)
    turn.spent += suite.seconds
    task = session.task()
    standing = task.standing()
    session.tell(
        "tests-ended",
        number=turn.number,
        phase=phase.name,
        how=suite.how,
        code=suite.code,
        seconds=turn.suite_seconds,
        status=standing.status,
        reason=standing.reason if phase.tests != "none" else f"pytest ended with {suite.code}",
        log=session.relative(log),
    )
    if suite.code == NOT_TRUSTED:
        raise StorageError("the run could not be recorded", remedy=f"read {session.relative(log)}")
    if suite.how == "timed-out":
        turn.note(f"the tests did not end within {show_duration(limit)}")
    return task


# --- the claim


def read_said(output: str) -> tuple[str, ...]:
    """Return what an agent says itself: its messages where it prints events, else all that it prints."""
    if describe_event(output.lstrip().partition("\n")[0]) is None:
        return (output,)
    return read_transcript(output).texts


def _weigh_claim(session: Session, task: Task, turn: Turn, played: Played) -> tuple[Task, ClaimDecision | None]:
    """Record what the agent claims and what that is worth; None: it says nothing, or there is nothing left to claim."""
    state, texts = task.state, read_said(played.said)
    if not any(text.strip() for text in texts) or state.phase is None or state.exited or state.is_done:
        return task, None
    # Its output is never searched for a signal, whatever else the project allows.
    claim = read_claim(texts, task.project.configuration.exit_gate, file=played.transcript, by=turn.client.name)
    try:
        done = decide_claim(task, claim, show=session.note, show_progress=session.note)
    except NotAllowedError as error:
        session.note(f"the claim was not weighed: {error.problem}")
        return task, None
    decided = done.decision
    turn.notes += [f"what you said is not what was measured: {each}" for each in decided.contradictions]
    if decided.is_claim:
        session.tell("claim-weighed", number=turn.number, outcome=str(decided.outcome), reason=decided.reason)
        turn.note("" if decided.passed else f"you said that it is done: {decided.reason}")
        turn.note(decided.missing)
    return done.task, decided
