"""Take verify tasks, or begin an attempt of one that waits."""

from __future__ import annotations

import graphlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from phase_gate.codec import to_json
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.evidence.gathering import context_of
from phase_gate.gate.order import Entry, How, entry_events
from phase_gate.gate.state import Event, State
from phase_gate.project import Project
from phase_gate.storage.store import TaskStore
from phase_gate.storage.tree.git_command import head_of
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.changes import remember_files
from phase_gate.tasks.lint import lint_command, lint_done, pytest_arguments
from phase_gate.tasks.rules import set_limits
from phase_gate.tasks.steps import begin_attempt
from phase_gate.tasks.work import (
    FINISHED,
    PHASE,
    WORKFLOW,
    Status,
    TaskSpec,
    Verification,
    find_verification,
    require_verification,
)
from phase_gate.values import Value, replace
from phase_gate.workflow.model import Overlay, Workflow
from phase_gate.workflow.model_json import workflow_to_json


class StartOptions(Value):
    """Options for taking tasks."""

    #: Print progress.
    show: Callable[[str], None]
    untimed: bool = False
    #: The task file's path relative to the root; None if it is outside.
    file: str | None = None


def choose_specs(specs: Sequence[TaskSpec], *, file: str, task: str | None, wave: str | None) -> list[TaskSpec]:
    """Return the chosen tasks of a file, with the given wave.

    :param file: the file's name in messages.
    """
    chosen = [spec if wave is None else replace(spec, wave=wave) for spec in specs]
    if task:
        chosen = [spec for spec in chosen if task in (spec.name, spec.slug)]
        if not chosen:
            raise UsageError(f"{file} has no task {task!r}", remedy="leave --task out, or name one of its tasks")
    return chosen


def take_tasks(board: TaskBoard, specs: Sequence[TaskSpec], options: StartOptions) -> list[tuple[TaskStatus, bool]]:
    """Take tasks; return their statuses, and which are new. A single task without open dependencies begins at once."""
    flags = {spec.slug: _lint(spec) for spec in specs}
    _refuse_dependencies(board, specs)
    for wave in dict.fromkeys(spec.wave for spec in specs):
        board.refuse_halted(wave)
    sessions = [board.session(spec.slug) for spec in specs]
    taken = [_take(session, spec, flags[spec.slug], options) for session, spec in zip(sessions, specs, strict=True)]
    board.refresh()
    if len(specs) == 1 and sessions[0].verification().status is Status.PENDING:
        finished = {row.name for row in board.overview.rows if row.status in FINISHED}
        # Also if an earlier command died after it took the task.
        if finished.issuperset(specs[0].depends_on):
            begin(sessions[0])
    return [(session.status(session.verification()), is_new) for session, is_new in zip(sessions, taken, strict=True)]


def _refuse_dependencies(board: TaskBoard, specs: Sequence[TaskSpec]) -> None:
    """Refuse tasks that depend on unknown tasks, or on each other. Raises NotAllowedError."""
    waits = {row.name: row.spec.depends_on for row in board.overview.rows}
    waits |= {each.name: each.depends_on for each in specs}
    for spec in specs:
        unknown = next((name for name in spec.depends_on if name not in waits), None)
        if unknown is not None:
            raise NotAllowedError(
                f"{spec.name} depends on {unknown!r}, which is not a task",
                remedy="add that task to the file as well, or correct the name",
            )
    try:
        graphlib.TopologicalSorter(waits).prepare()
    except graphlib.CycleError as error:
        circle = list(dict.fromkeys(error.args[1]))
        raise NotAllowedError(
            f"{circle[0]} depends on itself, in a circle: {', '.join(circle)}",
            remedy="remove one of these from depends_on",
        ) from None


def _lint(spec: TaskSpec) -> tuple[str, ...]:
    """Return the flags of a task. Raises NotAllowedError for a verify command that proves nothing."""
    opinions = (*lint_command(spec), *lint_done(spec))
    refused = next((each for each in opinions if each.is_refused), None)
    if refused is not None:
        raise NotAllowedError(
            f"{spec.name}: {refused.text} ({refused.slug})",
            remedy=refused.remedy
            or "write a verify command that fails as long as the task is not done, like pytest tests/test_it.py",
        )
    # The command was parsed already, so that this can't fail.
    if any(word.partition("=")[0] in ("--phase", "--phase-task", "--phase-dir") for word in shlex.split(spec.verify)):
        raise NotAllowedError(
            f"{spec.name}: the verify command chooses a phase, so its run would be recorded for another task",
            remedy="leave --phase out: a run of pytest is recorded for this task automatically",
        )
    return tuple(each.text for each in opinions)


def verification_workflow(project: Project) -> Workflow:
    """Return the workflow of verify tasks, with the project's settings for its only phase."""
    overlay = project.configuration.overlay
    # The other settings are for the project's own workflow.
    own = Overlay()
    if PHASE in overlay.phases:
        own = replace(overlay, phases={PHASE: overlay.phases[PHASE]}, parameters={})
    return replace(project, configuration=replace(project.configuration, overlay=own)).workflow(WORKFLOW)


@again_if_moved
def _take(session: TaskSession, spec: TaskSpec, flags: tuple[str, ...], options: StartOptions) -> bool:
    """Take one task; return whether it is new. An existing task with the same text is not changed."""
    project, store = session.project, session.store
    settings = project.configuration.verification
    limits = set_limits(spec, settings.timeouts)
    looked = find_verification(session.state())
    if looked is not None and not spec.wave:
        spec = replace(spec, wave=looked.wave)  # as --wave gave it
    if looked is not None and looked.spec == spec and looked.limits == limits:
        return False
    _refuse_change(session, looked)
    memory = _remember(session, session.state(), spec)
    known = collect_known(project, store, spec, limit=limits["verify"], show=options.show)
    workflow = verification_workflow(project)
    with session.transaction() as change:
        before = find_verification(change.state)
        _refuse_change(session, before)
        if change.state.phase is None:
            entry, scripted = Entry(workflow.first, How.BEGIN), project.configuration.allow_non_interactive
            change.record(*entry_events(change.state, entry, workflow, run=None, allow_non_interactive=scripted))
        data = {
            "spec": to_json(spec),
            "limits": limits,
            "untimed": options.untimed or settings.untimed,
            "flags": list(flags),
            "memory": memory,
            "attachments": [options.file] if options.file else [],
            **({"place": session.board.place} if session.board.place else {}),
            "rules": store.objects.keep(workflow_to_json(workflow)),
        }
        change.record(Event(kind="task-taken", data=data))
        if known is not None:
            change.record(Event(kind="known-taken", data={"known": known}))
    return before is None


def _refuse_change(session: TaskSession, looked: Verification | None) -> None:
    if looked is None and session.state().phase is not None:
        problem = f"{session.task} is a task of workflow {session.state().workflow} already"
    elif looked is not None and looked.status in FINISHED:
        problem = f"{session.task} is {looked.word} already"
    elif looked is not None and looked.status is not Status.PENDING:
        problem = f"{session.task} has begun: its text can't be changed any more"
    else:
        return
    raise NotAllowedError(problem, remedy="give the task another name")


def _remember(session: TaskSession, state: State, spec: TaskSpec) -> str:
    context = context_of(Task(session.project, session.store, state), frozenset(), phase=PHASE)
    return session.store.keep("evidence", remember_files(context, session.tree(spec)))


@again_if_moved
def begin(session: TaskSession, *, by: str = "") -> TaskStatus:
    """Begin an attempt before its executor reports. Its time limit starts now.

    :param by: the worker that gets the attempt; empty if none is named.
    """
    memory, head = remember_here(session, session.state()), head_of(session.project.root)
    with session.step() as step:
        begin_attempt(step, head=head, by=by, memory=memory)
    return step.status


def remember_here(session: TaskSession, state: State) -> str:
    """Store the current files of this work tree, if the task's files were stored in another one; else return empty.

    In the same work tree the first ones remain valid: changes from an earlier attempt belong to the task.
    """
    verification = require_verification(state, session.task)
    return "" if session.board.place in ("", verification.place) else _remember(session, state, verification.spec)


# --- the tests that a verify command with pytest selects before the work begins: the task's known tests


@again_if_moved
def collect_known_here(session: TaskSession, verification: Verification, show: Callable[[str], None]) -> None:
    """Record the tests that the verify command selects here, for a task that was taken in another work tree."""
    limit = verification.limits["verify"]
    known = collect_known(session.project, session.store, verification.spec, limit=limit, show=show)
    if known is not None:
        with session.transaction() as change:
            change.record(Event(kind="known-taken", data={"known": known}))


def collect_known(
    project: Project, store: TaskStore, spec: TaskSpec, *, limit: float, show: Callable[[str], None]
) -> str | None:
    """Return the stored inventory of the selected tests; None if that is unknown, or if there are no tests."""
    words = pytest_arguments(spec)
    if words is None:
        return None
    kept = ("PHASE_GATE_KEY",)
    environment = {
        name: value for name, value in project.environment.items() if name in kept or not name.startswith("PHASE_GATE_")
    }
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
            return None  # no such command, no plugin in it, or no test yet: the first run will show
    return digest if store.objects.has(digest) and os.path.basename(digest) == digest else None
