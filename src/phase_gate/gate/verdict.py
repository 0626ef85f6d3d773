"""The verdict of one iteration as a value, stored unchanged in state and ledger; and the ways out of a closed gate.

Pure. Code uses the status; the sentences are for people only. Commands fit the task's own workflow: they never name a
phase that it does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.codec import spell_out, spell_out_each
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import Finding, Table
from phase_gate.values import Literal, Value, as_dict, field, fields, replace
from phase_gate.workflow.names import of_task, signal_command, step_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.workflow.conditions import Clause
    from phase_gate.workflow.metrics import MetricValue
    from phase_gate.workflow.model import Phase, Workflow

    Json = Mapping[str, Any]
else:
    Json = dict

#: Version of the evaluation as JSON.
SCHEMA = 1

PREMATURE = "Exit signal set but Gate 1 not satisfied"

Status = Literal[
    "unstarted",  # no run or verdict of the present phase yet
    "running",  # a run has not ended yet
    "stale",  # something came after the last verdict
    "void",  # the run did not count
    "closed",  # Gate 1 is closed
    "early",  # the exit signal came while Gate 1 was closed
    "failed",  # the gate of a pipeline, or an attempt at a verify task, failed, and another try follows
    "waiting",  # Gate 1 is open, Gate 2 is not; or a verify task waits for its executor, its command or its reviewer
    "open",  # the phase has exited
    "needs-person",  # the signal, or a verify task, asks for a person
    "halted",  # the circuit is open
    "stuck",  # a pipeline has spent its recoveries
]

_LEADS: Mapping[str, str] = {
    "void": "not done: ",
    "closed": "not done: ",
    "early": "signal came too early: ",
    "needs-person": "stop: ",
    "halted": "halt: ",
}


#: The hint after the signal command: a signal should have a reason.
SAY_WHY = '--reason "..." adds a reason'


def show_verdict(status: str, reason: str) -> str:
    """Return a verdict as a sentence."""
    return f"{_LEADS.get(status, '')}{reason}"


#: Statuses in which the same command alone would be refused again: the hint names the change to make, and comes first.
HINT_FIRST = frozenset({"void", "closed", "early", "needs-person"})


#: What to do after a run in which no test ran: the same run alone would change nothing.
LET_ONE_RUN = "let a test run: write one, restore its file, or stop skipping it"


def show_next(command: str, hint: str, status: str = "") -> str:
    """Return the next step in one line.

    :param status: of the verdict that it follows from; without one, the line can be copied as a whole, because a shell
        treats the text after # as a comment.
    """
    if not command or not hint:
        return command or hint
    return f"{hint}, then run: {command}" if status in HINT_FIRST else f"{command}  # {hint}"


class Verdict(Value, kw_only=False):
    """The status of a task, the reason, and the next step: from an iteration, or from a later check."""

    status: Status
    reason: str
    #: A command that can be typed unchanged, or empty.
    next_command: str = ""
    #: A sentence for people, or empty: what to do first, or instead; if the gate is open, the purpose of the command.
    next_hint: str = ""

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        return show_verdict(self.status, self.reason)

    @property
    def advice(self) -> dict[str, Any]:
        """Status, reason and next step: the common part of the JSON output of all commands."""
        return {name: getattr(self, name) for name in fields(Verdict)}

    @property
    def next_step(self) -> str:
        """The next command, the hint, or both, in one line."""
        return show_next(self.next_command, self.next_hint, self.status)


# --- Gate 2: the explicit answer, and whether it is for this iteration. It is given on purpose, and never inferred

Answer = Literal["absent", "done", "not-done", "blocked", "test-wrong", "malformed", "stale", "refused", "held"]

#: Answers that call for a person. They never open a gate, so they are accepted at any time.
CALLS = frozenset({"blocked", "test-wrong"})

#: The display text of each answer.
ANSWERS: dict[str, str] = {
    "absent": "absent",
    "done": "given",
    "not-done": "not done",
    "blocked": "blocked",
    "test-wrong": "test wrong",
    "malformed": "malformed",
    "stale": "stale",
    "refused": "refused",
    "held": "held for the last run",
}


class Signal(Value):
    """An answer at Gate 2: as it was given, or as an iteration was evaluated with it."""

    answer: Answer = "absent"
    reason: str = ""
    by: str = ""
    #: Its iteration, as far as the signal names one.
    phase: str | None = None
    task: str | None = None
    iteration: int | None = None
    #: Why the answer does not count, if it does not.
    problem: str = ""
    #: The digest and time of its file, if it came from one: the file is spent with it, and a later one with the same
    #: text has another identity. Empty as well if the file can't be read.
    file: str = ""

    @property
    def is_done(self) -> bool:
        return self.answer == "done"

    @property
    def calls_person(self) -> bool:
        return self.answer in CALLS

    def for_iteration(self, *, phase: str, task: str, iteration: int) -> Signal:
        """Return the answer for this iteration; stale if the signal is for another one."""
        for name, wanted in {"phase": phase, "task": task, "iteration": iteration}.items():
            given = getattr(self, name)
            if given is not None and given != wanted:
                return replace(self, answer="stale", problem=f"it is for {name} {given}, this is {name} {wanted}")
        return self


ABSENT = Signal()


def strictest(first: Signal, second: Signal) -> Signal:
    """Return the signal that counts if two were given at once: any answer other than done takes precedence."""
    if first.answer == "absent":
        return second
    if second.answer == "absent" or first.answer != "done":
        return first
    return second


class GuardResult(Value):
    name: str
    met: bool | None = True
    detail: str = ""
    #: What to do, and the alternatives.
    remedy: str = ""
    waived: bool = False

    @property
    def passes(self) -> bool:
        return self.met is True or self.waived


class Gate1Result(Value):
    is_open: bool
    name: str
    condition: str
    #: Values of the names in the condition, as far as they are known.
    values: Mapping[str, MetricValue]
    guards: tuple[GuardResult, ...] = ()
    replaced: bool = False

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The result of each clause of the condition: computed for display, and not stored."""
        # Here, not above: most readers of a verdict need no clause.
        from phase_gate.workflow.conditions import evaluate

        return evaluate(self.condition, self.values).clauses


Source = Literal["declared", "measured"]


class Fact(Value):
    """A fact that a person declared for a phase; or, in a verdict, the measured value of one."""

    name: str
    value: MetricValue
    source: Source = "declared"
    by: str = ""
    reason: str = ""
    at: str = ""

    @property
    def who(self) -> str:
        return f"declared by {self.by}" if self.source == "declared" else self.source


class Evaluation(Verdict):
    """The verdict of one iteration, with all data for a renderer."""

    task: str
    cycle: int
    phase: str
    #: None for a run that did not count.
    iteration: int | None
    run: str | None
    timestamp: str
    #: The project's root: every report names it.
    root: str = ""
    run_kind: str = "complete"
    #: Why the run did not count, or how it was narrowed.
    run_note: str = ""
    gate_1: Gate1Result
    gate_2: Signal = ABSENT
    #: Measured values, and declared ones.
    metrics: Mapping[str, MetricValue] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    missing_extra: str = ""
    warnings: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    overrides: tuple[Json, ...] = ()
    forced_exit: bool = False
    breaker: Breaker = Breaker()

    @property
    def can_exit(self) -> bool:
        return self.forced_exit or (
            self.iteration is not None and self.gate_1.is_open and self.gate_2.is_done and not self.breaker.is_open
        )

    @property
    def is_premature(self) -> bool:
        return self.gate_2.is_done and not self.gate_1.is_open


def with_advice(evaluation: Evaluation, advice: Verdict) -> Evaluation:
    """Return the verdict with another status, reason and next step."""
    return replace(evaluation, **as_dict(advice))


def ask_gate_1_only(evaluation: Evaluation) -> Evaluation:
    """Return the verdict for a step that needs only Gate 1: once that is open, nothing is left to do."""
    if evaluation.status != "waiting" or not evaluation.gate_1.is_open:
        return evaluation
    return with_advice(evaluation, Verdict("waiting", "Gate 1 is open: this step asks for no more"))


def evaluation_to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the evaluation as the published schema describes it."""
    gate_1, gate_2, breaker = evaluation.gate_1, evaluation.gate_2, evaluation.breaker
    return {
        "schema": SCHEMA,
        **{name: row for name, row in spell_out(evaluation).items() if name != "missing_extra"},
        "gate_1": {**_opened(gate_1, gate_1.is_open), "clauses": spell_out_each(gate_1.clauses)},
        "gate_2": {**_opened(gate_2, gate_2.is_done), "source": "explicit_signal"},
        "can_exit": evaluation.can_exit,
        "breaker": {
            "state": str(breaker.status),
            "since": breaker.opened_at,
            **{name: getattr(breaker, name) for name in ("no_progress", "same_error", "exit_blocked", "reason")},
        },
    }


def _opened(gate: Gate1Result | Signal, is_open: bool) -> dict[str, Any]:
    inner = ("is_open", "file", "phase", "task", "iteration")
    return {
        "satisfied": is_open,
        "open": is_open,
        **{name: each for name, each in spell_out(gate).items() if name not in inner},
    }


# --- the commands for phases, and the verdict with an open Gate 1; `gate.advice` has the others


def phase_command(phase: Phase, task: str) -> str:
    """Return the command that enters or evaluates a phase: a run, or a check if it needs no tests."""
    return step_command(phase.name, task, takes_run=phase.tests != "none")


def start_command(workflow: Workflow, task: str) -> str:
    """Return the command that begins a cycle: only a pipeline begins without a run."""
    takes_run = workflow.first.tests != "none" or workflow.pipeline is None
    return step_command(workflow.first.name, task, takes_run=takes_run)


def advise_open(evaluation: Evaluation, workflow: Workflow, phase: Phase) -> Verdict:
    """Return the verdict if Gate 1 is open and no person is needed: it depends on the signal."""
    reading, task = evaluation.gate_2, evaluation.task
    again = phase_command(phase, task)
    if reading.is_done:
        done = ", the cycle is done" if workflow.phase(phase.next) is None else ""
        reason = f"both gates are open: {phase.name} has exited{done}"
        return Verdict("open", reason, *after_exit(workflow, phase, phase.next, task))
    if reading.answer == "not-done":
        why = f" ({reading.reason})" if reading.reason else ""
        return Verdict("waiting", f"Gate 1 is open, but the signal reports not done{why}", again, "once it is done")
    if reading.answer == "held":
        return Verdict("waiting", "Gate 1 is open; the signal applies to the last confirming run", again)
    reason = "Gate 1 is open; Gate 2 waits for the exit signal"
    if reading.answer != "absent":
        reason = f"Gate 1 is open, but the exit signal is {reading.answer}: {reading.problem}"
    if reading.answer == "malformed":
        # The file stays: a misspelled veto can't be distinguished from other content.
        withdraw = of_task("phase-gate withdraw", task)
        return Verdict("waiting", reason, signal_command(task), f"after fixing the file, or {withdraw}")
    return Verdict("waiting", reason, signal_command(task), SAY_WHY)


def after_exit(workflow: Workflow, phase: Phase, following: str, task: str) -> tuple[str, str]:
    """Return the command after the exit of a phase, and a hint.

    :param following: the name of the phase that follows.
    """
    first, entered = start_command(workflow, task), workflow.phase(following)
    if entered is None:
        return first, "starts the next cycle"
    return phase_command(entered, task), f"or {first} for the next cycle" if phase.may_end_cycle else ""
