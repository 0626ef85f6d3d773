"""Rules for retries, for asking a person, for time limits, and for lists of tasks.

Pure, with the time as an argument: the tables of the source document, and functions that apply them. Only
`load_overview` reads files.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError, StateError, TaskNameError
from phase_gate.gate.state import State
from phase_gate.storage.files import load_value, save_cache
from phase_gate.storage.root import DEFAULT_TASK
from phase_gate.tasks.work import (
    FINISHED,
    IN_PROGRESS,
    NOT_PASSED,
    STEPS,
    Failure,
    FailureType,
    Status,
    TaskSpec,
    Verification,
    find_verification,
)
from phase_gate.values import Value
from phase_gate.visible import count
from phase_gate.workflow.sections import DEFAULT_TIMEOUTS, GATE_TIMEOUT, MAX_TIMEOUTS

#: The number of failures of a task, and of a wave's failing tasks, that needs a person. Before, a task is retried. A
#: blocked task is not retried: it waits.
FAILURES, WAVE = 3, 3
#: The same for failures of one type: the number, and its wording.
OF_A_TYPE: Mapping[FailureType, tuple[int, str]] = {
    FailureType.MALFORMED: (FAILURES, "{} malformed results: manual review"),
    FailureType.ARCHITECT_REJECTION: (2, "the reviewer rejected it {} times"),
    FailureType.TIMEOUT: (2, "{} time-outs"),
}

#: Seconds before a time-out is retried. Every other failure is retried at once.
DELAY = 30.0

#: Failures that are not retried while no file has changed. An executor's own failure may be fixed outside of the files:
#: a package is installed, a service started.
NEEDS_CHANGE = (FailureType.VERIFY_FAILURE, FailureType.ARCHITECT_REJECTION)

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
    for kind, (most, words) in OF_A_TYPE.items():
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
    last, failed = verification.last_failure, since_resumed(verification)
    left = FAILURES - len(failed)
    if last is not None and last.type in OF_A_TYPE:
        left = min(left, OF_A_TYPE[last.type][0] - _of(failed, last.type))
    return max(0, left)


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
    # A flaky command may pass; and a person can confirm that it was fixed outside of the files.
    is_flaky = last.type is FailureType.VERIFY_FAILURE and bool(verification.spec.flaky)
    if is_flaky or verification.resumed_after == len(verification.failures):
        return
    raise NotAllowedError(
        f"no file has changed since attempt {last.attempt} of {task} failed ({last.type}): it would fail again",
        remedy=f"fix it first: phase-gate verify show --task {task}; or, if you fixed it outside of the files,"
        f' type: phase-gate verify resume --task {task} --reason "..." --by NAME',
    )


def begin_first(row: Verification) -> str:
    """Return the command to type for a task that another one waits for."""
    return f"phase-gate verify {'start' if row.status is Status.PENDING else 'status'} --task {row.task}"


def free_command(row: Verification) -> str:
    """Return the command that frees a task of a worker that is gone. Only without a time limit does it take one."""
    return f'phase-gate verify abandon --task {row.task} --reason "..."' if row.untimed else ""


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


# --- all verify tasks together


#: Failures that the log of all tasks shows.
RECENT = 10


class SeenTasks(Value):
    """The tasks that were here before: a removed folder is damage."""

    tasks: tuple[str, ...] = ()


class Overview(Value):
    """The tasks as shown by `verify status`, STATE.md, `status` and reports."""

    rows: tuple[Verification, ...] = ()
    #: Tasks whose state can't be read or was tampered with. No step is taken until that is repaired.
    damaged: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of tasks by status, with the source document's names."""
        groups = {"passed": {Status.APPROVED}, "failed": NOT_PASSED, "in_progress": IN_PROGRESS}
        groups |= {name: {Status(name.upper())} for name in ("pending", "blocked", "skipped")}
        return {name: sum(row.status in statuses for row in self.rows) for name, statuses in groups.items()}

    @property
    def total(self) -> int:
        return len(self.rows) + len(self.damaged)

    @property
    def current(self) -> Verification | None:
        """The task in progress; of several, the one with the latest step."""
        found = [row for row in self.rows if row.status in IN_PROGRESS]
        return max(found, key=lambda row: (row.last_step_at, row.task), default=None)

    @property
    def failures(self) -> tuple[tuple[Verification, Failure], ...]:
        """Every failure with its task, the latest first."""
        found = [(row, failure) for row in self.rows for failure in row.failures]
        return tuple(sorted(found, key=lambda pair: (pair[1].at, pair[0].task), reverse=True))

    @property
    def summary(self) -> str:
        """All tasks in one line."""
        numbers = {**self.counts, "not_trusted": len(self.damaged)}
        parts = [f"{number} {name.replace('_', ' ')}" for name, number in numbers.items() if number]
        halted = "".join(f"; {why}" for why in map(self.halted, self.waves) if why)
        return f"{self.total} of the verification gate: {', '.join(parts)}{halted}"

    @property
    def waves(self) -> dict[str, list[str]]:
        """The waves, each with its tasks that failed since they were last resumed and have not recovered.

        Tasks without a wave are a wave, too, but it is only listed if it is halted.
        """
        failing: dict[str, list[str]] = {row.wave: [] for row in self.rows}
        for row in self.rows:
            failures = row.failures[row.resumed_after :]
            if row.status is not Status.SKIPPED and any(each.counts and not each.recovered for each in failures):
                failing[row.wave].append(row.task)
        return {name: tasks for name, tasks in failing.items() if name or len(tasks) >= WAVE}

    def halted(self, wave: str) -> str:
        """Return why a wave is halted; empty if it is not."""
        failing = self.waves.get(wave, [])
        named = f"wave {wave}" if wave else "the list"
        is_halted = len(failing) >= WAVE
        return f"{named} is halted: {count(len(failing), 'task')} failed ({', '.join(failing)})" if is_halted else ""

    def due(self, chosen: Collection[str] | None = None) -> list[Verification]:
        """Return the unfinished tasks that wait for no other one, in the list's order; none in a halted wave.

        A wave begins after the previous one.

        :param chosen: only these tasks; None for all.
        """
        finished = {row.name for row in self.rows if row.status in FINISHED}
        left = [row for row in self.rows if row.name not in finished and (chosen is None or row.task in chosen)]
        wave = self.next_wave(left)
        if self.halted(wave):
            return []
        return [row for row in left if row.wave == wave and finished.issuperset(row.spec.depends_on)]

    def next_wave(self, left: Collection[Verification]) -> str:
        """Return the first wave with one of these tasks, even if the first task left is of a later wave."""
        waves = {row.wave for row in left}
        return next((row.wave for row in self.rows if row.wave in waves), "")

    def ready(self, is_free: Callable[[Verification], bool]) -> list[Verification]:
        """Return the tasks that only wait for a worker.

        :param is_free: return whether a failed task has no worker any more.
        """
        return [
            row
            for row in self.due()
            if (row.status is Status.PENDING or (row.status in NOT_PASSED and is_free(row))) and not asks_person(row)
        ]

    @property
    def next_command(self) -> str:
        """The command to type if a task is finished, or none is given; empty if all are finished."""
        for wave in self.waves:
            if self.halted(wave):
                return resume_command(wave)
        following = self.current or next((row for row in self.rows if row.status in NOT_PASSED), None)
        if following is not None:
            return f"phase-gate verify status --task {following.task}"
        if self.ready(lambda row: False):
            return "phase-gate verify start"
        stuck = next((row for row in self.rows if row.status not in FINISHED), None)
        return "" if stuck is None else f"phase-gate verify status --task {stuck.task}"


def load_overview(state_folder: Path, look: Callable[[str], State | None], refused: tuple[str, ...] = ()) -> Overview:
    """Return all tasks in the order in which they were taken, and those that are damaged.

    :param look: return the state of a task; None for one that never began.
    :param refused: tasks of a shared store that can't be copied to this folder.
    """
    rows: list[Verification] = []
    damaged: list[str] = []
    folder, file = state_folder / "tasks", state_folder / "cache" / "verify-tasks.json"
    folders = [each.name for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
    # If it can't be saved, the removal of a task's whole folder goes unnoticed.
    seen = (load_value(SeenTasks, file) or SeenTasks()).tasks
    for name in sorted({*folders, *refused, *seen} - {DEFAULT_TASK}):
        try:
            state = look(name)
        except StateError:
            damaged.append(name)
        except TaskNameError:
            continue  # not a folder of a task
        else:
            found = None if state is None else find_verification(state)
            rows += [] if found is None else [found]
    if unseen := {row.task for row in rows}.difference(seen):
        save_cache(file, to_json(SeenTasks(tasks=tuple(sorted(unseen.union(seen))))))
    return Overview(rows=tuple(sorted(rows, key=lambda row: (row.taken_at, row.task))), damaged=tuple(damaged))
