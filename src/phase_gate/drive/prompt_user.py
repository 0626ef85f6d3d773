"""Questions to people: the signal of Gate 2, the decision about a verify task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from phase_gate.drive.loop import Session
from phase_gate.errors import NotAllowedError, PhaseGateError, StateError, UsageError
from phase_gate.gate.overrides import Person
from phase_gate.gate.verdict import Signal
from phase_gate.project import who_am_i
from phase_gate.tasks.board import TaskSession
from phase_gate.tasks.steps import KINDS, resume_task, skip_task

#: The three possible answers about a task, from the source document.
_WAYS = (
    "  retry REASON        let the executor try again",
    f"  skip KIND REASON    complete it unverified; KIND is {', '.join(KINDS)}",
    "  investigate         show what failed, then ask again",
    "  or nothing, to leave it to another day",
)
_ASKED = "retry, skip or investigate: "


def ask_for_signal(session: Session, reason: str) -> Signal | None:
    """Ask for the signal of Gate 2; None if there is no terminal, or no answer."""
    ways = "  Type why it is done; `no` and what is missing; or nothing, to end the drive here."
    typed = session.ask(f"{reason}.\n{ways}", "done, because: ")
    if not typed:
        return None
    by = who_am_i(session.project.environment)
    word, _, rest = typed.partition(" ")
    if word.rstrip(",.:").lower() == "no":
        return Signal(answer="not-done", reason=rest or "a person decided so", by=by)
    return Signal(answer="done", reason=typed, by=by)


def ask_about_task(session: Session, current: TaskSession, reason: str) -> bool:
    """Ask for a decision about a verify task until the answer is valid; return whether there was one."""
    text = "\n".join((f"{current.task} waits for a person: {reason}", *_WAYS))
    while typed := session.ask(text, _ASKED).split():
        way, rest = typed[0].lower(), " ".join(typed[1:])
        try:
            if way in ("retry", "skip"):
                _decide_by(session, current, way, rest)
                return True
            if way != "investigate":
                raise UsageError(f"{typed[0]!r} is no answer", remedy="type retry, skip or investigate")
            for row in _investigate(session, current):
                session.note(row)
        except StateError:
            raise
        except PhaseGateError as error:
            session.note(f"{error.problem}: {error.remedy}")
    return False


def _decide_by(session: Session, current: TaskSession, way: str, rest: str) -> None:
    kind, _, why = rest.partition(" ") if way == "skip" else ("", "", rest)
    person = Person(by=who_am_i(session.project.environment), reason=why, is_at_terminal=True)
    if way == "skip":
        skip_task(current, person, kind=kind)
    elif not why:
        raise UsageError("retry needs a reason", remedy="type retry, and what has changed")
    else:
        with contextlib.suppress(NotAllowedError):  # the client needed a person, and not the task
            resume_task(current, person)
    line = f"{current.task}: {way} by {person.by}: {why}"
    session.tell("decided", line, task=current.task, way=way, reason=why, by=person.by)


def _investigate(session: Session, current: TaskSession) -> Iterator[str]:
    for failure in current.verification().failures:
        yield f"attempt {failure.attempt}, step {failure.step}: {failure.type}: {failure.error}"
        yield from (f"  {line}" for line in failure.lines)
    for path in sorted(current.store.drive_folder.glob("*.log")):
        if path.name.count(".") == 2:
            yield f"transcript: {session.relative(path)}"
