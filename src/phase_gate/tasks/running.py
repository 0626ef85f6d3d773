"""Step 2 of a verify task: we run the verify command, whatever the executor says that it gave."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from phase_gate.errors import NotAllowedError
from phase_gate.evidence.process.run import Ended, run_process
from phase_gate.evidence.process.tree import Interrupts
from phase_gate.gate.state import Event
from phase_gate.storage.files import make_folder
from phase_gate.storage.lock import RunLock
from phase_gate.storage.store import Transaction
from phase_gate.storage.tree.fingerprint import Tree, describe_difference
from phase_gate.stores.shared import again_if_moved
from phase_gate.tasks.board import TaskSession, TaskStatus, check_event, require_verification
from phase_gate.tasks.judging import TaskChanges, is_unlisted
from phase_gate.tasks.lint import steps_of
from phase_gate.tasks.model import PHASE, Check, FailureType, Status, Verification
from phase_gate.tasks.rules import check_limit, time_left
from phase_gate.tasks.weighing import find_altered_tests, first_failures, weigh
from phase_gate.values import Value, replace
from phase_gate.visible import cut

#: Bytes of output that each file keeps.
KEPT = 256 * 1024
#: Altered tests that the record keeps, and that are said each in a line.
KEPT_TESTS, SHOWN = 200, 5


class Display(Value):
    """What shows a run while it goes on."""

    #: Prints a line.
    show: Callable[[str], None]
    #: Gets the seconds that have passed, and those that the run has.
    tick: Callable[[float, float], None]
    #: Where the command's own output goes.
    stream: BinaryIO | None = None
    #: Hears signals already; None: the run hears them itself.
    interrupts: Interrupts | None = None


class VerifyRunResult(Value):
    status: TaskStatus
    #: The file with the output; empty where there was no time left to begin.
    log: str = ""
    #: Whether the command came to its end.
    has_ended: bool = True


def run_verify(session: TaskSession, display: Display, *, timeout: float | None = None) -> VerifyRunResult:
    """Run the task's verify command and record what it gave.

    :param timeout: seconds for this run; None: the task's.
    """
    verify = _VerifyRun(session, display)
    refused = verify.begin(timeout)
    if refused is not None:
        return VerifyRunResult(status=refused, has_ended=False)
    try:
        verify.execute()
        status = verify.end()
    finally:
        verify.release()
    has_ended = verify.check.how != "interrupted"
    return VerifyRunResult(status=status, log=verify.log_name, has_ended=has_ended)


class _VerifyRun:
    """One run of the verify command, from its start record to its end record."""

    def __init__(self, session: TaskSession, display: Display) -> None:
        self.session, self.display = session, display
        self.verification: Verification = session.verification()
        self.before: Tree = session.tree(self.verification.spec)
        self.check = Check(
            id=os.urandom(8).hex(), command=self.verification.spec.verify, at="", tree=self.before.digest
        )
        self.output = ""
        self.flags: list[str] = []
        self.steps = steps_of(self.verification.spec)
        #: The step that it came to.
        self.step = 0
        self._hold: RunLock | None = None
        self._serial = 0

    @property
    def log(self) -> Path:
        return self.session.store.folder / "verify" / f"{self.check.id}.log"

    @property
    def log_name(self) -> str:
        return os.path.relpath(self.log, self.session.project.root).replace(os.sep, "/")

    # --- before --------------------------------------------------------------------------------------------------

    @again_if_moved
    def begin(self, timeout: float | None) -> TaskStatus | None:
        """Write the start record; returns where the task stands if it can't begin."""
        session = self.session
        with session.transaction() as change:
            session.close_lost(change)
            current = self.verification = require_verification(change.state, session.task)
            self._refuse(current)
            session.refuse_elsewhere(current, self.before)
            session.refuse_halted(current)
            changes = session.changes(change.state, current, self.before)
            evaluation = None
            left = time_left(current, change.at)
            if is_unlisted(change.state, changes, at=change.at):
                # Judged, so that a person can waive what was found.
                evaluation = session.judge(change, changes)
            elif left > 0:
                limit = min(current.limits["verify"] if timeout is None else check_limit("verify", timeout), left)
                self._record_start(change, limit)
            else:
                error = "the gate has 1800 s in all, and they are over"
                session.fail(change, FailureType.TIMEOUT, step=2, error=error, tree=self.before)
                evaluation = session.judge(change, changes)
        if evaluation is not None:
            return session.end_step(change, evaluation)
        self._serial = session.look().serial
        return None

    def _record_start(self, change: Transaction, limit: float) -> None:
        store = self.session.store
        self.check = replace(self.check, limit=limit, at=change.at)
        data = {"id": self.check.id, "command": self.check.command, "tree": self.before.digest, "limit": limit}
        change.record(Event(kind="verify-started", data=data))
        make_folder(store.files, store.folder / "verify")
        self.release()  # where it began once already, and another machine was first
        self._hold = store.hold(self.check.id)

    def _refuse(self, current: Verification) -> None:
        if current.status is Status.VERIFYING:
            return
        task = self.session.task
        waits = {
            Status.REVIEWING: f"phase-gate verify review FILE --task {task}",
            Status.APPROVED: f"phase-gate verify commit --task {task}",
            Status.SKIPPED: "phase-gate verify status",
        }
        raise NotAllowedError(
            f"{task} is {current.status}: there is no report whose truth the verify command could show",
            remedy=waits.get(current.status, f"phase-gate verify executor FILE --task {task}"),
        )

    # --- meanwhile -----------------------------------------------------------------------------------------------

    def execute(self) -> None:
        """Run the command; a second time where it failed and is declared flaky."""
        spec = self.verification.spec
        ended = self._run_once()
        if ended.how == "ended" and ended.code != 0 and spec.flaky:
            first = ended.code
            self.display.show(f"it ended with {first}; declared flaky ({spec.flaky}), so it runs once more")
            # What the first one recorded is not what this one is worth.
            self._serial = self.session.look().serial
            ended = self._run_once()
            if ended.how == "ended" and ended.code == 0:
                self.flags.append(f"flaky: it ended with {first} first, and passed when it was run once more")
        self.output, self.step = _read(ended.output), ended.step
        self.check = replace(
            self.check,
            how=ended.how,
            exit_code=ended.code if ended.how == "ended" else None,
            seconds=round(ended.seconds, 3),
            why=ended.problem or _why(ended, self.check.limit),
            output=self.session.store.keep(
                "output", {"output": self.output, "stdout": _read(ended.stdout), "stderr": _read(ended.stderr)}
            ),
            summary=_summary(self.output),
        )

    def _run_once(self) -> Ended:
        check, project, show = self.check, self.session.project, self.display.show
        show(f"$ {check.command}  (at most {check.limit:g} s; {self.log_name})")
        environment = {
            **project.environment,
            "PHASE_GATE_TASK": project.task,
            "PHASE_GATE_DIR": str(project.state_folder.absolute()),
            "PHASE_GATE_PHASE": PHASE.lower(),
        }
        first, *rest = self.steps
        ended = run_process(
            first,
            then=rest,
            shell=self.verification.spec.shell,
            cwd=project.root,
            environment=environment,
            timeout=check.limit,
            log=self.log,
            limit=KEPT,
            stream=self.display.stream,
            tick=lambda seconds: self.display.tick(seconds, check.limit),
            interrupts=self.display.interrupts,
        )
        said = "" if ended.code is None else f" with {ended.code}"
        show(f"{ended.how}{said} after {ended.seconds:.1f} s of {check.limit:g} s")
        return ended

    # --- after ---------------------------------------------------------------------------------------------------

    def end(self) -> TaskStatus:
        """Write the end record: what it gave, and what that is worth."""
        after = self.session.tree(self.verification.spec)
        self._weigh(after)
        return self._record_end(after)

    @again_if_moved
    def _record_end(self, after: Tree) -> TaskStatus:
        session = self.session
        with session.transaction() as change:
            current = require_verification(change.state, session.task)
            if current.check is None or current.check.id != self.check.id or current.status is not Status.VERIFYING:
                raise NotAllowedError(
                    f"{session.task} moved on while its verify command ran", remedy="phase-gate verify status"
                )
            changes = session.changes(change.state, current, after)
            self._compare_tests(changes)
            change.record(check_event(self.check))
            self._fail(after, change)
            evaluation = session.judge(change, changes)
        return session.end_step(change, evaluation)

    def _weigh(self, after: Tree) -> None:
        """Keep what the run is worth: the files that it changed, and the tests that it ran."""
        weighed = weigh(self.session.store, self.output, since=self._serial)
        changed = describe_difference(self.before.files, after.files)
        names = (*changed.added, *changed.removed, *changed.changed)
        if names:
            self.flags.append(f"files changed while it ran: {', '.join(names[:5])}")
        self.check = replace(
            self.check,
            after=after.digest,
            tests=weighed.tests,
            runs=weighed.runs,
            problems=weighed.problems if self.check.exit_code == 0 else (),
            flags=(*self.flags, *weighed.flags),
        )

    def _compare_tests(self, changes: TaskChanges) -> None:
        """Keep what became of the tests that were there; one that checks nothing any more makes the pass weak."""
        found = find_altered_tests(self.session.texts(self.verification, changes.own))
        doubtful = [f"{name}: {what}" for name, what in found.items()]
        more = [f"{len(doubtful) - SHOWN} more tests were emptied or are gone"] if len(doubtful) > SHOWN else []
        self.check = replace(
            self.check,
            altered=tuple(found.items())[:KEPT_TESTS],
            flags=(*self.check.flags, *doubtful[:SHOWN], *more),
        )

    def _fail(self, after: Tree, change: Transaction) -> None:
        check, session = self.check, self.session
        command = cut(self.steps[self.step] if self.step or check.exit_code else check.command)
        lines = first_failures(self.output)
        if check.how == "timed-out":
            session.fail(change, FailureType.TIMEOUT, step=2, error=check.why, tree=after, lines=lines, check=check)
        elif check.how == "not-started":
            error = f"`{command}` could not be started: {check.why}"
            session.fail(change, FailureType.VERIFY_FAILURE, step=2, error=error, tree=after, lines=lines, check=check)
        elif check.how == "ended" and check.problems:
            said = tuple(text for _, text in check.problems)
            error = f"`{command}` ended with 0 and proves nothing: {said[0]}"
            session.fail(change, FailureType.VERIFY_FAILURE, step=2, error=error, tree=after, lines=said, check=check)
        elif check.how == "ended" and check.exit_code != 0:
            first = f": {lines[0]}" if lines else ""
            place = f" (step {self.step + 1} of {len(self.steps)})" if len(self.steps) > 1 else ""
            error = f"`{command}`{place} ended with {check.exit_code}{first}"
            session.fail(change, FailureType.VERIFY_FAILURE, step=2, error=error, tree=after, lines=lines, check=check)

    def release(self) -> None:
        if self._hold is not None:
            self._hold.release()


def _why(ended: Ended, limit: float) -> str:
    if ended.how == "timed-out":
        return f"the verify command took longer than {limit:g} s, and was ended with all of its processes"
    if ended.how == "interrupted":
        number = ended.interrupted_by
        return f"it was interrupted by {signal.Signals(number).name}" if number else "it was interrupted"
    return ""


def _summary(output: str) -> str:
    # Our own lines below a run of pytest tell less than its last one.
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
