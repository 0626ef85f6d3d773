"""All verify tasks together: one value with the numbers for status, statistics and reports.

Pure, except for `load_overview`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from phase_gate.errors import StateError, TaskNameError
from phase_gate.gate.state import State
from phase_gate.storage.files import load_json, save_cache
from phase_gate.storage.root import DEFAULT_TASK
from phase_gate.tasks.rules import WAVE, asks_person, resume_command
from phase_gate.tasks.work import FINISHED, IN_PROGRESS, NOT_PASSED, Failure, Status, Verification, find_verification
from phase_gate.values import Value
from phase_gate.visible import count

#: Failures that the log of all tasks shows.
RECENT = 10

#: Tasks that have to be tried again before another one begins.
_WAITING = (Status.FAILED, Status.REJECTED)


class Overview(Value):
    """The tasks as shown by `verify status`, `stats` and `failures`, STATE.md, `status` and reports."""

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
        return max((row for row in self.rows if row.status in IN_PROGRESS), key=_by_time, default=None)

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

    def row(self, task: str) -> Verification | None:
        return next((row for row in self.rows if row.task == task), None)

    def ready(self, is_free: Callable[[Verification], bool]) -> list[Verification]:
        """Return the tasks that only wait for a worker, in the list's order. A wave begins after the previous one.

        :param is_free: return whether a failed task has no worker any more.
        """
        left = [row for row in self.rows if row.status not in FINISHED]
        if not left or self.halted(left[0].wave):
            return []
        finished = {row.name for row in self.rows if row.status in FINISHED}
        return [
            row
            for row in left
            if row.wave == left[0].wave
            and (row.status is Status.PENDING or (row.status in _WAITING and is_free(row)))
            and not asks_person(row)
            and finished.issuperset(row.spec.depends_on)
        ]

    @property
    def next_task(self) -> Verification | None:
        """The first task of the list that only waits for its first worker."""
        return next(iter(self.ready(lambda row: False)), None)

    @property
    def next_command(self) -> str:
        """The command to type if a task is finished, or none is given; empty if all are finished."""
        for wave in self.waves:
            if self.halted(wave):
                return resume_command(wave)
        following = self.current or next((row for row in self.rows if row.status in _WAITING), None)
        if following is not None:
            return f"phase-gate verify status --task {following.task}"
        if self.next_task is not None:
            return "phase-gate verify start"
        stuck = next((row for row in self.rows if row.status not in FINISHED), None)
        return "" if stuck is None else f"phase-gate verify status --task {stuck.task}"


def _by_time(row: Verification) -> tuple[str, str]:
    return row.last_step_at, row.task


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
    seen = load_json(file) or []
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
        save_cache(file, sorted(unseen.union(seen)))
    return Overview(rows=tuple(sorted(rows, key=lambda row: (row.taken_at, row.task))), damaged=tuple(damaged))
