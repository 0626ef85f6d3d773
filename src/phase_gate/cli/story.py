"""`phase-gate history`, `report`, `audit`: the task's runs, its whole story, and whether its ledger is intact."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._call import Call, Done, describe_error
from phase_gate.cli._streams import screen_width
from phase_gate.errors import ForeignStateError, NotAllowedError, RollbackError, StateError, TamperedError
from phase_gate.gate.events import verdict_of
from phase_gate.gate.measured import Table, describe_override
from phase_gate.gate.overrides import Person
from phase_gate.gate.state import NEW_STATE, Event
from phase_gate.gate.verdict import evaluation_to_json
from phase_gate.project import Project
from phase_gate.report.text import table_lines
from phase_gate.storage.ledger import Line
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.opening import read_event
from phase_gate.storage.repair import find_last_good, repair
from phase_gate.storage.store import TaskStore, Transaction
from phase_gate.values import replace
from phase_gate.visible import count, count_good, show_rows
from phase_gate.workflow.names import of_task, run_command, status_command


def history(call: Call) -> Done:
    task, last = call.task(), call.arguments.last
    project, store = task.project, task.store
    if call.arguments.calibration:
        return _calibration(store.lines())
    if call.arguments.events:
        events = [_event_row(line) for line in store.lines()][-(last or 0) :]
        return Done(text=show_rows(_event_rows(events)) or "nothing has happened yet", document={"events": events})
    lines = list(store.lines())
    runs = collect_runs(lines, project.task, lost=task.lost_runs)[-(last or 0) :]
    waived = _list_waivers(lines)
    document = {"task": project.task, "root": str(project.root), "runs": runs, "overrides": waived}
    first = () if runs else ("no run is recorded yet", f"  next: {task.current_status().next_step}")
    return Done(text=show_rows([*first, *_rows(runs, waived)]), document=document)


def _calibration(lines: Iterable[Line]) -> Done:
    from phase_gate.claims.confidence import calibrate

    found = calibrate(line.event for line in lines)
    rows = []
    for low, high, claims, true in (row.values() for row in found["rows"]):
        rows.append((f"{low}-{high - 1}", str(claims), str(true), f"{true / claims:.0%}" if claims else ""))
    table = Table(title="", columns=("score", "claims", "true later", "share"), rows=tuple(rows))
    shown = [*table_lines(table, width=screen_width())]
    shown += [f"{found['open']} more: nothing came after them"] if found["open"] else []
    return Done(text=show_rows(shown), document=found)


def collect_runs(lines: Iterable[Line], task: str, *, lost: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the runs in the ledger's lines, in the order in which they began."""
    runs: dict[str, dict[str, Any]] = {}
    going_on: set[str] = set()
    for line in lines:
        kind = line.event.kind
        if kind == "run-started":
            row = read_event(line, lambda event: _began(event, task, lost))
            runs[row["id"]] = row
            going_on.add(row["id"])
        elif kind in ("run-ended", "run-lost"):
            run, change = read_event(line, _ended)
            if run in going_on:
                runs[run] |= change
                going_on.remove(run)
        elif kind in ("repaired", "rollback-accepted"):
            going_on.clear()  # the state drops open runs here: their ends no longer count
    return list(runs.values())


def _began(event: Event, task: str, lost: tuple[str, ...]) -> dict[str, Any]:
    data = event.data
    return {
        "id": _text(data["run"]),
        "kind": "lost" if data["run"] in lost else "open",
        "phase": _text(data["phase"]),
        "task": task,
        "at": event.at,
        "counts": {},
        "metrics": {},
        "why": "",
        **dict.fromkeys(("iteration", "exit_status", "ended_at", "green", "duration_s")),
        **{name: data[name] for name in ("tree", "arguments", "python", "pytest")},
    }


def _ended(event: Event) -> tuple[str, dict[str, Any]]:
    data = event.data
    if event.kind == "run-lost":
        return _text(data["run"]), {"kind": "lost", "why": "it began and never ended"}
    return _text(data["run"]), {
        "kind": _text(data["kind"]),
        "ended_at": event.at,
        "counts": dict(data["tally"]),
        "metrics": dict(data["metrics"]),
        **{name: data[name] for name in ("iteration", "exit_status", "why", "green", "duration_s")},
    }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _list_waivers(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return the waivers, oldest first, each with its cycle."""
    cycle, found = 0, []
    for line in lines:
        if line.event.kind == "cycle-began":
            cycle = read_event(line, lambda event: event.data.get("cycle", 0))
        elif line.event.kind == "waived":
            row = {"kind": "waive", "cycle": cycle, "at": line.event.at, **line.event.data}
            read_event(line, lambda event, row=row: describe_override(row))  # type: ignore[misc]
            found.append(row)
    return found


def _show_count(name: str, number: int) -> str:
    """Return a count in pytest's style: only "errors" has a plural."""
    return f"1 {name.removesuffix('s')}" if number == 1 and name == "errors" else f"{number} {name}"


def _rows(runs: list[dict[str, Any]], waived: list[dict[str, Any]]) -> Iterator[str]:
    rows = []
    for run in runs:
        counts = ", ".join(_show_count(name, number) for name, number in run["counts"].items())
        why = f" ({run['why']})" if run["why"] else ""
        iteration = "" if run["iteration"] is None else str(run["iteration"])
        rows.append((f"{run['at'][:19]}Z", run["phase"], iteration, run["kind"], f"{counts}{why}"))
    table = Table(title="", columns=("began", "phase", "iteration", "kind", "tests"), rows=tuple(rows))
    yield from table_lines(table, width=screen_width()) if rows else ()
    for row in waived:
        yield f"waived {row['at'][:19]}Z  {describe_override(row)}"


def _event_row(line: Line) -> dict[str, Any]:
    return {"seq": line.seq, "at": line.event.at, "kind": line.event.kind, **read_event(line, _brief)}


def _event_rows(events: list[dict[str, Any]]) -> Iterator[str]:
    for row in events:
        words = ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("seq", "at", "kind"))
        yield f"{row['seq']:>5}  {row['at']}  {row['kind']:16}  {words}"


#: The keys to show of an event, or of the document in it.
_TOLD = (
    *("attempt", "number", "command", "commit", "mark", "skip_kind", "wave", "outcome", "code", "seconds", "run"),
    *("phase", "task", "name", "value", "status", "how", "exit_code", "answer", "decision", "indicators", "confidence"),
    *("type", "error", "reason", "by", "to", "next", "why", "cycle", "guard"),
)


def _brief(event: Event) -> dict[str, Any]:
    data = event.data
    if event.kind == "evaluated":
        verdict = evaluation_to_json(verdict_of(event))
        return {name: verdict[name] for name in ("phase", "iteration", "can_exit", "reason")}
    documents = [data, *(value for value in data.values() if isinstance(value, dict))]
    found = {
        name: each[name] for name in _TOLD for each in documents if isinstance(each.get(name), str | int | float | bool)
    }
    return {**found, "run_kind": data["kind"]} if "kind" in data else found


# --- the whole story of the task, as one HTML file or as Markdown


def report(call: Call) -> Done:
    from phase_gate.report.report_files import STORY_SUFFIXES, check_report, write_story
    from phase_gate.report.story_builder import read_story

    name = call.arguments.output
    output = None if name is None else check_report(f"--output={name}", call.start / name, STORY_SUFFIXES)
    project = call.project()
    story = read_story(project, call.store(project))
    # Write the report even then: this is when it is needed most.
    code = exit_codes.OPEN if story.ledger.is_intact else exit_codes.NOT_TRUSTED
    document: dict[str, Any] = {"task": story.task, "root": story.root, "problem": story.ledger.problem or None}
    if output is None:
        from phase_gate.report.markdown import render_story

        text = render_story(story).rstrip("\n")
        return Done(text=text, document={**document, "markdown": text}, code=code, is_file=True)
    document |= {"file": str(output), "bytes": write_story(output, story)}
    message = f"{call.arguments.output}: {count(story.all_runs, 'run')}, {count(story.ledger.events, 'event')}"
    if not story.ledger.is_intact:
        message += f"\n  not trusted: {story.ledger.problem}\n  try: {story.ledger.remedy}"
    elif _counts_as_change(call, project, name):
        message += f"\n  note: {name} counts as a changed file and closes the gate; remove it, then"
        message += f"\n  try: {_outside_tree(call, project, output)}"
    return Done(text=message, document=document, code=code)


def _counts_as_change(call: Call, project: Project, name: str) -> bool:
    """Return whether the report is one of the files that the gate watches."""
    handed = call.handed(project.root, name)
    return bool(handed) and handed[0] in call.task(project).tree.files


def _outside_tree(call: Call, project: Project, output: Path) -> str:
    """Return the command that writes the report into the state folder, which is never watched."""
    place = os.path.relpath(project.state_folder / output.name, call.start).replace(os.sep, "/")
    return of_task(f"phase-gate report -o {shlex.quote(place)}", project.task)


def run_audit(call: Call) -> Done:
    project = call.project()
    store = call.store(project)
    if call.arguments.repair:
        return _repair(store)
    if call.arguments.accept_rollback:
        record = accept_rollback(store, call.person())
        text = "accepted; the streak and the last verdict start over"
        return Done(text=text, document=record, next_command=run_command("auto", store.task))
    done = _audit(project, store)
    if call.arguments.task or call.environment.get("PHASE_GATE_TASK"):
        return done
    others = [name for name in project.task_names() if name != project.task]
    looks = {name: _audit(each := replace(project, task=name), call.store(each)) for name in others}
    damaged = {name: look for name, look in looks.items() if look.code}
    if done.code or not damaged:
        rows = [f"{done.text}", *(f"{name}: {look.text}" for name, look in looks.items())]
        return replace(done, text="\n".join(rows))
    name, look = next(iter(damaged.items()))
    return replace(look, text=f"{name}: {look.text}", next_command=of_task("phase-gate audit --repair", name))


def _repair(store: TaskStore) -> Done:
    from phase_gate.stores.task_store import SharedTaskStore

    if isinstance(store, SharedTaskStore):
        if not isinstance(audit(store)[1], TamperedError):
            raise NotAllowedError("nothing is damaged", remedy=status_command(store.task))
        (lines, copy), dropped = store.download_again(), 0
        text = f"repaired: {lines} lines downloaded again from {store.shared.shown}; copy: {copy.name}"
    else:
        lines, dropped, copy = repair(store)
        text = f"repaired: {lines} lines kept, {dropped} bytes dropped; copy: {copy.name}"
        text += f"\n  the streak and the last verdict start over: {run_command('auto', store.task)}"
    document = {"repaired": True, "kept_lines": lines, "dropped_bytes": dropped, "copy": str(copy)}
    return Done(text=text, document=document)


def _audit(project: Project, store: TaskStore) -> Done:
    events, problem = audit(store)
    document: dict[str, Any] = {"task": project.task, "root": str(project.root), "events": events}
    document |= {"intact": problem is None, "problem": None if problem is None else describe_error(problem)}
    if problem is None:
        return Done(text=f"intact: {count(events, 'event')}", document=document)
    text = f"{count_good(events)}{_announce_repair(store, events, problem)}; then: {problem}"
    return Done(text=text, document=document, code=exit_codes.NOT_TRUSTED, is_error=True)


def _announce_repair(store: TaskStore, events: int, problem: StateError) -> str:
    """Return how many of the good lines a repair would keep, if not all of them."""
    if store.shared is not None or not isinstance(problem, TamperedError):
        return ""  # a copy is downloaded again, and nothing else is repaired
    with contextlib.suppress(StateError):
        kept = find_last_good(store).serial
        return "" if kept == events else f" (--repair keeps {count(kept, 'line')})"
    return ""


# --- verify every line of a task's ledger; accept one that was restored from a copy


def audit(store: TaskStore) -> tuple[int, StateError | None]:
    """Verify the ledger and its objects; return the number of valid lines, and the first problem."""
    last = 0
    try:
        if store.shared is not None:
            store.read()
        for line in store.lines():
            last = line.seq
        store.check_objects(store.read().state)
        store.verify_whole()
    except StateError as error:
        return last, error
    return last, None


@again_if_moved
def accept_rollback(store: TaskStore, person: Person) -> dict[str, Any]:
    """Accept a folder that was restored from a copy; return the recorded data."""
    is_foreign = False
    try:
        store.read()
    except RollbackError:
        pass
    except ForeignStateError:
        is_foreign = True  # its record about scripts belongs to another project
    else:
        raise NotAllowedError("nothing was rolled back", remedy=status_command(store.task))
    what = "accepting another ledger" if is_foreign else "accepting a rollback"
    if store.shared is not None:
        # A rewritten store may contain any claim about scripts.
        person.require(NEW_STATE, what, always=True)
        store.accept_rewritten()
        return _record_accepted(store, person)
    with store.transaction(accept_rollback=True) as change:
        person.require(change.opened.state, what, always=is_foreign)
        return _accepted(change, person)


@again_if_moved
def _record_accepted(store: TaskStore, person: Person) -> dict[str, Any]:
    with store.transaction() as change:
        return _accepted(change, person)


def _accepted(change: Transaction, person: Person) -> dict[str, Any]:
    record = {"reason": person.reason, "by": person.by, "serial": change.opened.serial}
    change.record(Event(kind="rollback-accepted", data=record))
    return record
