"""A list of verify tasks as a source of steps, wave by wave: the executor works and reports, we verify, the reviewer
decides. Each step ends in the ledger by the rules of `phase-gate verify`; a person is asked where one is needed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import BinaryIO, cast

from phase_gate.drive.clients import Roles, mark_of
from phase_gate.drive.model import Decision, Outcome
from phase_gate.drive.people import ask_about_task
from phase_gate.drive.prompt import write_review
from phase_gate.drive.step import OWNER, Played, Session, Step, make_answer
from phase_gate.drive.view import Working
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.tree import end_marked
from phase_gate.storage import store
from phase_gate.storage.lock import RunLock, is_free
from phase_gate.storage.paths import LIST_LOCK
from phase_gate.storage.tree.fingerprint import Tree, describe_difference
from phase_gate.tasks.board import Attachment, TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.commit import commit_task
from phase_gate.tasks.model import FINISHED, FailureType, Status, Verification
from phase_gate.tasks.overrides import abandon_attempt, void_steps
from phase_gate.tasks.overview import Overview
from phase_gate.tasks.prompts import find_dependency, write_executor_prompt
from phase_gate.tasks.rules import RETRIES, escalate, late, resume_command, seconds_between
from phase_gate.tasks.running import Display, run_verify
from phase_gate.tasks.start import begin
from phase_gate.tasks.steps import fail_attempt, record_turn, report_execution, review
from phase_gate.values import replace
from phase_gate.visible import show_line
from phase_gate.workflow.names import show_duration

#: Events of a run of pytest: an agent may test.
_RUNS = frozenset({"run-started", "run-ended", "run-lost", "evaluated"})

#: What each of the two hands in, and what it is where that can't be taken.
_HANDS_IN: Mapping[str, tuple[str, FailureType]] = {
    "executor": ("report", FailureType.EXECUTION_FAILURE),
    "reviewer": ("verdict", FailureType.MALFORMED),
}


class TaskSource:
    def __init__(self, session: Session, roles: Roles, task: str | None = None) -> None:
        self.session, self.roles = session, roles
        board = self._board()
        overview = board.overview
        if overview.untrusted:
            board.store(overview.untrusted[0].task).look()  # raises what is wrong with it
        if not overview.rows:
            raise NotAllowedError("there is no task yet", remedy="phase-gate verify start --task-file FILE")
        self.chosen = tuple(row.task for row in overview.rows) if task is None else (board.find(task),)
        #: Tasks that wait for a person, with the reason; and for another task.
        self.parked: dict[str, str] = {}
        self.blocked: dict[str, str] = {}
        #: Tasks that try again, though they are blocked: what they waited for is done, or a person says so.
        self.again: set[str] = set()
        #: What people say that is on no record: about a task that does not wait for one.
        self.said: dict[str, str] = {}
        self._current = ""
        #: Of the task that is at work: its failures when the turn began, and the files that the reviewer is shown.
        self._failures = 0
        self._reviewed: Tree | None = None
        self._began = time.monotonic()

    def _board(self, task: str | None = None) -> TaskBoard:
        """Return all tasks as they are now."""
        return TaskBoard(self.session.project, wanted=task, owner=OWNER)

    @property
    def spent(self) -> float:
        """Seconds of the drive."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self.session.settings.budget.seconds - self.spent

    # --- the drive ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """One drive of lists a state folder."""
        project = self.session.project
        project.store(OWNER).make_folder()
        path = project.state_folder / LIST_LOCK
        if not is_free(path):
            raise NotAllowedError(
                "a list of tasks is being driven here already", remedy="wait for that drive to end, or interrupt it"
            )
        lock = RunLock(path)
        lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def begin(self) -> None:
        session, board = self.session, self._board()
        if end_marked(mark_of(session.project)):
            session.note("an earlier driver died: what its agents left running is ended")
        rows = [row for row in board.overview.rows if row.task in self.chosen]
        session.tell(
            "drive-started",
            tasks=list(self.chosen),
            root=str(session.project.root),
            agents={role: list(client.words) for role, client in self.roles.clients.items()},
            seconds=session.settings.budget.seconds,
            done=sum(row.status in FINISHED for row in rows),
        )
        for row in rows:
            if row.status is Status.APPROVED:
                self._commit(board.session(row.task))

    def next(self) -> Step | Decision:
        while True:
            board = self._board()
            is_new = not self._current
            if is_new:
                self._current = self._choose(board.overview)
                if not self._current:
                    return self._end(board.overview)
            current = board.session(self._current)
            verification = current.verification()
            if is_new and _is_left_alone(verification):
                self._give_up(current, "it was left alone for too long")
            elif (decision := self._look(board, verification)) is not None:
                self._finish(current, decision)
            elif (step := self._next_step(current, verification)) is not None:
                return step

    def take(self, step: Step, played: Played) -> None:
        """Hand in what the agent wrote; what the rules refuse is a failed attempt: no agent goes on for ever."""
        board, role = self._board(step.working.where), step.working.role
        current = board.session(step.working.where)
        record_turn(current, role=role, seconds=played.seconds, how=played.how, code=played.code)
        decision = self._judge(board, current, role, played)
        if decision is not None:
            self._finish(current, decision)

    def fail(self, reason: str) -> None:
        """The steps are in the ledgers of the tasks; a list has none."""

    # --- which task is next ------------------------------------------------------------------------------------------

    def _choose(self, overview: Overview) -> str:
        """Return the first task that may be driven now; empty: nothing may begin."""
        if self.session.is_asked_to_end or self.left <= 0:
            return ""
        done = [row for row in overview.rows if row.status in FINISHED]
        finished, names = {row.task for row in done}, {row.name for row in done}
        left = [row for row in overview.rows if row.task in self.chosen and row.task not in finished]
        # The next wave begins after this one.
        wave = left[0].wave if left else ""
        if not left or overview.halted(wave):
            return ""
        for row in left:
            if row.wave != wave or row.task in self.parked:
                continue
            if self.blocked.get(row.task, row.task) not in {row.task, *finished}:
                continue
            if names.issuperset(row.spec.depends_on):
                if self.blocked.pop(row.task, None) is not None:
                    self.again.add(row.task)
                return row.task
        return ""

    def _look(self, board: TaskBoard, verification: Verification) -> Decision | None:
        """Return the end of the task's drive; None: a step follows. `GO_ON` waits for the task that `reason` names."""
        task = verification.task
        if verification.status in FINISHED:
            return Decision(outcome=Outcome.DONE, reason=verification.word)
        if self.session.is_asked_to_end:
            return Decision(outcome=Outcome.INTERRUPTED, reason="the user interrupted it")
        if halted := board.overview.halted(verification.spec.wave):
            return Decision(outcome=Outcome.HALTED, reason=halted)
        escalation = escalate(verification)
        if escalation.level >= 2:
            return Decision(outcome=Outcome.PERSON, reason=escalation.reason)
        if verification.status is Status.BLOCKED and task not in self.again:
            return _look_at_dependency(board, verification)
        self.again.discard(task)
        return None

    def _finish(self, current: TaskSession, decision: Decision) -> None:
        """Do what follows from the end of one task."""
        task, self._current = current.task, ""
        self.session.tell("task-ended", task=task, outcome=str(decision.outcome), reason=decision.reason)
        if decision.outcome is Outcome.DONE:
            self._commit(current)
        elif decision.outcome is Outcome.GO_ON:
            self.blocked[task] = decision.reason
        elif decision.outcome is Outcome.PERSON:
            said = ask_about_task(self.session, current, decision.reason)
            if said is None:
                self._park(task, decision.reason)
            else:
                self.said[task] = said
                self.again.add(task)
                self.blocked.pop(task, None)

    def _park(self, task: str, reason: str) -> None:
        self.parked[task] = reason
        self.session.tell("person-needed", task=task, reason=reason)

    def _commit(self, current: TaskSession) -> None:
        """Commit what was approved, where that is asked for; what can't be committed waits for a person."""
        verification = current.verification()
        if not self.session.settings.commit or verification.commit or verification.status is not Status.APPROVED:
            return
        try:
            done = commit_task(current)
        except StateError:
            raise
        except PhaseGateError as error:
            self._park(current.task, error.problem)
        else:
            self.session.tell("committed", task=current.task, commit=done.commit, files=list(done.files))

    def _end(self, overview: Overview) -> Decision:
        """Return how the list ended, by the priority chain, and what to type next."""
        rows = [row for row in overview.rows if row.task in self.chosen]
        left = [row for row in rows if row.status not in FINISHED]
        halted = {row.wave: why for row in left if (why := overview.halted(row.wave))}
        if self.session.is_asked_to_end:
            outcome, reason, following = Outcome.INTERRUPTED, "the user interrupted it", "phase-gate drive"
        elif halted:
            wave, reason = next(iter(halted.items()))
            outcome, following = Outcome.HALTED, resume_command(wave)
        elif self.parked:
            task, why = next(iter(self.parked.items()))
            more = f" (and {len(self.parked) - 1} more)" if len(self.parked) > 1 else ""
            outcome, reason = Outcome.PERSON, f"{task} waits for a person: {why}{more}"
            following = f"phase-gate verify status --task {task}"
        elif not left:
            outcome, reason, following = Outcome.DONE, "all tasks are finished", ""
        elif self.left <= 0:
            reason = f"the budget of {show_duration(self.session.settings.budget.seconds)} is spent"
            outcome, following = Outcome.BUDGET, "phase-gate drive --time SPAN"
        else:
            outcome, reason = Outcome.PERSON, f"{left[0].task} can't begin: it waits for another task"
            following = f"phase-gate verify status --task {left[0].task}"
        told = {"done": len(rows) - len(left), "tasks": list(self.chosen), "seconds": round(self.spent, 3)}
        return Decision(outcome=outcome, reason=reason, next_command=following, told=told)

    # --- the steps of a task -----------------------------------------------------------------------------------------

    def _next_step(self, current: TaskSession, verification: Verification) -> Step | None:
        """Return the turn of the executor or of the reviewer; None: the verify command was run, or a wait is over."""
        if verification.status is Status.VERIFYING:
            self._verify(current, verification)
            return None
        if verification.status is Status.REVIEWING:
            self._reviewed = current.tree(verification.spec)
            return self._turn(current, verification, "reviewer")
        last = verification.last_failure
        if last is not None and verification.status in (Status.FAILED, Status.REJECTED) and last.type in RETRIES:
            delay = RETRIES[last.type].delay - seconds_between(last.at, store.now())
            if delay > 0:
                working = Working(role="waits", where=current.task, number=verification.attempt)
                self.session.wait(working, delay, "a time-out is tried again after a while")
                return None
        if verification.status is not Status.EXECUTING:
            verification = begin(current).verification
        return self._turn(current, verification, "executor")

    def _turn(self, current: TaskSession, verification: Verification, role: str) -> Step:
        folder, self._failures = current.store.drive_folder, len(verification.failures)
        current.store.make_folder()
        file = make_answer(self.session, folder, role)
        answer = self.session.relative(file)
        number = 1 + max((int(path.name[:4]) for path in folder.glob("[0-9][0-9][0-9][0-9].*")), default=0)
        self.session.tell("step-started", task=current.task, step=role, attempt=verification.attempt)
        if role == "reviewer":
            text = write_review(current, verification, answer)
        else:
            text = write_executor_prompt(current, answer=answer)
            if said := self.said.pop(current.task, ""):
                text += f"\nA person says: {show_line(said)}\n"
        step, began = _step_of(verification)
        limit = self.session.settings.time_limit
        if not verification.untimed:
            limit = max(1.0, verification.limits[step] - seconds_between(began, store.now()))
        return Step(
            client=self.roles.clients[role],
            store=current.store,
            text=text,
            prompt=folder / f"{number:04}.{role}.md",
            answer=file,
            mark=mark_of(self.session.project),
            working=self._working(role, verification, limit),
            left=self.left,
        )

    def _working(self, role: str, verification: Verification, limit: float = 0.0) -> Working:
        return Working(role=role, where=verification.task, number=verification.attempt, limit=limit, spent=self.spent)

    def _verify(self, current: TaskSession, verification: Verification) -> None:
        """Run the verify command. What the task does not list goes back to the executor."""
        session = self.session
        session.tell("step-started", task=current.task, step="verify", attempt=verification.attempt)
        session.tail.clear()
        working = self._working("verify", verification)
        display = Display(
            show=lambda text: None,
            tick=lambda seconds, limit: session.show(replace(working, limit=limit), seconds),
            stream=cast(BinaryIO, session.tail),
            interrupts=session.interrupts,
        )
        ran = run_verify(current, display)
        status = ran.status
        if not ran.has_ended and ran.log:
            return  # the user interrupted it
        if not ran.has_ended and status.verification.status is Status.VERIFYING:
            problem = f"files were changed that the task does not list: {_unlisted(status)}\ntake these changes back"
            self._fail(current, FailureType.EXECUTION_FAILURE, problem)
            return
        self._tell_end(status)

    # --- what an agent left ------------------------------------------------------------------------------------------

    def _judge(self, board: TaskBoard, current: TaskSession, role: str, played: Played) -> Decision | None:
        """Return how the drive of the task ends; None: it goes on."""
        is_executor = role == "executor"
        name, failure = _HANDS_IN[role]
        outside = next((kind for kind in played.recorded if kind not in _RUNS), "")
        if outside:
            look = f"phase-gate history --events --task {current.task}"
            said = f"{outside} was recorded while the agent worked, and not by the drive"
            void_steps(current, said)
            return Decision(outcome=Outcome.PERSON, reason=f"{said}: read {look}, then drive again")
        if played.how == "interrupted" or played.is_busy or played.trouble:
            reason = "the client is busy" if played.is_busy else "the user interrupted it"
            reason = f"the agent can't work: {played.trouble}" if played.trouble else reason
            if is_executor:
                self._give_up(current, reason)
            return Decision(outcome=Outcome.PERSON, reason=reason) if played.trouble else None
        if played.how == "timed-out":
            return self._fail(current, FailureType.TIMEOUT, f"the {role} was stopped after {played.seconds:.0f} s")
        if not is_executor and (edited := self._edited(current)):
            said = f"{self._name(role)} changed files while reviewing: {', '.join(edited[:5])}"
            return self._fail(current, FailureType.REVIEWER_EDIT, said)
        if played.data is None:
            problem = f"no {name} was written into the file that the prompt names"
            if played.code:
                return self._fail(current, failure, f"the agent {played.shown}, and {problem}")
            return self._fail(current, FailureType.MALFORMED, problem)
        attachment = Attachment(data=played.data, name=f"the {role}'s {name}", by=self._name(role))
        try:
            status = (report_execution if is_executor else review)(board, attachment)
        except StateError:
            raise
        except PhaseGateError as error:
            if self._board().overview.halted(current.verification().spec.wave):
                return None
            return self._fail(current, failure, f"{error.problem}\n{error.remedy}")
        self._tell_end(status, failed=len(status.verification.failures) > self._failures)
        return None

    def _name(self, role: str) -> str:
        """Return by which name an agent reports or reviews."""
        return f"{self.roles.clients[role].name} ({role})"

    def _edited(self, current: TaskSession) -> list[str]:
        """Return the files that are not what the reviewer was shown."""
        if self._reviewed is None:
            return []
        found = describe_difference(self._reviewed.files, current.tree(current.verification().spec).files)
        return sorted((*found.added, *found.removed, *found.changed))

    def _fail(self, current: TaskSession, kind: FailureType, error: str) -> Decision | None:
        try:
            status = fail_attempt(current, kind, error=error)
        except NotAllowedError as refused:  # a run of the verify command goes on that is none of ours
            return Decision(outcome=Outcome.PERSON, reason=refused.problem)
        self._tell_end(status, failed=True)
        return None

    def _give_up(self, current: TaskSession, reason: str) -> None:
        """End the attempt that goes on, without counting it: what stopped it was not the work."""
        abandon_attempt(current, reason=reason, by=OWNER)

    def _tell_end(self, status: TaskStatus, *, failed: bool = False) -> None:
        verification, evaluation = status.verification, status.evaluation
        reason = "" if evaluation is None else show_line(evaluation.reason)
        last = verification.last_failure
        if failed and last is not None and verification.status is Status.REVIEWING:
            reason = f"{last.type}: {show_line(last.error)}"  # the verdict failed, and the task did not
        self.session.tell(
            "step-ended",
            task=status.task,
            status=str(verification.status),
            attempt=verification.attempt,
            reason=reason,
            level=status.escalation.level,
            failed=failed,
        )


def _step_of(verification: Verification) -> tuple[str, str]:
    """Return whose time runs, and since when."""
    if verification.status is not Status.REVIEWING:
        return "executor", verification.began_at
    assert verification.check is not None, "what is reviewed was verified"
    return "review", verification.check.ended_at


def _is_left_alone(verification: Verification) -> bool:
    """Tell whether most of the time is over of an attempt that an earlier driver, or a person, began."""
    if verification.untimed or verification.status not in (Status.EXECUTING, Status.REVIEWING):
        return False
    step, began = _step_of(verification)
    passed = seconds_between(began, store.now())
    return passed > verification.limits[step] / 2 or bool(late(verification, store.now()))


def _look_at_dependency(board: TaskBoard, verification: Verification) -> Decision | None:
    """Return what a blocked task waits for; None: that was done meanwhile."""
    dependency = find_dependency(verification, board.overview)
    if dependency.task and not dependency.is_complete:
        return Decision(outcome=Outcome.GO_ON, reason=dependency.task)
    row = board.overview.row(dependency.task)
    if row is not None and row.last_step_at > verification.last_step_at:
        return None
    report = verification.report
    error = "" if report is None else " ".join(str(report.result.get("error", "")).split())[:200]
    return Decision(outcome=Outcome.PERSON, reason=f"blocked: {error}; {dependency.way}")


def _unlisted(status: TaskStatus) -> str:
    evaluation = status.evaluation
    found = () if evaluation is None else evaluation.findings
    return ", ".join(each.file for each in found if each.slug == "files-listed" and each.file) or "see verify status"
