"""Rules for retries, for asking a person, and for time limits.

Pure, with the time as an argument: the tables of the source document, and functions that apply them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from datetime import datetime

from phase_gate.errors import NotAllowedError
from phase_gate.tasks.work import FINISHED, NOT_PASSED, STEPS, Failure, FailureType, Status, TaskSpec, Verification
from phase_gate.values import Value
from phase_gate.visible import count
from phase_gate.workflow.sections import DEFAULT_TIMEOUTS, GATE_TIMEOUT, MAX_TIMEOUTS

#: How often a failure of each type is retried automatically. A blocked task is not retried: it waits.
RETRIES: Mapping[FailureType, int] = {
    FailureType.EXECUTION_FAILURE: 2,
    FailureType.VERIFY_FAILURE: 2,
    FailureType.ARCHITECT_REJECTION: 1,
    FailureType.REVIEWER_EDIT: 2,
    FailureType.TIMEOUT: 1,
    FailureType.MALFORMED: 2,
}

#: Seconds before a time-out is retried. Every other failure is retried at once.
DELAY = 30.0

#: Failures that are not retried while no file has changed. An executor's own failure may be fixed outside of the files:
#: a package is installed, a service started.
NEEDS_CHANGE = (FailureType.VERIFY_FAILURE, FailureType.ARCHITECT_REJECTION)

#: Exit codes of a shell that could not run the command: a program is missing, and may be installed.
NOT_FOUND = (126, 127)

#: The number of failures of a task, of rejections, of time-outs and of a wave's failing tasks that needs a person.
FAILURES, REJECTIONS, TIMEOUTS, WAVE = 3, 2, 2, 3
_OF_A_TYPE = (
    (FailureType.MALFORMED, FAILURES, "{} malformed results: manual review"),
    (FailureType.ARCHITECT_REJECTION, REJECTIONS, "the reviewer rejected it {} times"),
    (FailureType.TIMEOUT, TIMEOUTS, "{} time-outs"),
)

#: The actions of each level.
ACTIONS: Mapping[int, tuple[str, ...]] = {
    1: ("retry with feedback", "continue if it succeeds"),
    2: ("display the failure summary", "offer: retry, skip or investigate", "wait for a person"),
    3: ("stop every task of the wave", "keep the state for resuming", "continue only by an explicit command"),
}


class Escalation(Value):
    """The level of a failure: 1 is retried, 2 waits for a person, 3 halts the wave."""

    level: int
    reason: str = ""

    @property
    def actions(self) -> tuple[str, ...]:
        return ACTIONS.get(self.level, ())


def escalate(verification: Verification, halted: str = "") -> Escalation:
    """Return the level of a task: 0 without failures.

    :param halted: why its wave is halted; empty if it is not.
    """
    if halted:
        return Escalation(level=3, reason=halted)
    if verification.voided:
        return Escalation(level=2, reason=verification.voided)
    if verification.status in FINISHED:
        return Escalation(level=0)
    failed = since_resumed(verification)
    for kind, most, words in _OF_A_TYPE:
        if (number := _of(failed, kind)) >= most:
            return Escalation(level=2, reason=words.format(number))
    if len(failed) >= FAILURES:
        return Escalation(level=2, reason=f"it failed {len(failed)} times")
    return Escalation(level=1 if failed else 0, reason=count(len(failed), "failure") if failed else "")


def since_resumed(verification: Verification) -> list[Failure]:
    """Return the failures that count since a person last resumed the task."""
    # By their order, not by their times: the clocks of machines differ.
    return [each for each in verification.failures[verification.resumed_after :] if each.counts]


def _of(failures: Iterable[Failure], kind: FailureType) -> int:
    return sum(each.type is kind for each in failures)


def asks_person(verification: Verification) -> bool:
    """Return whether the task needs a person before it can continue."""
    return escalate(verification).level >= 2


def needs_manual_review(verification: Verification) -> bool:
    """Return whether more than one result could not be read."""
    return _of(since_resumed(verification), FailureType.MALFORMED) > 1


def retries_left(verification: Verification) -> int:
    """Return how often the task may still be retried automatically, after its last failure."""
    last = verification.last_failure
    failed = since_resumed(verification)
    if last is None or not last.counts or last.type not in RETRIES:
        return FAILURES - 1 - len(failed)
    of_its_type = RETRIES[last.type] - (_of(failed, last.type) - 1)
    return max(0, min(of_its_type, FAILURES - len(failed)))


def delay_left(verification: Verification, at: str) -> float:
    """Return the seconds before the task may be tried again; 0 or less if it may be now."""
    last = verification.last_failure
    if last is None or last.type is not FailureType.TIMEOUT or verification.status not in NOT_PASSED:
        return 0.0
    return DELAY - seconds_between(last.at, at)


def require_attempt(verification: Verification, *, at: str) -> None:
    """Refuse an attempt that needs a person first, or that comes too soon. Raises NotAllowedError."""
    refuse_escalated(verification)
    wait = delay_left(verification, at)
    if wait > 0:
        raise NotAllowedError(
            f"a time-out is retried after {DELAY:.0f} s, {wait:.0f} s are left",
            remedy=f"wait {wait:.0f} s, then run the same command again",
        )


def refuse_unchanged(verification: Verification, tree: str) -> None:
    """Refuse a report of success with the same files as in the failed last attempt. Raises NotAllowedError."""
    last, task = verification.last_failure, verification.task
    if last is None or last.recovered or not last.counts or last.type not in NEEDS_CHANGE or tree != last.tree:
        return
    if last.type is FailureType.VERIFY_FAILURE and (verification.spec.flaky or last.exit_code in NOT_FOUND):
        return
    if verification.resumed_after == len(verification.failures):
        return  # a person confirmed that it was fixed outside of the files
    raise NotAllowedError(
        f"no file has changed since attempt {last.attempt} of {task} failed ({last.type}): it would fail again",
        remedy=f"fix it first: phase-gate verify show --task {task}; or, if you fixed it outside of the files,"
        f' type: phase-gate verify resume --task {task} --reason "..." --by NAME',
    )


def resume_command(wave: str) -> str:
    """Return the command that resumes a halted wave. The tasks without a wave are a wave, too."""
    named = f" --wave {shlex.quote(wave)}" if wave else ""
    return f'phase-gate verify resume{named} --reason "..." --by NAME'


def refuse_escalated(verification: Verification) -> None:
    """Refuse to continue if a person has to decide first. Raises NotAllowedError."""
    escalation = escalate(verification)
    task = verification.task
    if escalation.level >= 2:
        raise NotAllowedError(
            f"{task} waits for a person: {escalation.reason}",
            remedy=f'retry: phase-gate verify resume --task {task} --reason "..." --by NAME; investigate: phase-gate'
            f" verify status --task {task}; or skip: phase-gate verify skip --task {task} --kind KIND",
        )


# --- time


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def set_limits(spec: TaskSpec, configured: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of each step: from the task, else the project, else the default."""
    limits = {**DEFAULT_TIMEOUTS, **configured, **spec.timeouts}
    return {step: limits[step] for step in STEPS.values()}


def extend_limits(verification: Verification) -> dict[str, float]:
    """Return the limits of the next attempt: twice as long for a step that was too slow, up to the maximum."""
    limits, last = dict(verification.limits), verification.last_failure
    if last is not None and last.type is FailureType.TIMEOUT:
        step = STEPS[last.step]
        limits[step] = min(2 * limits[step], MAX_TIMEOUTS[step])
    return limits


def late(verification: Verification, at: str) -> str:
    """Return how late the current step or the whole gate is; empty if it is not late, or has no time limit."""
    if verification.untimed or verification.status not in (Status.EXECUTING, Status.REVIEWING):
        return ""
    step = STEPS[verification.step]
    began = verification.began_at
    if verification.status is Status.REVIEWING:
        assert verification.check is not None, "what is reviewed was verified"
        began = verification.check.ended_at
    took, limit = seconds_between(began, at), verification.limits[step]
    if took > limit:
        return f"the {step} step took {took:.0f} s, the limit is {limit:g} s"
    total = seconds_between(verification.began_at, at)
    return f"the gate took {total:.0f} s, the limit is {GATE_TIMEOUT:g} s" if total > GATE_TIMEOUT else ""


#: Extra seconds of an attempt in a shared store: a worker's events take a while to arrive.
MARGIN = 30.0


def lease_ends(verification: Verification) -> float | None:
    """Return when the worker's time ends, in seconds of the epoch; None without a worker, or without a limit.

    The attempt belongs to its worker for the time of its step, and after a failure for the time of another attempt.
    """
    status, last = verification.status, verification.last_failure
    seconds = verification.limits["verify" if status is Status.VERIFYING else "executor"]
    if status in NOT_PASSED and last is not None and last.type is FailureType.TIMEOUT:
        seconds = DELAY  # its worker has lost the task
    elif verification.untimed or status not in (Status.EXECUTING, Status.VERIFYING, *NOT_PASSED):
        return None
    return datetime.fromisoformat(verification.last_step_at).timestamp() + seconds


def time_left(verification: Verification, at: str) -> float:
    """Return the seconds left for the whole gate."""
    return float("inf") if verification.untimed else GATE_TIMEOUT - seconds_between(verification.began_at, at)
