"""Events of a verify task, one function each, for tables."""

from __future__ import annotations

from typing import Any

from phase_gate.codec import to_json
from phase_gate.gate.events import apply
from phase_gate.gate.state import NEW_STATE, Event, State
from phase_gate.tasks.work import FailureType, TaskSpec, Verification, find_verification
from phase_gate.workflow.sections import DEFAULT_TIMEOUTS

AT = "2026-01-26T14:00:00.000Z"

SPEC = TaskSpec(name="Task 3: Create PlannerId", files=("a.py",), action="make it", verify="pytest a", done="2 tests")


def at(seconds: float) -> str:
    """Return a time so long after the beginning."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"2026-01-26T{14 + hours:02}:{minutes:02}:{rest:06.3f}Z"


def story(*events: Event) -> State:
    state = NEW_STATE
    for event in events:
        state = apply(state, event)
    return state


def task(*events: Event) -> Verification:
    verification = find_verification(story(*events))
    assert verification is not None
    return verification


def taken(spec: TaskSpec = SPEC, **data: Any) -> Event:
    document = {"spec": to_json(spec), "limits": dict(DEFAULT_TIMEOUTS), "rules": "rules", **data}
    return Event(kind="task-taken", data=document, at=AT)


def began(attempt: int = 1, *, when: str = AT) -> Event:
    return Event(kind="attempt-began", data={"attempts": {"VERIFICATION": attempt}}, at=when)


def reported(status: str = "success", *, when: str = AT, met: bool = True, **more: Any) -> Event:
    result = {"status": status, "task_name": SPEC.name, "files_modified": [], "done_criteria_met": met, **more}
    return Event(kind="executor-reported", data={"result": result, "by": "eve", "tree": "T"}, at=when)


def check(*, run: str = "1", exit_code: int = 0, when: str = AT, **more: Any) -> tuple[Event, Event]:
    began = {"id": run, "command": SPEC.verify, "tree": "T", "limit": 120.0, "at": when}
    ended = {**began, "after": "T", "how": "ended", "ended_at": when, "exit_code": exit_code, "seconds": 1.0, **more}
    first, last = (Event(kind="verify-ran", data={"check": each}, at=when) for each in (began, ended))
    return first, last


def reviewed(verdict: str, *, when: str = AT, **more: Any) -> Event:
    said = {"verdict": verdict, "task_name": SPEC.name, "confidence": "HIGH", "findings": ["f"], **more}
    answer = "approve" if verdict == "APPROVED" else "reject"
    word = {"by": "ann", "answer": answer, "confidence": 1.0, "about": {"tree": "T"}, "said": said}
    return Event(kind="reviewed", data={"word": word}, at=when)


def failed(kind: FailureType, *, step: int, when: str = AT, **more: Any) -> Event:
    failure = {"type": str(kind), "step": step, "error": "it broke", "tree": "T", **more}
    return Event(kind="attempt-failed", data={"failure": failure}, at=when)


def exited() -> Event:
    return Event(kind="phase-exited", data={"phase": "VERIFICATION", "next": "DONE", "forced": False}, at=AT)


def approved() -> tuple[Event, ...]:
    return (taken(), began(), reported(), *check(), reviewed("APPROVED"), exited())
