"""Take verify tasks, or begin an attempt of one that waits."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.gathering import context_of
from phase_gate.gate.order import Entry, How, entry_events
from phase_gate.gate.state import Event, State
from phase_gate.project import Project
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.storage.tree.fingerprint import Tree
from phase_gate.storage.tree.git import head_of
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus, require_verification
from phase_gate.tasks.changes import remember_files
from phase_gate.tasks.lint import find_missing_program, lint_command, lint_done, pytest_arguments
from phase_gate.tasks.model import (
    FINISHED,
    PHASE,
    WORKFLOW,
    Status,
    TaskSpec,
    Verification,
    find_verification,
)
from phase_gate.tasks.rules import resume_command, set_limits
from phase_gate.tasks.steps import begin_attempt
from phase_gate.values import Value, replace
from phase_gate.workflow.model import Overlay, Workflow
from phase_gate.workflow.model_json import workflow_to_json


class StartOptions(Value):
    """How tasks are taken."""

    #: Says what is going on.
    show: Callable[[str], None]
    #: Seconds by step, as the call gives them.
    timeouts: Mapping[str, float | None]
    untimed: bool = False
    #: The task file's path from the root; None where it lies elsewhere.
    file: str | None = None


class TakenTask(Value):
    status: TaskStatus
    #: False for a task that was there already.
    is_new: bool


def choose_specs(specs: Sequence[TaskSpec], *, file: str, task: str | None, wave: str | None) -> list[TaskSpec]:
    """Return the tasks of a file that are meant, in the wave that is given.

    :param file: what the file is called in messages.
    """
    chosen = [spec if wave is None else replace(spec, wave=wave) for spec in specs]
    if task:
        chosen = [spec for spec in chosen if task in (spec.name, spec.slug)]
        if not chosen:
            raise UsageError(f"{file} has no task {task!r}", remedy="leave --task out, or name one of it")
    return chosen


def take_tasks(board: TaskBoard, specs: Sequence[TaskSpec], options: StartOptions) -> list[TakenTask]:
    """Take tasks; one that comes alone and waits for no other begins at once."""
    flags = {spec.slug: _lint(spec, board.project.environment) for spec in specs}
    _refuse_dependencies(board, specs)
    for wave in dict.fromkeys(spec.wave for spec in specs):
        why = board.overview.halted(wave)
        if why:
            raise NotAllowedError(why, remedy=resume_command(wave))
    sessions = [board.session(spec.slug) for spec in specs]
    taken = [_take(session, spec, flags[spec.slug], options) for session, spec in zip(sessions, specs, strict=True)]
    board.forget()
    if len(specs) == 1:
        # Also where an earlier call died after it took the task.
        is_pending = sessions[0].verification().status is Status.PENDING
        if is_pending and not _open_dependencies(board, specs[0]):
            _begin_attempt(sessions[0])
    board.refresh()
    return [
        TakenTask(status=session.status(session.verification()), is_new=is_new)
        for session, is_new in zip(sessions, taken, strict=True)
    ]


def _refuse_dependencies(board: TaskBoard, specs: Sequence[TaskSpec]) -> None:
    """Refuse tasks that wait for what there is not, or for each other. Raises NotAllowedError."""
    waits = {row.name: row.spec.depends_on for row in board.overview.rows} | {
        each.name: each.depends_on for each in specs
    }
    for spec in specs:
        for name in spec.depends_on:
            if name not in waits:
                raise NotAllowedError(
                    f"{spec.name} depends on {name!r}, which is no task",
                    remedy="write that task into the file as well, or correct the name",
                )
        seen: dict[str, None] = {}
        left = list(spec.depends_on)
        while left:
            name = left.pop()
            if name == spec.name:
                raise NotAllowedError(
                    f"{spec.name} depends on itself, in a circle: {', '.join((spec.name, *seen))}",
                    remedy="take one of these out of depends_on",
                )
            if name not in seen:
                seen[name] = None
                left += waits.get(name, ())


def begin(session: TaskSession, *, by: str = "") -> TaskStatus:
    """Begin an attempt before its executor reports: from now on the clock runs.

    :param by: the worker that has it from now on; empty where none is named.
    """
    return session.end_step(_begin_attempt(session, by))


def _lint(spec: TaskSpec, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is flagged about a task. Raises NotAllowedError for a verify command that proves nothing."""
    opinions = (*lint_command(spec), *lint_done(spec))
    refused = [each for each in opinions if each.is_refused]
    if refused:
        raise NotAllowedError(
            f"{spec.name}: {refused[0].text} ({refused[0].slug})",
            remedy=refused[0].remedy
            or "write a verify command that fails as long as the task is not done, like pytest tests/test_it.py",
        )
    if program := find_missing_program(spec, environment):
        raise NotAllowedError(
            f"{spec.name}: there is no program {program!r} here, and the verify command can't run without it",
            remedy="install it, or write a verify command that can be run here; then the same command again",
        )
    if any(word.partition("=")[0] in ("--phase", "--phase-task", "--phase-dir") for word in _words(spec.verify)):
        raise NotAllowedError(
            f"{spec.name}: the verify command chooses a phase, and its run would be recorded elsewhere",
            remedy="leave --phase out: a run of pytest in it is recorded for this task by itself",
        )
    return tuple(each.text for each in opinions)


def _words(command: str) -> Sequence[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def verification_workflow(project: Project) -> Workflow:
    """Return the workflow of verify tasks, with what the project's file says of its one phase."""
    overlay = project.configuration.overlay
    # The rest of the file speaks of the project's own workflow, which this is not.
    own = Overlay()
    if PHASE in overlay.phases:
        own = replace(overlay, phases={PHASE: overlay.phases[PHASE]}, parameters={})
    return replace(project, configuration=replace(project.configuration, overlay=own)).workflow(WORKFLOW)


@again_if_moved
def _take(session: TaskSession, spec: TaskSpec, flags: tuple[str, ...], options: StartOptions) -> bool:
    """Take one task; tell whether it is new. One that is there already, with the same text, stays as it is."""
    settings = session.project.configuration.verification
    limits = set_limits(spec, settings.timeouts, options.timeouts)
    looked = find_verification(session.state())
    if looked is not None and not spec.wave:
        spec = replace(spec, wave=looked.spec.wave)  # as --wave gave it
    if looked is not None and looked.spec == spec and looked.limits == limits:
        return False
    _refuse_change(session, looked, spec)
    tree = session.tree(spec)
    state = session.state()
    context = context_of(Task(session.project, session.store, state), frozenset(), phase=PHASE)
    memory = remember_files(context, tree)
    known = collect_known(session.project, session.store, spec, limit=limits["verify"], show=options.show)
    workflow = verification_workflow(session.project)
    phase = workflow.first
    with session.transaction() as change:
        before = find_verification(change.state)
        _refuse_change(session, before, spec)
        data = {
            "spec": to_json(spec),
            "limits": limits,
            "untimed": options.untimed or settings.untimed,
            "flags": list(flags),
            "memory": session.store.keep("evidence", memory),
            "attachments": [options.file] if options.file else [],
            **({"place": session.board.place} if session.board.place else {}),
            "rules": session.store.objects.keep(workflow_to_json(workflow)),
        }
        if change.state.phase is None:
            change.record(
                *entry_events(
                    change.state,
                    Entry(phase, How.BEGIN),
                    workflow,
                    run=None,
                    allow_non_interactive=session.project.configuration.allow_non_interactive,
                )
            )
        change.record(Event(kind="task-taken", data=data))
        if known is not None:
            change.record(Event(kind="known-taken", data={"known": known}))
    return before is None


def _refuse_change(session: TaskSession, looked: Verification | None, spec: TaskSpec) -> None:
    if looked is None:
        state = session.state()
        if state.phase is not None:
            raise NotAllowedError(
                f"{session.task} is a task of workflow {state.workflow} already", remedy="give the task another name"
            )
        return
    if looked.status in FINISHED:
        raise NotAllowedError(f"{session.task} is {looked.word} already", remedy="give the task another name")
    if looked.status is not Status.PENDING:
        raise NotAllowedError(
            f"{session.task} has begun: what it says does not change any more",
            remedy="give the task another name; files that it does not list are for a person to waive",
        )


@again_if_moved
def _begin_attempt(session: TaskSession, by: str = "") -> Transaction:
    state = session.state()
    tree = session.tree(require_verification(state, session.task).spec)
    head = head_of(session.project.root)
    memory = remember_here(session, state, tree)
    with session.transaction() as change:
        session.close_lost(change)
        begin_attempt(session, change, tree, head=head, by=by, memory=memory)
    return change


def remember_here(session: TaskSession, state: State, tree: Tree) -> str:
    """Return the stored files as they are here, for a task whose files were remembered elsewhere; empty: they were not.

    In the same work tree they are not remembered twice: what an attempt left behind is a change of the task.
    """
    verification = require_verification(state, session.task)
    if not session.board.place or verification.place == session.board.place:
        return ""
    context = context_of(Task(session.project, session.store, state), frozenset(), phase=PHASE)
    return session.store.keep("evidence", remember_files(context, tree))


@again_if_moved
def collect_known_here(session: TaskSession, verification: Verification, show: Callable[[str], None]) -> None:
    """Remember which tests the task's verify command selects here, for one that was taken elsewhere."""
    limit = verification.limits["verify"]
    known = collect_known(session.project, session.store, verification.spec, limit=limit, show=show)
    if known is not None:
        with session.transaction() as change:
            change.record(Event(kind="known-taken", data={"known": known}))


def _open_dependencies(board: TaskBoard, spec: TaskSpec) -> list[str]:
    rows = {row.name: row for row in board.overview.rows}
    return [name for name in spec.depends_on if name not in rows or rows[name].status not in FINISHED]


# --- what a verify command selects before the work begins, where it is pytest itself: the task's known tests


def collect_known(
    project: Project, store: TaskStore, spec: TaskSpec, *, limit: float, show: Callable[[str], None]
) -> str | None:
    """Return the stored inventory of what the command selects; None where nothing can be told, or nothing is there."""
    words = pytest_arguments(spec)
    if words is None:
        return None
    environment = {name: value for name, value in project.environment.items() if not name.startswith("PHASE_GATE_")}
    if "PHASE_GATE_KEY" in project.environment:
        environment["PHASE_GATE_KEY"] = project.environment["PHASE_GATE_KEY"]
    with tempfile.TemporaryDirectory(prefix="phase-gate-") as folder:
        answer = Path(folder) / "known"
        command = [
            *words,
            "--collect-only",
            "-q",
            f"--phase-baseline=known={answer}",
            f"--phase-dir={project.state_folder.absolute()}",
            f"--phase-task={project.task}",
        ]
        show(f"collecting what {words[0]} selects ...")
        try:
            subprocess.run(
                command,
                cwd=project.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=limit,
                check=False,
            )
            digest = answer.read_text(encoding="ascii")
        except (OSError, subprocess.SubprocessError, UnicodeError):
            return None  # no such command, no plugin in it, no test yet: the first run will tell
    return digest if store.objects.has(digest) and os.path.basename(digest) == digest else None
