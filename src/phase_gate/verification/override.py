"""`phase-gate verify skip`, `force` and `resume`: what a person decides about a task, on the record."""

from __future__ import annotations

from phase_gate.cli._answer import Answer, Call
from phase_gate.cli.force import ask_for_word
from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.evaluation import evaluation_to_json
from phase_gate.gate.overrides import forced_events, override_record, refuse_excuse
from phase_gate.gate.state import Event
from phase_gate.values import replace
from phase_gate.verification.board import Board, Desk, require_verification, write_state
from phase_gate.verification.judging import advise_task
from phase_gate.verification.model import FINISHED
from phase_gate.verification.rules import escalate
from phase_gate.visible import show_rows

#: What a verify step may be skipped for; everything else is no reason.
KINDS = {
    "unavailable": "the verify command can't run: a service is down",
    "false-negative": "the verify command is wrong, and the work is not",
    "time-pressure": "user risk: there is no time, and somebody answers for it",
}


def skip(call: Call) -> Answer:
    kind = call.arguments.kind
    if kind not in KINDS:
        said = f"{kind!r} is no kind of skip" if kind else "a skip needs a kind"
        remedy = "; ".join(f"{name}: {words}" for name, words in KINDS.items())
        raise UsageError(said, remedy=f"add --kind, with one of: {remedy}")
    return _take_out(call, mark="unverified", kind=kind)


def force(call: Call) -> Answer:
    return _take_out(call, mark="forced", kind="")


def _take_out(call: Call, *, mark: str, kind: str) -> Answer:
    board = Board(call)
    task = board.named()
    if task is None:
        raise UsageError("which task?", remedy="add --task NAME")
    desk = board.desk(task)
    what = "a skip" if mark == "unverified" else "a forced completion"
    with desk.store.transaction() as change:
        desk.close_lost(change)
        current = require_verification(change.state, task)
        if current.status in FINISHED:
            raise NotAllowedError(f"{task} is {current.word} already", remedy="phase-gate verify status")
        call.require_person(desk.project, change.opened, what)
        refuse_excuse(call.arguments.reason)
        if mark == "forced":
            ask_for_word(
                call, f"This completes {task} whatever was measured, and every later report shows it.", what=what
            )
        given = call.arguments
        override = override_record(
            "force" if mark == "forced" else "skip", change.state, reason=given.reason, by=given.by, at=change.at
        )
        record = {**override, "mark": mark, "skip_kind": kind, "attempt": current.attempt}
        workflow, phase = desk.rules(change)
        evaluation, events = forced_events(change.state, workflow, phase, record, root=str(desk.project.root))
        data = {"mark": mark, "skip_kind": kind, "reason": given.reason, "by": given.by}
        skipped = Event(kind="verification-skipped", data=data, at=change.at)
        # The task's own words: what follows is no run of pytest.
        change.record(skipped)
        advice = advise_task(require_verification(change.state, task))
        evaluation = replace(evaluation, reason=advice.reason, next=advice.next)
        judged = Event(kind="evaluated", data={"evaluation": evaluation_to_json(evaluation)}, at=change.at)
        change.record(*(judged if event.kind == "evaluated" else event for event in events))
    answer = desk.answer(evaluation, code=0, more={"override": record})
    warning = f"Warning  {task} is {desk.verification().word}: nothing shows that it works; it is not committed for you"
    if kind == "time-pressure":
        warning += f" (user risk: {call.arguments.by} answers for it)"
    return replace(answer, text=f"{answer.text}\n{warning}")


def resume(call: Call) -> Answer:
    board = Board(call)
    wave = call.arguments.wave
    if wave is not None:
        return _resume_wave(board, wave)
    task = board.named()
    if task is None:
        raise UsageError("resume what?", remedy="--task NAME, or --wave NAME")
    desk = board.desk(task)
    level = escalate(desk.verification()).level
    if level < 2:
        raise NotAllowedError(f"{task} does not wait for a person", remedy="phase-gate verify status")
    _record(desk, "task-resumed")
    board.forget()
    write_state(board)
    verification = desk.verification()
    return Answer(
        text=show_rows(desk.rows(verification, None)),
        document={**desk.document(verification), "resumed_by": call.arguments.by, "reason": call.arguments.reason},
    )


def _resume_wave(board: Board, name: str) -> Answer:
    wave = board.overview.wave(name)
    if wave is None or not wave.is_halted:
        known = "is not known" if wave is None else "is not halted"
        raise NotAllowedError(f"wave {name} {known}", remedy="phase-gate verify stats")
    for row in board.overview.rows:
        if row.task in wave.failing:
            _record(board.desk(row.task), "wave-resumed", wave=name)
    board.forget()
    write_state(board)
    call = board.call
    return Answer(
        text=show_rows(
            (
                f"wave {name} goes on, by {call.arguments.by}: {call.arguments.reason}",
                "  next: phase-gate verify status",
            )
        ),
        document={
            "wave": name,
            "resumed": list(wave.failing),
            "by": call.arguments.by,
            "reason": call.arguments.reason,
        },
    )


def _record(desk: Desk, kind: str, **more: str) -> None:
    call = desk.call
    with desk.store.transaction() as change:
        require_verification(change.state, desk.task)
        call.require_person(desk.project, change.opened, "going on after a halt")
        refuse_excuse(call.arguments.reason)
        data = {"reason": call.arguments.reason, "by": call.arguments.by, **more}
        change.record(Event(kind=kind, data=data))
