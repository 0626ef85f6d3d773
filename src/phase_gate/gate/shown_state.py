"""What `state.json` shows of a task: where it stands, its last run and its verdict, for people.

Pure. What only we need is in the checkpoint, which is made from the same state.
"""

from __future__ import annotations

from phase_gate.gate.state import State
from phase_gate.gate.verdict import Evaluation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What is told of the last complete run.
_TOTALS = ("tests_total", "tests_passing", "tests_failing", "tests_skipped", "suite_total", "duration_s")


def show_state(state: State) -> dict[str, Any]:
    """Return the task's position, streak, last run and verdict; what is not there is left out."""
    shown: dict[str, Any] = {
        "task": state.task,
        "workflow": state.workflow,
        "cycle": state.cycle,
        "phase": state.phase,
        "visited": list(state.visited),
        "iteration": state.iteration,
        "exited": state.exited,
        "forced": state.forced,
        "streak": state.streak.count,
    }
    statuses = {name: getattr(part, "status", None) for name, part in state.parts.items()}
    shown |= {name: str(status) for name, status in statuses.items() if status}
    if state.stuck:
        shown["stuck"] = state.stuck
    if state.open_runs:
        shown["running"] = [run.id for run in state.open_runs]
    if state.last_run is not None:
        shown["last_run"] = _show_last_run(state)
    if state.evaluation is not None:
        shown["verdict"] = {**_show_verdict(state.evaluation), "stale": state.evaluation_is_stale}
    if state.breaker.status != "closed":
        shown["circuit"] = {"status": str(state.breaker.status), "reason": state.breaker.reason}
    if state.facts:
        shown["facts"] = {fact.name: fact.value for fact in state.facts}
    if state.overrides.waivers:
        shown["waived"] = [waiver.guard for waiver in state.overrides.waivers]
    if state.overrides.others:
        shown["overrides"] = [record.get("kind") for record in state.overrides.others]
    return shown


def _show_last_run(state: State) -> dict[str, Any]:
    run, measured = state.last_run, state.measurement
    assert run is not None
    shown: dict[str, Any] = {"id": run.id, "kind": str(run.kind), "phase": run.phase, "at": run.at}
    if run.why:
        shown["why"] = run.why
    if measured is not None and measured.run == run.id:
        metrics = measured.measured.metrics
        shown |= {name: metrics[name] for name in _TOTALS if name in metrics}
    return shown


def _show_verdict(evaluation: Evaluation) -> dict[str, Any]:
    """Return what a verdict says, and what keeps Gate 1 closed."""
    gate_1 = evaluation.gate_1
    unmet = [] if gate_1.is_open else [clause.text for clause in gate_1.clauses if not clause.met]
    unmet += [guard.name for guard in gate_1.guards if not guard.met]
    return {
        "status": evaluation.status,
        "reason": evaluation.reason,
        "next": evaluation.next_command or evaluation.next_hint,
        "can_exit": evaluation.can_exit,
        "gate_1": "open" if gate_1.is_open else "closed",
        "gate_2": evaluation.gate_2.answer,
        **({"unmet": unmet} if unmet else {}),
    }
