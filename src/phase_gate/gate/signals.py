"""Gate 2: the explicit answer, and whether it is for this iteration.

Pure. A user or agent gives a signal on purpose; it is never inferred.
"""

from __future__ import annotations

from phase_gate.values import Literal, Value

Given = Literal["done", "not-done", "blocked", "test-wrong"]
Answer = Literal["absent", "done", "not-done", "blocked", "test-wrong", "malformed", "stale", "refused", "held"]

#: Answers that call for a person. They never open a gate, so they are accepted at any time.
CALLS = frozenset({"blocked", "test-wrong"})

#: The display text of each answer.
SHOWN: dict[str, str] = {
    "absent": "absent",
    "done": "given",
    "not-done": "not done",
    "blocked": "blocked",
    "test-wrong": "test wrong",
    "malformed": "malformed",
    "stale": "stale",
    "refused": "refused",
    "held": "held for the last run",
}


class Signal(Value):
    """The content of a signal, and its iteration."""

    answer: Given
    reason: str = ""
    by: str = ""
    phase: str | None = None
    task: str | None = None
    iteration: int | None = None


class Reading(Value):
    """The result of an evaluation at Gate 2."""

    answer: Answer = "absent"
    reason: str = ""
    by: str = ""
    #: Why the answer does not count, if it does not.
    problem: str = ""
    #: The identity of its file, if it came from one: the file is spent with it.
    file: str = ""

    @property
    def is_done(self) -> bool:
        return self.answer == "done"

    @property
    def calls_person(self) -> bool:
        return self.answer in CALLS


ABSENT = Reading()


def read_signal(signal: Signal, *, phase: str, task: str, iteration: int) -> Reading:
    """Return the answer for this iteration; stale if the signal is for another one."""
    expected: tuple[tuple[str, object, object], ...] = (
        ("phase", signal.phase, phase),
        ("task", signal.task, task),
        ("iteration", signal.iteration, iteration),
    )
    for name, given, wanted in expected:
        if given is not None and given != wanted:
            return Reading(
                answer="stale",
                reason=signal.reason,
                by=signal.by,
                problem=f"it is for {name} {given}, this is {name} {wanted}",
            )
    return Reading(answer=signal.answer, reason=signal.reason, by=signal.by)


def strictest(first: Reading, second: Reading) -> Reading:
    """Return the reading that counts if two were given at once: any answer other than done takes precedence."""
    if first.answer == "absent":
        return second
    if second.answer == "absent" or first.answer != "done":
        return first
    return second
