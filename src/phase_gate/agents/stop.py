"""What an agent's hook is told: may it stop, may it write this file?

Pure, and it only looks: several agents ask twice about one stop. How an agent asks and is answered is `agents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State
from phase_gate.values import Value
from phase_gate.visible import show_rows
from phase_gate.workflow.settings import Until

Verdict = Literal["allow", "block", "ask", "deny"]


class HookAnswer(Value):
    verdict: Verdict
    reason: str = ""
    next: str = ""
    #: It may stop, though nothing is done: somebody has to look.
    needs_person: bool = False

    @property
    def text(self) -> str:
        """What to say, to the agent or to a person; empty if there is nothing to say."""
        if not self.reason:
            return ""
        return show_rows((f"phase-gate: {self.reason}", *((f"Next: {self.next}",) if self.next else ())))


class Stop(Value):
    """An agent that is about to stop."""

    #: It has been sent on before, in this very turn.
    again: bool = False
    #: How often it was sent on, and how often its own rules allow that; None where it does not tell.
    sent_on: int | None = None
    limit: int | None = None
    #: A person interrupted it, or it failed: nobody can send it on.
    is_broken_off: bool = False
    #: A helper that the agent started ends: the work itself goes on.
    is_helper: bool = False

    @property
    def is_near_limit(self) -> bool:
        return self.sent_on is not None and self.limit is not None and self.sent_on >= self.limit - 1


ALLOW = HookAnswer(verdict="allow")


def decide_stop(state: State, standing: Standing, stop: Stop, *, until: Until, may_end_cycle: bool) -> HookAnswer:
    """Return whether the agent may stop.

    :param until: what it works towards: the end of the cycle, or of the phase.
    :param may_end_cycle: the present phase is one that may end the cycle.
    """
    if state.phase is None or state.is_done or stop.is_broken_off or stop.is_helper:
        return ALLOW
    if standing.is_halted:
        return _needs_person(standing.reason, standing.next)
    waiting = _waits_for_person(state)
    if waiting is not None:
        return waiting
    if standing.holds and (until == "phase" or may_end_cycle):
        return ALLOW
    reason = standing.reason if not standing.holds else f"{state.phase} has exited, and the cycle goes on"
    if stop.is_near_limit:
        return _needs_person(f"{reason}; the agent was sent on as often as it lets itself be sent on", standing.next)
    return HookAnswer(verdict="block", reason=f"not done: {reason.removeprefix('go on: ')}", next=standing.next)


def _waits_for_person(state: State) -> HookAnswer | None:
    """Return the answer where somebody said that a person is needed, and nothing ran since."""
    evaluation: Mapping[str, Any] | None = state.evaluation
    if evaluation is None or state.evaluation_is_stale or evaluation["phase"] != state.phase:
        return None
    if evaluation["gate_2"]["answer"] not in ("blocked", "test-wrong"):
        return None
    return _needs_person(str(evaluation["reason"]).removeprefix("stop: "), str(evaluation["next"]))


def _needs_person(reason: str, following: str) -> HookAnswer:
    said = reason if "needs a person" in reason else f"{reason}; a person is needed"
    return HookAnswer(verdict="allow", reason=said, next=following, needs_person=True)


def decide_stop_in_doubt(problem: str, remedy: str, stop: Stop) -> HookAnswer:
    """Return the answer where the state can't be trusted: closed, and said once; after that it is a person's turn."""
    if stop.is_broken_off or stop.is_helper:
        return ALLOW
    reason = f"the gate is closed, for its state can't be trusted: {problem}"
    if stop.again or stop.is_near_limit:
        return _needs_person(reason, remedy)
    return HookAnswer(verdict="block", reason=reason, next=remedy)
