"""All verify tasks together: one value, from which everything that shows numbers draws.

Pure. What is kept of a task here is little, so that a thousand of them can be read from one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from phase_gate.values import Value, field, replace
from phase_gate.verification.model import (
    FINISHED,
    IN_PROGRESS,
    NOT_PASSED,
    Failure,
    Status,
    Verification,
)
from phase_gate.verification.result import skip_to_json
from phase_gate.verification.rules import WAVE, Lease, escalate, lease_of, resume_command
from phase_gate.visible import count

#: Failures that the log of all tasks shows.
RECENT = 10


#: What has to be tried again before anything else is begun.
_WAITING = (Status.FAILED, Status.REJECTED)


class TaskRow(Value):
    """One task, as far as the others have to know of it."""

    task: str
    name: str
    status: Status
    word: str
    attempt: int
    step: int
    wave: str = ""
    files: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    #: Why a pass is a weak one, or would be: concerns of the reviewer, flakiness, and the like.
    weak_because: tuple[str, ...] = ()
    commit: str = ""
    last_step_at: str = ""
    wave_resumed_after: int = 0
    failures: tuple[Failure, ...] = ()
    #: Seconds by role, of all attempts; none where no drive started the agents.
    seconds: Mapping[str, float] = field(default_factory=dict)
    #: Who has it, where a worker took it by name.
    by: str = ""
    #: How long it is that worker's; None where no worker has it.
    lease: Lease | None = None
    #: When its attempt and its verify run were, by the clock of the machine that wrote it.
    began_at: str = ""
    verified_at: str = ""
    asks_person: bool = False
    #: The entry of a task that a person took out of the gate.
    skip: Mapping[str, Any] | None = None

    @property
    def is_weak(self) -> bool:
        return self.status is Status.APPROVED and bool(self.weak_because)


class Untrusted(Value):
    """A task whose state can't be read or was tampered with: what it says of itself is not believed."""

    task: str
    #: What is wrong with it.
    problem: str
    #: The wave that it was in when it could be read.
    wave: str = ""


class Wave(Value):
    name: str
    tasks: int
    #: Tasks that failed since the wave was last resumed, and have not recovered; and those that can't be trusted.
    failing: tuple[str, ...] = ()

    @property
    def is_halted(self) -> bool:
        return len(self.failing) >= WAVE

    @property
    def why(self) -> str:
        if not self.is_halted:
            return ""
        named = f"wave {self.name}" if self.name else "the list"
        return f"{named} is halted: {count(len(self.failing), 'task')} failed ({', '.join(self.failing)})"


class Overview(Value):
    """What `verify status`, `stats` and `failures`, STATE.md, `status` and reports show."""

    rows: tuple[TaskRow, ...] = ()
    untrusted: tuple[Untrusted, ...] = ()

    def count(self, *statuses: Status) -> int:
        return sum(row.status in statuses for row in self.rows)

    @property
    def total(self) -> int:
        return len(self.rows) + len(self.untrusted)

    @property
    def passed(self) -> int:
        return self.count(Status.APPROVED)

    @property
    def failed(self) -> int:
        return self.count(*NOT_PASSED)

    @property
    def in_progress(self) -> int:
        return self.count(*IN_PROGRESS)

    @property
    def pending(self) -> int:
        return self.count(Status.PENDING)

    @property
    def blocked(self) -> int:
        return self.count(Status.BLOCKED)

    @property
    def skipped(self) -> int:
        return self.count(Status.SKIPPED)

    @property
    def weak(self) -> int:
        return sum(row.is_weak for row in self.rows)

    @property
    def pass_rate(self) -> str | None:
        """Passed of those that passed, failed or can't be trusted, in per cent; None while there are none."""
        decided = self.passed + self.failed + len(self.untrusted)
        return f"{100 * self.passed / decided:.0f}%" if decided else None

    @property
    def average_attempts(self) -> float | None:
        begun = [row.attempt for row in self.rows if row.attempt]
        return round(sum(begun) / len(begun), 1) if begun else None

    @property
    def current(self) -> TaskRow | None:
        """The task that is in the gate now: of several, the one with the last step."""
        return max((row for row in self.rows if row.status in IN_PROGRESS), key=_by_time, default=None)

    @property
    def failures(self) -> tuple[tuple[TaskRow, Failure], ...]:
        """Every failure with its task, the latest first."""
        found = [(row, failure) for row in self.rows for failure in row.failures]
        return tuple(sorted(found, key=lambda pair: (pair[1].at, pair[0].task), reverse=True))

    @property
    def summary(self) -> str:
        """All in one line."""
        told = [
            f"{number} {word}"
            for number, word in (
                (self.passed, "passed"),
                (self.failed, "failed"),
                (self.in_progress, "in progress"),
                (self.pending, "pending"),
                (self.blocked, "blocked"),
                (self.skipped, "skipped"),
                (len(self.untrusted), "not trusted"),
            )
            if number
        ]
        halted = "".join(f"; {wave.why}" for wave in self.waves if wave.is_halted)
        return f"{self.total} of the verification gate: {', '.join(told)}{halted}"

    @property
    def document(self) -> dict[str, Any]:
        return stats_to_json(self)

    @property
    def waves(self) -> tuple[Wave, ...]:
        names = dict.fromkeys((*(row.wave for row in self.rows), *(each.wave for each in self.untrusted)))
        waves = (self._wave(name) for name in names)
        # Tasks without a wave are one, too; as long as it goes on, that is nothing to tell.
        return tuple(wave for wave in waves if wave.name or wave.is_halted)

    def _wave(self, name: str) -> Wave:
        rows = [row for row in self.rows if row.wave == name]
        failing = [
            row.task
            for row in rows
            if row.status is not Status.SKIPPED
            and any(each.counts and not each.recovered for each in row.failures[row.wave_resumed_after :])
        ]
        # One that can't be read any more must not let the others go on.
        lost = [each.task for each in self.untrusted if each.wave == name]
        return Wave(name=name, tasks=len(rows) + len(lost), failing=(*failing, *lost))

    def wave(self, name: str) -> Wave | None:
        return next((wave for wave in self.waves if wave.name == name), None)

    def row(self, task: str) -> TaskRow | None:
        return next((row for row in self.rows if row.task == task), None)

    def halted(self, wave: str) -> str:
        """Say why a wave is halted; empty if it is not."""
        found = self.wave(wave)
        return "" if found is None else found.why

    def ready(self, is_free: Callable[[TaskRow], bool], *, wave: str | None = None) -> list[TaskRow]:
        """Return the tasks that wait for nothing but a worker, in the list's order. A wave begins after the one before.

        :param is_free: tells whether a task that failed is no worker's any more.
        :param wave: only the tasks of this one, whatever the others are.
        """
        left = [row for row in self.rows if row.status not in FINISHED]
        if wave is None and left:
            wave = left[0].wave
        if self.halted(wave or ""):
            return []
        finished = {row.name for row in self.rows if row.status in FINISHED}
        return [
            row
            for row in left
            if row.wave == wave
            and (row.status is Status.PENDING or (row.status in _WAITING and is_free(row)))
            and not row.asks_person
            and finished.issuperset(row.depends_on)
        ]

    @property
    def next_task(self) -> TaskRow | None:
        """The first task of the list that waits for nothing but its first worker."""
        return next(iter(self.ready(lambda row: False)), None)

    @property
    def next_command(self) -> str:
        """What to type where one task is finished, or none is meant; empty where all are finished."""
        for wave in self.waves:
            if wave.is_halted:
                return resume_command(wave.name)
        following = self.current or next((row for row in self.rows if row.status in _WAITING), None)
        if following is not None:
            return f"phase-gate verify status --task {following.task}"
        if self.next_task is not None:
            return "phase-gate verify start"
        stuck = next((row for row in self.rows if row.status not in FINISHED), None)
        return "" if stuck is None else f"phase-gate verify status --task {stuck.task}"


def _by_time(row: TaskRow) -> tuple[str, str]:
    return row.last_step_at, row.task


def row_of(task: str, verification: Verification) -> TaskRow:
    spec = verification.spec
    return TaskRow(
        task=task,
        name=spec.name,
        status=verification.status,
        word=verification.word,
        attempt=verification.attempt,
        step=verification.step,
        wave=spec.wave,
        files=spec.files,
        attachments=verification.attachments,
        depends_on=spec.depends_on,
        weak_because=verification.weak_because,
        commit=verification.commit,
        last_step_at=verification.last_step_at,
        wave_resumed_after=verification.wave_resumed_after,
        by=verification.by,
        lease=lease_of(verification),
        began_at=verification.began_at,
        verified_at="" if verification.check is None else verification.check.ended_at,
        asks_person=escalate(verification).level >= 2,
        # What they printed is asked of the task itself.
        failures=tuple(replace(each, lines=()) for each in verification.failures),
        seconds=_seconds_of(verification),
        skip=None if verification.skip is None else skip_to_json(verification),
    )


def _seconds_of(verification: Verification) -> dict[str, float]:
    found: dict[str, float] = {}
    for turn in verification.turns if verification.is_driven else ():
        found[turn.role] = round(found.get(turn.role, 0.0) + turn.seconds, 3)
    return found


def stats_to_json(overview: Overview) -> dict[str, Any]:
    """Return the statistics with the document's names, and ours behind them."""
    current = overview.current
    return {
        "total_tasks": overview.total,
        "passed": overview.passed,
        "failed": overview.failed,
        "in_progress": overview.in_progress,
        "pending": overview.pending,
        "blocked": overview.blocked,
        "skipped": overview.skipped,
        "weak_passes": overview.weak,
        "not_trusted": [each.task for each in overview.untrusted],
        "pass_rate": overview.pass_rate,
        "avg_attempts": overview.average_attempts,
        "current_gate": None
        if current is None
        else {"task": current.name, "status": str(current.status), "attempt": current.attempt},
        "waves": [
            {"name": wave.name, "tasks": wave.tasks, "failing": list(wave.failing), "halted": wave.is_halted}
            for wave in overview.waves
        ],
    }


def failures_to_json(pairs: Iterable[tuple[TaskRow, Failure]]) -> list[dict[str, Any]]:
    """Return the failure log with the document's names."""
    return [
        {
            "task": row.name,
            "attempt": failure.attempt,
            "failure_type": str(failure.type),
            "step": failure.step,
            "error": failure.error,
            "recovered": failure.recovered,
            "resolution": failure.resolution or None,
            "at": failure.at,
        }
        for row, failure in pairs
    ]
