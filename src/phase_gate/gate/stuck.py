"""The stuck report: the facts that a person needs to help after the breaker halted the work.

Pure. Made from the runs since the phase was entered: current failures, attempts, and decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phase_gate.gate.advice import breaker_command, waive_command
from phase_gate.gate.breaker import Breaker
from phase_gate.values import Value, field
from phase_gate.workflow.names import of_task

#: Maximum number of failing tests in a report.
_NAMED = 10


class Tried(Value):
    """One complete run of the phase."""

    run: str
    at: str
    iteration: int
    failing: int
    passing: int
    #: Files that changed since the previous run; None if that is not known.
    changed: tuple[str, ...] | None = None
    #: Failing tests with their messages.
    failures: Mapping[str, str] = field(default_factory=dict)
    guards: tuple[str, ...] = ()
    #: Unmet clauses of Gate 1.
    clauses: tuple[str, ...] = ()

    @property
    def is_closed(self) -> bool:
        return bool(self.failing or self.guards or self.clauses)


class StuckReport(Value):
    """The fields are those of its document."""

    task: str
    phase: str
    #: The circuit: its status, the reason, and since when.
    state: str
    reason: str
    since: str
    failed_iterations: int
    failing_now: Mapping[str, str]
    guards_now: tuple[str, ...]
    #: If no test fails and every guard is met.
    clauses_now: tuple[str, ...]
    tried: tuple[Tried, ...]
    decisions: tuple[str, ...]


def describe_stuck(task: str, phase: str, breaker: Breaker, tried: Sequence[Tried], *, back: str = "") -> StuckReport:
    """Return the report on a phase from its runs, oldest first.

    :param back: the command to return to the phase where tests are written; empty if the workflow has no such phase.
    """
    last = tried[-1] if tried else None
    return StuckReport(
        task=task,
        phase=phase,
        state=str(breaker.status),
        reason=breaker.reason,
        since=breaker.opened_at,
        failed_iterations=sum(each.is_closed for each in tried),
        failing_now={} if last is None else dict(list(last.failures.items())[:_NAMED]),
        guards_now=() if last is None else last.guards,
        clauses_now=() if last is None or last.failing or last.guards else last.clauses,
        tried=tuple(tried),
        decisions=_what_to_decide(task, phase, breaker, last, back),
    )


def _what_to_decide(task: str, phase: str, breaker: Breaker, last: Tried | None, back: str) -> tuple[str, ...]:
    questions = []
    if last is not None and last.guards:
        waive = " or ".join(waive_command(guard, task) for guard in last.guards)
        questions.append(f"Is what {', '.join(last.guards)} found right? Then take it back, else: {waive}")
    if last is not None and last.failing:
        wrong = of_task('phase-gate signal --test-wrong --reason "..."', task)
        questions.append(f"Is a test wrong? Then: {wrong}, correct it{f', {back}' if back else ''}")
        questions.append("Is something missing that the work needs (a decision, access, a dependency)?")
    if not breaker.is_open:
        return (*questions, "Does the next run try something else?")
    questions.append(f"Try once more, with help: {breaker_command('reset', task)}")
    return (*questions, f"Give {phase} up, on the record: {breaker_command('skip', task)}")
