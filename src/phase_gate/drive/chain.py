"""What follows from an iteration: the one priority chain. Pure.

Interrupt, circuit, both gates, a person, no progress, budget, go on: the first that fits wins. Both gates are the
chain's confident completion; a claim alone never is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from phase_gate import exit_codes
from phase_gate.claims.decision import Outcome as ClaimOutcome
from phase_gate.gate.verdict import Status
from phase_gate.values import Value
from phase_gate.visible import count
from phase_gate.workflow.names import show_duration
from phase_gate.workflow.settings import DriveBudget, DriveSignal


class Outcome(StrEnum):
    """How a drive ends, or that it goes on; in the order of the chain."""

    INTERRUPTED = "interrupted"
    HALTED = "halted"
    DONE = "done"
    PERSON = "person"
    STUCK = "stuck"
    BUDGET = "budget"
    GO_ON = "go-on"


EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.INTERRUPTED: exit_codes.INTERRUPTED,
    Outcome.HALTED: exit_codes.CIRCUIT_OPEN,
    Outcome.DONE: exit_codes.OPEN,
    Outcome.PERSON: exit_codes.NOT_ALLOWED,
    Outcome.STUCK: exit_codes.CIRCUIT_OPEN,
    Outcome.BUDGET: exit_codes.GATE_CLOSED,
}


class Seen(Value):
    """What an iteration showed, and what is left."""

    is_interrupted: bool = False
    status: Status = "unstarted"
    #: What `status` says, in words.
    reason: str = ""
    phase: str = ""
    #: The phase has exited by both gates.
    has_exited: bool = False
    #: That was the last phase, or the one that the drive was to reach.
    is_done: bool = False
    gate_1_open: bool = False
    #: What became of the agent's claim; None where it made none.
    claim: ClaimOutcome | None = None
    claim_reason: str = ""
    #: What happened beside the drive while its agent worked, and only a person may do.
    outside: str = ""
    #: Why the client itself needs a person, in its own words.
    trouble: str = ""
    signal: DriveSignal = "ask"
    idle: int = 0
    idle_limit: int = 5
    #: Iterations that count, and seconds, of all iterations of the drive.
    iterations: int = 0
    seconds: float = 0.0
    budget: DriveBudget = DriveBudget()


class Decision(Value):
    outcome: Outcome
    reason: str

    @property
    def ends(self) -> bool:
        return self.outcome is not Outcome.GO_ON

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


def decide(seen: Seen) -> Decision:
    """Return what follows."""
    if seen.is_interrupted:
        return Decision(outcome=Outcome.INTERRUPTED, reason="the user interrupted it")
    if seen.status in ("halted", "stuck"):
        return Decision(outcome=Outcome.HALTED, reason=seen.reason)
    if seen.is_done and not seen.outside:
        return Decision(outcome=Outcome.DONE, reason=seen.reason)
    person = _why_person(seen)
    if person is not None:
        return Decision(outcome=Outcome.PERSON, reason=person)
    if seen.idle >= seen.idle_limit and not seen.has_exited:
        often = count(seen.idle, "iteration")
        return Decision(outcome=Outcome.STUCK, reason=f"the agent changed nothing in {often}; {seen.reason}")
    if spent := _what_is_spent(seen):
        return Decision(outcome=Outcome.BUDGET, reason=f"{spent}; {seen.reason}" if seen.reason else spent)
    return Decision(outcome=Outcome.GO_ON, reason=seen.reason)


def _why_person(seen: Seen) -> str | None:
    if seen.outside:
        return seen.outside
    if seen.trouble:
        return f"the agent can't work: {seen.trouble}"
    if seen.status == "needs-person":
        return seen.reason
    if seen.has_exited:
        return None
    if seen.gate_1_open and seen.signal == "ask":
        return f"Gate 1 of {seen.phase} is open: a person gives the signal of Gate 2"
    if seen.claim is ClaimOutcome.ASK:
        return seen.claim_reason
    return None


def _what_is_spent(seen: Seen) -> str:
    budget = seen.budget
    if seen.iterations >= budget.iterations:
        return f"the budget of {count(budget.iterations, 'iteration')} is spent"
    if seen.seconds >= budget.seconds:
        return f"the budget of {show_duration(budget.seconds)} is spent"
    return ""
