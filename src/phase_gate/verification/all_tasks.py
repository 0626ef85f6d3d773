"""Gather every task of a project, verify tasks and others: where each stands, who has it, what it waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from phase_gate.errors import StateError
from phase_gate.gate.parts import VERIFICATION
from phase_gate.project import Look, Project
from phase_gate.report.all_tasks import TaskLine, TaskList, Tone, Wanted
from phase_gate.storage.places import task_names
from phase_gate.storage.store import now
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.verification.model import FINISHED, NOT_PASSED, Status
from phase_gate.verification.overview import load_overview
from phase_gate.verification.stats import Overview, TaskRow

_TONES: Mapping[Status, Tone] = {
    Status.APPROVED: "good",
    Status.FAILED: "bad",
    Status.REJECTED: "bad",
    Status.BLOCKED: "odd",
    Status.SKIPPED: "odd",
}

#: What a task that is no verify task waits for, by what its verdict is.
_WAITS = {
    "unstarted": "its first run",
    "running": "the end of its run",
    "stale": "another run",
    "void": "a run that counts",
    "closed": "Gate 1",
    "early": "Gate 1",
    "failed": "another try",
    "waiting": "its exit signal",
    "needs-person": "a person",
    "halted": "a person",
    "stuck": "a person",
}


def list_tasks(project: Project, command: str, wanted: Wanted) -> TaskList:
    """Return the tasks that are wanted: verify tasks in the list's order, then the others by their names."""
    look = project.look_at_tasks(command)
    overview = load_overview(project.state_folder, look, key=project.key)
    lines = [*_verify_lines(overview), *_other_lines(project, command, look, overview)]
    shown = tuple(line for line in lines if wanted.fits(line))
    return TaskList(root=str(project.root), at=now(), lines=shown, left_out=len(lines) - len(shown))


# --- verify tasks


def _verify_lines(overview: Overview) -> Iterator[TaskLine]:
    left = [row for row in overview.rows if row.status not in FINISHED]
    unfinished = {row.name for row in left}
    known = {row.name for row in overview.rows}
    current = left[0].wave if left else ""
    for row in overview.rows:
        after = tuple(name for name in row.depends_on if name in unfinished or name not in known)
        yield TaskLine(
            task=row.task,
            name=row.name,
            workflow=VERIFICATION,
            state=str(row.status).lower(),
            shown=_shown(row),
            tone=_TONES.get(row.status, "open"),
            wave=row.wave,
            by=row.by if row.status not in FINISHED else "",
            since=row.began_at if row.by and row.status not in FINISHED else "",
            waits_for=_waits_for(row, after, overview, current),
            attempt=row.attempt,
            after=after,
            is_finished=row.status in FINISHED,
            asks_person=_asks_person(row, overview),
            next_command=f"phase-gate verify status --task {row.task}",
        )
    for each in overview.untrusted:
        yield _untrusted(each.task, each.problem, each.wave)


def _asks_person(row: TaskRow, overview: Overview) -> bool:
    return row.status not in FINISHED and (row.asks_person or bool(overview.halted(row.wave)))


def _shown(row: TaskRow) -> str:
    more = [f"attempt {row.attempt}"] if row.attempt > 1 else []
    more += ["weak"] if row.is_weak else []
    return row.word.lower() + (f" ({', '.join(more)})" if more else "")


def _waits_for(row: TaskRow, after: tuple[str, ...], overview: Overview, current: str) -> str:
    if row.status in FINISHED:
        return "its commit" if row.status is Status.APPROVED and not row.commit else ""
    if _asks_person(row, overview):
        return "a person"
    if row.status is Status.PENDING:
        if after:
            return ", ".join(after)
        return "a worker" if row.wave == current else f"wave {current}" if current else "the tasks without a wave"
    if row.status in NOT_PASSED:
        return f"another attempt of {row.by}" if row.by else "another attempt"
    waits = {
        Status.EXECUTING: f"the report of {row.by}" if row.by else "its executor's report",
        Status.VERIFYING: "its verify command",
        Status.REVIEWING: "a reviewer",
        Status.BLOCKED: "what blocks it",
    }
    return waits[row.status]


def _untrusted(task: str, problem: str, wave: str = "") -> TaskLine:
    return TaskLine(
        task=task,
        name=task,
        workflow="",
        state="untrusted",
        shown=f"not trusted: {problem}",
        tone="bad",
        wave=wave,
        waits_for="an audit",
        next_command=f"phase-gate audit --task {task}",
    )


# --- the others


def _other_lines(project: Project, command: str, look: Look, overview: Overview) -> Iterator[TaskLine]:
    told = {*(row.task for row in overview.rows), *(each.task for each in overview.untrusted)}
    for name in [*task_names(project.state_folder), *(task for task in look.refused)]:
        if name in told:
            continue
        told.add(name)
        try:
            line = _other(replace(project, task=name), command, look)
        except StateError as error:
            line = _untrusted(name, error.problem)
        if line is not None:
            yield line


def _other(project: Project, command: str, look: Look) -> TaskLine | None:
    state = look(project.task)
    if state is None or VERIFICATION in state.parts:
        return None
    store = project.store(command)
    store.shared = None  # it was asked
    standing = Task(project, store, state).standing()
    is_finished = state.is_done
    tone: Tone = "good" if is_finished or standing.is_open else "bad" if standing.is_halted else "open"
    return TaskLine(
        task=project.task,
        name=project.task,
        workflow=state.workflow or project.configuration.workflow,
        state="done" if is_finished else standing.status,
        shown="done" if is_finished else f"{state.phase or 'nothing yet'}, {standing.status}",
        tone=tone,
        phase=state.phase or "",
        waits_for="" if is_finished else _WAITS.get(standing.status, ""),
        is_finished=is_finished,
        asks_person=standing.is_halted or standing.status == "needs-person",
        next_command=standing.next_command,
    )
