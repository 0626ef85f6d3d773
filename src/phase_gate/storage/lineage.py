"""Whether a ledger is the one that belongs here: of this task, and of the lineage that this user has seen.

The folder's path is no part of it: a project that was moved goes on. Pure: the opener and the memory do the reading.
"""

from __future__ import annotations

from phase_gate.errors import ForeignStateError, RollbackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.storage.memory import Seen
    from phase_gate.storage.opening import Opened

_ACCEPT = 'phase-gate audit --accept-rollback --reason "..." --by NAME'


def refuse_foreign(opened: Opened, task: str, seen: Seen | None) -> None:
    """Raise ForeignStateError or RollbackError for a ledger that took the place of the one that belongs here.

    :param seen: what is remembered of the folder; None where nothing is, as in CI.
    """
    if opened.exists and opened.state.task != task:
        raise _of_another_task(opened.state.task, task)
    if seen is None:
        return
    if seen.lineage != opened.lineage:
        # Between cycles a folder may go, and another one come: nothing is dodged by it.
        if opened.exists and seen.cycle_is_open:
            raise ForeignStateError(
                "the state folder contains another ledger than the one seen here, whose cycle is still open",
                remedy=f"bring that folder back, or {_ACCEPT}, or remove the folder and begin anew",
            )
    elif opened.serial < seen.serial:
        raise rolled_back(f"it is at {opened.serial}, it was seen at {seen.serial}")
    elif opened.serial == seen.serial and opened.head != seen.head:
        raise rolled_back(f"line {seen.serial} is not the one that was seen before")


def rolled_back(problem: str) -> RollbackError:
    return RollbackError(
        f"the state folder is older than what was seen of it: {problem}",
        remedy=f"{_ACCEPT}, or bring the newer folder back",
    )


def _of_another_task(name: str, task: str) -> ForeignStateError:
    # It stands in a file: shown as it is only if it could be a name.
    shown = ascii(str(name)[:64])[1:-1]
    return ForeignStateError(
        f"the ledger here belongs to task {shown}, and this is task {task}",
        remedy=f"give ledger.jsonl and state.json back to task {shown}; restore those of task {task}, or begin anew",
    )
