"""`phase-gate verify skip`, `force` and `resume`: what a person decides about a verify task."""

from __future__ import annotations

from phase_gate import exit_codes
from phase_gate.cli._answer import Call, Done
from phase_gate.cli._verify_steps import answer_status, answer_step, open_board
from phase_gate.cli.people import ask_for_word
from phase_gate.errors import UsageError
from phase_gate.tasks.board import TaskSession
from phase_gate.tasks.overrides import Overridden, force_task, resume_task, resume_wave, skip_task
from phase_gate.values import replace
from phase_gate.visible import show_rows


def skip(call: Call) -> Done:
    answer = _answer_override(skip_task(_named(call), call.person(), kind=call.arguments.kind))
    risk = f" (user risk: {call.arguments.by} answers for it)" if call.arguments.kind == "time-pressure" else ""
    return replace(answer, text=f"{answer.text}{risk}")


def force(call: Call) -> Done:
    session = _named(call)
    warning = f"This completes {session.task} whatever was measured, and every later report shows it."
    return _answer_override(
        force_task(session, call.person(), confirm=lambda: ask_for_word(call, warning, what="a forced completion"))
    )


def _named(call: Call) -> TaskSession:
    board = open_board(call)
    task = board.named()
    if task is None:
        raise UsageError("which task?", remedy="add --task NAME")
    return board.session(task)


def _answer_override(done: Overridden) -> Done:
    answer = answer_step(done.status, code=exit_codes.OPEN, more={"override": done.record})
    word = done.status.verification.word
    warning = f"Warning  {done.status.task} is {word}: nothing shows that it works; it is not committed for you"
    return replace(answer, text=f"{answer.text}\n{warning}")


def resume(call: Call) -> Done:
    given = call.arguments
    board = open_board(call)
    task = board.named()
    if given.wave is not None or task is None:
        wave = given.wave or ""
        resumed = resume_wave(board, wave, call.person())
        shown = f"wave {wave}" if wave else "the list"
        rows = (f"{shown} goes on, by {given.by}: {given.reason}", "  next: phase-gate verify status")
        document = {"wave": wave or None, "resumed": list(resumed), "by": given.by, "reason": given.reason}
        return Done(text=show_rows(rows), document=document)
    status = resume_task(board.session(task), call.person())
    return answer_status(status, more={"resumed_by": given.by, "reason": given.reason})
