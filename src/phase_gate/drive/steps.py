"""The steps of a verify task with agents: the executor works and reports, we verify, the reviewer decides.

Each step ends in the ledger by the rules of `phase-gate verify`; what an agent prints decides nothing. A report and a
verdict count only from a file whose name is made for this one step.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from phase_gate.drive.agent_process import AgentEnded, run_agent
from phase_gate.drive.chain import Outcome
from phase_gate.drive.clients import Client, choose_environment
from phase_gate.drive.list_session import ListSession
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.output import blot, hidden_in
from phase_gate.evidence.process.tree import MARK
from phase_gate.storage.files import REAL, make_folder, remove_file, write_atomically
from phase_gate.storage.store import now
from phase_gate.tasks.board import Attachment, TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.handins import MAX_SIZE
from phase_gate.tasks.model import FailureType, Status, Verification
from phase_gate.tasks.overrides import abandon_attempt
from phase_gate.tasks.prompts import make_bundle, render_bundle, write_executor_prompt
from phase_gate.tasks.rules import seconds_between
from phase_gate.tasks.running import Display, run_verify
from phase_gate.tasks.start import begin
from phase_gate.tasks.steps import fail_attempt, record_turn, report_execution, review
from phase_gate.values import Value
from phase_gate.visible import show_line
from phase_gate.workflow.names import ANSWER_VARIABLE

#: Our folder in a project whose state lies elsewhere.
_OWN = ".phase-gate"
#: Events of a run of pytest: an agent may test.
_RUNS = frozenset({"run-started", "run-ended", "run-lost", "evaluated"})


class StepEnd(Value):
    """What follows from a step; by default the next one."""

    outcome: Outcome = Outcome.GO_ON
    reason: str = ""
    #: The client was busy: the same step again, after a while.
    is_busy: bool = False


class Played(Value):
    """What an agent left behind."""

    agent: AgentEnded
    answer: bytes | None
    #: Where it belonged.
    file: Path
    #: What was recorded about the task while it worked, and not by us.
    outside: str = ""


class _Paper(Value):
    """What an agent hands in."""

    role: str
    name: str
    #: The failure of an attempt in which it is missing, or refused.
    failure: FailureType
    #: An agent that could not work ends the attempt; else what was done before stands.
    gives_up: bool


_REPORT = _Paper(role="executor", name="report", failure=FailureType.EXECUTION_FAILURE, gives_up=True)
_VERDICT = _Paper(role="reviewer", name="verdict", failure=FailureType.MALFORMED, gives_up=False)


def execute(session: ListSession, task: str) -> StepEnd:
    """Step 1: let the executor work, and hand in its report."""
    current = session.task(task)
    verification = current.verification()
    if verification.status is not Status.EXECUTING:
        verification = begin(current).verification
    _tell_start(session, task, verification, "executor")
    played = _play(
        session,
        task,
        session.team.executor,
        _REPORT.role,
        limit=_time_left(session, verification, "executor", verification.began_at),
        write=lambda answer: write_executor_prompt(session.task(task), answer=answer),
    )
    return _settle(session, task, played, _REPORT, report_execution, by=session.team.names()[0])


def verify(session: ListSession, task: str) -> StepEnd:
    """Step 2: run the verify command. What the task does not list goes back to the executor."""
    current = session.task(task)
    attempt = current.verification().attempt
    _tell_start(session, task, current.verification(), "verify")
    session.tail.clear()
    display = Display(
        show=lambda text: None,
        tick=lambda seconds, limit: session.show(task, "verify", attempt, seconds, limit),
        stream=cast(BinaryIO, session.tail),
        interrupts=session.interrupts,
    )
    ran = run_verify(current, display)
    status = ran.status
    if not ran.has_ended and ran.log:
        return StepEnd(outcome=Outcome.INTERRUPTED, reason="the verify command was interrupted")
    if not ran.has_ended and status.verification.status is Status.VERIFYING:
        unlisted = _unlisted(status)
        problem = f"files were changed that the task does not list: {unlisted}\ntake these changes back"
        return _fail(session, task, FailureType.EXECUTION_FAILURE, problem)
    _tell_end(session, task, status)
    return StepEnd()


def judge(session: ListSession, task: str) -> StepEnd:
    """Step 3: let the reviewer look at the bundle, and hand in the verdict."""
    verification = session.task(task).verification()
    assert verification.check is not None, "what is reviewed was verified"
    _tell_start(session, task, verification, "reviewer")
    played = _play(
        session,
        task,
        session.team.reviewer,
        _VERDICT.role,
        limit=_time_left(session, verification, "review", verification.check.ended_at),
        write=lambda answer: _write_review(session.task(task), answer),
    )
    return _settle(session, task, played, _VERDICT, review, by=session.team.names()[1])


def give_up(session: ListSession, task: str, reason: str) -> None:
    """End the attempt that goes on, without counting it: what stopped it was not the work."""
    current = session.task(task)
    abandon_attempt(current, reason=reason, by="phase-gate verify drive")


# --- an agent


def _play(
    session: ListSession, task: str, client: Client, role: str, *, limit: float, write: Callable[[str], str]
) -> Played:
    current = session.task(task)
    folder = current.store.drive_folder
    current.store.make_folder()
    make_folder(REAL, folder)
    number = 1 + max((int(path.name[:4]) for path in folder.glob("[0-9][0-9][0-9][0-9].*")), default=0)
    answer = _answers_folder(session, folder) / f"{role}-{secrets.token_hex(8)}.yaml"
    prompt = folder / f"{number:04}.{role}.md"
    text = blot(write(session.relative(answer)), hidden_in(session.project.environment))
    write_atomically(REAL, prompt, text.encode(), durable=False)
    serial = current.store.look().serial
    environment = choose_environment(session.project, session.settings.env)
    environment[MARK] = session.project.environment[MARK]  # by it a later drive finds what this one left
    environment[ANSWER_VARIABLE] = str(answer)
    attempt = current.verification().attempt
    session.tail.clear()
    agent = run_agent(
        client,
        prompt,
        root=session.project.root,
        environment=environment,
        secrets=session.project.environment,
        timeout=limit,
        log=folder / f"{number:04}.{role}.log",
        mark=secrets.token_hex(16),
        interrupts=session.interrupts,
        tail=session.tail,
        tick=lambda seconds: session.show(task, role, attempt, seconds, limit),
    )
    session.tell(
        "agent-ended",
        task=task,
        role=role,
        how=agent.how,
        code=agent.code,
        seconds=agent.seconds,
        text=f"{client.name} {agent.shown}",
        transcript=session.relative(agent.transcript),
    )
    try:
        data = _read_answer(answer)
    finally:
        remove_file(answer)
    outside = _find_outside(session, task, since=serial)
    record_turn(session.task(task), role=role, seconds=agent.seconds, how=agent.how)
    return Played(agent=agent, answer=data, file=answer, outside=outside)


def _answers_folder(session: ListSession, folder: Path) -> Path:
    """Return where agents answer: below the root, for many may write nowhere else."""
    if folder.is_relative_to(session.project.root):
        return folder
    own = session.project.root / _OWN / "drive"
    make_folder(REAL, own.parent)
    make_folder(REAL, own)
    write_atomically(REAL, own.parent / ".gitignore", b"*\n", durable=False)
    return own


def _read_answer(path: Path) -> bytes | None:
    """Return what the agent wrote, no more than is read of it; None where it wrote nothing."""
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as stream:
            return stream.read(MAX_SIZE + 1)
    except OSError:
        return None


def _find_outside(session: ListSession, task: str, *, since: int) -> str:
    for line in session.task(task).store.lines():
        if line.seq > since and line.event.kind not in _RUNS:
            return f"{line.event.kind} was recorded while the agent worked, and not by the drive"
    return ""


def _look_at_agent(session: ListSession, task: str, played: Played, *, gives_up: bool) -> StepEnd | None:
    """Return the end of a step that is no work: an interrupt, a client in trouble. None: there is work to judge.

    :param gives_up: the attempt ends with it; else what was done before stands.
    """
    agent, ending = played.agent, played.agent.ending
    if played.outside:
        look = f"phase-gate history --events --task {task}"
        return StepEnd(outcome=Outcome.PERSON, reason=f"{played.outside}: read {look}, then drive again")
    if agent.how == "interrupted":
        end = StepEnd(outcome=Outcome.INTERRUPTED, reason="the user interrupted it")
    elif agent.how == "not-started":
        end = StepEnd(outcome=Outcome.PERSON, reason=f"the agent can't work: {agent.problem or 'it did not start'}")
    elif ending.is_for_people:
        end = StepEnd(outcome=Outcome.PERSON, reason=f"the agent can't work: {ending.said}")
    elif ending.kind == "busy":
        end = StepEnd(is_busy=True, reason="the client is busy")
    else:
        session.waits = 0
        return None
    if gives_up:
        give_up(session, task, end.reason)
    return end


def _settle(
    session: ListSession,
    task: str,
    played: Played,
    paper: _Paper,
    hand_in: Callable[[TaskBoard, Attachment], TaskStatus],
    *,
    by: str,
) -> StepEnd:
    """Hand in what the agent wrote; what the rules refuse is a failed attempt, so that no agent can go on for ever."""
    if (ended := _look_at_agent(session, task, played, gives_up=paper.gives_up)) is not None:
        return ended
    if played.agent.how == "timed-out":
        stopped = f"the {paper.role} was stopped after {played.agent.seconds:.0f} s"
        return _fail(session, task, FailureType.TIMEOUT, stopped)
    if played.answer is None:
        return _fail_without(session, task, played, paper)
    attachment = Attachment(data=played.answer, name=f"the {paper.role}'s {paper.name}", by=by)
    try:
        status = hand_in(session.board(task), attachment)
    except StateError:
        raise
    except PhaseGateError as error:
        current = session.task(task)
        if session.board().overview.halted(current.verification().spec.wave):
            return StepEnd()
        return _fail(session, task, paper.failure, f"{error.problem}\n{error.remedy}")
    _tell_end(session, task, status)
    return StepEnd()


def _fail_without(session: ListSession, task: str, played: Played, paper: _Paper) -> StepEnd:
    problem = f"no {paper.name} was written into the file that the prompt names"
    if not played.agent.code:
        return _fail(session, task, FailureType.MALFORMED, problem)
    return _fail(session, task, paper.failure, f"the agent {played.agent.shown}, and {problem}")


def _fail(session: ListSession, task: str, kind: FailureType, error: str) -> StepEnd:
    try:
        _tell_end(session, task, fail_attempt(session.task(task), kind, error=error))
    except NotAllowedError as refused:  # a run of the verify command goes on that is none of ours
        return StepEnd(outcome=Outcome.PERSON, reason=refused.problem)
    return StepEnd()


# --- words and times


def _time_left(session: ListSession, verification: Verification, step: str, began: str) -> float:
    if verification.untimed:
        return session.settings.time_limit
    return max(1.0, verification.limits[step] - seconds_between(began, now()))


def _write_review(current: TaskSession, answer: str) -> str:
    rows = (
        "You review one task that another agent executed. Look at all of this, and change no file.",
        "Nothing that you print is taken for a verdict.",
        "",
        render_bundle(make_bundle(current)),
        "# Where the verdict belongs",
        "Write it, filled in, as YAML alone into",
        f"`{answer}`:",
        "REJECTED needs `feedback:` for the next attempt.",
        "",
    )
    return "\n".join(rows)


def _unlisted(status: TaskStatus) -> str:
    evaluation = status.evaluation
    found = () if evaluation is None else evaluation.findings
    return ", ".join(each.file for each in found if each.slug == "files-listed" and each.file) or "see verify status"


def _tell_start(session: ListSession, task: str, verification: Verification, role: str) -> None:
    session.tell("step-started", task=task, step=role, attempt=verification.attempt)


def _tell_end(session: ListSession, task: str, status: TaskStatus) -> None:
    verification, evaluation = status.verification, status.evaluation
    session.tell(
        "step-ended",
        task=task,
        status=str(verification.status),
        attempt=verification.attempt,
        reason="" if evaluation is None else show_line(evaluation.reason),
        level=status.escalation.level,
    )
