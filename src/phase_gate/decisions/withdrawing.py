"""Take back a signal that waits, or a declared fact."""

from __future__ import annotations

from phase_gate.errors import NotAllowedError, StorageError
from phase_gate.gate.state import Event
from phase_gate.storage.again import again_if_moved
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file
from phase_gate.task import Task


@again_if_moved
def withdraw_fact(task: Task, name: str, *, by: str) -> None:
    """Record that a fact of the present phase counts no more."""
    task.require_begun()
    with task.transaction() as change:
        if all(fact.name != name for fact in change.state.facts):
            declared = ", ".join(fact.name for fact in change.state.facts) or "nothing"
            raise NotAllowedError(f"{name} is not declared in this phase", remedy=f"declared: {declared}")
        change.record(Event(kind="fact-withdrawn", data={"name": name, "by": by}))


@again_if_moved
def withdraw_signal(task: Task, *, by: str) -> str:
    """Record that the waiting signal is taken back, remove it, and return what it said."""
    store = task.store
    waiting = read_signal_file(store.signal_file, spent=task.state.spent_signal)
    if waiting is None:
        raise NotAllowedError("no signal is waiting", remedy="phase-gate status shows where the task stands")
    if store.signal_file.is_dir() and not store.signal_file.is_symlink():
        # Not ours to delete, with whatever is in it; and to say that it is taken back would be wrong.
        raise StorageError(waiting.problem, remedy=f"move {store.signal_file} out of the way")
    answer = waiting.signal.answer if waiting.signal is not None else "malformed"
    with task.transaction() as change:
        change.record(Event(kind="signal-withdrawn", data={"answer": answer, "by": by, "file": waiting.identity}))
    remove_signal_file(store.signal_file)
    return answer
