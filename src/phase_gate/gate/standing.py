"""Where a task stands right now: does its last verdict still hold?

Pure, and it only looks. `check`, `status` and the agents' hooks ask this; none of them counts or advances anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phase_gate import exit_codes
from phase_gate.gate.breaker import at_time, describe_wait
from phase_gate.gate.forked import LATE
from phase_gate.gate.parts import parts_of
from phase_gate.gate.state import Json, State
from phase_gate.values import Value
from phase_gate.workflow.model import Tests
from phase_gate.workflow.names import run_command

if TYPE_CHECKING:
    from phase_gate.workflow.settings import ExitMeaning


class Standing(Value):
    holds: bool
    reason: str
    next: str
    #: The circuit is open.
    is_halted: bool = False

    @property
    def exit_code(self) -> int:
        if self.is_halted:
            return exit_codes.CIRCUIT_OPEN
        return exit_codes.HOLDS if self.holds else exit_codes.GATE_CLOSED


def assess(
    state: State,
    *,
    tree: str,
    at: str,
    lost: tuple[str, ...] = (),
    gate_1_only: bool = False,
    begin: str = "pytest --phase=red",
    again: str = "",
) -> Standing:
    """Return whether the present phase's last verdict holds now.

    :param tree: what the sources are now.
    :param at: the time: an open circuit cools down.
    :param lost: open runs that will never end.
    :param begin: what to type where nothing is recorded yet.
    :param again: what to type to have the present phase judged anew; a run of it where that is left out.
    """
    if state.phase is None:
        return Standing(holds=False, reason="no run is recorded yet", next=begin)
    for part, value in parts_of(state):
        standing = part.standing(value, state, tree=tree, gate_1_only=gate_1_only)
        if standing is not None:
            return standing
    if state.is_stuck:
        task = "" if state.task == "default" else f" --task {state.task}"
        reason = f"stuck: {state.stuck}; a person is needed"
        return Standing(holds=False, reason=reason, next=f"phase-gate pipeline recover{task}", is_halted=True)
    breaker = at_time(state.breaker, at)
    if breaker.is_open:
        wait = describe_wait(breaker, at)
        reason = f"halt: the circuit is open since {breaker.opened_at} ({breaker.reason}); {wait} left"
        return Standing(holds=False, reason=reason, next="phase-gate breaker status", is_halted=True)
    evaluation = state.evaluation
    again = again or run_command("auto", state.task)
    # A nested one proves nothing either way, so it may be lost.
    gone = [run.id for run in state.open_runs if run.id in lost and not run.nested]
    if gone:
        return Standing(holds=False, reason=f"run {gone[0][:8]} began and never ended", next=again)
    if any(not run.nested for run in state.open_runs):
        return Standing(holds=False, reason="a run is going on", next="wait for it to end")
    if evaluation is None or (evaluation["phase"] != state.phase and not state.is_done):
        missing = "no verdict on" if state.parts else "no complete run in"
        return Standing(holds=False, reason=f"{missing} {state.phase} yet", next=again)
    if state.evaluation_is_stale:
        last = "" if state.last_run is None else f" ({state.last_run.kind})"
        came = f"{LATE}, after the last verdict" if state.is_forked else f"a run came after the last verdict{last}"
        return Standing(holds=False, reason=f"{came}: it has to be made anew", next=again)
    left = state.tree
    if evaluation["run"] is None:
        # It speaks of the code that the last green run tested, or of no code at all.
        left = state.green_tree if evaluation["metrics"].get("code_as_tested") else tree
    if tree != left:
        return Standing(holds=False, reason="files have changed since the last run", next=again)
    return by_verdict(evaluation, gate_1_only=gate_1_only)


def by_verdict(evaluation: Json, *, gate_1_only: bool) -> Standing:
    """Return what a verdict that still counts says."""
    holds = evaluation["can_exit"] or (gate_1_only and evaluation["gate_1"]["satisfied"])
    return Standing(holds=bool(holds), reason=str(evaluation["reason"]), next=str(evaluation["next"]))


# --- what a run's exit status becomes


#: pytest's codes that only say that tests failed, or that modules could not be collected.
_TESTS_FAILED, _INTERRUPTED = 1, 2


def exit_status_for(
    pytest_said: int,
    *,
    meaning: ExitMeaning,
    tests: Tests,
    holds: bool,
    is_trusted: bool = True,
    has_collection_errors: bool = False,
    is_halted: bool = False,
) -> int:
    """Return the status that the process ends with.

    :param holds: the gate that was asked for holds.
    :param is_trusted: the run could be recorded.
    :param is_halted: the circuit is open.
    """
    if meaning == "tests":
        return pytest_said
    only_red = pytest_said == _TESTS_FAILED or (pytest_said == _INTERRUPTED and has_collection_errors)
    if pytest_said != 0 and not (tests == "failing" and only_red):
        return pytest_said
    if not is_trusted:
        return exit_codes.NOT_TRUSTED
    if is_halted:
        return exit_codes.CIRCUIT_OPEN
    return exit_codes.HOLDS if holds else exit_codes.GATE_CLOSED
