"""`phase-gate breaker`: where the circuit breaker stands, and why; let it try again, or give the phase up."""

from __future__ import annotations

import argparse
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Answer, Call
from phase_gate.cli.force import end_phase
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError
from phase_gate.gate.breaker import Status, at_time, reset
from phase_gate.gate.overrides import override_record, refuse_excuse
from phase_gate.gate.state import Event, State
from phase_gate.gate.stuck import StuckReport, Tried, describe_stuck, stuck_to_json
from phase_gate.gate.ways import way_back
from phase_gate.report.stuck import render_stuck
from phase_gate.storage.store import TaskStore, now
from phase_gate.task import Task
from phase_gate.values import replace
from phase_gate.visible import show_line, show_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("status", "reset", "skip"),
        help="look; with an open circuit, let it try once more, or give the phase up",
    )
    parser.add_argument("--markdown", action="store_true", help="print the report as Markdown")
    parser.add_argument("--reason", metavar="TEXT", help="why, in a sentence")
    parser.add_argument("--by", metavar="NAME", help="who answers for it")


def run(call: Call) -> Answer:
    if call.arguments.action == "skip":
        return end_phase(call, "skip", what="a skip", check=_refuse_skip)
    task = call.task()
    task.require_begun()
    return _reset(call, task) if call.arguments.action == "reset" else _status(call, task)


def _status(call: Call, task: Task) -> Answer:
    state = task.state
    report = stuck_report(task)
    is_open = report.breaker.is_open
    document = {"breaker": spell_out(report.breaker), "stuck": stuck_to_json(report)}
    if report.breaker.status is Status.CLOSED:
        breaker, limits = report.breaker, report.breaker.limits
        rows = [
            f"{state.phase}: the circuit is closed",
            f"  without progress     {breaker.no_progress} of {limits.no_progress or 'any number of'} runs",
            f"  the same error       {breaker.same_error} of {limits.same_error or 'any number of'} times",
            f"  blocked claims       {breaker.exit_blocked} of {limits.exit_blocked or 'any number of'}",
            f"  crashed or lost      {breaker.infrastructure} (they do not count)",
        ]
        return Answer(text=show_rows(rows), document=document)
    text = render_stuck(report, markdown=call.arguments.markdown)
    return Answer(text=text, document=document, exit_code=exit_codes.CIRCUIT_OPEN if is_open else exit_codes.OPEN)


def _reset(call: Call, task: Task) -> Answer:
    project, store = task.project, task.store
    with task.transaction() as change:
        store.refuse_while_running(change.opened.state)
        breaker = at_time(change.state.breaker, change.at)
        if not breaker.is_open:
            raise NotAllowedError(
                f"the circuit is {breaker.status}: there is nothing to reset", remedy="phase-gate breaker status"
            )
        call.require_person(project, change.opened, "a reset")
        refuse_excuse(call.arguments.reason)
        record = override_record(
            "breaker-reset", change.state, reason=call.arguments.reason, by=call.arguments.by, at=change.at
        )
        moved = reset(breaker, at=change.at)
        change.record(
            Event(kind="overridden", data=record),
            Event(kind="breaker-reset", data={"breaker": spell_out(moved)}),
        )
        phase, step = change.state.phase, task.after(change).way_on
    return Answer(
        text=show_line(f"{phase}: the circuit is half-open: the next complete run on a new tree decides")
        + f"\n  next: {step}",
        document={"breaker": spell_out(moved), "override": record},
    )


def _refuse_skip(call: Call, state: State, at: str) -> None:
    breaker = at_time(state.breaker, at)
    if not breaker.is_open:
        raise NotAllowedError(
            f"{state.phase} may be skipped only while its circuit is open, and it is {breaker.status}",
            remedy="phase-gate breaker status says how far it is; phase-gate status says what to do",
        )


def stuck_report(task: Task) -> StuckReport:
    """Return what is known about the work in the present phase."""
    store, state = task.store, task.state
    assert state.phase is not None, "a task that exists is in a phase"
    tried: list[Tried] = []
    guards: dict[str, tuple[str, ...]] = {}
    for line in store.lines():
        kind, data = line.event.kind, line.event.data
        if kind == "phase-entered":
            tried, guards = [], {}
        elif kind == "run-ended" and data.get("iteration") is not None:
            tried.append(_tried(store, data, line.event.at))
        elif kind == "evaluated" and data["evaluation"]["run"] is not None:
            rows = data["evaluation"]["gate_1"]["guards"]
            unmet = tuple(row["name"] for row in rows if not row["met"] and not row["waived"])
            guards[data["evaluation"]["run"]] = unmet
    complete = [_with_guards(each, guards.get(each.run, ())) for each in tried]
    phase = task.rules.phase(state.phase)
    back = "" if phase is None else way_back(task.rules, phase, state.task)
    return describe_stuck(state.task, state.phase, at_time(state.breaker, now()), complete, back=back)


def _tried(store: TaskStore, data: Any, at: str) -> Tried:
    changed, failures = data.get("changed"), data.get("failures")
    return Tried(
        run=data["run"],
        at=at,
        iteration=data["iteration"],
        failing=data["metrics"]["suite_failing"],
        passing=data["metrics"]["suite_passing"],
        changed=None if changed is None else tuple(changed),
        failures={} if failures is None else store.objects.load(failures),
    )


def _with_guards(tried: Tried, guards: tuple[str, ...]) -> Tried:
    return replace(tried, guards=guards)
