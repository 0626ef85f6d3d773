"""The current status of a task: is its last verdict still valid?

Pure and read-only. `check`, `status` and the agents' hooks use it; none of them counts or advances anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phase_gate import exit_codes
from phase_gate.gate.breaker import at_time, describe_open
from phase_gate.gate.state import WORK, State, load_part
from phase_gate.gate.verdict import LET_ONE_RUN, SAY_WHY, Evaluation, Status, Verdict
from phase_gate.values import replace
from phase_gate.visible import name_first
from phase_gate.workflow.names import of_task, signal_command, status_command


class CurrentStatus(Verdict, kw_only=False):
    #: The requested gate is open: Gate 1 alone, or both.
    is_open: bool = False

    @property
    def is_halted(self) -> bool:
        """The circuit is open, or a pipeline is stuck."""
        return self.status in ("halted", "stuck")

    @property
    def exit_code(self) -> int:
        if self.is_halted:
            return exit_codes.CIRCUIT_OPEN
        return exit_codes.OPEN if self.is_open else exit_codes.GATE_CLOSED


#: Returns the command that evaluates the current phase again, and whether it runs the tests.
FindStep = Callable[[], tuple[str, bool]]


def assess(
    state: State,
    *,
    tree: str,
    at: str,
    changed: tuple[str, ...] = (),
    lost: tuple[str, ...] = (),
    gate_1_only: bool = False,
    begin: str,
    next_step: FindStep,
) -> CurrentStatus:
    """Return whether the last verdict on the current phase is valid now.

    :param tree: the id of the current sources.
    :param at: the time: an open circuit cools down.
    :param changed: the files that differ from those after the last run, as far as they are known.
    :param lost: open runs that will never end.
    :param begin: the command to type if nothing is recorded yet.
    """
    if state.phase is None:
        return CurrentStatus("unstarted", "no run is recorded yet", begin)
    if state.work is not None:
        standing = load_part(WORK).current_status(state, tree=tree, gate_1_only=gate_1_only)
        if standing is not None:
            return standing
    if state.is_stuck:
        recover = of_task("phase-gate pipeline recover", state.task)
        return CurrentStatus("stuck", f"stuck: {state.stuck}; a person is needed", recover)
    breaker = at_time(state.breaker, at)
    if breaker.is_open:
        from phase_gate.gate.advice import describe_decisions  # here, not above: most circuits are closed

        command = status_command(state.task)
        return CurrentStatus("halted", describe_open(breaker, at), command, describe_decisions(state.task))
    evaluation = state.evaluation
    if evaluation is not None and evaluation is state.verdict_now and evaluation.status == "needs-person":
        # Regardless of the current files: it is valid until the next run.
        return by_verdict(evaluation, gate_1_only=gate_1_only and tree == state.last_tree)

    behind = outdated(state, tree=tree, changed=changed, lost=lost, next_step=next_step)
    if behind is not None:
        return behind
    assert evaluation is not None, "outdated() reports a missing verdict"
    came = _came_after(state, evaluation)
    if not came:
        return by_verdict(evaluation, gate_1_only=gate_1_only)
    if _is_opened_by_facts(state, evaluation):
        return CurrentStatus("stale", came, signal_command(state.task), SAY_WHY)
    return CurrentStatus("stale", came, next_step()[0])


def outdated(
    state: State,
    *,
    tree: str,
    changed: tuple[str, ...] = (),
    lost: tuple[str, ...] = (),
    next_step: FindStep,
) -> CurrentStatus | None:
    """Return why the last verdict does not apply to the current phase and files; None if it does.

    An open circuit hides this from `assess`, but it still applies. Same parameters as there.
    """
    evaluation, kind = state.evaluation, "" if state.last_run is None else state.last_run.kind

    def again(status: Status, reason: str) -> CurrentStatus:
        command, takes_run = next_step()
        return CurrentStatus(status, reason, command, LET_ONE_RUN if kind == "empty" and takes_run else "")

    # A nested run proves nothing in any case, so it may be lost.
    gone = [run.id for run in state.open_runs if run.id in lost and not run.nested]
    if gone:
        return again("stale", f"run {gone[0][:8]} began and never ended")
    if any(not run.nested for run in state.open_runs):
        return CurrentStatus("running", "a run is in progress", next_hint="wait for it to end")
    # The verdict may be from an earlier entry into the phase: it was rewound, or entered again.
    was_left = state.evaluation_is_stale and state.iteration == 0
    if evaluation is None or (not state.is_done and (was_left or evaluation.phase != state.phase)):
        missing = "no verdict on" if state.is_pipeline or not next_step()[1] else "no complete run in"
        return again("unstarted", f"{missing} {state.phase} yet{_why_not_counted(state)}")
    if state.is_doubted:
        what = "the record was repaired or restored after the last verdict"
        return again("stale", f"{what}, so its runs do not count any more")
    if state.evaluation_is_stale:
        last = f" ({kind})" if kind else ""
        return again("stale", f"a run came after the last verdict{last}: only a complete run makes a new one")
    left = state.last_tree
    if evaluation.run is None:
        # It is about the code of the last green run, or about no code.
        left = state.green_tree if evaluation.metrics.get("code_as_tested") else tree
    if tree != left:
        names = name_first(changed)
        reason = "files have changed since the last run" + (f" ({names})" if names else "")
        return replace(again("stale", reason), next_hint=hint_at_outputs(changed))
    return None


def _came_after(state: State, evaluation: Evaluation) -> str:
    """Return the decision that came after a verdict with a closed gate, so that it has to be evaluated."""
    if evaluation.status == "halted":  # and the circuit is no longer open
        return "the circuit is half-open: the next complete run on changed files decides"
    if evaluation.status not in ("closed", "early"):
        return ""
    at = evaluation.timestamp
    reasons = [f"{fact.name} was declared" for fact in state.facts if fact.at > at]
    reasons += [f"{waiver.guard} was waived" for waiver in state.waivers if waiver.at > at]
    return f"{reasons[0]} after the last verdict, which does not know of it" if reasons else ""


def _is_opened_by_facts(state: State, evaluation: Evaluation) -> bool:
    """Return whether the declared facts are all that Gate 1 misses: a signal evaluates it again, so that is enough."""
    from phase_gate.workflow.conditions import evaluate  # few calls get here

    gate = evaluation.gate_1
    known = {**gate.values, **{fact.name: fact.value for fact in state.facts}}
    return all(each.passes for each in gate.guards) and evaluate(gate.condition, known).met is True


def hint_at_outputs(changed: Sequence[str]) -> str:
    """Return a hint in case a tool writes one of these files; empty for code, and once .gitignore has changed."""
    data = next((path for path in changed if not path.endswith(".py")), None)
    return "" if data is None or ".gitignore" in changed else f"if a tool writes {data}, name it in .gitignore"


def _why_not_counted(state: State) -> str:
    """Return why the last run did not count, if it was in the current phase."""
    last = state.last_run
    if last is None or last.phase != state.phase or last.iteration is not None or not last.why:
        return ""
    return f": the last one was {last.kind}: {last.why}"


def by_verdict(evaluation: Evaluation, *, gate_1_only: bool) -> CurrentStatus:
    """Return the status from a verdict that is still valid."""
    is_open = evaluation.can_exit or (gate_1_only and evaluation.gate_1.is_open)
    return CurrentStatus(**evaluation.advice, is_open=is_open)
