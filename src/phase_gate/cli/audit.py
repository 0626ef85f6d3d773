"""`phase-gate audit`: verify every line of the ledger; repair a damaged one, keeping what was there."""

from __future__ import annotations

import argparse
from collections import Counter

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.errors import ForeignStateError, NotAllowedError, RollbackError, StateError
from phase_gate.gate.overrides import refuse_excuse
from phase_gate.gate.state import Event
from phase_gate.storage.repair import repair


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repair", action="store_true", help="keep a copy and go on from the last good line")
    parser.add_argument("--accept-rollback", action="store_true", help="accept a folder that was restored from a copy")
    parser.add_argument("--adopt-key", action="store_true", help="put a ledger without a key under PHASE_GATE_KEY")
    parser.add_argument("--reason", metavar="TEXT", help="why, with --accept-rollback or --adopt-key")
    parser.add_argument("--by", metavar="NAME", help="who, with --accept-rollback or --adopt-key")


def run(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    if call.arguments.repair:
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
    if call.arguments.accept_rollback:
        return _accept_rollback(call)
    if call.arguments.adopt_key:
        return _adopt_key(call)
    kinds: Counter[str] = Counter()
    last = 0
    problem: StateError | None = None
    try:
        for line in store.lines():
            kinds[line.event.kind] += 1
            last = line.seq
        store.check_objects(store.look().state)
    except StateError as error:
        problem = error
    document = {
        "task": project.task,
        "root": str(project.root),
        "events": last,
        "kinds": dict(sorted(kinds.items())),
        "intact": problem is None,
        "problem": None
        if problem is None
        else {"slug": problem.slug, "problem": problem.problem, "remedy": problem.remedy},
    }
    if problem is not None:
        text = f"{last} events are good; then: {problem}"
        return Answer(text=text, document=document, exit_code=exit_codes.NOT_TRUSTED, is_error=True)
    counted = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    return Answer(text=f"intact: {last} events" + (f" ({counted})" if counted else ""), document=document)


def _accept_rollback(call: Call) -> Answer:
    project = call.project()
    store = call.store(project)
    is_foreign = False
    try:
        store.look()
    except RollbackError:
        pass
    except ForeignStateError:
        is_foreign = True  # what it says of scripts was said about another project
    else:
        raise NotAllowedError("nothing was rolled back", remedy="phase-gate status")
    with store.transaction(accept_rollback=True) as change:
        what = "accepting another ledger" if is_foreign else "accepting a rollback"
        call.require_person(project, change.opened, what, always=is_foreign)
        refuse_excuse(call.arguments.reason)
        data = {"reason": call.arguments.reason, "by": call.arguments.by, "serial": change.opened.serial}
        change.record(Event(kind="rollback-accepted", data=data))
    return Answer(
        text="accepted; the streak and the last verdict start anew\n  next: pytest --phase=auto", document=data
    )


def _adopt_key(call: Call) -> Answer:
    from phase_gate.storage.adoption import adopt_key, look_without_key

    project = call.project()
    store = call.store(project)
    opened = look_without_key(store)
    # What such a ledger says of overrides is not vouched for: it can't let a script in.
    call.require_person(project, opened, "adopting a key", always=True)
    refuse_excuse(call.arguments.reason)
    store.refuse_while_running(opened.state)
    data = {"reason": call.arguments.reason, "by": call.arguments.by, "serial": opened.serial}
    done = adopt_key(store, data)
    return Answer(
        text=f"adopted: {done.lines} lines are under the key now; copy: {done.copy.name}"
        "\n  the streak and the last verdict start anew\n  next: pytest --phase=auto",
        document={**data, "copy": str(done.copy)},
    )
