"""Decisions of a person against the evidence: recorded, and shown in every later verdict of the cycle.

And what a person needs to know to decide about halted work. Pure. The command passes who decides, and whether at a
terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from phase_gate.errors import NotAllowedError, UsageError
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.judging import evaluate, judged_event, update
from phase_gate.gate.measured import Measured
from phase_gate.gate.order import next_phase
from phase_gate.gate.state import Case, Event, State
from phase_gate.gate.verdict import Evaluation, Verdict, after_exit, with_advice
from phase_gate.values import Value, field, replace
from phase_gate.workflow.model import Phase, Workflow
from phase_gate.workflow.names import of_task

Kind = Literal["skip", "force", "breaker-reset", "guidance", "rollback-accept"]

#: The words to type before everything is overridden.
WORD = "OVERRIDE"

#: Phrases that give no reason. A person who overrides has to explain why this case is different.
_EXCUSES = re.compile(
    r"(?:it |this |that )?(?:just |probably |should )?(?:works?|is fine|looks good(?: to me)?|is done|done|ok(?:ay)?|"
    r"lgtm|good enough|trust me|because|none|n/a|x+|(?:small|minor|trivial) change|no time|later|"
    r"(?:the )?tests? takes? too long)\W*",
    re.IGNORECASE,
)


def is_excuse(reason: str) -> bool:
    """Return whether the text gives no reason."""
    return _EXCUSES.fullmatch(" ".join(reason.split())) is not None


class Person(Value):
    """The person who requests an override, and the reason."""

    by: str
    reason: str
    #: False for a script, or an agent's command.
    is_at_terminal: bool

    def require(self, state: State, what: str, *, always: bool = False) -> None:
        """Refuse an override without a good reason, a name, or a person at a terminal.

        :param always: even if the state allows scripts, because the state can't be trusted.
        """
        if not self.reason.strip():
            raise UsageError(f"{what} needs a reason", remedy='add --reason "..."')
        if not self.by.strip():
            raise UsageError(f"{what} needs a name", remedy="add --by NAME")
        if not self.is_at_terminal and (always or not state.allow_non_interactive):
            raise NotAllowedError(
                f"{what} is for a person at a terminal",
                remedy="type it yourself at a terminal"
                if always
                else "type it yourself; to allow scripts, set overrides.allow_non_interactive before the cycle begins",
            )
        if is_excuse(self.reason):
            raise NotAllowedError(
                f"{self.reason.strip()!r} is no reason to override what was measured",
                remedy="give a fact that the gate can't see",
            )


def override_record(kind: Kind, state: State, *, reason: str, by: str, at: str) -> dict[str, Any]:
    return {"kind": kind, "phase": state.phase, "iteration": state.iteration, "reason": reason, "by": by, "at": at}


def forced_events(
    state: State, workflow: Workflow, phase: Phase, record: Mapping[str, Any], *, root: str
) -> tuple[Evaluation, list[Event]]:
    """Return the verdict of a phase that a person ends, and its events."""
    at, last = str(record["at"]), state.measurement
    overridden = replace(state, overrides=(*state.overrides, record))
    case = Case(state=overridden, workflow=workflow, phase=phase, at=at, root=root)
    seen, run = (Measured(), None) if last is None else (update(state, last), last.run)
    evaluation = evaluate(case, seen, iteration=state.iteration, run=run)
    word, mark = ("skipped", " (forced)") if record["kind"] == "skip" else ("forced", "")
    name = next_phase(state, workflow, phase)[0]
    reason = f"{phase.name} was {word} by {record['by']}{mark}: {record['reason']}"
    advice = Verdict("open", reason, *after_exit(workflow, phase, name, state.task))
    evaluation = replace(with_advice(evaluation, advice), forced_exit=True)
    data = {
        "phase": phase.name,
        "iteration": state.iteration,
        "next": name,
        "forced": True,
        # Without a complete run there is nothing to freeze: the first run of the next phase becomes the reference.
        "freezes": phase.scope == "targets" and state.freeze.upcoming is not None,
    }
    return evaluation, [
        Event(kind="overridden", data=dict(record), at=at),
        judged_event(evaluation, at=at, by_person=True),
        Event(kind="phase-exited", data=data, at=at),
    ]


# --- the stuck report: current failures, attempts and decisions, made from the runs since the phase was entered


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
    from phase_gate.gate.advice import breaker_command, waive_command  # here, not above: most decisions need no report

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
