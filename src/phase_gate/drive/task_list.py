"""Drive a list of verify tasks, wave by wave: executor, verify command, reviewer; a person where one is needed."""

from __future__ import annotations

import time

from phase_gate.drive.chain import Decision, Outcome
from phase_gate.drive.list_session import OWNER, Choice, Escalated, ListSession
from phase_gate.drive.loop import hide_keys, refuse_foreign_folder
from phase_gate.drive.people import run_call
from phase_gate.drive.task_loop import drive_one
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.tree import end_marked
from phase_gate.gate.overrides import Person
from phase_gate.project import who_am_i
from phase_gate.storage.files import make_folder
from phase_gate.storage.lock import RunLock, is_free
from phase_gate.tasks.board import TaskBoard
from phase_gate.tasks.commit import commit_task
from phase_gate.tasks.model import FINISHED, Status, Verification
from phase_gate.tasks.overrides import resume_task, skip_task
from phase_gate.tasks.overview import Overview
from phase_gate.tasks.rules import escalate, resume_command
from phase_gate.values import Value
from phase_gate.workflow.names import show_duration


class ListEnded(Value):
    decision: Decision
    overview: Overview
    next_command: str = ""


def drive_list(session: ListSession, task: str | None = None) -> ListEnded:
    """Drive the tasks, or only this one, to their end or to what a person has to decide.

    One drive of lists a state folder.
    """
    refuse_foreign_folder(session.project)
    hide_keys(session.project)
    lock = _take_lock(session)
    try:
        with session.interrupts:
            if left := end_marked(session.mark):
                session.note("", f"an earlier driver died: {left} processes of its agents are ended")
            return _List(session, task).drive()
    finally:
        lock.release()


def _take_lock(session: ListSession) -> RunLock:
    folder = session.project.state_folder
    session.project.store(OWNER).make_folder()
    make_folder(session.project.store(OWNER).files, folder)
    path = folder / "verify-drive.lock"
    if not is_free(path):
        raise NotAllowedError(
            "a list of tasks is being driven here already", remedy="wait for that drive to end, or interrupt it"
        )
    lock = RunLock(path)
    lock.acquire()
    return lock


class _List:
    def __init__(self, session: ListSession, task: str | None) -> None:
        self.session = session
        self.chosen = _choose(session, task)
        #: Tasks that wait for a person, with the reason; and for another task.
        self.parked: dict[str, str] = {}
        self.blocked: dict[str, str] = {}
        #: Tasks that try again, though they are blocked: what they waited for is done, or a person says so.
        self.again: set[str] = set()
        self._began = time.monotonic()

    def drive(self) -> ListEnded:
        session = self.session
        session.tell(
            "list-started",
            tasks=list(self.chosen),
            executor=list(session.team.executor.words),
            reviewer=list(session.team.reviewer.words),
            finished=sum(row.status in FINISHED for row in session.board().overview.rows if row.task in self.chosen),
            seconds=session.settings.budget.seconds,
        )
        self._drive()
        return self._end()

    def _drive(self) -> None:
        for row in self.session.board().overview.rows:
            if row.task in self.chosen and row.status is Status.APPROVED:
                self._commit(row.task)
        while (task := self._next()) is not None:
            again = task in self.again
            self.again.discard(task)
            self._take(task, drive_one(self.session, task, again=again))

    def _take(self, task: str, decision: Decision) -> None:
        """Do what follows from the end of one task."""
        self.session.tell("task-ended", task=task, outcome=str(decision.outcome), reason=decision.reason)
        if decision.outcome is Outcome.DONE:
            if _row(self.session.board(), task).status is Status.APPROVED:
                self._commit(task)
        elif decision.outcome is Outcome.GO_ON:
            self.blocked[task] = decision.reason
        elif decision.outcome is Outcome.PERSON and not self._ask(task, decision.reason):
            self._park(task, decision.reason)

    def _commit(self, task: str) -> None:
        """Commit what was approved, where that is asked for; what can't be committed waits for a person."""
        current = self.session.task(task)
        if not self.session.settings.commit or current.verification().commit:
            return
        try:
            done = commit_task(current)
        except StateError:
            raise
        except PhaseGateError as error:
            self._park(task, error.problem)
        else:
            self.session.tell("committed", task=task, commit=done.commit, files=list(done.files))

    def _park(self, task: str, reason: str) -> None:
        self.parked[task] = reason
        self.session.tell("person-needed", task=task, reason=reason)

    # --- which task is next ------------------------------------------------------------------------------------------

    def _next(self) -> str | None:
        """Return the first task that may be driven now; None: nothing may begin."""
        if self.session.interrupts.is_asked_to_end or self._is_spent():
            return None
        overview = self.session.board().overview
        done = [row for row in overview.rows if row.status in FINISHED]
        finished, names = {row.task for row in done}, {row.name for row in done}
        left = [row for row in overview.rows if row.task in self.chosen and row.task not in finished]
        # The next wave begins after this one.
        wave = left[0].wave if left else ""
        if not left or overview.halted(wave):
            return None
        for row in left:
            if row.wave != wave or row.task in self.parked:
                continue
            if self.blocked.get(row.task, row.task) not in {row.task, *finished}:
                continue
            if names.issuperset(row.spec.depends_on):
                if self.blocked.pop(row.task, None) is not None:
                    self.again.add(row.task)
                return row.task
        return None

    def _is_spent(self) -> bool:
        return time.monotonic() - self._began >= self.session.settings.budget.seconds

    # --- a person ----------------------------------------------------------------------------------------------------

    def _ask(self, task: str, reason: str) -> bool:
        """Ask what becomes of the task; tell whether that is decided."""
        ask = self.session.watchers.ask
        while ask is not None and not self.session.interrupts.is_asked_to_end:
            choice = ask(Escalated(task=task, reason=reason))
            if choice is None:
                return False
            if choice.way == "investigate":
                self.session.tell("investigated", task=task, rows=list(self._investigate(task)))
                continue
            try:
                self._decide(task, choice)
            except StateError:
                raise
            except PhaseGateError as error:
                self.session.note(task, f"{error.problem}: {error.remedy}")
                continue
            return True
        return False

    def _decide(self, task: str, choice: Choice) -> None:
        session = self.session.task(task)
        by = choice.by or who_am_i(self.session.project.environment)
        person = Person(by=by, reason=choice.reason, is_at_terminal=True)
        if choice.way == "skip":
            skip_task(session, person, kind=choice.kind)
        elif escalate(session.verification()).level >= 2:
            resume_task(session, person)
        else:
            self.again.add(task)
        self.blocked.pop(task, None)
        self.session.tell("decided", task=task, way=choice.way, reason=choice.reason, by=by)

    def _investigate(self, task: str) -> list[str]:
        session = self.session.task(task)
        verification = session.verification()
        rows = []
        for failure in verification.failures:
            rows.append(f"attempt {failure.attempt}, step {failure.step}: {failure.type}: {failure.error}")
            rows += [f"  {line}" for line in failure.lines]
        logs = sorted(session.store.drive_folder.glob("*.log"))
        rows += [f"transcript: {self.session.relative(path)}" for path in logs if path.name.count(".") == 2]
        return rows

    # --- the end -----------------------------------------------------------------------------------------------------

    def _end(self) -> ListEnded:
        session, overview = self.session, self.session.board().overview
        decision, following = self._decision(overview)
        if decision.outcome in (Outcome.PERSON, Outcome.HALTED):
            problem = run_call(session.project, session.settings, decision.reason, session.interrupts)
            if problem:
                session.note("", problem)
        session.tell(
            "list-ended",
            outcome=str(decision.outcome),
            reason=decision.reason,
            exit_code=decision.exit_code,
            finished=sum(row.status in FINISHED for row in overview.rows if row.task in self.chosen),
            tasks=len(self.chosen),
            seconds=round(time.monotonic() - self._began, 3),
            next_command=following,
        )
        return ListEnded(decision=decision, overview=overview, next_command=following)

    def _decision(self, overview: Overview) -> tuple[Decision, str]:
        """Return how the list ended, by the priority chain, and what to type next."""
        rows = [row for row in overview.rows if row.task in self.chosen]
        left = [row for row in rows if row.status not in FINISHED]
        if self.session.interrupts.is_asked_to_end:
            return Decision(outcome=Outcome.INTERRUPTED, reason="the user interrupted it"), "phase-gate verify drive"
        for wave in dict.fromkeys(row.wave for row in left):
            if why := overview.halted(wave):
                return Decision(outcome=Outcome.HALTED, reason=why), resume_command(wave)
        if not left and not self.parked:
            return Decision(outcome=Outcome.DONE, reason="all tasks are finished"), ""
        if self.parked:
            task, reason = next(iter(self.parked.items()))
            more = f" (and {len(self.parked) - 1} more)" if len(self.parked) > 1 else ""
            said = f"{task} waits for a person: {reason}{more}"
            return Decision(outcome=Outcome.PERSON, reason=said), f"phase-gate verify status --task {task}"
        if self._is_spent():
            spent = f"the budget of {show_duration(self.session.settings.budget.seconds)} is spent"
            return Decision(outcome=Outcome.BUDGET, reason=spent), "phase-gate verify drive --time SPAN"
        return (
            Decision(outcome=Outcome.PERSON, reason=f"{left[0].task} can't begin: it waits for another task"),
            f"phase-gate verify status --task {left[0].task}",
        )


def _choose(session: ListSession, task: str | None) -> tuple[str, ...]:
    board = session.board()
    overview = board.overview
    if overview.untrusted:
        board.store(overview.untrusted[0].task).look()  # raises what is wrong with it
    if not overview.rows:
        raise NotAllowedError("there is no task yet", remedy="phase-gate verify start --task-file FILE")
    return tuple(row.task for row in overview.rows) if task is None else (board.find(task),)


def _row(board: TaskBoard, task: str) -> Verification:
    row = board.overview.row(task)
    assert row is not None, "it was driven"
    return row
