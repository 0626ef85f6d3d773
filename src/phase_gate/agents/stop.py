"""What an agent's hook is told: may it stop, may it write this file?

Pure, and it only looks: several agents ask twice about one stop. How an agent asks and is answered is `agents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State
from phase_gate.gate.status import show_next
from phase_gate.values import Value
from phase_gate.visible import show_rows
from phase_gate.workflow.settings import Until

Verdict = Literal["allow", "block", "ask", "deny"]


class HookAnswer(Value):
    verdict: Verdict
    reason: str = ""
    next_command: str = ""
    next_hint: str = ""
    #: It may stop, though nothing is done: somebody has to look.
    needs_person: bool = False

    @property
    def text(self) -> str:
        """What to say, to the agent or to a person; empty if there is nothing to say."""
        if not self.reason:
            return ""
        step = show_next(self.next_command, self.next_hint)
        return show_rows((f"phase-gate: {self.reason}", *((f"Next: {step}",) if step else ())))


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
        said = standing.verdict if standing.status == "stuck" else f"{standing.verdict}; a person is needed"
        return _needs_person(said, standing.next_command, standing.next_hint)
    verdict = _waits_for_person(state)
    if verdict is not None:
        return _needs_person(verdict["reason"], verdict["next_command"], verdict["next_hint"])
    if standing.is_open and (until == "phase" or may_end_cycle):
        return ALLOW
    reason = standing.reason if not standing.is_open else f"{state.phase} has exited, and the cycle goes on"
    if stop.is_near_limit:
        said = f"{reason}; the agent was sent on as often as it lets itself be sent on; a person is needed"
        return _needs_person(said, standing.next_command, standing.next_hint)
    return HookAnswer(
        verdict="block",
        reason=f"not done: {reason}",
        next_command=standing.next_command,
        next_hint=standing.next_hint,
    )


def _waits_for_person(state: State) -> Mapping[str, Any] | None:
    """Return the verdict where it asks for a person, and nothing ran since."""
    evaluation: Mapping[str, Any] | None = state.evaluation
    if evaluation is None or state.evaluation_is_stale or evaluation["phase"] != state.phase:
        return None
    return evaluation if evaluation["status"] == "needs-person" else None


def _needs_person(reason: str, command: str, hint: str) -> HookAnswer:
    return HookAnswer(verdict="allow", reason=reason, next_command=command, next_hint=hint, needs_person=True)


def decide_stop_in_doubt(problem: str, remedy: str, stop: Stop) -> HookAnswer:
    """Return the answer where the state can't be trusted: closed, and said once; after that it is a person's turn."""
    if stop.is_broken_off or stop.is_helper:
        return ALLOW
    reason = f"the gate is closed, for its state can't be trusted: {problem}"
    if stop.again or stop.is_near_limit:
        return _needs_person(f"{reason}; a person is needed", "", remedy)
    return HookAnswer(verdict="block", reason=reason, next_hint=remedy)
