"""Step 2 of a verify task: run the verify command, and record what it showed, whatever the executor reported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from phase_gate.errors import NotAllowedError
from phase_gate.evidence.process.run import Ended, run_process
from phase_gate.evidence.process.tree import Interrupts
from phase_gate.storage.files import make_folder
from phase_gate.storage.lock import KernelLock, again_if_moved
from phase_gate.storage.tree.fingerprint import Tree, changed_paths
from phase_gate.tasks.board import Step, TaskSession, TaskStatus, task_environment
from phase_gate.tasks.rules import time_left
from phase_gate.tasks.verify_output import evaluate_output, first_failures
from phase_gate.tasks.verify_verdict import is_unlisted, require_status
from phase_gate.tasks.work import PHASE, Check, FailureType, Status, Verification
from phase_gate.values import Value, replace
from phase_gate.visible import cut

#: Bytes of output that are stored per file.
KEPT = 256 * 1024


class Display(Value):
    """How a run is shown while it is active."""

    #: Print a line.
    show: Callable[[str], None]
    #: Called with the elapsed seconds, and the limit.
    tick: Callable[[float, float], None]
    #: The target of the command's own output.
    stream: BinaryIO | None = None
    #: An existing handler of signals; None if the run has to handle them itself.
    interrupts: Interrupts | None = None


def run_verify(session: TaskSession, display: Display) -> tuple[TaskStatus, str]:
    """Run the verify command and record its result. Returns the file with the output; empty if it did not run."""
    verify = _VerifyRun(session, display)
    try:
        refused = verify.begin()
        if refused is not None:
            return refused, ""
        verify.execute()
        return verify.end(), verify.log_name
    finally:
        verify.release()


class _VerifyRun:
    """One run of the verify command, from its start record to its end record."""

    def __init__(self, session: TaskSession, display: Display) -> None:
        self.session, self.display = session, display
        self.spec = session.verification().spec
        self.before: Tree = session.tree(self.spec)
        self.check = Check(id=os.urandom(8).hex(), command=self.spec.verify, at="", tree=self.before.digest)
        self.log = session.store.folder / "verify" / f"{self.check.id}.log"
        self.log_name = os.path.relpath(self.log, session.project.root).replace(os.sep, "/")
        self.output = ""
        self._hold: KernelLock | None = None
        self._serial = 0

    @again_if_moved
    def begin(self) -> TaskStatus | None:
        """Write the start record; return the task's status if the run can't begin."""
        store, check = self.session.store, self.check
        with self.session.step() as step:
            step.tree = self.before
            current, at = step.current, step.change.at
            self._refuse(current)
            step.refuse_halted()
            changes, left = step.changes(), time_left(current, at)
            if is_unlisted(step.change.state, changes, at=at):
                step.judge(changes=changes)  # so that a person can waive the finding
            elif left <= 0:
                step.fail(FailureType.TIMEOUT, "the gate's 1800 s are over")
                step.judge()
            else:
                self.check = check = replace(check, limit=min(current.limits["verify"], left), at=at)
                step.record_check(check)
                make_folder(store.files, self.log.parent)
                self.release()  # from an earlier try, if another machine was first
                self._hold = store.hold(check.id)
        self._serial = self.session.read().serial
        return None if step.evaluation is None else step.status

    def _refuse(self, current: Verification) -> None:
        require_status(current, (Status.VERIFYING,), "there is no report to verify")
        place, report = self.session.board.place, current.report
        assert report is not None, "what is verified was reported"
        if place and current.place not in ("", place) and report.tree != self.before.digest:
            raise NotAllowedError(
                f"{current.task} is open in another work tree: these are not the files that {report.by} reported",
                remedy="run the command there, or copy those files here first",
            )

    def execute(self) -> None:
        """Run the command, and a second time if it failed and is declared flaky."""
        ended, flaky, flags = self._run_once(), self.spec.flaky, self.check.flags
        if ended.how == "ended" and ended.code != 0 and flaky:
            first = ended.code
            self.display.show(f"it ended with {first}; declared flaky ({flaky}), so it runs once more")
            # Do not count the records of the first run.
            self._serial = self.session.read().serial
            ended = self._run_once()
            if ended.how == "ended" and ended.code == 0:
                flags = (f"flaky: it ended with {first} first, and passed in a second run",)
        self.output = _read(ended.output)
        self.check = replace(
            self.check,
            how=ended.how,
            exit_code=ended.code if ended.how == "ended" else None,
            seconds=round(ended.seconds, 3),
            why=ended.problem or _WHY.get(ended.how, "").format(self.check.limit),
            output=self.session.store.keep(
                "output", {"output": self.output, "stdout": _read(ended.stdout), "stderr": _read(ended.stderr)}
            ),
            summary=_summary(self.output),
            flags=flags,
        )

    def _run_once(self) -> Ended:
        check, project, show = self.check, self.session.project, self.display.show
        show(f"$ {check.command}  (at most {check.limit:g} s; {self.log_name})")
        environment = {**task_environment(project), "PHASE_GATE_PHASE": PHASE.lower()}
        ended = run_process(
            check.command,
            shell=True,
            cwd=project.root,
            environment=environment,
            timeout=check.limit,
            log=self.log,
            limit=KEPT,
            stream=self.display.stream,
            tick=lambda seconds: self.display.tick(seconds, check.limit),
            interrupts=self.display.interrupts,
        )
        code = "" if ended.code is None else f" with {ended.code}"
        show(f"{ended.how}{code} after {ended.seconds:.1f} s of {check.limit:g} s")
        return ended

    @again_if_moved
    def end(self) -> TaskStatus:
        """Write the end record, with the result and its evaluation."""
        session = self.session
        after = session.tree(self.spec)
        with session.transaction() as change:
            step = Step(session, change)
            step.tree = after
            current = step.current
            if current.check is None or current.check.id != self.check.id or current.status is not Status.VERIFYING:
                raise NotAllowedError(
                    f"{session.task} was changed while its verify command ran", remedy="phase-gate verify status"
                )
            self._weigh(after)
            step.record_check(replace(self.check, ended_at=step.change.at))
            self._fail(step)
            step.judge()
        session.board.refresh()
        return step.status

    def _weigh(self, after: Tree) -> None:
        """Evaluate the run: the files that it changed, and the tests that it ran."""
        check = evaluate_output(self.check, self.session, self.output, since=self._serial)
        names = changed_paths(self.before.files, after.files)
        written = (f"files changed while it ran: {', '.join(names[:5])}",) if names else ()
        problems = check.problems if check.exit_code == 0 else ()
        self.check = replace(check, after=after.digest, problems=problems, flags=(*check.flags, *written))

    def _fail(self, step: Step) -> None:
        check, lines = self.check, first_failures(self.output)
        if check.how == "timed-out":
            step.fail(FailureType.TIMEOUT, check.why, lines=lines)
        elif check.problems:
            lines = tuple(text for _, text in check.problems)
            error = f"`{cut(check.command)}` ended with 0 and proves nothing: {lines[0]}"
            step.fail(FailureType.VERIFY_FAILURE, error, lines=lines, exit_code=0)
        elif check.how == "not-started" or (check.how == "ended" and check.exit_code != 0):
            first = f": {lines[0]}" if lines else ""
            ended = f"ended with {check.exit_code}" if check.how == "ended" else f"could not be started: {check.why}"
            error = f"`{cut(check.command)}` {ended}{first}"
            step.fail(FailureType.VERIFY_FAILURE, error, lines=lines, exit_code=check.exit_code)

    def release(self) -> None:
        if self._hold is not None:
            self._hold.release()


#: Why a run did not end by itself, with its time limit.
_WHY: Mapping[str, str] = {
    "timed-out": "the verify command took longer than {:g} s, and was ended with all of its processes",
    "interrupted": "it was interrupted",
}


def _summary(output: str) -> str:
    # Our own lines after a run of pytest are less useful than its last line.
    output = output.rpartition("phase gate: recorded for task ")[0] or output
    lines = [line.strip(" =") for line in output.splitlines() if line.strip(" =")]
    return lines[-1][:200] if lines else ""


def _read(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
