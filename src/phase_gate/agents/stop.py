"""What an agent's hook is told: may it stop, may it write this file?

Pure. Where a task stands is said as `Task.standing` says it, in the same words. How an agent asks and is answered is
`agents`; how often it was held up is `blocks`.
"""

from __future__ import annotations

from phase_gate.agents.blocks import Blocks
from phase_gate.gate.findings import WEAKENED, place_of
from phase_gate.gate.standing import Standing
from phase_gate.gate.state import State
from phase_gate.gate.status import Status, show_next, show_verdict
from phase_gate.values import Literal, Value, replace
from phase_gate.visible import count, name_first, show_rows
from phase_gate.workflow.settings import Until

_Unknown = Literal[""]
Verdict = Literal["allow", "block", "ask", "deny"]

#: Statuses whose sentence says by itself that it is no longer the agent's turn.
_OVER = frozenset({"halted", "stuck", "needs-person"})
#: So many times the blocks that are allowed in a row, if no complete run tests anything new.
PATIENCE = 5


class HookAnswer(Value):
    verdict: Verdict
    #: Where the task stands, as every command says it; empty where that is not what was asked, or not known.
    status: Status | _Unknown = ""
    reason: str = ""
    #: What there is to say beside it.
    note: str = ""
    next_command: str = ""
    next_hint: str = ""
    #: It may stop, though nothing is done: a person has to look.
    needs_person: bool = False

    @property
    def text(self) -> str:
        """What to say, to the agent or to a person; empty if there is nothing to say."""
        if not self.reason:
            return ""
        said = self.reason
        if self.status in _OVER:
            said = show_verdict(self.status, self.reason)
        elif self.status not in ("", "open"):
            said = f"not done: {self.reason}"
        step = show_next(self.next_command, self.next_hint)
        note = f"; {self.note}" if self.note else ""
        return show_rows((f"phase-gate: {said}{note}", *((f"Next: {step}",) if step else ())))


class Stop(Value):
    """An agent that is about to stop."""

    #: What the agent calls the session; empty where it does not tell.
    session: str = ""
    #: How often it was sent on, and how often its own rules allow that; None where it does not tell.
    sent_on: int | None = None
    limit: int | None = None
    #: A person interrupted it, or it failed: it can't be sent on.
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
    weakened = _name_weakened(state)
    may_stop = standing.is_open and (until == "phase" or may_end_cycle)
    if may_stop and not weakened:
        return ALLOW
    answer = HookAnswer(
        verdict="allow" if may_stop else "block",
        status=standing.status,
        reason=standing.reason,
        note=weakened,
        next_command=standing.next_command,
        next_hint=standing.next_hint,
    )
    if standing.status in _OVER:
        note = "a person is needed" if standing.status == "halted" else ""
        return replace(answer, verdict="allow", note="; ".join(filter(None, (weakened, note))), needs_person=True)
    if standing.is_open and not may_stop:
        answer = replace(answer, note="; ".join(filter(None, (weakened, "the cycle is not done"))))
    if stop.is_near_limit and not may_stop:
        return let_go(answer, "the agent was sent on as often as it lets itself be sent on")
    return answer


def _name_weakened(state: State) -> str:
    """Say what RED did to older tests, in a clause; empty: nothing."""
    last = state.evaluation or {}
    rows = last.get("findings", ()) if last.get("cycle") == state.cycle else ()
    places = [place_of(row) for row in rows if row["slug"] in WEAKENED]
    return f"RED removed older tests, or changed what they use: {name_first(places)}" if places else ""


def decide_stop_in_doubt(problem: str, remedy: str, stop: Stop) -> HookAnswer:
    """Return the answer where the state can't be trusted: closed, with the way to repair it."""
    if stop.is_broken_off or stop.is_helper:
        return ALLOW
    reason = f"the gate is closed, for its state can't be trusted: {problem}"
    answer = HookAnswer(verdict="block", reason=reason, next_hint=remedy)
    return (
        let_go(answer, "the agent was sent on as often as it lets itself be sent on") if stop.is_near_limit else answer
    )


def limit_blocks(answer: HookAnswer, blocks: Blocks | None, *, most: int) -> HookAnswer:
    """Return the answer that ends a loop: so many blocks and no more. The gate stays closed, whatever is said here.

    :param blocks: how often the agent was held up, this time among them; None if that can't be counted. Then it is let
        go: sending it on could go on for ever, and where a count can't be written, no run can be recorded either.
    """
    if answer.verdict != "block":
        return answer
    if blocks is None:
        return let_go(answer, "there is no state folder that can be written, so no run can be recorded")
    if blocks.in_row > most:
        return let_go(
            answer, f"the agent was sent on {count(most, 'time')}, and neither ran the tests nor changed a file"
        )
    if blocks.untested > most * PATIENCE:
        times = count(most * PATIENCE, "time")
        return let_go(answer, f"the agent was sent on {times}, and no complete run has tested another change since")
    return answer


def let_go(answer: HookAnswer, why: str) -> HookAnswer:
    """Return the answer for an agent that is not sent on any more: the person who reads it has to act."""
    notes = [each for each in (answer.note, why, "a person is needed") if each]
    return replace(answer, verdict="allow", note="; ".join(notes), needs_person=True)
