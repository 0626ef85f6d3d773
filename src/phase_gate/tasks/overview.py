"""All verify tasks together: one value, from which everything that shows numbers draws.

Pure, but for the one function that reads them.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from phase_gate.errors import StateError, StorageError, TaskNameError
from phase_gate.gate.state import State
from phase_gate.storage.files import REAL, make_folder, write_atomically
from phase_gate.storage.places import DEFAULT_TASK, make_state_folder
from phase_gate.tasks.model import FINISHED, IN_PROGRESS, NOT_PASSED, Failure, Status, Verification, find_verification
from phase_gate.tasks.rules import WAVE, asks_person, resume_command
from phase_gate.values import Value
from phase_gate.visible import count

#: Failures that the log of all tasks shows.
RECENT = 10

#: What has to be tried again before anything else is begun.
_WAITING = (Status.FAILED, Status.REJECTED)


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

    rows: tuple[Verification, ...] = ()
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
    def current(self) -> Verification | None:
        """The task that is in the gate now: of several, the one with the last step."""
        return max((row for row in self.rows if row.status in IN_PROGRESS), key=_by_time, default=None)

    @property
    def failures(self) -> tuple[tuple[Verification, Failure], ...]:
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

    def row(self, task: str) -> Verification | None:
        return next((row for row in self.rows if row.task == task), None)

    def halted(self, wave: str) -> str:
        """Say why a wave is halted; empty if it is not."""
        found = self.wave(wave)
        return "" if found is None else found.why

    def ready(self, is_free: Callable[[Verification], bool], *, wave: str | None = None) -> list[Verification]:
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
            and not asks_person(row)
            and finished.issuperset(row.spec.depends_on)
        ]

    @property
    def next_task(self) -> Verification | None:
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


def _by_time(row: Verification) -> tuple[str, str]:
    return row.last_step_at, row.task


def row_to_json(row: Verification) -> dict[str, Any]:
    """Return one task as a row of a list."""
    return {
        "task": row.task,
        "name": row.name,
        "status": str(row.status),
        "word": row.word,
        "attempt": row.attempt,
        "step": row.step,
        "wave": row.wave,
        "files": list(row.spec.files),
        "depends_on": list(row.spec.depends_on),
        "weak_because": list(row.weak_because),
        "commit": row.commit,
        "by": row.by,
        "began_at": row.began_at,
        "last_step_at": row.last_step_at,
        "asks_person": asks_person(row),
    }


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


def failures_to_json(pairs: Iterable[tuple[Verification, Failure]]) -> list[dict[str, Any]]:
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


#: Which tasks there were, each with its wave; None for one that is no verify task.
_KNOWN = "verify-tasks.json"


def load_overview(state_folder: Path, look: Callable[[str], State | None]) -> Overview:
    """Return all tasks in the order in which they were taken, and those that can't be trusted.

    :param look: returns the state of a task; None for one that never began. Best one of `Project.look_at_tasks`, which
        knows those that a shared store has and that can't be taken over.
    """
    known = _read_known(state_folder / "cache" / _KNOWN)
    seen = dict(known)
    rows: list[Verification] = []
    untrusted: list[Untrusted] = []
    for name in sorted({*_folders(state_folder / "tasks"), *getattr(look, "refused", ()), *known} - {DEFAULT_TASK}):
        try:
            state = look(name)
        except StateError as error:
            wave = known.get(name, "")
            if wave is not None:  # what was no verify task when it could be read is none now
                untrusted.append(Untrusted(task=name, problem=error.problem, wave=wave))
            continue
        except TaskNameError:
            continue  # not a folder of a task
        verification = None if state is None else find_verification(state)
        seen.pop(name, None)
        if verification is not None:
            rows.append(verification)
        if state is not None:
            seen[name] = None if verification is None else verification.wave
    if seen != known:
        _write_known(state_folder, seen)
    return Overview(rows=tuple(sorted(rows, key=lambda row: (row.taken_at, row.task))), untrusted=tuple(untrusted))


def _folders(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _read_known(path: Path) -> dict[str, str | None]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    rows = found.items() if isinstance(found, dict) else ()
    return {name: wave for name, wave in rows if isinstance(wave, str | None)}


def _write_known(state_folder: Path, known: Mapping[str, str | None]) -> None:
    # Where it can't be kept, a task whose whole folder is removed is not missed.
    with contextlib.suppress(StorageError):
        make_state_folder(state_folder)
        make_folder(REAL, state_folder / "cache")
        write_atomically(REAL, state_folder / "cache" / _KNOWN, json.dumps(known).encode(), durable=False)
