"""`phase-gate waive`, `force`, `breaker`: what a person decides against what was measured, on the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._streams import say
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.breaker import Breaker, Status, at_time, reset
from phase_gate.gate.events import verdict_of
from phase_gate.gate.overrides import WORD, Kind, Person, forced_events, override_record, refuse_excuse
from phase_gate.gate.parts import VERIFICATION
from phase_gate.gate.state import Event, State
from phase_gate.gate.stuck import StuckReport, Tried, describe_stuck, stuck_to_json
from phase_gate.gate.verdict import Evaluation, evaluation_to_json, way_back
from phase_gate.report.stuck import render_stuck
from phase_gate.storage.store import TaskStore, now
from phase_gate.stores.shared import again_if_moved
from phase_gate.task import Task
from phase_gate.values import Value, replace
from phase_gate.visible import count, show_line, show_rows

# --- `phase-gate waive`: a person lets one guard's present findings pass, on the record


def run_waive(call: Call) -> Done:
    waived = waive_guard(call.task(), call.arguments.guard, call.person(), days=call.arguments.days)
    record = waived.record
    until = f"until {record['expires']}" if record["expires"] else "until the cycle ends"
    return Done(
        text=show_rows(
            (
                f"{record['guard']} is waived for {count(len(record['findings']), 'finding')}, {until}",
                f"  next: {waived.next_command}",
            )
        ),
        document=record,
    )


# --- let one guard's present findings pass, by a person's word


class Waived(Value):
    record: Mapping[str, Any]
    next_command: str


@again_if_moved
def waive_guard(task: Task, guard: str, person: Person, *, days: float | None) -> Waived:
    """Record that what the guard found in the last verdict may pass.

    :param days: after how many it expires; without, when the cycle ends.
    """
    task.require_begun(verification=True)
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        covered = _present_findings(change.state, guard)
        person.require(change.opened.state, "a waiver")
        record = {
            "guard": guard,
            "findings": covered,
            "reason": person.reason,
            "by": person.by,
            "expires": _expiry(days, change.at),
        }
        change.record(Event(kind="waived", data=record))
        step = _following(task.after(change))
    return Waived(record=record, next_command=step)


def _following(task: Task) -> str:
    if VERIFICATION in task.state.parts:
        return f"phase-gate verify status --task {task.project.task}"
    return task.way_on


def _present_findings(state: State, guard: str) -> list[str]:
    """Return the keys of what the guard found in the last verdict. Raises NotAllowedError if it found nothing."""
    evaluation = state.evaluation
    unmet = [] if evaluation is None else [guard for guard in evaluation.gate_1.guards if not guard.met]
    names = [each.name for each in unmet]
    if guard not in names:
        raise NotAllowedError(
            f"{guard} is not what closes the gate", remedy=f"unmet guards: {', '.join(names) or 'none'}"
        )
    assert evaluation is not None
    keys = [finding.key for finding in evaluation.findings if finding.belongs_to(guard) and finding.tier == "hard"]
    if not keys:
        raise NotAllowedError(f"{guard} names no finding that a waiver could cover", remedy="phase-gate explain")
    return keys


def _expiry(days: float | None, at: str) -> str:
    if days is None:
        return ""
    if not 0 < days <= 366:
        raise UsageError(f"--days {days:g}: not a time that a waiver may last", remedy="give 1 to 366")
    ends = datetime.fromisoformat(at).astimezone(UTC) + timedelta(days=days)
    return ends.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- what the commands share that override what was measured: the word that they ask for, and their answer


def ask_for_word(call: Call, warning: str, what: str = "a forced exit", *, expected: str = WORD) -> None:
    """Refuse what a person has to mean, unless the word is given. Raises NotAllowedError."""
    word = call.arguments.word
    if word is None and call.interactive:
        say(warning, flush=True)
        try:
            word = input(f"Type {expected} to go on: ")
        except (EOFError, OSError, RuntimeError, ValueError):  # the terminal that we ask on was closed
            word = ""
    if word != expected:
        raise NotAllowedError(
            f"{what} needs the word {expected}, and nothing was changed",
            remedy=f"type it when asked, or give --word={expected}",
        )


def answer_ended(ended: EndedPhase) -> Done:
    """Return the answer of a command that ended a phase by a person's word."""
    verdict = ended.evaluation
    return Done(
        text=show_rows((verdict.verdict, f"  next: {verdict.next_step}")),
        document={"override": ended.record, "evaluation": evaluation_to_json(verdict)},
    )


# --- `phase-gate force`: a person ends a phase against everything that was measured, on the record


def run_force(call: Call) -> Done:
    def confirm(phase: str) -> None:
        ask_for_word(call, f"This ends {phase} whatever the gates say, and every later report of the cycle shows it.")

    return answer_ended(force_exit(call.task(), call.person(), confirm=confirm))


# --- end a phase by a person's word, against what was measured: a forced exit, or a skip


class EndedPhase(Value):
    #: The override, as it is recorded.
    record: Mapping[str, Any]
    evaluation: Evaluation


def force_exit(task: Task, person: Person, *, confirm: Callable[[str], None]) -> EndedPhase:
    """End the present phase, whatever the gates say.

    :param confirm: called with the phase's name once nothing else is in the way; raises to refuse.
    """
    return _end_phase(task, person, "force", "a forced exit", check=lambda state, at: confirm(str(state.phase)))


def skip_phase(task: Task, person: Person) -> EndedPhase:
    """Give the present phase up while its circuit is open."""
    return _end_phase(task, person, "skip", "a skip", check=_refuse_skip)


def _refuse_skip(state: State, at: str) -> None:
    breaker = at_time(state.breaker, at)
    if not breaker.is_open:
        raise NotAllowedError(
            f"{state.phase} may be skipped only while its circuit is open, and it is {breaker.status}",
            remedy="phase-gate breaker status says how far it is; phase-gate status says what to do",
        )


@again_if_moved
def _end_phase(task: Task, person: Person, kind: Kind, what: str, *, check: Callable[[State, str], None]) -> EndedPhase:
    """Record the override and the exit. A refusal changes nothing, so it may be tried again."""
    project = task.project
    task.require_begun()
    with task.transaction() as change:
        state = change.state
        task.store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        phase = workflow.phase(state.phase or "")
        if phase is None:
            raise NotAllowedError("the cycle is done: there is no phase to end", remedy=project.begin_command)
        if state.exited:
            raise NotAllowedError(f"{phase.name} has exited already", remedy="phase-gate status")
        person.require(change.opened.state, what)
        refuse_excuse(person.reason)
        check(state, change.at)
        record = override_record(kind, state, reason=person.reason, by=person.by, at=change.at)
        evaluation, events = forced_events(state, workflow, phase, record, root=str(project.root))
        change.record(*events)
    return EndedPhase(record=record, evaluation=evaluation)


# --- `phase-gate breaker`: where the circuit breaker stands, and why; let it try again, or give the phase up


def run_breaker(call: Call) -> Done:
    task = call.task()
    if call.arguments.action == "skip":
        return answer_ended(skip_phase(task, call.person()))
    return _reset(call, task) if call.arguments.action == "reset" else _status(call, task)


def _status(call: Call, task: Task) -> Done:
    report = stuck_report(task)
    breaker, limits = report.breaker, report.breaker.limits
    document = {"breaker": spell_out(breaker), "stuck": stuck_to_json(report)}
    if breaker.status is Status.CLOSED:
        rows = [
            f"{task.state.phase}: the circuit is closed",
            f"  without progress     {breaker.no_progress} of {limits.no_progress or 'any number of'} runs",
            f"  the same error       {breaker.same_error} of {limits.same_error or 'any number of'} times",
            f"  blocked claims       {breaker.exit_blocked} of {limits.exit_blocked or 'any number of'}",
            f"  crashed or lost      {breaker.infrastructure} (they do not count)",
        ]
        return Done(text=show_rows(rows), document=document)
    text = render_stuck(report, markdown=call.arguments.markdown)
    code = exit_codes.CIRCUIT_OPEN if breaker.is_open else exit_codes.OPEN
    return Done(text=text, document=document, code=code)


def _reset(call: Call, task: Task) -> Done:
    done = reset_circuit(task, call.person())
    text = f"{done.phase}: the circuit is half-open: the next complete run on a new tree decides"
    return Done(
        text=f"{show_line(text)}\n  next: {done.next_command}",
        document={"breaker": spell_out(done.breaker), "override": done.record},
    )


# --- the circuit breaker of a task: what was tried in the present phase; let it try once more


class ResetCircuit(Value):
    phase: str
    breaker: Breaker
    #: The override, as it is recorded.
    record: Mapping[str, Any]
    next_command: str


@again_if_moved
def reset_circuit(task: Task, person: Person) -> ResetCircuit:
    """Let an open circuit try once more."""
    task.require_begun()
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        breaker = at_time(change.state.breaker, change.at)
        if not breaker.is_open:
            raise NotAllowedError(
                f"the circuit is {breaker.status}: there is nothing to reset", remedy="phase-gate breaker status"
            )
        person.require(change.opened.state, "a reset")
        refuse_excuse(person.reason)
        record = override_record("breaker-reset", change.state, reason=person.reason, by=person.by, at=change.at)
        moved = reset(breaker, at=change.at)
        change.record(
            Event(kind="overridden", data=record),
            Event(kind="breaker-reset", data={"breaker": spell_out(moved)}),
        )
    after = task.after(change)
    return ResetCircuit(phase=str(after.state.phase), breaker=moved, record=record, next_command=after.way_on)


def stuck_report(task: Task) -> StuckReport:
    """Return what is known about the work in the present phase."""
    task.require_begun()
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
        elif kind == "evaluated":
            verdict = verdict_of(line.event)
            guards[verdict.subject.run or ""] = tuple(each.name for each in verdict.gate_1.guards if not each.passes)
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
