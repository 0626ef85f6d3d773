"""`phase-gate verify run`: step 2. We run the verify command, whatever the executor says that it gave."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli._streams import draw, raw_output, say_aside
from phase_gate.errors import NotAllowedError
from phase_gate.evidence.process.run import Ended, run_process
from phase_gate.gate.evaluation import Evaluation
from phase_gate.gate.state import Event
from phase_gate.storage.files import make_folder
from phase_gate.storage.lock import RunLock
from phase_gate.storage.store import Transaction
from phase_gate.storage.tree.fingerprint import Tree, describe_difference
from phase_gate.values import replace
from phase_gate.verification.altered_tests import DOUBTFUL, WORDS, find_altered_tests
from phase_gate.verification.board import Board, Desk, check_event, require_verification
from phase_gate.verification.feedback import first_failures
from phase_gate.verification.judging import Look
from phase_gate.verification.model import PHASE, Check, FailureType, Status, Verification
from phase_gate.verification.rules import check_limit, time_left
from phase_gate.verification.weigh import weigh

#: Bytes of output that each file keeps.
KEPT = 256 * 1024
#: Altered tests that the record keeps, and that are said each in a line.
KEPT_TESTS, SHOWN = 200, 5


def run(call: Call) -> Answer:
    board = Board(call)
    desk = board.desk(board.named() or board.waiting((Status.VERIFYING,), "its verify command"))
    verify = VerifyRun(desk)
    begun = verify.begin()
    if begun is not None:
        return desk.answer(begun)
    try:
        verify.execute()
        evaluation = verify.end()
    finally:
        verify.release()
    answer = desk.answer(evaluation, more={"log": verify.log_name})
    return replace(answer, exit_code=10) if verify.check.how in ("interrupted", "not-started") else answer


class VerifyRun:
    """One run of the verify command, from its start record to its end record."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.verification: Verification = desk.verification()
        self.before: Tree = desk.tree(self.verification.spec)
        self.check = Check(
            id=os.urandom(8).hex(), command=self.verification.spec.verify, at="", tree=self.before.digest
        )
        self.output = ""
        self.flags: list[str] = []
        self._lock: RunLock | None = None
        self._serial = 0

    @property
    def log(self) -> Path:
        return self.desk.store.folder / "verify" / f"{self.check.id}.log"

    @property
    def log_name(self) -> str:
        return os.path.relpath(self.log, self.desk.project.root).replace(os.sep, "/")

    # --- before --------------------------------------------------------------------------------------------------

    def begin(self) -> Evaluation | None:
        """Write the start record; returns a verdict where there is no time left to begin at all."""
        desk, store = self.desk, self.desk.store
        with store.transaction() as change:
            desk.close_lost(change)
            current = self.verification = require_verification(change.state, desk.task)
            self._refuse(current)
            desk.refuse_halted(current)
            look = desk.look(change.state, current, self.before)
            if look.unlisted:
                raise NotAllowedError(
                    f"{desk.task} changed files that it does not list: {', '.join(look.unlisted[:5])} (files-listed)",
                    remedy="take the change back, or let a person list the file:"
                    ' phase-gate verify start --task-file FILE --reason "..." --by NAME',
                )
            left = time_left(current, change.at)
            if left <= 0:
                error = "the gate has 1800 s in all, and they are over"
                desk.fail(change, FailureType.TIMEOUT, step=2, error=error, tree=self.before)
                return desk.judge(change, look)
            given = desk.call.arguments.timeout
            limit = min(current.limits["verify"] if given is None else check_limit("verify", given), left)
            self.check = replace(self.check, limit=limit, at=change.at)
            data = {"id": self.check.id, "command": self.check.command, "tree": self.before.digest, "limit": limit}
            change.record(Event(kind="verify-started", data=data))
            make_folder(store.files, store.folder / "runs")
            make_folder(store.files, store.folder / "verify")
            self._lock = RunLock(store.run_lock_file(self.check.id), store.files)
            self._lock.acquire()
        self._serial = store.look().serial
        return None

    def _refuse(self, current: Verification) -> None:
        if current.status is Status.VERIFYING:
            return
        task = self.desk.task
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
            say_aside(f"it ended with {first}; declared flaky ({spec.flaky}), so it runs once more")
            # What the first one recorded is not what this one is worth.
            self._serial = self.desk.store.look().serial
            ended = self._run_once()
            if ended.how == "ended" and ended.code == 0:
                self.flags.append(f"flaky: it ended with {first} first, and passed when it was run once more")
        self.output = _read(ended.output)
        self.check = replace(
            self.check,
            how=ended.how,
            exit_code=ended.code if ended.how == "ended" else None,
            seconds=round(ended.seconds, 3),
            why=ended.problem or _why(ended, self.check.limit),
            output=self.desk.store.keep(
                "output", {"output": self.output, "stdout": _read(ended.stdout), "stderr": _read(ended.stderr)}
            ),
            summary=_summary(self.output),
        )

    def _run_once(self) -> Ended:
        desk, check = self.desk, self.check
        project = desk.project
        say_aside(f"$ {check.command}  (at most {check.limit:g} s; {self.log_name})")
        environment = {
            **project.environment,
            "PHASE_GATE_TASK": project.task,
            "PHASE_GATE_DIR": str(project.state_folder.absolute()),
            "PHASE_GATE_PHASE": PHASE.lower(),
        }
        ended = run_process(
            check.command,
            shell=self.verification.spec.shell,
            cwd=project.root,
            environment=environment,
            timeout=check.limit,
            log=self.log,
            limit=KEPT,
            # Standard output is for our own answer where somebody reads it as JSON.
            stream=raw_output(aside=desk.call.arguments.json),
            tick=self._tick,
        )
        said = "" if ended.code is None else f" with {ended.code}"
        say_aside(f"{ended.how}{said} after {ended.seconds:.1f} s of {check.limit:g} s")
        return ended

    def _tick(self, seconds: float) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            draw(f"\r{seconds:.0f} s of {self.check.limit:g} s \r", sys.stderr)

    # --- after ---------------------------------------------------------------------------------------------------

    def end(self) -> Evaluation:
        """Write the end record: what it gave, and what that is worth."""
        desk, spec = self.desk, self.verification.spec
        after = desk.tree(spec)
        weighed = weigh(desk.store, self.output, since=self._serial)
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
        with desk.store.transaction() as change:
            current = require_verification(change.state, desk.task)
            if current.check is None or current.check.id != self.check.id or current.status is not Status.VERIFYING:
                raise NotAllowedError(
                    f"{desk.task} moved on while its verify command ran", remedy="phase-gate verify status"
                )
            look = desk.look(change.state, current, after)
            self._compare_tests(current, look)
            change.record(check_event(self.check))
            self._fail(after, change)
            return desk.judge(change, look)

    def _compare_tests(self, current: Verification, look: Look) -> None:
        """Keep what became of the tests that were there; one that checks nothing any more makes the pass weak."""
        found = find_altered_tests(self.desk.changes(current, [path for path in look.own if path.endswith(".py")]))
        doubtful = [each.text for each in found if each.kind in DOUBTFUL]
        more = [f"{len(doubtful) - SHOWN} more tests were emptied or are gone"] if len(doubtful) > SHOWN else []
        self.check = replace(
            self.check,
            altered=tuple((each.id, WORDS[each.kind]) for each in found[:KEPT_TESTS]),
            flags=(*self.check.flags, *doubtful[:SHOWN], *more),
        )

    def _fail(self, after: Tree, change: Transaction) -> None:
        check, desk = self.check, self.desk
        command = check.command if len(check.command) <= 60 else f"{check.command[:59]}…"
        lines = first_failures(self.output)
        if check.how == "timed-out":
            desk.fail(change, FailureType.TIMEOUT, step=2, error=check.why, tree=after, lines=lines)
        elif check.how == "ended" and check.problems:
            said = tuple(text for _, text in check.problems)
            error = f"`{command}` ended with 0 and proves nothing: {said[0]}"
            desk.fail(change, FailureType.VERIFY_FAILURE, step=2, error=error, tree=after, lines=said)
        elif check.how == "ended" and check.exit_code != 0:
            first = f": {lines[0]}" if lines else ""
            error = f"`{command}` ended with {check.exit_code}{first}"
            desk.fail(change, FailureType.VERIFY_FAILURE, step=2, error=error, tree=after, lines=lines)

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()


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
