"""The circuit breaker: it halts work in a phase that makes no progress.

Pure, with the time as an argument. Only complete runs count, each on a new tree; waiting for a signal or for a person
is not stagnation. Progress closes the circuit. Any other result opens a half-open circuit. The cool-down, or a person,
only gives an open circuit another try.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from phase_gate.bound import sha256
from phase_gate.values import Literal, Value, replace
from phase_gate.visible import count
from phase_gate.workflow.model import Limits

#: Number of remembered sets of failing tests; a phase with more runs was halted long before.
_REMEMBERED = 256

Status = Literal[
    "closed",
    # The next counted run decides.
    "half-open",
    "open",
]


class Breaker(Value):
    status: Status = "closed"
    limits: Limits = Limits()
    no_progress: int = 0
    same_error: int = 0
    exit_blocked: int = 0
    #: Hashes of all sets of obstacles since the phase was entered.
    seen: tuple[str, ...] = ()
    best_passing: int = -1
    errors: str = ""
    tree: str = ""
    opened_at: str = ""
    reason: str = ""

    @property
    def is_open(self) -> bool:
        return self.status == "open"


def at_time(breaker: Breaker, at: str) -> Breaker:
    """Return the breaker at that time: an open one cools down."""
    if not breaker.is_open or _cools_until(breaker) > _moment(at):
        return breaker
    return _move(breaker, "half-open", at)


def observe_run(
    breaker: Breaker,
    limits: Limits,
    *,
    at: str,
    tree: str,
    obstacles: frozenset[str],
    passing: int,
    errors: str = "",
    gate_is_open: bool = False,
    began: str = "",
    needs_person: bool = False,
) -> Breaker:
    """Return the breaker after a complete run.

    :param obstacles: the obstacles that keep the gate closed: failing tests, unmet guards.
    :param errors: the errors, without details that differ from run to run; empty if there are none.
    :param gate_is_open: Gate 1 is open: only the signal is missing.
    :param began: the tree at the start of the run: files that the run writes do not count as an attempt.
    :param needs_person: a signal asked for a person.
    """
    breaker = at_time(replace(breaker, limits=limits), at)
    if breaker.is_open:
        if _moment(at) < _moment(breaker.opened_at):
            # The clock was set back: never wait longer than the cool-down.
            return replace(breaker, opened_at=at)
        return breaker
    if gate_is_open or not obstacles:
        return _recovered(breaker, tree=tree, passing=passing)
    if needs_person:
        return breaker
    if breaker.tree and breaker.tree in (began, tree):
        return replace(breaker, tree=tree)
    found = _hash(obstacles)
    gains = passing > breaker.best_passing
    is_new = found not in breaker.seen
    is_same_error = bool(errors) and errors == breaker.errors and not gains
    breaker = replace(
        breaker,
        no_progress=0 if gains or is_new else breaker.no_progress + 1,
        # A single occurrence is not a repetition.
        same_error=max(2, breaker.same_error + 1) if is_same_error else 0,
        seen=breaker.seen if not is_new else (*breaker.seen, found)[-_REMEMBERED:],
        best_passing=max(breaker.best_passing, passing),
        errors=errors,
        tree=tree,
    )
    counts = {
        f"{count(breaker.no_progress, 'complete run')} without progress": (breaker.no_progress, limits.no_progress),
        f"the same error {breaker.same_error} times": (breaker.same_error, limits.same_error),
    }
    return _judge(breaker, counts, at=at, is_progress=gains or is_new)


def observe_blocked_claim(breaker: Breaker, limits: Limits, *, at: str) -> Breaker:
    """Return the breaker after a claim of completion that the exit gate blocked."""
    breaker = at_time(replace(breaker, limits=limits), at)
    if breaker.is_open:
        return breaker
    blocked = breaker.exit_blocked + 1
    left = limits.exit_blocked - blocked
    if not limits.exit_blocked or (breaker.status == "half-open" and left > 0):
        # Only a run can undo the effect of a run, and a claim is never progress.
        return replace(breaker, exit_blocked=blocked)
    counts = {f"{count(blocked, 'claim')} in a row that the exit gate blocked": (blocked, limits.exit_blocked)}
    return _judge(replace(breaker, exit_blocked=blocked), counts, at=at, is_progress=False)


def observe_passed_claim(breaker: Breaker) -> Breaker:
    """Return the breaker after a claim that passed: it only undoes the effect of earlier claims."""
    limits = breaker.limits
    by_runs = ((breaker.no_progress, limits.no_progress), (breaker.same_error, limits.same_error))
    if breaker.status == "half-open" and not any(limit and often >= limit - 1 for often, limit in by_runs):
        breaker = replace(breaker, status="closed", reason="", opened_at="")
    return replace(breaker, exit_blocked=0)


def reset(breaker: Breaker, *, at: str) -> Breaker:
    """Return the breaker after a person allowed another try."""
    return _move(breaker, "half-open", at)


def _recovered(breaker: Breaker, *, tree: str, passing: int) -> Breaker:
    """Return a closed breaker with its counts cleared, except the separate count of claims."""
    return Breaker(
        limits=breaker.limits,
        exit_blocked=breaker.exit_blocked,
        seen=breaker.seen,
        best_passing=max(breaker.best_passing, passing),
        tree=tree,
    )


def _judge(breaker: Breaker, counts: Mapping[str, tuple[int, int]], *, at: str, is_progress: bool) -> Breaker:
    """Return the breaker after an event was counted.

    :param counts: for each reason, the count and its limit.
    """
    counted = {reason: limit - often for reason, (often, limit) in counts.items() if limit and often}
    reason, left = min(counted.items(), key=lambda row: row[1], default=("", 0))
    is_trial = breaker.status == "half-open"
    if not counted or (is_progress and is_trial and left > 0):
        return _move(replace(breaker, same_error=0), "closed", at)
    if left <= 0 or is_trial:
        return replace(_move(breaker, "open", at), reason=reason)
    # One below the limit: the next run decides.
    return replace(_move(breaker, "half-open" if left == 1 else "closed", at), reason=reason)


def _move(breaker: Breaker, status: Status, at: str) -> Breaker:
    if status == "closed":
        return replace(breaker, status=status, opened_at="", reason="")
    return replace(breaker, status=status, opened_at=at if status == "open" else breaker.opened_at)


def _cools_until(breaker: Breaker) -> datetime:
    return _moment(breaker.opened_at) + timedelta(seconds=breaker.limits.cool_down)


def describe_open(breaker: Breaker, at: str) -> str:
    """Return that the circuit is open, why, and how long it stays open without intervention."""
    left = _cools_until(breaker) - _moment(at)
    minutes = min(left.total_seconds(), breaker.limits.cool_down) / 60
    wait = f"{minutes:.0f} min" if minutes >= 1 else "less than a minute"
    return f"the circuit is open since {breaker.opened_at} ({breaker.reason}); {wait} left"


def _moment(at: str) -> datetime:
    """Return the time in UTC, regardless of its original zone."""
    found = datetime.fromisoformat(at)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _hash(obstacles: Iterable[str]) -> str:
    return sha256("\n".join(sorted(obstacles)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# --- errors without details that differ from run to run, so that the same error can be recognized


#: Number of lines of a message that count: the rest is usually a diff.
_LINES = 3

#: Compiled for the first error, so that a green run does not pay for it.
_BLANKS: tuple[tuple[str, str], ...] = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+\b", "<address>"),
    (r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?", "<time>"),
    (r"\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "<time>"),
    (r"\b\d+(?:\.\d+)?\s?(?:s|ms|us|µs|ns|sec|secs|seconds|minutes)\b", "<time>"),
    # The last part of a path identifies the file, its folder does not.
    (r"(?:[A-Za-z]:)?(?:[\\/][^\\/\s:'\",()<>]+)+[\\/]([^\\/\s:'\",()<>]+)", r"<path>/\1"),
    (r"(?i)\b(pid|process|thread|port|tid)(\s*+(?:[=:#]\s*+)?)\d+\b", r"\1\2<number>"),
    (r"\b(?:tmp|temp)[A-Za-z0-9_]{6,}\b", "<temporary>"),
    (r"\b[0-9a-f]{32,64}\b", "<id>"),
)


def blank(message: str) -> str:
    """Return the message without details that differ from run to run."""
    text = "\n".join(message.strip().splitlines()[:_LINES])
    for pattern, stands_for in _BLANKS:
        text = re.sub(pattern, stands_for, text)
    return " ".join(text.split())


def fingerprint(messages: Iterable[str]) -> str:
    """Return one hash for all errors of a run; empty if there are none."""
    blanked = {blank(message) for message in messages} - {""}
    return _hash(blanked) if blanked else ""
