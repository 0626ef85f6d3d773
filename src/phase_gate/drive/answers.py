"""The agent's answer to Gate 2, and what was done beside the drive while it worked.

An answer counts once, by the word that the prompt of its iteration names. What the agent prints is never one.
"""

from __future__ import annotations

import hmac

from phase_gate.decisions.signalling import give_signal
from phase_gate.drive.session import DriveSession
from phase_gate.errors import NotAllowedError, PhaseGateError
from phase_gate.gate.signals import Signal
from phase_gate.gate.state import Event
from phase_gate.storage.files import remove_file
from phase_gate.storage.signal_file import read_answer, read_signal_file, remove_signal_file
from phase_gate.task import Task
from phase_gate.values import Value
from phase_gate.workflow.names import of_task

#: What only a person does, or only the drive while its agent works.
_OUTSIDE = frozenset(
    {"phase-exited", "overridden", "waived", "breaker-reset", "rollback-accepted", "repaired"}
    | {"voted", "request-decided", "constitution-accepted"}
)


class Taken(Value):
    """What the agent left behind beside its work."""

    signal: Signal | None = None
    #: Why an answer is refused; empty if none was.
    refused: str = ""


def waiting_signal(task: Task) -> str:
    """Return which signal waits in the task's folder, before the agent is started; empty: none does."""
    waiting = read_signal_file(task.store.signal_file, spent=task.state.spent_signal)
    return "" if waiting is None else waiting.identity


def find_outside(task: Task, *, since: int) -> str:
    """Return what was recorded after that line, and is not an agent's to do; empty: nothing."""
    for line in task.store.lines():
        if line.seq > since and line.event.kind in _OUTSIDE:
            what = f"{line.event.kind} was recorded while the agent worked, and not by the drive"
            return f"{what}: read {of_task('phase-gate history --events', task.store.task)}, then resume"
    return ""


def take_answer(session: DriveSession, task: Task, nonce: str, *, waited: str) -> Taken:
    """Return what the agent answered, if it may and repeats the word; whatever it left is taken away.

    :param waited: the signal that waited before the agent was started.
    """
    store, signal, problem = task.store, None, ""
    try:
        found = read_answer(store.answer_file)
        if found is not None:
            signal = found[0]
            problem = _why_refused(
                session, signal.answer, is_ours=hmac.compare_digest(found[1].encode(), nonce.encode())
            )
    except PhaseGateError as error:
        problem = error.problem
    remove_file(store.answer_file)
    if problem:
        _record_refusal(session, "malformed" if signal is None else signal.answer, problem)
        return Taken(refused=problem)
    beside = read_signal_file(store.signal_file, spent=task.state.spent_signal)
    if (
        beside is not None
        and beside.identity != waited
        and beside.signal is not None
        and beside.signal.answer == "done"
    ):
        problem = "exit-signal.yaml was made while the agent worked"
        _record_refusal(session, "done", problem, file=beside.identity)
        remove_signal_file(store.signal_file)
        return Taken(signal=signal, refused=problem)
    return Taken(signal=signal)


def _why_refused(session: DriveSession, answer: str, *, is_ours: bool) -> str:
    if not is_ours:
        return "its nonce is not the one of this iteration"
    if answer == "done" and session.settings.signal == "ask":
        return "a person gives the signal in this drive"
    return ""


def _record_refusal(session: DriveSession, answer: str, problem: str, *, file: str = "") -> None:
    data = {"answer": answer, "problem": problem, **({"file": file} if file else {})}
    session.task().record(Event(kind="signal-refused", data=data))
    session.note(f"the agent's answer is refused: {problem}")


def give_answer(session: DriveSession, signal: Signal) -> str:
    """Give a signal about the last run; return what there is to say of it in the next prompt, empty: nothing."""
    try:
        evaluation, _ = give_signal(session.task(), signal, show=session.note, show_progress=session.note)
    except NotAllowedError as error:
        session.note(f"the signal is refused: {error.problem}")
        return f"the signal was refused: {error.problem}"
    if signal.answer == "not-done":
        return f"{signal.by} says that it is not done: {signal.reason}"
    if signal.answer == "done" and not evaluation.can_exit:
        return f"the signal came too early: {evaluation.reason}"
    return ""
