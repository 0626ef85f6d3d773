"""A list of verify tasks as a source of steps, wave by wave: the executor works and reports, we verify, the reviewer
decides. The rules of `phase-gate verify` apply to each step, and its result is in the ledger. A person helps if needed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping

from phase_gate.drive.agent_prompts import write_review
from phase_gate.drive.clients import Client, Roles
from phase_gate.drive.drive_state import Decision, Outcome
from phase_gate.drive.loop import Played, Session, Step, Working, make_answer
from phase_gate.drive.prompt_user import ask_about_task
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.storage import store
from phase_gate.storage.lock import KernelLock, is_free
from phase_gate.storage.root import LIST_LOCK
from phase_gate.storage.store import DRIVER
from phase_gate.tasks.board import TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.commit import commit_task
from phase_gate.tasks.handins import Attachment
from phase_gate.tasks.prompts import find_dependency, write_executor_prompt
from phase_gate.tasks.rules import Overview, delay_left, escalate, late, resume_command, seconds_between
from phase_gate.tasks.start import WORKED_ON, begin, is_over
from phase_gate.tasks.steps import abandon_attempt, fail_attempt, report_execution, review, void_steps
from phase_gate.tasks.verify_run import Display, run_verify
from phase_gate.tasks.work import FINISHED, FailureType, Status, Verification
from phase_gate.values import replace
from phase_gate.visible import count, show_line
from phase_gate.workflow.names import show_duration

#: Events of pytest runs: agents may run tests.
_RUNS = frozenset({"run-started", "run-ended", "run-lost", "evaluated"})

#: Statuses that get a line. In other cases, the next line shows what happens.
_SHOWN_STATUSES = frozenset({Status.APPROVED, Status.FAILED, Status.REJECTED, Status.BLOCKED})

#: The answer of each role, and the failure type if it is invalid.
_HANDS_IN: Mapping[str, tuple[str, FailureType]] = {
    "executor": ("report", FailureType.EXECUTION_FAILURE),
    "reviewer": ("verdict", FailureType.MALFORMED),
}


class TaskSource:
    def __init__(self, session: Session, roles: Roles, task: str | None = None) -> None:
        self.session, self.roles = session, roles
        self.board = board = TaskBoard(session.project, wanted=None, owner=DRIVER)
        overview = board.overview
        if not overview.rows:
            raise NotAllowedError("there is no task yet", remedy="phase-gate verify start --task-file FILE")
        self.chosen = tuple(row.task for row in overview.rows) if task is None else (task,)
        #: How the drive of the same tasks is begun again.
        self._again = "phase-gate drive" if task is None else f"phase-gate drive --task {task}"
        #: Tasks that wait for a person, with the reason.
        self.parked: dict[str, str] = {}
        self._began = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds left in the budget."""
        return self.session.settings.budget.seconds - (time.monotonic() - self._began)

    # --- the drive ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Allow only one drive of lists per state folder."""
        project = self.session.project
        project.store(DRIVER).make_folder()
        path = project.state_folder / LIST_LOCK
        if not is_free(path):
            raise NotAllowedError(
                "a list of tasks is being driven here already", remedy="wait for that drive to end, or interrupt it"
            )
        lock = KernelLock(path)
        lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def begin(self) -> None:
        self.session.tell(
            "drive-started",
            f"drive begins: {count(len(self.chosen), 'task')}",
            *(f"  {role:<9} {' '.join(self._client(role).words)}" for role in _HANDS_IN),
            tasks=list(self.chosen),
        )

    def next(self) -> Step | Decision:
        while True:
            board = self.board
            board.ask_again()  # agents and other machines may have written meanwhile
            self._commit_approved(board)
            row = self._choose(board.overview)
            if row is None:
                return self._end(board.overview)
            current = board.session(row.task)
            if reason := self._needs_person(row, board.overview):
                self._ask(current, reason)
            elif (step := self._next_step(current, row)) is not None:
                return step

    def take(self, step: Step, played: Played) -> None:
        """Submit the agent's answer. A refused answer is a failed attempt, so that no agent continues forever."""
        board, role = self.board, step.working.role
        board.wanted = step.working.where
        current = board.session(step.working.where)
        if reason := self._judge(board, current, role, played):
            self._ask(current, reason)

    # --- which task is next ------------------------------------------------------------------------------------------

    def _rows(self, overview: Overview) -> list[Verification]:
        return [row for row in overview.rows if row.task in self.chosen]

    def _choose(self, overview: Overview) -> Verification | None:
        """Return the first task of the wave that can be worked on now."""
        if self.session.is_asked_to_end or self.left <= 0:
            return None
        rows = (row for row in overview.due(self.chosen) if row.task not in self.parked and not self._is_taken(row))
        waits = (row for row in rows if not (_is_blocked(row) and find_dependency(row, overview).command))
        return next(waits, None)

    def _is_taken(self, row: Verification) -> bool:
        """Return whether another worker has the task, by `verify next`, and is not late."""
        return bool(row.by) and row.status in WORKED_ON and not is_over(self.board, row)

    def _needs_person(self, row: Verification, overview: Overview) -> str:
        """Return why a task needs a person; empty if it does not."""
        escalation = escalate(row)
        if escalation.level >= 2:
            return escalation.reason
        if not _is_blocked(row):
            return ""
        dependency = find_dependency(row, overview)
        if dependency.row is not None and dependency.row.last_step_at > row.last_step_at:
            return ""  # the tasks that it waited for are finished
        error = "" if row.report is None else " ".join(str(row.report.result.get("error", "")).split())[:200]
        return f"blocked: {error}; {dependency.way}"

    def _ask(self, current: TaskSession, reason: str) -> None:
        """Let a person decide. Without a person, the task waits."""
        if not ask_about_task(self.session, current, reason):
            self._park(current.task, reason)

    def _park(self, task: str, reason: str) -> None:
        self.parked[task] = reason
        self.session.tell("person-needed", f"{task}: waits for a person: {reason}", task=task, reason=reason)

    def _commit_approved(self, board: TaskBoard) -> None:
        """Commit approved work if the settings require it. If a commit fails, the task waits for a person."""
        for row in self._rows(board.overview) if self.session.settings.commit else ():
            if row.commit or row.status is not Status.APPROVED or row.task in self.parked:
                continue
            try:
                status, _ = commit_task(board.session(row.task))
            except StateError:
                raise
            except PhaseGateError as error:
                self._park(row.task, error.problem)
            else:
                commit = status.verification.commit
                self.session.tell("committed", f"{row.task}: committed as {commit[:10]}", task=row.task, commit=commit)

    def _end(self, overview: Overview) -> Decision:
        """Return how the list ended, by priority, and the next command."""
        rows = self._rows(overview)
        left = [row for row in rows if row.status not in FINISHED]
        halted = next((row for row in left if overview.halted(row.wave)), None)
        first = next(iter(self.parked), left[0].task if left else "")
        following = f"phase-gate verify status --task {first}"
        if self.session.is_asked_to_end:
            outcome, reason, following = Outcome.INTERRUPTED, "the user interrupted it", self._again
        elif halted is not None:
            outcome, reason = Outcome.HALTED, overview.halted(halted.wave)
            following = resume_command(halted.wave)
        elif self.parked:
            more = f" (and {len(self.parked) - 1} more)" if len(self.parked) > 1 else ""
            outcome, reason = Outcome.PERSON, f"{first} waits for a person: {self.parked[first]}{more}"
        elif not left:
            outcome, reason, following = Outcome.DONE, "all tasks are finished", ""
        elif self.left <= 0:
            reason = f"the budget of {show_duration(self.session.settings.budget.seconds)} is spent"
            outcome, following = Outcome.BUDGET, f"{self._again} --time SPAN"
        else:
            why = f"{left[0].by} has it" if self._is_taken(left[0]) else "it waits for another task"
            outcome, reason = Outcome.PERSON, f"{first} can't begin: {why}"
        took = show_duration(round(time.monotonic() - self._began, 3))
        spent = f"{len(rows) - len(left)} of {count(len(rows), 'task')} finished, {took}"
        return Decision(outcome=outcome, reason=reason, next_command=following, spent=spent)

    # --- the steps of a task -----------------------------------------------------------------------------------------

    def _next_step(self, current: TaskSession, row: Verification) -> Step | None:
        """Return the executor's or the reviewer's turn; None if something else was done: choose again."""
        if row.status in (Status.EXECUTING, Status.REVIEWING) and late(row, store.now()):
            # Left by an earlier driver or by a person. It does not count.
            abandon_attempt(current, reason="it was left alone for too long", by=DRIVER)
            return None
        if row.status is Status.VERIFYING:
            self._verify(current, row)
            return None
        # If files were changed after the verify run, another attempt begins instead.
        if row.status is Status.REVIEWING and current.tree(row.spec).digest == row.verified_tree:
            return self._turn(current, row, "reviewer")
        if (delay := delay_left(row, store.now())) > 0:
            working = Working(role="waits", where=current.task, number=row.attempt)
            self.session.wait(working, delay, "a time-out is tried again after a while")
            return None
        if row.status is not Status.EXECUTING:
            row = begin(current, show=self.session.note).verification
        return self._turn(current, row, "executor")

    def _turn(self, current: TaskSession, row: Verification, role: str) -> Step:
        session, folder = self.session, current.store.drive_folder
        current.store.make_folder()
        file = make_answer(session, folder, role)
        number = 1 + max((int(path.name[:4]) for path in folder.glob("[0-9][0-9][0-9][0-9].*")), default=0)
        self._announce_step(row, role)
        if role == "reviewer":
            assert row.check is not None, "what is reviewed was verified"
            text, step, began = write_review(current, row, session.relative(file)), "review", row.check.ended_at
        else:
            text, step, began = write_executor_prompt(current, answer=session.relative(file)), "executor", row.began_at
        limit = session.settings.time_limit
        if not row.untimed:
            limit = max(1.0, row.limits[step] - seconds_between(began, store.now()))
        return Step(
            client=self._client(role),
            store=current.store,
            text=text,
            prompt=folder / f"{number:04}.{role}.md",
            answer=file,
            working=Working(role=role, where=current.task, number=row.attempt, limit=limit),
        )

    def _client(self, role: str) -> Client:
        return self.roles.usual if role == "executor" else self.roles.reviewers[0]

    def _announce_step(self, row: Verification, step: str) -> None:
        line = f"{row.task}: attempt {row.attempt}: {step}"
        self.session.tell("step-started", line, task=row.task, step=step, attempt=row.attempt)

    def _verify(self, current: TaskSession, row: Verification) -> None:
        """Run the verify command. Changes to files that the task does not list go back to the executor."""
        session = self.session
        self._announce_step(row, "verify")
        working = Working(role="verify", where=current.task, number=row.attempt)
        display = Display(
            show=lambda text: None,
            tick=lambda seconds, limit: session.show(replace(working, limit=limit), seconds),
            interrupts=session.interrupts,
        )
        status, log = run_verify(current, display)
        if status.verification.status is not Status.VERIFYING:
            self._announce_end(status)
        elif not log:
            problem = f"files were changed that the task does not list: {_unlisted(status)}\ntake these changes back"
            self._fail(current, FailureType.EXECUTION_FAILURE, problem)

    # --- the agent's answer ------------------------------------------------------------------------------------------

    def _judge(self, board: TaskBoard, current: TaskSession, role: str, played: Played) -> str:
        """Submit the agent's answer; return why a person is needed, empty if the task continues."""
        name, failure = _HANDS_IN[role]
        if outside := next((kind for kind in played.recorded if kind not in _RUNS), ""):
            message = f"{outside} was recorded while the agent worked, and not by the drive"
            void_steps(current, message)
            return f"{message}: read phase-gate history --events --task {current.task}, then drive again"
        if played.how == "interrupted" or played.trouble:
            trouble = f"the agent can't work: {played.trouble}" if played.trouble else ""
            if role == "executor":  # the client stopped it, so the work did not fail
                abandon_attempt(current, reason=trouble or "the agent was interrupted", by=DRIVER)
            return trouble
        if played.how == "timed-out":
            return self._fail(current, FailureType.TIMEOUT, f"the {role} was stopped after {played.seconds:.0f} s")
        author = self._client(role).name
        if played.data is None:
            problem = f"no {name} was written into the file that the prompt names"
            if played.code:
                return self._fail(current, failure, f"the agent {played.shown}, and {problem}")
            return self._fail(current, FailureType.MALFORMED, problem)
        attachment = Attachment(data=played.data, name=f"the {role}'s {name}", by=author)
        failed = len(current.verification().failures)
        try:
            status = (report_execution if role == "executor" else review)(board, attachment)
        except StateError:
            raise
        except PhaseGateError as error:
            if board.overview.halted(current.verification().spec.wave):
                return ""
            return self._fail(current, failure, f"{error.problem}\n{error.remedy}")
        self._announce_end(status, failed=len(status.verification.failures) > failed)
        return ""

    def _fail(self, current: TaskSession, kind: FailureType, error: str) -> str:
        """Record a failed attempt; return why a person is needed, as when another verify command is running."""
        try:
            status = fail_attempt(current, kind, error=error)
        except NotAllowedError as refused:
            return refused.problem
        self._announce_end(status, failed=True)
        return ""

    def _announce_end(self, status: TaskStatus, *, failed: bool = False) -> None:
        row, last = status.verification, status.verification.last_failure
        reason = "" if status.evaluation is None else show_line(status.evaluation.reason)
        line = f"{row.status}: {reason}" if row.status in _SHOWN_STATUSES else ""
        if failed and not line and last is not None:
            line = reason = f"{last.type}: {show_line(last.error)}"  # the verdict failed, not the task
        self.session.tell(
            "step-ended",
            *((f"{row.task}: attempt {row.attempt}: {line}",) if line else ()),
            task=row.task,
            status=str(row.status),
            attempt=row.attempt,
            reason=reason,
        )


def _is_blocked(row: Verification) -> bool:
    """Return whether a task is blocked, and no person has resumed it since."""
    return row.status is Status.BLOCKED and row.resumed_after < len(row.failures)


def _unlisted(status: TaskStatus) -> str:
    evaluation = status.evaluation
    found = () if evaluation is None else evaluation.findings
    return ", ".join(each.file for each in found if each.slug == "files-listed" and each.file) or "see verify status"
