"""What happened beside the runs, in words: phases, signals, overrides, the breaker. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from phase_gate.gate.breaker import Status
from phase_gate.gate.forked import say_forked
from phase_gate.gate.state import Event, State
from phase_gate.gate.waivers import describe_override
from phase_gate.report.story import HappeningKind

Happened = tuple[HappeningKind, str]

_SIGNALS: dict[str, Happened] = {
    "done": ("signal", "exit signal"),
    "not-done": ("not-done", "signal: not done"),
    "blocked": ("needs-person", "signal: blocked"),
    "test-wrong": ("needs-person", "signal: a test is wrong"),
    "stale": ("too-early", "a stale signal"),
    "refused": ("too-early", "a refused signal"),
}
_BREAKER: dict[Status, Happened] = {
    Status.OPEN: ("breaker-open", "the circuit opens"),
    Status.HALF_OPEN: ("breaker-half-open", "the circuit is half-open"),
    Status.CLOSED: ("breaker-closed", "the circuit is closed again"),
}
#: After what the streak and the last verdict start anew.
_DOUBTED = {
    "repaired": "the ledger was repaired",
    "rollback-accepted": "the state folder was accepted as it was found",
    "key-adopted": "a ledger without a key was put under one",
}
#: How a pipeline goes back, in words.
_WAYS_BACK = {"request": "by a change request", "recovered": "after a recovery"}


def happenings_of(event: Event, before: State, after: State) -> Iterator[Happened]:
    """Yield what an event is to somebody who looks back."""
    yield from _told(event, before, after)
    if after.breaker.status is not before.breaker.status and event.kind not in ("phase-entered", "phase-exited"):
        kind, text = _BREAKER[after.breaker.status]
        yield kind, _with_reason(text, after.breaker.reason)


def _told(event: Event, before: State, after: State) -> Iterator[Happened]:
    data: Any = event.data
    match event.kind:
        case "phase-entered" if data.get("how") == "rewind":
            if data.get("run") is not None:  # else somebody typed it, and said why
                yield "rewound", f"back to {data['phase']}, by a run"
        case "phase-entered" if data.get("how") in _WAYS_BACK:
            yield "rewound", f"back to {data['phase']}, {_WAYS_BACK[data['how']]}"
        case "phase-entered":
            yield "entered", f"{data['phase']} begins" + (f", cycle {after.cycle}" if not before.visited else "")
        case "phase-exited":
            kind: HappeningKind = "forced" if data.get("forced") else "exited"
            yield kind, f"{before.phase} exits" + (", forced" if data.get("forced") else "")
        case "signal-spent":
            kind, text = _SIGNALS.get(data["answer"], ("note", f"signal: {data['answer']}"))
            if data.get("premature"):
                kind, text = "too-early", "exit signal, too early"
            yield kind, _with_reason(text, data.get("reason") or data.get("problem"), data.get("by"))
        case "run-forked":
            yield "note", say_forked(data["run"], data["tests"])
        case "signal-refused":
            yield "too-early", _with_reason("a refused signal", data.get("problem"))
        case "waived":
            yield "override", f"waived {describe_override({'kind': 'waive', 'expires': '', **data})}"
        case "overridden":
            yield "override", describe_override({"at": event.at, **data})
        case "rewound":
            yield "rewound", _with_reason(f"back to {data['to']}", data.get("reason"), data.get("by"))
        case "claimed":
            claim = data["claim"]
            yield "claim", _with_reason(f"claim, {claim['confidence']} points: {claim['gate']}", claim["reason"])
        case "fact-declared":
            yield "note", _with_reason(f"declared {data['name']} = {data['value']}", data["reason"], data["by"])
        case "baseline-taken":
            yield "note", "a baseline is recorded"
        case "executor-reported":
            yield "note", _with_reason(f"the executor reports {data['result']['status']}", None, data["by"])
        case "verify-ran":
            check = data["check"]
            code = "" if check["exit_code"] is None else f" with {check['exit_code']}"
            yield "note", f"the verify command {check['how']}{code}"
        case "attempt-failed":
            yield "note", _with_reason(f"failed: {data['failure']['type']}", data["failure"]["error"])
        case "committed":
            yield "note", f"committed as {data['commit'][:10]}"
        case "gate-failed":
            yield "too-early", _with_reason(f"the gate of {data['phase']} failed", data["reason"])
        case "stuck":
            yield "needs-person", _with_reason("stuck", data["reason"])
        case "voted":
            yield "note", _with_reason(f"voted {data['vote']} ({data['confidence']:g})", data["reason"], data["by"])
        case "request-made":
            yield "note", _with_reason(f"{data['id']} asks for a change ({data['type']})", data["title"], data["by"])
        case "request-decided":
            yield "note", _with_reason(f"{data['id']} {data['status']}", data["reason"], data["by"])
        case "repaired" | "rollback-accepted" | "key-adopted":
            yield "override", _with_reason(_DOUBTED[event.kind], data.get("reason"), data.get("by"))


def _with_reason(text: str, reason: str | None, by: str | None = None) -> str:
    return text + (f" ({by})" if by else "") + (f": {reason}" if reason else "")
