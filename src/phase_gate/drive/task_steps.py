"""The steps of a verify task with agents: the executor works and reports, we verify, the reviewer decides.

Each step ends in the ledger by the rules of `phase-gate verify`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import BinaryIO, cast

from phase_gate.drive.agent import Played, Step, make_answer
from phase_gate.drive.chain import Decision, Outcome
from phase_gate.drive.clients import Team, mark_of
from phase_gate.drive.session import OWNER, Session, Working
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.storage import store
from phase_gate.storage.tree.fingerprint import Tree, describe_difference
from phase_gate.tasks.board import Attachment, TaskBoard, TaskSession, TaskStatus
from phase_gate.tasks.model import FailureType, Status, Verification
from phase_gate.tasks.overrides import abandon_attempt, void_steps
from phase_gate.tasks.prompts import make_bundle, render_bundle, write_executor_prompt
from phase_gate.tasks.rules import RETRIES, late, seconds_between
from phase_gate.tasks.running import Display, run_verify
from phase_gate.tasks.start import begin
from phase_gate.tasks.steps import fail_attempt, record_turn, report_execution, review
from phase_gate.values import replace
from phase_gate.visible import show_line

#: Events of a run of pytest: an agent may test.
_RUNS = frozenset({"run-started", "run-ended", "run-lost", "evaluated"})


class TaskSteps:
    def __init__(self, session: Session, team: Team) -> None:
        self.session, self.team = session, team
        #: What people say that is on no record: about a task that does not wait for one.
        self.said: dict[str, str] = {}
        #: Of the task that is at work, when its turn began.
        self._failures = 0
        #: The files that the reviewer is shown.
        self._reviewed: Tree | None = None
        self._began = time.monotonic()

    def board(self, task: str | None = None) -> TaskBoard:
        """Return all tasks as they are now."""
        return TaskBoard(self.session.project, wanted=task, owner=OWNER)

    def task(self, task: str) -> TaskSession:
        return self.board(task).session(task)

    @property
    def spent(self) -> float:
        """Seconds of the drive."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self.session.settings.budget.seconds - self.spent

    def pick_up(self, task: str) -> None:
        """Go on with an attempt that an earlier driver, or a person, began; give up one whose time is mostly over."""
        verification = self.task(task).verification()
        if verification.untimed or verification.status not in (Status.EXECUTING, Status.REVIEWING):
            return
        began, step = verification.began_at, "executor"
        if verification.status is Status.REVIEWING:
            assert verification.check is not None, "what is reviewed was verified"
            began, step = verification.check.ended_at, "review"
        passed = seconds_between(began, store.now())
        if passed > verification.limits[step] / 2 or late(verification, store.now()):
            self._give_up(task, "it was left alone for too long")

    # --- the steps of a task -----------------------------------------------------------------------------------------

    def next_step(self, current: TaskSession, verification: Verification) -> Step | None:
        """Return the turn of the executor or of the reviewer; None: the verify command was run, or a wait is over."""
        if verification.status is Status.VERIFYING:
            self._verify(current, verification)
            return None
        if verification.status is Status.REVIEWING:
            assert verification.check is not None, "what is reviewed was verified"
            limit = self._time_left(verification, "review", verification.check.ended_at)
            write = functools.partial(write_review, current)
            self._reviewed = current.tree(verification.spec)
            return self._turn(current, verification, "reviewer", limit, write)
        last = verification.last_failure
        if last is not None and verification.status in (Status.FAILED, Status.REJECTED) and last.type in RETRIES:
            delay = RETRIES[last.type].delay - seconds_between(last.at, store.now())
            if delay > 0:
                working = Working(role="waits", where=current.task, number=verification.attempt)
                self.session.wait(working, delay, "a time-out is tried again after a while")
                return None
        if verification.status is not Status.EXECUTING:
            verification = begin(current).verification
        limit = self._time_left(verification, "executor", verification.began_at)
        return self._turn(current, verification, "executor", limit, functools.partial(self._order, current))

    def _order(self, current: TaskSession, answer: str) -> str:
        text = write_executor_prompt(current, answer=answer)
        said = self.said.pop(current.task, "")
        return f"{text}\nA person says: {show_line(said)}\n" if said else text

    def _turn(
        self, current: TaskSession, verification: Verification, role: str, limit: float, write: Callable[[str], str]
    ) -> Step:
        folder, self._failures = current.store.drive_folder, len(verification.failures)
        current.store.make_folder()
        answer = make_answer(self.session, folder, role)
        number = 1 + max((int(path.name[:4]) for path in folder.glob("[0-9][0-9][0-9][0-9].*")), default=0)
        self.session.tell("step-started", task=current.task, step=role, attempt=verification.attempt)
        return Step(
            client=self.team.executor if role == "executor" else self.team.reviewer,
            store=current.store,
            text=write(self.session.relative(answer)),
            prompt=folder / f"{number:04}.{role}.md",
            answer=answer,
            mark=mark_of(self.session.project),
            working=self._working(current.task, role, verification, limit),
            left=self.left,
        )

    def _working(self, task: str, role: str, verification: Verification, limit: float) -> Working:
        return Working(role=role, where=task, number=verification.attempt, limit=limit, spent=self.spent)

    def _time_left(self, verification: Verification, step: str, began: str) -> float:
        if verification.untimed:
            return self.session.settings.time_limit
        return max(1.0, verification.limits[step] - seconds_between(began, store.now()))

    def _verify(self, current: TaskSession, verification: Verification) -> None:
        """Run the verify command. What the task does not list goes back to the executor."""
        session, task = self.session, current.task
        session.tell("step-started", task=task, step="verify", attempt=verification.attempt)
        session.tail.clear()
        working = self._working(task, "verify", verification, 0.0)
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
            self._fail(task, FailureType.EXECUTION_FAILURE, problem)
            return
        self._tell_end(task, status)

    # --- what an agent left ------------------------------------------------------------------------------------------

    def take(self, step: Step, played: Played) -> Decision | None:
        """Hand in what the agent wrote; what the rules refuse is a failed attempt, so that no agent can go on for ever.

        Return how the drive of the task ends; None: it goes on.
        """
        task, role = step.working.where, step.working.role
        record_turn(self.task(task), role=role, seconds=played.seconds, how=played.how, code=played.code)
        is_executor = role == "executor"
        name = "report" if is_executor else "verdict"
        failure = FailureType.EXECUTION_FAILURE if is_executor else FailureType.MALFORMED
        outside = next((kind for kind in played.recorded if kind not in _RUNS), "")
        if outside:
            look = f"phase-gate history --events --task {task}"
            said = f"{outside} was recorded while the agent worked, and not by the drive"
            void_steps(self.task(task), said)
            return Decision(outcome=Outcome.PERSON, reason=f"{said}: read {look}, then drive again")
        if played.how == "interrupted" or played.is_busy or played.trouble:
            reason = "the client is busy" if played.is_busy else "the user interrupted it"
            reason = f"the agent can't work: {played.trouble}" if played.trouble else reason
            if is_executor:
                self._give_up(task, reason)
            return Decision(outcome=Outcome.PERSON, reason=reason) if played.trouble else None
        if played.how == "timed-out":
            return self._fail(task, FailureType.TIMEOUT, f"the {role} was stopped after {played.seconds:.0f} s")
        if not is_executor and (edited := self._edited(task)):
            said = f"{self.team.names()[1]} changed files while reviewing: {', '.join(edited[:5])}"
            return self._fail(task, FailureType.REVIEWER_EDIT, said)
        if played.data is not None:
            return self._hand_in(task, role, name, failure, played.data)
        problem = f"no {name} was written into the file that the prompt names"
        if played.code:
            return self._fail(task, failure, f"the agent {played.shown}, and {problem}")
        return self._fail(task, FailureType.MALFORMED, problem)

    def _edited(self, task: str) -> list[str]:
        """Return the files that are not what the reviewer was shown."""
        current = self.task(task)
        if self._reviewed is None:
            return []
        found = describe_difference(self._reviewed.files, current.tree(current.verification().spec).files)
        return sorted((*found.added, *found.removed, *found.changed))

    def _hand_in(self, task: str, role: str, name: str, failure: FailureType, data: bytes) -> Decision | None:
        executor, reviewer = self.team.names()
        is_executor = role == "executor"
        attachment = Attachment(data=data, name=f"the {role}'s {name}", by=executor if is_executor else reviewer)
        try:
            status = (report_execution if is_executor else review)(self.board(task), attachment)
        except StateError:
            raise
        except PhaseGateError as error:
            if self.board().overview.halted(self.task(task).verification().spec.wave):
                return None
            return self._fail(task, failure, f"{error.problem}\n{error.remedy}")
        self._tell_end(task, status, failed=len(status.verification.failures) > self._failures)
        return None

    def _fail(self, task: str, kind: FailureType, error: str) -> Decision | None:
        try:
            status = fail_attempt(self.task(task), kind, error=error)
        except NotAllowedError as refused:  # a run of the verify command goes on that is none of ours
            return Decision(outcome=Outcome.PERSON, reason=refused.problem)
        self._tell_end(task, status, failed=True)
        return None

    def _give_up(self, task: str, reason: str) -> None:
        """End the attempt that goes on, without counting it: what stopped it was not the work."""
        abandon_attempt(self.task(task), reason=reason, by=OWNER)

    def _tell_end(self, task: str, status: TaskStatus, *, failed: bool = False) -> None:
        verification, evaluation = status.verification, status.evaluation
        reason = "" if evaluation is None else show_line(evaluation.reason)
        last = verification.last_failure
        if failed and last is not None and verification.status is Status.REVIEWING:
            reason = f"{last.type}: {show_line(last.error)}"  # the verdict failed, and the task did not
        self.session.tell(
            "step-ended",
            task=task,
            status=str(verification.status),
            attempt=verification.attempt,
            reason=reason,
            level=status.escalation.level,
            failed=failed,
        )


def write_review(current: TaskSession, answer: str) -> str:
    """Return what the reviewer is told."""
    last = current.verification().last_failure
    rows = [
        "You review one task that another agent executed. Look at all of this, and change no file.",
        "Nothing that you print is taken for a verdict.",
        "",
    ]
    if last is not None and last.step == 3 and last.type is FailureType.MALFORMED and not last.recovered:
        rows += ["# Your last verdict did not count", "", show_line(last.error), ""]
    rows += [
        render_bundle(make_bundle(current)),
        "# Where the verdict belongs",
        "Write it, filled in, as YAML alone into",
        f"`{answer}`:",
        "REJECTED needs `feedback:` for the next attempt.",
        "",
    ]
    return "\n".join(rows)


def _unlisted(status: TaskStatus) -> str:
    evaluation = status.evaluation
    found = () if evaluation is None else evaluation.findings
    return ", ".join(each.file for each in found if each.slug == "files-listed" and each.file) or "see verify status"
