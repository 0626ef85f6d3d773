"""A list of verify tasks as a source of steps, wave by wave; a person where one is needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from phase_gate.drive.agent import Played, Step
from phase_gate.drive.chain import Decision, Outcome
from phase_gate.drive.clients import Team, mark_of
from phase_gate.drive.loop import End
from phase_gate.drive.session import OWNER, Question, Session
from phase_gate.drive.task_steps import TaskSteps
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, UsageError
from phase_gate.evidence.process.tree import end_marked
from phase_gate.gate.overrides import Person
from phase_gate.project import who_am_i
from phase_gate.storage.lock import RunLock, is_free
from phase_gate.storage.places import LIST_LOCK
from phase_gate.tasks.board import TaskBoard
from phase_gate.tasks.commit import commit_task
from phase_gate.tasks.model import FINISHED, Status, Verification
from phase_gate.tasks.overrides import KINDS, resume_task, skip_task
from phase_gate.tasks.overview import Overview
from phase_gate.tasks.prompts import find_dependency
from phase_gate.tasks.rules import escalate, resume_command
from phase_gate.workflow.names import show_duration

#: How a person is asked about a task; the source document's three ways.
_WAYS = (
    "  retry REASON        let the executor try again",
    f"  skip KIND REASON    complete it unverified; KIND is {', '.join(KINDS)}",
    "  investigate         show what failed, then ask again",
    "  or nothing, to leave it to another day",
)


class TaskSource:
    def __init__(self, session: Session, team: Team, task: str | None = None) -> None:
        self.session, self.team = session, team
        self.steps = TaskSteps(session, team)
        self.chosen = self._choose(task)
        #: Tasks that wait for a person, with the reason; and for another task.
        self.parked: dict[str, str] = {}
        self.blocked: dict[str, str] = {}
        #: Tasks that try again, though they are blocked: what they waited for is done, or a person says so.
        self.again: set[str] = set()
        self._current = ""

    def _choose(self, task: str | None) -> tuple[str, ...]:
        board = self.steps.board()
        overview = board.overview
        if overview.untrusted:
            board.store(overview.untrusted[0].task).look()  # raises what is wrong with it
        if not overview.rows:
            raise NotAllowedError("there is no task yet", remedy="phase-gate verify start --task-file FILE")
        return tuple(row.task for row in overview.rows) if task is None else (board.find(task),)

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
        session = self.session
        if left := end_marked(mark_of(session.project)):
            session.note(f"an earlier driver died: {left} processes of its agents are ended")
        rows = [row for row in self.steps.board().overview.rows if row.task in self.chosen]
        session.tell(
            "drive-started",
            tasks=list(self.chosen),
            root=str(session.project.root),
            agents={"executor": list(self.team.executor.words), "reviewer": list(self.team.reviewer.words)},
            seconds=session.settings.budget.seconds,
            done=sum(row.status in FINISHED for row in rows),
        )
        for row in rows:
            if row.status is Status.APPROVED:
                self._commit(row.task)

    def next(self) -> Step | End:
        while True:
            if not self._current:
                self._current = self._next_task() or ""
                if not self._current:
                    return self._end()
                self.steps.pick_up(self._current)
            board = self.steps.board(self._current)
            current = board.session(self._current)
            verification = current.verification()
            decision = self._look(board, verification)
            if decision is not None:
                self._finish(self._current, decision)
            elif (step := self.steps.next_step(current, verification)) is not None:
                return step

    def take(self, step: Step, played: Played) -> None:
        decision = self.steps.take(step, played)
        if decision is not None:
            self._finish(step.working.where, decision)

    def fail(self, reason: str) -> None:
        """The steps are in the ledgers of the tasks; a list has none."""

    # --- which task is next ------------------------------------------------------------------------------------------

    def _next_task(self) -> str | None:
        """Return the first task that may be driven now; None: nothing may begin."""
        if self.session.is_asked_to_end or self.steps.left <= 0:
            return None
        overview = self.steps.board().overview
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

    def _finish(self, task: str, decision: Decision) -> None:
        """Do what follows from the end of one task."""
        self._current = ""
        self.session.tell("task-ended", task=task, outcome=str(decision.outcome), reason=decision.reason)
        if decision.outcome is Outcome.DONE:
            self._commit(task)
        elif decision.outcome is Outcome.GO_ON:
            self.blocked[task] = decision.reason
        elif decision.outcome is Outcome.PERSON and not self._ask(task, decision.reason):
            self._park(task, decision.reason)

    def _park(self, task: str, reason: str) -> None:
        self.parked[task] = reason
        self.session.tell("person-needed", task=task, reason=reason)

    def _commit(self, task: str) -> None:
        """Commit what was approved, where that is asked for; what can't be committed waits for a person."""
        if not self.session.settings.commit:
            return
        current = self.steps.task(task)
        verification = current.verification()
        if verification.commit or verification.status is not Status.APPROVED:
            return
        try:
            done = commit_task(current)
        except StateError:
            raise
        except PhaseGateError as error:
            self._park(task, error.problem)
        else:
            self.session.tell("committed", task=task, commit=done.commit, files=list(done.files))

    # --- a person ----------------------------------------------------------------------------------------------------

    def _ask(self, task: str, reason: str) -> bool:
        """Ask what becomes of the task, until the answer is one; tell whether that is decided."""
        question = Question(
            text=f"{task} waits for a person: {reason}", ways=_WAYS, prompt="retry, skip or investigate: "
        )
        while typed := self.session.ask(question).split():
            way, rest = typed[0].lower(), " ".join(typed[1:])
            try:
                if way == "investigate":
                    for row in self._investigate(task):
                        self.session.note(row)
                elif way in ("retry", "skip"):
                    self._decide_by(task, way, rest)
                    return True
                else:
                    self.session.note(f"{typed[0]!r} is no answer: type retry, skip or investigate")
            except StateError:
                raise
            except PhaseGateError as error:
                self.session.note(f"{error.problem}: {error.remedy}")
        return False

    def _decide_by(self, task: str, way: str, rest: str) -> None:
        current = self.steps.task(task)
        by = who_am_i(self.session.project.environment)
        kind, _, why = rest.partition(" ") if way == "skip" else ("", "", rest)
        person = Person(by=by, reason=why, is_at_terminal=True)
        if way == "skip":
            skip_task(current, person, kind=kind)
        elif escalate(current.verification()).level >= 2:
            resume_task(current, person)
        elif not why:
            raise UsageError("retry needs a reason", remedy="type retry, and what has changed")
        else:
            self.steps.said[task] = why
            self.again.add(task)
        self.blocked.pop(task, None)
        self.session.tell("decided", task=task, way=way, reason=why, by=by)

    def _investigate(self, task: str) -> Iterator[str]:
        current = self.steps.task(task)
        for failure in current.verification().failures:
            yield f"attempt {failure.attempt}, step {failure.step}: {failure.type}: {failure.error}"
            yield from (f"  {line}" for line in failure.lines)
        for path in sorted(current.store.drive_folder.glob("*.log")):
            if path.name.count(".") == 2:
                yield f"transcript: {self.session.relative(path)}"

    # --- the end -----------------------------------------------------------------------------------------------------

    def _end(self) -> End:
        overview = self.steps.board().overview
        decision, following = self._decide(overview)
        rows = [row for row in overview.rows if row.task in self.chosen]
        told = {
            "done": sum(row.status in FINISHED for row in rows),
            "tasks": list(self.chosen),
            "seconds": round(self.steps.spent, 3),
        }
        return End(decision=decision, next_command=following, told=told)

    def _decide(self, overview: Overview) -> tuple[Decision, str]:
        """Return how the list ended, by the priority chain, and what to type next."""
        rows = [row for row in overview.rows if row.task in self.chosen]
        left = [row for row in rows if row.status not in FINISHED]
        if self.session.is_asked_to_end:
            return Decision(outcome=Outcome.INTERRUPTED, reason="the user interrupted it"), "phase-gate drive"
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
        if self.steps.left <= 0:
            spent = f"the budget of {show_duration(self.session.settings.budget.seconds)} is spent"
            return Decision(outcome=Outcome.BUDGET, reason=spent), "phase-gate drive --time SPAN"
        return (
            Decision(outcome=Outcome.PERSON, reason=f"{left[0].task} can't begin: it waits for another task"),
            f"phase-gate verify status --task {left[0].task}",
        )


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
