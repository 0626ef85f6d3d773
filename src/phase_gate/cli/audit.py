"""`phase-gate audit`: verify every line of the ledger; repair a damaged one, keeping what was there."""

from __future__ import annotations

import argparse

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.decisions.auditing import accept_rollback, audit
from phase_gate.project import Project
from phase_gate.storage.repair import repair
from phase_gate.storage.store import TaskStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repair", action="store_true", help="keep a copy and go on from the last good line")
    parser.add_argument("--accept-rollback", action="store_true", help="accept a folder or a store that was put back")
    parser.add_argument("--reason", metavar="TEXT", help="why, with --accept-rollback")
    parser.add_argument("--by", metavar="NAME", help="who, with --accept-rollback")


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    if call.arguments.repair:
        return _repair(store)
    if call.arguments.accept_rollback:
        record = accept_rollback(store, call.person())
        text = "accepted; the streak and the last verdict start anew\n  next: pytest --phase=auto"
        return Answer(text=text, document=record)
    return _audit(project, store)


def _repair(store: TaskStore) -> Answer:
    from phase_gate.stores.task_store import SharedTaskStore

    if isinstance(store, SharedTaskStore):
        taken = store.repair_copy()
        return Answer(
            text=f"repaired: {taken.lines} lines taken anew from {store.shared.shown}; copy: {taken.copy.name}",
            document={"repaired": True, "kept_lines": taken.lines, "dropped_bytes": 0, "copy": str(taken.copy)},
        )
    done = repair(store)
    return Answer(
        text=f"repaired: {done.kept_lines} lines kept, {done.dropped_bytes} bytes dropped; copy: {done.copy.name}"
        "\n  the streak and the last verdict start anew: pytest --phase=auto",
        document={
            "repaired": True,
            "kept_lines": done.kept_lines,
            "dropped_bytes": done.dropped_bytes,
            "copy": str(done.copy),
        },
    )


def _audit(project: Project, store: TaskStore) -> Answer:
    found = audit(store)
    problem = found.problem
    document = {
        "task": project.task,
        "root": str(project.root),
        "events": found.events,
        "kinds": found.kinds,
        "intact": problem is None,
        "problem": None
        if problem is None
        else {"slug": problem.slug, "problem": problem.problem, "remedy": problem.remedy},
    }
    if problem is not None:
        text = f"{found.events} events are good; then: {problem}"
        return Answer(text=text, document=document, exit_code=exit_codes.NOT_TRUSTED, is_error=True)
    counted = ", ".join(f"{number} {kind}" for kind, number in found.kinds.items())
    return Answer(text=f"intact: {found.events} events" + (f" ({counted})" if counted else ""), document=document)
