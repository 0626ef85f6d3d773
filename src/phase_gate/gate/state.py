"""The state of a task, and its events: values only. `gate.events` has the effect of each event."""

from __future__ import annotations

from collections.abc import Mapping

from phase_gate.codec import from_json, to_json
from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import Finding, Measured, Waiver
from phase_gate.gate.verdict import ABSENT, Evaluation, Fact, Signal
from phase_gate.values import Value, field, replace
from phase_gate.workflow.names import DONE, STUCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from phase_gate.gate.state_extensions import Part
    from phase_gate.workflow.metrics import MetricValue
    from phase_gate.workflow.model import Phase, Workflow

    Json = Mapping[str, Any]
else:
    Json = dict

#: The parts of a state: the work of a pipeline or a verify task, and a drive.
WORK = "work"
DRIVE = "drive"

#: Increase it when the same events give a different document, or when `gate.brief` omits different values.
SCHEMA = 24


class Event(Value):
    """One event in the history of a task."""

    kind: str
    data: Json
    at: str = ""


class Run(Value):
    """A run that has begun, or the last one that ended."""

    id: str
    phase: str
    #: When it began; when it ended, if it has.
    at: str
    #: The tree that it began on.
    tree: str = ""
    nested: bool = False
    overlaps: bool = False
    #: A run in the first phase in the middle of a cycle: it rewinds if it turns out to be complete.
    rewinds: bool = False
    #: Seconds after which other machines consider it lost.
    limit: float = 0.0
    #: Once it has ended: its kind, and why it is not complete.
    kind: str = ""
    why: str = ""
    iteration: int | None = None


class Measurement(Value):
    """The measurements of the last complete run of this phase: a later signal is evaluated with them."""

    run: str
    iteration: int
    tree: str
    #: All metrics; findings, notes and tables without those of providers.
    measured: Measured
    #: The measurements of providers.
    evidence: Mapping[str, Measured] = field(default_factory=dict)
    #: Duration of the targets in seconds; None if it was not recorded.
    targets_s: float | None = None


class Snapshot(Value):
    """Tests and outcomes of one complete run, as digests of stored objects."""

    inventory: str
    outcomes: str
    #: Platform, Python and packages; empty if they were not recorded.
    surroundings: str = ""


class ProofRecord(Value):
    """The last proof of the current phase, and its subject."""

    #: The files it was made with, and the freeze whose tests it ran.
    tree: str
    freeze: str | None
    #: Object with the whole proof.
    object: str
    iteration: int
    metrics: Mapping[str, MetricValue]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    #: Why the experiment was not possible; empty if it was.
    problem: str = ""


class Freeze(Value):
    """The tests of the first phase, which later phases may not change: objects by their digests."""

    #: The reference for later phases.
    current: str | None = None
    #: The reference after this phase's exit.
    upcoming: str | None = None
    #: The freeze that a rewind withdrew.
    withdrawn: str | None = None
    #: The reference of the previous cycle.
    before: str | None = None
    #: The bodies that were red, and the modules that were missing.
    red_bodies: str | None = None
    #: The texts of the cycle's test files in RED.
    red_sources: str | None = None
    #: The first phase has exited in this cycle.
    red_exited: bool = False

    @property
    def would_withdraw(self) -> str | None:
        """The freeze that a return to the first phase withdraws."""
        # Without that exit no test was red, so no test in the freeze of a later phase is finished.
        return self.current if self.red_exited else self.withdrawn


class Memory(Value):
    """Remembered references: objects by the names of the providers that compare with them."""

    #: At the start of the cycle, and of the phase.
    cycle: Mapping[str, str] = field(default_factory=dict)
    phase: Mapping[str, str] = field(default_factory=dict)
    #: After the last complete run of the phase.
    run: Mapping[str, str] = field(default_factory=dict)
    #: At the end of the phase: the start of the next one, even if its first run is much later.
    exit: Mapping[str, str] = field(default_factory=dict)


class Claims(Value):
    """The claims in the current phase."""

    #: The last claim: its iteration, its metrics, and leniency by settings or a person.
    iteration: int | None = None
    metrics: Mapping[str, MetricValue] = field(default_factory=dict)
    leniency: tuple[str, ...] = ()
    #: Iterations with a claim that had little evidence, and consecutive done signals.
    low: int = 0
    done: int = 0
    #: The iterations in which each was last counted, and the one of the last blocked claim.
    low_in: int | None = None
    done_in: int | None = None
    blocked_in: int | None = None


class State(Value):
    task: str = "default"
    workflow: str = ""
    cycle: int = 0
    #: The folder of an open cycle had been removed when this cycle began.
    vanished: bool = False
    phase: str | None = None
    visited: tuple[str, ...] = ()
    iteration: int = 0
    exited: bool = False
    forced: bool = False
    #: Why the task is stuck; empty if it is not.
    stuck: str = ""
    #: Complete green runs of the phase without changes in between, and their tree; None after a change.
    streak: int = 0
    streak_tree: str | None = None
    #: The tree after the last recorded run, if that is known, and after the last complete green run.
    last_tree: str | None = None
    green_tree: str | None = None
    open_runs: tuple[Run, ...] = ()
    #: The last run that ended, of any kind; nested runs are not counted.
    last_run: Run | None = None
    measurement: Measurement | None = None
    evaluation: Evaluation | None = None
    #: True once anything ran or was entered after the evaluation was made.
    evaluation_is_stale: bool = False
    facts: tuple[Fact, ...] = ()
    #: Object with the tests that the task knows, from the last complete run that changed them.
    known_tests: str | None = None
    #: The start of the cycle; and the last complete run, which is the next cycle's baseline.
    baseline: Snapshot | None = None
    latest_snapshot: Snapshot | None = None
    #: The first complete run of the cycle: skips and xfails that existed from the start.
    first_snapshot: Snapshot | None = None
    #: Object with the ids of the cycle's targets, from the last complete run in the first phase.
    targets: str | None = None
    #: Known failures that have passed in this cycle: they may not fail again.
    recovered: tuple[str, ...] = ()
    #: Object with the criteria and their tests, from the last complete run.
    criteria: str | None = None
    #: The value of --phase-criteria, with a path from the root: it applies until a new one is typed.
    criteria_file: str = ""
    freeze: Freeze = Freeze()
    #: Object with the files in test folders that runs have written: they are never frozen.
    outputs: str | None = None
    #: Files that runs have imported and that the tree does not show; their contents are part of it.
    beside: tuple[str, ...] = ()
    #: Files that options of runs name as their reports; folders end with a slash. They are not part of the tree.
    reports: tuple[str, ...] = ()
    signals_premature: int = 0
    #: The signal file that was last read, refused or withdrawn: it is never read again, even if it still exists.
    spent_signal: str | None = None
    #: Decisions of people against the evidence in this cycle.
    waivers: tuple[Waiver, ...] = ()
    overrides: tuple[Json, ...] = ()
    #: The value of the setting when the cycle began.
    allow_non_interactive: bool = False
    #: Object with the rules of the last run.
    rules: str | None = None
    memory: Memory = Memory()
    breaker: Breaker = Breaker()
    claims: Claims = Claims()
    proof: ProofRecord | None = None
    #: Shares of the state that features own, by their names; most tasks have none.
    parts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict_now(self) -> Evaluation | None:
        """The verdict on the current phase, until anything runs or is entered after it."""
        evaluation = None if self.evaluation_is_stale else self.evaluation
        return evaluation if evaluation is not None and evaluation.phase == self.phase else None

    @property
    def is_doubted(self) -> bool:
        """Whether a repair or an accepted rollback came after the last verdict, and no run since."""
        # Both forget what the runs left. So does a lost run, and the next run of any other kind tells it again.
        last = self.last_run
        was_left = self.last_tree is not None or self.measurement is not None
        return self.evaluation_is_stale and not was_left and last is not None and last.kind != "lost"

    @property
    def is_done(self) -> bool:
        return self.phase == DONE

    @property
    def is_stuck(self) -> bool:
        return self.phase == STUCK

    @property
    def work(self) -> Any:
        """The work of a pipeline or a verify task; None for every other task."""
        return self.parts.get(WORK)

    @property
    def is_pipeline(self) -> bool:
        return self.work is not None and bool(self.work.is_pipeline)

    @property
    def is_verify_task(self) -> bool:
        return self.work is not None and not self.work.is_pipeline

    def open_run(self, run: str) -> Run | None:
        return next((each for each in self.open_runs if each.id == run), None)


NEW_STATE = State()


class Case(Value):
    """The input of a verdict: the task with its phase and rules, the answer at Gate 2, time and place."""

    state: State
    workflow: Workflow
    phase: Phase
    at: str
    root: str = ""
    reading: Signal = ABSENT


# --- the state as JSON, and back; the same state always gives the same document


def state_to_json(state: State) -> dict[str, Any]:
    return to_json(state)


def state_from_json(document: Json) -> State:
    """Return the state that `state_to_json` wrote. Raises KeyError, TypeError or ValueError for any other document."""
    state = from_json(State, document)
    # Only the parts have the types of their shares.
    return replace(state, parts={name: load_part(name).read(row) for name, row in state.parts.items()})


# --- parts: features that own a share of a task's state. `gate` uses this table, and imports no feature

#: The module of each part, and the event that begins it. It is loaded only if a task has the part.
PARTS: Mapping[str, tuple[str, str]] = {
    WORK: ("phase_gate.tasks.state_extension", "task-taken"),
    DRIVE: ("phase_gate.drive.drive_state", "drive-started"),
}


def load_part(name: str) -> Part:
    """Return a part by its name. Raises KeyError for one that is not in the table."""
    from importlib import import_module

    part: Part = import_module(PARTS[name][0]).PART
    return part


def pipeline_part(workflow: Workflow) -> Part | None:
    """Return the part that a cycle of the workflow has: only a pipeline has one."""
    return None if workflow.pipeline is None else load_part(WORK)


def change_parts(parts: Mapping[str, Any], event: Event) -> Mapping[str, Any]:
    """Return the parts after one more event. A missing part begins with its own event, or with data of its name."""
    changed = {}
    for name, (_, begins) in PARTS.items():
        value = parts.get(name)
        if value is not None or event.kind == begins or name in event.data:
            value = load_part(name).reduce(value, event)
        if value is not None:
            changed[name] = value
    return changed
