"""All verify tasks of a project, a session for one task, and a step: a transaction that ends with a verdict.

Find the task that a command is for, read its files, refuse steps that are not allowed now, and return its status.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar

from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError, StorageError, TaskNameError, UsageError
from phase_gate.evidence.gathering import context_of
from phase_gate.gate.judging import judgement_events
from phase_gate.gate.state import Case, Event, State
from phase_gate.gate.verdict import ABSENT, Evaluation, Signal
from phase_gate.project import Look, Project
from phase_gate.storage.files import REAL, write_atomically
from phase_gate.storage.fingerprint import Tree
from phase_gate.storage.opening import Opened
from phase_gate.storage.root import folder_id, make_state_folder, refuse_links
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.task import Task, take_listed_tree
from phase_gate.tasks.changes import TaskChanges, find_changes
from phase_gate.tasks.handins import Attachment, ExecutorResult, MalformedResultError, Verdict
from phase_gate.tasks.rules import MARGIN, Escalation, Overview, escalate, load_overview, resume_command
from phase_gate.tasks.show import render_state, status_to_json
from phase_gate.tasks.verify_verdict import judge
from phase_gate.tasks.work import (
    FINISHED,
    PHASE,
    Check,
    FailureType,
    Status,
    TaskSpec,
    Verification,
    require_verification,
    task_slug,
)
from phase_gate.values import Value, replace
from phase_gate.visible import author_of, same_name

#: Characters of a text in a line of the ledger. The whole text is a stored object.
LONGEST = 2000

Result = TypeVar("Result", ExecutorResult, Verdict)


class TaskStatus(Value):
    """The status of a task."""

    verification: Verification
    escalation: Escalation
    #: The verdict of the step that was taken; None if the task was only read.
    evaluation: Evaluation | None = None

    @property
    def task(self) -> str:
        return self.verification.task

    @property
    def document(self) -> dict[str, Any]:
        return status_to_json(self.verification, self.escalation)


class TaskBoard:
    """The project with all of its verify tasks."""

    def __init__(self, project: Project, *, wanted: str | None, owner: str) -> None:
        """Open the project's tasks.

        :param wanted: the task that the command names. This need not be the name of a folder.
        :param owner: how the lock describes its holder.
        """
        self.project, self.wanted, self._owner = project, wanted, owner
        refuse_links(project.own_folders)
        self._overview: Overview | None = None
        self._look: Look | None = None
        self._sessions: dict[str, TaskSession] = {}

    @property
    def overview(self) -> Overview:
        """All tasks. Raises StateError if one of them can't be trusted: it may be the one that a command is for."""
        if self._overview is None:
            if self._look is None:
                self._look = self.project.read_tasks(self._owner)
            self._overview = load_overview(self.project.state_folder, self._read_task, tuple(self._look.refused))
        for task in self._overview.damaged:
            self._read_task(task)
        return self._overview

    @functools.cached_property
    def place(self) -> str:
        """The name of this work tree among those that share the tasks; empty if tasks are not shared."""
        return "" if self.project.shared_store() is None else folder_id(self.project.state_folder)

    def session(self, task: str) -> TaskSession:
        """Return the session of the task. It is cached, so that the task is read once."""
        if task not in self._sessions:
            self._sessions[task] = TaskSession(self, task, owner=self._owner)
        return self._sessions[task]

    def _read_task(self, task: str) -> State | None:
        assert self._look is not None, "the overview sets it"
        return self._look(task) if task in self._look.refused else self.session(task).read_alone()

    # --- which task ----------------------------------------------------------------------------------------------

    def named(self) -> str | None:
        """Return the task that the command names, by its folder, its name, or the beginning of its name."""
        return None if self.wanted is None else self.find(self.wanted)

    def find(self, given: str) -> str:
        tasks, slug = [row.task for row in self.overview.rows], task_slug(given)
        found = [task for task in tasks if task in (slug, given)]
        found = found or [task for task in tasks if task.startswith(f"{slug}-")]
        if len(found) == 1:
            return found[0]
        shown = repr(given if len(given) <= 30 else f"{given[:27]}...")
        problem = f"{shown} matches more than one task" if found else f"{shown} is not a verify task"
        known = ", ".join((found or tasks)[:10])
        raise TaskNameError(problem, remedy=f"one of: {known}" if known else "phase-gate verify start --task-file FILE")

    def waiting(self, what: str, *groups: Collection[Status]) -> str:
        """Return the task that the command names, or else the only one that waits.

        :param groups: statuses of tasks that wait; the first group that has only one task decides.
        """
        if (named := self.named()) is not None:
            return named
        rows = [row for row in self.overview.rows if not row.commit]  # a committed task waits for nothing
        # In the end, the step itself reports why the only unfinished task is not allowed.
        for statuses in (*groups, set(Status) - FINISHED):
            found = [row.task for row in rows if row.status in statuses]
            if len(found) == 1:
                return found[0]
        found = [row.task for row in rows if row.status in groups[-1]]
        if not found:
            remedy = "phase-gate verify status" if self.overview.rows else "phase-gate verify start --task-file FILE"
            raise NotAllowedError(f"no task waits for {what}", remedy=remedy)
        raise UsageError(
            f"{len(found)} tasks wait for {what}", remedy=f"add --task, with one of: {', '.join(found[:10])}"
        )

    def open_for(
        self, attachment: Attachment, read: Callable[[bytes, str], Result], what: str, *groups: Collection[Status]
    ) -> tuple[TaskSession, Result | MalformedResultError, str]:
        """Return the task that a report or a verdict is for, its content or its error, and its author.

        :param groups: as in `waiting`, if neither the command nor the file names a task.
        """
        name = signed = ""
        result: Result | MalformedResultError
        try:
            result = read(attachment.data, attachment.name)
            name, signed = result.task_name, result.by
        except MalformedResultError as error:
            result = error
        session = self.session(self.find(name) if name and self.wanted is None else self.waiting(what, *groups))
        if name and not f"{session.task}-".startswith(f"{task_slug(name)}-"):
            raise NotAllowedError(
                f"{attachment.name} is for {name!r}, but the task is {session.verification().name!r}",
                remedy=f"hand in {what} for this task, or name the other one with --task",
            )
        return session, result, author_of(attachment.name, signed=signed, given=attachment.by) or attachment.user

    def refuse_halted(self, wave: str) -> None:
        """Refuse to continue in a wave that is halted. Raises NotAllowedError."""
        why = self.overview.halted(wave)
        if why:
            raise NotAllowedError(why, remedy=f"look into it, then: {resume_command(wave)}")

    # --- after a step --------------------------------------------------------------------------------------------

    def ask_again(self) -> None:
        """Read all tasks again on the next use, including those that other machines have changed."""
        self._overview = self._look = None

    def refresh(self) -> None:
        """Read all tasks again, because one was written here, and write STATE.md for people. No code reads it."""
        self._overview = None
        with contextlib.suppress(StorageError):  # the ledger has everything anyway
            make_state_folder(self.project.state_folder)
            text = render_state(self.overview).encode("utf-8", "replace")
            write_atomically(REAL, self.project.state_folder / "STATE.md", text, durable=False)


def task_environment(project: Project) -> dict[str, str]:
    """Return the environment of a verify command: pytest in it finds the task."""
    state_folder = str(project.state_folder.absolute())
    return {**project.environment, "PHASE_GATE_TASK": project.task, "PHASE_GATE_DIR": state_folder}


class TaskSession:
    """One verify task."""

    def __init__(self, board: TaskBoard, task: str, *, owner: str) -> None:
        self.board, self.task = board, task
        self.project = replace(board.project, task=task)
        self.store: TaskStore = self.project.store(owner)
        self._opened: Opened | None = None

    # --- reading -------------------------------------------------------------------------------------------------

    def read(self) -> Opened:
        """Return the task's current state. The ledger is read again only if it was written since."""
        if self.store.shared is not None or self._opened is None or not self.store.is_as_opened(self._opened):
            self._opened = self.store.read()
        return self._opened

    def read_alone(self) -> State | None:
        """Return the state in the local folder; None for a task that never began."""
        opened = self._opened
        if opened is None or not opened.exists or not self.store.is_as_opened(opened):
            store = self.store.alone()
            opened = store.read()
            if not opened.exists:
                return store.read_if_begun()
            self._opened = opened
        return opened.state

    def state(self) -> State:
        return self.read().state

    def verification(self) -> Verification:
        return require_verification(self.state(), self.task)

    def tree(self, spec: TaskSpec) -> Tree:
        """Return the current files: the sources, and all files that the task lists."""
        return take_listed_tree(self.project, spec.files)

    def memory(self, verification: Verification) -> Any:
        """Return the files and the commit from when the task was taken."""
        return self.store.objects.load(verification.memory)

    def changes(self, state: State, tree: Tree) -> TaskChanges:
        """Return the changes since the task was taken."""
        verification = require_verification(state, self.task)
        context = context_of(Task(self.project, self.store, state), frozenset(), phase=PHASE)
        return find_changes(context, verification, tree, self.memory(verification), self.board.overview.rows)

    def output(self, verification: Verification) -> str:
        """Return the output of the verify command, as far as it is stored."""
        check = verification.check
        return "" if check is None or not check.output else str(self.store.objects.load(check.output)["output"])

    def status(self, verification: Verification, evaluation: Evaluation | None = None) -> TaskStatus:
        escalation = escalate(verification, self.board.overview.halted(verification.wave))
        return TaskStatus(verification=verification, escalation=escalation, evaluation=evaluation)

    # --- changing ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Lock the task to change it."""
        with self.store.transaction(known=self._opened) as change:
            yield change
        self._opened = change.opened

    @contextlib.contextmanager
    def step(self) -> Iterator[Step]:
        """Take a step of the task, then update STATE.md."""
        with self.transaction() as change:
            step = Step(self, change)
            step.close_lost()
            yield step
        self.board.refresh()


class Step:
    """One transaction of a verify task: the events that it records, and the resulting verdict."""

    def __init__(self, session: TaskSession, change: Transaction) -> None:
        self.session, self.change = session, change
        self.evaluation: Evaluation | None = None

    @property
    def current(self) -> Verification:
        """The task's state within the transaction."""
        return require_verification(self.change.state, self.session.task)

    @property
    def status(self) -> TaskStatus:
        return self.session.status(self.current, self.evaluation)

    @functools.cached_property
    def tree(self) -> Tree:
        """The files at the time of the first use."""
        return self.session.tree(self.current.spec)

    @functools.cached_property
    def changes(self) -> TaskChanges:
        """The changes since the task was taken, at the time of the first use."""
        return self.session.changes(self.change.state, self.tree)

    def case(self, reading: Signal = ABSENT) -> Case:
        project, state = self.session.project, self.change.state
        workflow = Task(project, self.session.store, state).rules
        phase = workflow.phase(PHASE)
        assert phase is not None, "a verify task has the gate's phase"
        return Case(
            state=state, workflow=workflow, phase=phase, at=self.change.at, root=str(project.root), reading=reading
        )

    # --- refusals --------------------------------------------------------------------------------------------------

    def refuse_halted(self) -> None:
        self.session.board.refuse_halted(self.current.wave)

    def refuse_foreign(self, by: str) -> None:
        """Refuse a report for an attempt that another worker has taken over. Raises NotAllowedError."""
        current = self.current
        if current.status is Status.EXECUTING and current.by and not same_name(by, current.by):
            raise NotAllowedError(
                f"{current.by} has attempt {current.attempt} of {current.task} since {current.began_at}",
                remedy="if it is yours: --by NAME; else take another one: phase-gate verify next --by NAME",
            )

    # --- recording -----------------------------------------------------------------------------------------------

    def record(self, kind: str, **data: Any) -> None:
        self.change.record(Event(kind=kind, data=data))

    def close_lost(self) -> None:
        """Record that a verify run was interrupted, if its process is gone. Refuses while it is running."""
        check, store, task = self.current.check, self.session.store, self.session.task
        if check is None or check.how != "running":
            return
        if store.is_alive(check.id, check.limit + MARGIN):
            raise NotAllowedError(
                f"the verify command of {task} is running since {check.at}", remedy="wait for it to end, then try again"
            )
        why = "it began and never ended: it was killed, or the machine stopped"
        self.record_check(replace(check, how="interrupted", why=why, ended_at=self.change.at))

    def record_check(self, check: Check) -> None:
        self.record("verify-ran", check=spell_out(check))

    def fail(
        self,
        kind: FailureType,
        error: str,
        *,
        step: int = 0,
        lines: tuple[str, ...] = (),
        counts: bool = True,
        exit_code: int | None = None,
    ) -> None:
        """Record that the attempt failed, with the current files.

        :param step: the step that failed; 0 for the current one.
        """
        failure = {
            "type": str(kind),
            "step": step or self.current.step,
            "error": error[:LONGEST],
            "lines": [line[:300] for line in lines],
            "tree": self.tree.digest,
            "counts": counts,
            "exit_code": exit_code,
        }
        self.record("attempt-failed", failure=failure)

    def judge(self, reading: Signal = ABSENT) -> None:
        """Judge the current state of the task, and record the verdict."""
        case = self.case(reading)
        self.evaluation = judge(case, self.changes)
        self.change.record(*judgement_events(self.evaluation, case))
