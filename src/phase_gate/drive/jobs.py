"""Tasks side by side: each is driven by a process of its own in a checkout of its own, and merged when approved."""

from __future__ import annotations

import contextlib
import json
import queue
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping
from typing import Any

from phase_gate.codec import from_json
from phase_gate.drive.chain import Decision, Outcome
from phase_gate.drive.clients import choose_environment
from phase_gate.drive.job_process import WORKING, JobOrder
from phase_gate.drive.list_session import OWNER, ListHappening, ListSession, Working
from phase_gate.drive.side_by_side import hand_over
from phase_gate.drive.task_list import ListOrder, Pool, TaskEnd
from phase_gate.drive.worktrees import Conflict, Worktrees
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError
from phase_gate.evidence.process.run import run_process
from phase_gate.project import Project
from phase_gate.storage.tree.fingerprint import list_matcher
from phase_gate.values import replace
from phase_gate.verification.board import TaskBoard, TaskSession
from phase_gate.verification.commands import steps_of
from phase_gate.verification.commit import commit_task
from phase_gate.verification.model import Status
from phase_gate.verification.override import abandon_attempt
from phase_gate.verification.run import KEPT
from phase_gate.verification.start import take_anew
from phase_gate.verification.stats import TaskRow

_PAUSE = 0.1
#: How often a task goes back to its executor because it can't be merged, before a person is asked.
_SENT_BACK = 3


class Job:
    """One task that is driven by a process of its own."""

    def __init__(self, task: str, process: subprocess.Popen[bytes]) -> None:
        self.task, self.process = task, process
        self.decision: Decision | None = None
        self.problem = ""
        #: How often it was told to end.
        self.told = 0

    def judge_end(self, code: int) -> Decision:
        """Return what follows where it ended without a word."""
        if self.told and code < 0 and not self.problem:  # before it could hear signals
            return Decision(outcome=Outcome.INTERRUPTED, reason="the user interrupted it")
        return Decision(outcome=Outcome.PERSON, reason=self.problem or f"its driver ended with {code}")


class JobsPool(Pool):
    """Drives several tasks at the same time."""

    def __init__(self, session: ListSession, order: ListOrder) -> None:
        super().__init__(session, commits=True)
        self.size = order.jobs or 1
        self.trees = Worktrees(session.project.root)
        self._jobs: dict[str, Job] = {}
        #: How often work that was approved could not be merged.
        self._sent_back: dict[str, int] = {}
        #: What jobs say, each line with its job; None: it has ended. A person who is asked holds up no job.
        self._heard: queue.SimpleQueue[tuple[Job, bytes | None]] = queue.SimpleQueue()

    @property
    def running(self) -> Collection[str]:
        return {*self._jobs, *(end.task for end in self._ended)}

    # --- start and end -----------------------------------------------------------------------------------------------

    def start(self, task: str, *, again: bool) -> None:
        try:
            project = self._prepare(task)
        except StateError:
            raise
        except PhaseGateError as error:
            decision = Decision(outcome=Outcome.PERSON, reason=f"{error.problem}: {error.remedy}")
            self._ended.append(TaskEnd(task=task, decision=decision))
            return
        session = self.session
        words = [sys.executable, "-m", "phase_gate.cli", "verify", "drive", "--json", "--task", task]
        words += ["--dir", str(project.state_folder), "--job"]
        words += ["--executor", shlex.join(session.team.executor.words)]
        words += ["--reviewer", shlex.join(session.team.reviewer.words)]
        # What no agent is given goes by the pipe: the agents of other jobs could read a new process's environment.
        environment = choose_environment(project)
        hidden = {name: text for name, text in project.environment.items() if environment.get(name) != text}
        process = subprocess.Popen(
            [*words, *(["--again"] if again else [])],
            cwd=project.root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        hand_over(process, JobOrder(settings=session.settings, hidden=hidden))
        job = self._jobs[task] = Job(task, process)
        threading.Thread(target=self._listen, args=(job,), daemon=True).start()

    def _prepare(self, task: str) -> Project:
        """Return the project in the task's checkout. Raises PhaseGateError where the task can't be driven there."""
        verification = self.session.task(task).verification()
        if not self.trees.has(task) and self.trees.is_dirty(verification.spec.files):
            raise NotAllowedError(
                f"{task} has uncommitted work in the project itself",
                remedy=f"commit or take it back, or go on there: phase-gate verify drive --task {task}",
            )
        project = self._project(task, open_it=True)
        if verification.status is Status.PENDING:
            # What changes is compared with the checkout from now on.
            take_anew(TaskBoard(project, wanted=task, owner=OWNER), task)
        return project

    def _project(self, task: str, *, open_it: bool = False) -> Project:
        root = self.trees.open(task) if open_it else self.trees.root_of(task)
        main = self.session.project
        # Named outright: the state stays the one of the project itself.
        folder = main.state_folder.absolute()
        environment = {name: text for name, text in main.environment.items() if name != "PHASE_GATE_TASK"}
        return replace(main, root=root, state_folder=folder, anchor=folder, environment=environment)

    def _in_checkout(self, task: str) -> TaskSession:
        return TaskBoard(self._project(task), wanted=task, owner=OWNER).session(task)

    def wait(self) -> TaskEnd | None:
        while not self._ended:
            if not self._jobs:
                return None
            self._pass_on_interrupts()
            with contextlib.suppress(queue.Empty):
                job, line = self._heard.get(timeout=_PAUSE)
                self._end(job) if line is None else self._hear(job, line)
        return self._ended.pop(0)

    def _listen(self, job: Job) -> None:
        """Read what a job says, in a thread of its own."""
        assert job.process.stdout is not None, "it is a pipe"
        with job.process.stdout as stream:
            for line in stream:
                self._heard.put((job, line))
        self._heard.put((job, None))

    def _end(self, job: Job) -> None:
        code = job.process.wait()
        del self._jobs[job.task]
        self._ended.append(TaskEnd(task=job.task, decision=job.decision or job.judge_end(code)))

    def _hear(self, job: Job, line: bytes) -> None:
        try:
            document: Mapping[str, Any] = json.loads(line)
        except ValueError:
            return
        kind = document.get("event")
        if kind == "job-ended":
            job.decision = Decision(outcome=Outcome(document["outcome"]), reason=document["reason"])
        elif kind == "error":
            job.problem = document["error"]["problem"]
        elif kind == WORKING:
            self.session.watchers.progress(from_json(Working, document["working"]))
        elif kind:
            data = {name: value for name, value in document.items() if name not in ("event", "at")}
            self.session.watchers.tell(ListHappening(kind=kind, at=document["at"], data=data))

    def _pass_on_interrupts(self) -> None:
        """Tell all jobs to end, as often as we were told."""
        self.session.hear_user()
        heard = self.session.interrupts
        wanted = 2 if heard.number else 1 if heard.is_asked_to_end else 0
        for job in self._jobs.values():
            if job.told < wanted:
                job.process.send_signal(signal.SIGTERM if wanted == 2 else signal.SIGINT)
                job.told = wanted

    # --- merge -------------------------------------------------------------------------------------------------------

    def land(self, task: str) -> str:
        session, trees = self.session, self.trees
        verification = session.task(task).verification()
        if not trees.has(task):
            return ""  # it was approved, and committed or not, in the project itself
        try:
            if verification.commit:
                commit = verification.commit
            else:
                trees.open(task)
                problem = self._find_problem(task)
                if problem:
                    return self._send_back(task, problem)
                done = commit_task(self._in_checkout(task))
                commit = done.commit
                session.tell("committed", task=task, commit=commit, files=list(done.files))
            if not trees.is_landed(commit):
                merged = trees.land(commit, verification.spec.name)
                session.tell("merged", task=task, commit=merged)
        except StateError:
            raise
        except PhaseGateError as error:
            return f"{error.problem}: {error.remedy}"
        trees.close(task, keep=False)
        return ""

    def _find_problem(self, task: str) -> str:
        """Return why the work can't be merged as it is with what the project has now; empty if it can."""
        commit = self.trees.snapshot(task)
        is_listed = list_matcher(self.session.task(task).verification().spec.files)
        others = [path for path in self.trees.changed(task, commit) if not is_listed(path)]
        if others:
            return f"files that the task does not list are not what the project has: {', '.join(others[:5])}"
        if self.trees.is_ahead(task):
            return ""
        found = self.trees.try_merge(commit)
        if isinstance(found, Conflict):
            return f"other tasks changed the same lines meanwhile: {', '.join(found.files)}"
        current = self.session.task(task)
        verification = current.verification()
        spec, project = verification.spec, self.session.project
        first, *rest = steps_of(spec)
        own = ("PHASE_GATE_TASK", "PHASE_GATE_PHASE", "PHASE_GATE_DIR")
        ended = run_process(
            first,
            then=rest,
            shell=spec.shell,
            cwd=found,
            environment={name: text for name, text in project.environment.items() if name not in own},
            timeout=verification.limits["verify"],
            log=current.store.drive_folder / "merge.log",
            limit=KEPT,
            is_apart=False,
            interrupts=self.session.interrupts,
        )
        if ended.how == "ended" and ended.code == 0:
            return ""
        return f"merged with what other tasks did meanwhile, `{spec.verify}` ended with {ended.code} ({ended.how})"

    def _send_back(self, task: str, problem: str) -> str:
        """Give the task back to its executor, on top of what the project has now; return why a person has to look."""
        self._sent_back[task] = self._sent_back.get(task, 0) + 1
        if self._sent_back[task] > _SENT_BACK:
            return problem
        commit = self.trees.snapshot(task)
        marks = "your work lies on top of theirs now; where both changed a line, marks like <<<<<<< stand in the file"
        abandon_attempt(self._in_checkout(task), reason=f"{problem}\n{marks}: bring both together", by=OWNER)
        self.trees.move_on(task, commit)
        self.session.tell("conflict", task=task, reason=problem)
        return ""

    def close(self) -> None:
        """End what runs, and remove all checkouts; work that is not finished is kept."""
        for job in self._jobs.values():
            job.process.send_signal(signal.SIGTERM)
        for job in self._jobs.values():
            job.process.wait()
        self._jobs.clear()
        rows = {row.task: row for row in self.session.board().overview.rows}
        for task in self.trees.left():
            try:
                self.trees.close(task, keep=not self._is_settled(rows.get(task)))
            except NotAllowedError as error:
                self.session.note(task, f"its checkout stays where it is: {error.problem}")
        self.trees.sweep()

    def _is_settled(self, row: TaskRow | None) -> bool:
        """Tell whether nothing of the task's work is needed any more."""
        if row is None or row.status is Status.SKIPPED:
            return row is not None
        return row.status is Status.APPROVED and bool(row.commit) and self.trees.is_landed(row.commit)


def open_pool(session: ListSession, order: ListOrder) -> Pool:
    """Return where the tasks of a list are driven."""
    return Pool(session, commits=order.commits) if order.jobs is None else JobsPool(session, order)
