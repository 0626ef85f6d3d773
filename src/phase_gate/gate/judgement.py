"""Judge one iteration of a task: its state, its rules and what was measured become a verdict here, and nowhere else.

Pure. What was measured, and what follows from the verdict, the callers say: the end of a run, a signal that comes after
it, a look without a run, a forced exit, a step of a verify task.
"""

from __future__ import annotations

from phase_gate.gate.evaluation import Evaluation, Subject, evaluate
from phase_gate.gate.measured import Measured
from phase_gate.gate.signals import Reading
from phase_gate.gate.state import State
from phase_gate.workflow.model import Phase, Workflow


def judge_iteration(
    state: State,
    workflow: Workflow,
    phase: Phase,
    measured: Measured,
    reading: Reading,
    *,
    iteration: int | None,
    run: str | None,
    at: str,
    root: str,
    kind: str = "complete",
    why: str = "",
) -> Evaluation:
    """Return the verdict on an iteration, without what the breaker and the task's parts make of it.

    :param iteration: None for a run that did not count.
    :param kind: what kind of run it was, and why it did not count or how it was narrowed.
    """
    subject = Subject(
        task=state.task,
        cycle=state.cycle,
        phase=phase.name,
        iteration=iteration,
        run=run,
        at=at,
        root=root,
        kind=kind,
        why=why,
    )
    return evaluate(
        workflow,
        phase,
        subject,
        measured,
        reading,
        facts=state.facts,
        waivers=state.overrides.waivers,
        overrides=state.overrides.others,
    )
