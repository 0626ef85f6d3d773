"""Begin an attempt of a task: what the executor's report and `verify start` share."""

from __future__ import annotations

from phase_gate.cli._verify_desk import Desk, require_verification
from phase_gate.core.verification import FINISHED, FailureType, Status, Verification
from phase_gate.core.verification_rules import extend_limits, require_attempt
from phase_gate.errors import NotAllowedError
from phase_gate.gate.state import Event
from phase_gate.storage.store import Transaction
from phase_gate.storage.tree.fingerprint import Tree


def begin_attempt(desk: Desk, change: Transaction, tree: Tree, *, head: str = "") -> None:
    """Record that an attempt begins. Raises NotAllowedError where it must not.

    :param head: the commit that the work begins on; empty where the work is done already.
    """
    verification = require_verification(change.state, desk.task)
    desk.refuse_halted(verification)
    if verification.status is Status.EXECUTING:
        raise NotAllowedError(
            f"attempt {verification.attempt} of {desk.task} goes on since {verification.began_at}",
            remedy=f"phase-gate verify executor FILE --task {desk.task}",
        )
    require_attempt(verification, tree=tree.digest, at=change.at)
    _refuse_dependencies(desk, verification)
    if verification.status is Status.REVIEWING:
        # What was verified is not there any more: that attempt is over, and nobody has failed.
        desk.fail(
            change,
            FailureType.VERIFY_FAILURE,
            step=3,
            error="stale: files were changed after the verify run",
            tree=tree,
            counts=False,
        )
    number = verification.attempt if verification.status is Status.BLOCKED else verification.attempt + 1
    data = {"attempt": number, "limits": extend_limits(verification), **({"head": head} if head else {})}
    change.record(Event(kind="attempt-began", data=data))


def _refuse_dependencies(desk: Desk, verification: Verification) -> None:
    names = verification.spec.depends_on
    if not names:
        return
    rows = {row.name: row for row in desk.board.overview.rows}
    for name in names:
        row = rows.get(name)
        if row is None or row.status not in FINISHED:
            state = "is not known" if row is None else f"is {row.status}"
            remedy = "phase-gate verify start --task-file FILE, with that task" if row is None else "do that one first"
            raise NotAllowedError(f"{desk.task} depends on {name!r}, which {state}", remedy=remedy)
