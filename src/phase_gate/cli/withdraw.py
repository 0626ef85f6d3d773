"""`phase-gate withdraw`: take back a waiting signal, or a declared fact."""

from __future__ import annotations

import argparse

from phase_gate.cli._answer import Answer, Call, require_task
from phase_gate.errors import NotAllowedError, StorageError
from phase_gate.gate.state import Event
from phase_gate.storage.signal_file import read_signal_file, remove_signal_file
from phase_gate.task import Task
from phase_gate.visible import show_rows
from phase_gate.workflow.names import of_task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fact", nargs="?", metavar="FACT", help="a declared fact; without it, the waiting signal")


def run(call: Call) -> Answer:
    task = call.task()
    name = call.arguments.fact
    if name is None:
        return _withdraw_signal(call, task)
    require_task(task)
    with task.transaction() as change:
        if all(fact.name != name for fact in change.state.facts):
            declared = ", ".join(fact.name for fact in change.state.facts) or "nothing"
            raise NotAllowedError(f"{name} is not declared in this phase", remedy=f"declared: {declared}")
        change.record(Event(kind="fact-withdrawn", data={"name": name, "by": call.by()}))
    return Answer(text=f"{name} is taken back", document={"withdrawn": name})


def _withdraw_signal(call: Call, task: Task) -> Answer:
    store = task.store
    waiting = read_signal_file(store.signal_file, spent=task.state.spent_signal)
    if waiting is None:
        raise NotAllowedError("no signal is waiting", remedy="phase-gate status shows where the task stands")
    if store.signal_file.is_dir() and not store.signal_file.is_symlink():
        # Not ours to delete, with whatever is in it; and to say that it is taken back would be wrong.
        raise StorageError(waiting.problem, remedy=f"move {store.signal_file} out of the way")
    answer = waiting.signal.answer if waiting.signal is not None else "malformed"
    with task.transaction() as change:
        change.record(
            Event(kind="signal-withdrawn", data={"answer": answer, "by": call.by(), "file": waiting.identity})
        )
    remove_signal_file(store.signal_file)
    following = of_task("phase-gate status", task.project.task)
    return Answer(
        text=show_rows((f"signal {answer} is taken back", f"  next: {following}")),
        document={"withdrawn": "signal", "answer": answer},
    )
