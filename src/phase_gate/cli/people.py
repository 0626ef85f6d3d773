"""`phase-gate waive`, `force`, `breaker reset`, `breaker skip`: decisions of a person against the measurements."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from phase_gate.cli._call import Call, Done
from phase_gate.cli._streams import say
from phase_gate.codec import spell_out
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.advice import return_command
from phase_gate.gate.breaker import at_time
from phase_gate.gate.breaker import reset as reset_breaker
from phase_gate.gate.events import verdict_of
from phase_gate.gate.overrides import WORD, Kind, Tried, describe_stuck, forced_events, override_record
from phase_gate.gate.state import Event, State
from phase_gate.gate.verdict import evaluation_to_json, show_next
from phase_gate.storage.lock import again_if_moved
from phase_gate.storage.store import now
from phase_gate.values import replace
from phase_gate.visible import count, cut, show_line, show_rows
from phase_gate.workflow.names import of_task, status_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from phase_gate.gate.overrides import StuckReport
    from phase_gate.task import Task

# --- waive one guard's present findings


@again_if_moved
def waive(call: Call) -> Done:
    task, guard, person = call.task(), call.arguments.guard, call.person()
    task.require_begun(verification=True)
    if guard not in task.rules.guards:
        raise NotAllowedError(
            f"no guard is called {cut(guard)!r}", remedy=f"name one of these: {', '.join(task.rules.guards)}"
        )
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        covered = _present_findings(change.state, guard)
        person.require(change.opened.state, "a waiver")
        expires = _expiry(call.arguments.days, change.at)
        record = {"guard": guard, "findings": covered, "reason": person.reason, "by": person.by, "expires": expires}
        change.record(Event(kind="waived", data=record))
        after = task.after(change)
    is_verified = after.state.is_verify_task
    return Done(
        text=show_line(f"{guard} is waived for {count(len(covered), 'finding')}, until {expires or 'the cycle ends'}"),
        document=record,
        next_command=f"phase-gate verify status --task {task.project.task}" if is_verified else after.next_step,
    )


def _present_findings(state: State, guard: str) -> list[str]:
    """Return the keys of the guard's findings in the last verdict. Raises NotAllowedError if there are none."""
    evaluation = state.evaluation
    unmet = [] if evaluation is None else [each for each in evaluation.gate_1.guards if not each.met]
    names = [each.name for each in unmet]
    if guard not in names:
        look = status_command(state.task)
        raise NotAllowedError(
            f"{guard} is not what closes the gate",
            remedy=f"waive one of these: {', '.join(names)}" if names else show_next(look, "shows what is missing"),
        )
    assert evaluation is not None
    keys = [finding.key for finding in evaluation.findings if finding.belongs_to(guard) and finding.tier == "hard"]
    if not keys:
        raise NotAllowedError(
            f"{guard} names no finding that a waiver could cover", remedy=of_task("phase-gate explain", state.task)
        )
    return keys


def _expiry(days: float | None, at: str) -> str:
    if days is None:
        return ""
    if days > 366:
        raise UsageError(f"--days {days:g}: not a time that a waiver may last", remedy="give at most 366")
    ends = datetime.fromisoformat(at).astimezone(UTC) + timedelta(days=days)
    return ends.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- end a phase: a forced exit, or a skip while its circuit is open


def ask_for_word(call: Call, warning: str, what: str) -> None:
    """Require the confirmation word. Raises NotAllowedError without it."""
    word = call.arguments.word
    if word is None and call.interactive:
        say(warning, flush=True)
        try:
            word = input(f"Type {WORD} to continue: ")
        except (EOFError, OSError, RuntimeError, ValueError):  # the terminal was closed
            word = ""
    if word != WORD:
        raise NotAllowedError(
            f"{what} needs the word {WORD}, and nothing was changed",
            remedy=f"type it when asked, or give --word={WORD}",
        )


def force(call: Call) -> Done:
    return _end_phase(call, "force", "a forced exit")


def skip(call: Call) -> Done:
    return _end_phase(call, "skip", "a skip")


@again_if_moved
def _end_phase(call: Call, kind: Kind, what: str) -> Done:
    """Record the override and the exit. A refusal changes nothing, so the command can be repeated."""
    task, person = call.task(), call.person()
    task.require_begun()
    with task.transaction() as change:
        state = change.state
        task.store.refuse_while_running(change.opened.state)
        workflow = task.after(change).rules
        phase = workflow.phase(state.phase or "")
        if phase is None:
            raise NotAllowedError("the cycle is done: there is no phase to end", remedy=task.project.begin_command)
        if state.exited:
            raise NotAllowedError(f"{phase.name} has exited already", remedy=status_command(state.task))
        person.require(change.opened.state, what)
        breaker = at_time(state.breaker, change.at)
        if kind == "skip" and not breaker.is_open:
            raise NotAllowedError(
                f"{state.phase} may be skipped only while its circuit is open, and it is {breaker.status}",
                remedy=show_next(of_task("phase-gate status -v", state.task), "shows its progress, and what to do"),
            )
        if kind == "force":
            warning = f"This ends {phase.name} regardless of the gates, and every later report of the cycle shows it."
            ask_for_word(call, warning, what)
        record = override_record(kind, state, reason=person.reason, by=person.by, at=change.at)
        verdict, events = forced_events(state, workflow, phase, record, root=str(task.project.root))
        change.record(*events)
    return Done(
        text=show_rows((verdict.verdict, f"  next: {verdict.next_step}")),
        document={"override": record, "evaluation": evaluation_to_json(verdict)},
    )


# --- the circuit breaker: allow another attempt; report the attempts in the present phase


@again_if_moved
def reset(call: Call) -> Done:
    task, person = call.task(), call.person()
    task.require_begun()
    with task.transaction() as change:
        task.store.refuse_while_running(change.opened.state)
        breaker = at_time(change.state.breaker, change.at)
        if not breaker.is_open:
            raise NotAllowedError(
                f"the circuit is {breaker.status}: there is nothing to reset",
                remedy=status_command(change.state.task),
            )
        person.require(change.opened.state, "a reset")
        record = override_record("breaker-reset", change.state, reason=person.reason, by=person.by, at=change.at)
        moved = spell_out(reset_breaker(breaker, at=change.at))
        change.record(
            Event(kind="overridden", data=record),
            Event(kind="breaker-reset", data={"breaker": moved}),
        )
    after = task.after(change)
    return Done(
        text=show_line(f"{after.state.phase}: half-open: the next complete run on changed files decides"),
        document={"breaker": moved, "override": record},
        next_command=after.next_step,
    )


def stuck_report(task: Task) -> StuckReport:
    """Return a report about the work in the present phase."""
    store, state = task.store, task.state
    assert state.phase is not None, "a circuit belongs to a phase"
    tried: dict[str, Tried] = {}
    for line in store.lines():
        kind, data = line.event.kind, line.event.data
        if kind == "phase-entered":
            tried = {}
        elif kind == "run-ended" and data.get("iteration") is not None:
            tried[data["run"]] = _tried(task, data, line.event.at)
        elif kind == "evaluated":
            verdict = verdict_of(line.event)
            run = verdict.run or ""
            guards = tuple(each.name for each in verdict.gate_1.guards if not each.passes)
            clauses = tuple(each.text for each in verdict.gate_1.clauses if not each.met)
            tried |= {run: replace(tried[run], guards=guards, clauses=clauses)} if run in tried else {}
    phase = task.rules.phase(state.phase)
    back = "" if phase is None else return_command(task.rules, phase, state.task)
    return describe_stuck(state.task, state.phase, at_time(state.breaker, now()), [*tried.values()], back=back)


def _tried(task: Task, data: Any, at: str) -> Tried:
    changed, failures = data.get("changed"), data.get("failures")
    return Tried(
        run=data["run"],
        at=at,
        iteration=data["iteration"],
        failing=data["metrics"]["suite_failing"],
        passing=data["metrics"]["suite_passing"],
        changed=None if changed is None else tuple(changed),
        failures={} if failures is None else task.store.objects.load(failures),
    )
