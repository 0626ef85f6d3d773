"""Step 1 of a verify task: the executor's report."""

from __future__ import annotations

from phase_gate.errors import MalformedResultError, NotAllowedError
from phase_gate.gate.evaluation import Evaluation
from phase_gate.gate.state import Event
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.store import Transaction
from phase_gate.storage.tree.fingerprint import Tree
from phase_gate.verification.board import LONGEST, Attachment, TaskBoard, TaskSession, TaskStatus, require_verification
from phase_gate.verification.model import FINISHED, FailureType, Status, Verification
from phase_gate.verification.result_files import read_executor_result
from phase_gate.verification.rules import extend_limits, late, refuse_unchanged, require_attempt
from phase_gate.verification.spec import ExecutorResult, result_to_json

#: Where a report may come.
_WAITS = (Status.PENDING, Status.EXECUTING, Status.FAILED, Status.REJECTED, Status.BLOCKED)


@again_if_moved
def report_execution(board: TaskBoard, report: Attachment) -> TaskStatus:
    """Record the executor's report. One that can't be read is a failed attempt."""
    session, result, by = board.open_for(
        report, read_executor_result, "an executor's report", waits=_WAITS, first=(Status.EXECUTING,)
    )
    tree = session.tree(session.verification().spec)
    with session.store.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, session.task)
        session.refuse_halted(current)
        session.refuse_foreign(current, by)
        if isinstance(result, ExecutorResult) and result.status == "success":
            refuse_unchanged(current, tree.digest)
        if current.status is not Status.EXECUTING:
            begin_attempt(session, change, tree)
        if isinstance(result, MalformedResultError):
            said = f"{result.problem}; {result.remedy}"
            session.fail(change, FailureType.MALFORMED, step=1, error=said, tree=tree)
        else:
            _report(session, change, result, tree, by=by, attachment=report.path)
        evaluation = _judge(session, change, tree)
    return session.end_step(change, evaluation)


def _report(
    session: TaskSession, change: Transaction, result: ExecutorResult, tree: Tree, *, by: str, attachment: str | None
) -> None:
    current = require_verification(change.state, session.task)
    document = result_to_json(result)
    kept = session.store.keep("evidence", document)
    short = {key: value[:LONGEST] if isinstance(value, str) else value for key, value in document.items()}
    overdue = late(session.board.clock.on_own(session.task, current), change.at)
    if overdue:
        lines = tuple(str(document.get("evidence", "")).splitlines()[:5])
        session.fail(change, FailureType.TIMEOUT, step=1, error=overdue, tree=tree, lines=lines)
        return
    data = {"result": short, "by": by, "tree": tree.digest, "kept": kept, "attachment": attachment}
    change.record(Event(kind="executor-reported", data=data))
    if result.status == "failure":
        session.fail(change, FailureType.EXECUTION_FAILURE, step=1, error=result.error, tree=tree)
    elif result.status == "blocked":
        session.fail(change, FailureType.BLOCKED, step=1, error=result.error, tree=tree, counts=False)
    elif not result.done_criteria_met:
        error = "the executor reports success, but says that the done-criteria are not met"
        session.fail(change, FailureType.EXECUTION_FAILURE, step=1, error=error, tree=tree)


def _judge(session: TaskSession, change: Transaction, tree: Tree) -> Evaluation:
    current = require_verification(change.state, session.task)
    return session.judge(change, session.changes(change.state, current, tree))


# --- begin an attempt of a task: what the executor's report and `verify start` share


def begin_attempt(
    session: TaskSession, change: Transaction, tree: Tree, *, head: str = "", by: str = "", memory: str = ""
) -> None:
    """Record that an attempt begins. Raises NotAllowedError where it must not.

    :param head: the commit that the work begins on; empty where the work is done already.
    :param by: the worker that has it from now on; empty where none is named.
    :param memory: the object with the files as they are here, where they were remembered elsewhere.
    """
    verification = require_verification(change.state, session.task)
    session.refuse_halted(verification)
    if verification.status is Status.EXECUTING:
        raise NotAllowedError(
            f"attempt {verification.attempt} of {session.task} goes on since {verification.began_at}",
            remedy=f"phase-gate verify executor FILE --task {session.task}",
        )
    on_own_clock = session.board.clock.on_own(session.task, verification)
    require_attempt(on_own_clock, tree=tree.digest, at=change.at)
    _refuse_dependencies(session, verification)
    if verification.status is Status.REVIEWING:
        # What was verified is not there any more: that attempt is over, and counts as no failure.
        session.fail(
            change,
            FailureType.VERIFY_FAILURE,
            step=3,
            error="stale: files were changed after the verify run",
            tree=tree,
            counts=False,
        )
    number = verification.attempt if verification.status is Status.BLOCKED else verification.attempt + 1
    given = {"head": head, "by": by, "memory": memory, "place": session.board.place if memory else ""}
    data = {
        "attempt": number,
        "limits": extend_limits(verification),
        **{name: value for name, value in given.items() if value},
    }
    change.record(Event(kind="attempt-began", data=data))


def _refuse_dependencies(session: TaskSession, verification: Verification) -> None:
    names = verification.spec.depends_on
    if not names:
        return
    rows = {row.name: row for row in session.board.overview.rows}
    for name in names:
        row = rows.get(name)
        if row is None or row.status not in FINISHED:
            state = "is not known" if row is None else f"is {row.status}"
            remedy = "phase-gate verify start --task-file FILE, with that task"
            if row is not None:
                act = "start" if row.status is Status.PENDING else "status"
                remedy = f"do that one first: phase-gate verify {act} --task {row.task}"
            raise NotAllowedError(f"{session.task} depends on {name!r}, which {state}", remedy=remedy)


# --- an attempt that fails without a report: its agent ran out of time, or left nothing that could be read


@again_if_moved
def fail_attempt(session: TaskSession, kind: FailureType, *, error: str, lines: tuple[str, ...] = ()) -> TaskStatus:
    """Record that the step which goes on has failed."""
    tree = session.tree(session.verification().spec)
    with session.store.transaction() as change:
        session.close_lost(change)
        current = require_verification(change.state, session.task)
        session.fail(change, kind, step=current.step, error=error, tree=tree, lines=lines)
        evaluation = _judge(session, change, tree)
    return session.end_step(change, evaluation)
