"""The story of a task, as one value: what a report shows, whatever it looks like. Pure; `builder` makes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import Section
from phase_gate.values import Value, field

if TYPE_CHECKING:
    from phase_gate.gate.standing import Standing


#: What a happening is; the timeline has a sign for each.
HappeningKind = Literal[
    "entered",
    "exited",
    "forced",
    "signal",
    "too-early",
    "not-done",
    "needs-person",
    "override",
    "breaker-open",
    "breaker-half-open",
    "breaker-closed",
    "rewound",
    "claim",
    "note",
]


class Run(Value):
    """One run, in the order in which they began."""

    #: From 1, over the whole life of the task.
    number: int
    id: str
    at: str
    phase: str
    cycle: int
    kind: str = "open"
    iteration: int | None = None
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    #: What the run says about the suite; empty if it has not ended.
    green: str = ""
    #: Greens in a row after it, and whether it ended a streak.
    streak: int = 0
    resets: bool = False
    seconds: float | None = None
    exit_status: int | None = None
    #: Why it does not count, or the verdict on it.
    says: str = ""
    gate_1: bool | None = None
    can_exit: bool | None = None
    #: Files that changed before it, as far as they are named, and how many there are; None if that is not known.
    changed: tuple[str, ...] = ()
    changed_count: int | None = None

    @property
    def counts(self) -> bool:
        return self.iteration is not None

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped


class Happening(Value):
    """Something beside the runs that changed how the task stands."""

    #: The run that began last by then; 0 before the first.
    run: int
    at: str
    kind: HappeningKind
    text: str


class TestRow(Value):
    """One test over the last complete runs."""

    #: pytest would take a class of this name for a test.
    __test__ = False

    id: str
    #: One letter a run, of `ids_over_time.LETTERS`; a dot where it was not there.
    cells: str
    #: It ended in two ways on the same files, or passed only after a rerun.
    is_flaky: bool = False
    is_failing: bool = False
    failures: int = 0


class TestHistory(Value):
    __test__ = False

    #: Numbers of the complete runs that the cells stand for, oldest first.
    runs: tuple[int, ...] = ()
    rows: tuple[TestRow, ...] = ()
    #: Tests that are not listed: all of them passed in each of these runs.
    quiet: int = 0
    #: Tests that are not listed, and did not always pass.
    left_out: int = 0


class Series(Value):
    """A number over the runs."""

    name: str
    unit: str
    #: Numbers of runs, and what was measured in them.
    points: tuple[tuple[int, float], ...]
    #: Which way is better: -1 less, 1 more, 0 neither.
    better: int = 0


class PhaseStep(Value):
    name: str
    standing: Literal["past", "present", "exited", "ahead"]


class LedgerCheck(Value):
    """What verifying every line of the ledger gave."""

    events: int
    head: str = ""
    problem: str = ""
    remedy: str = ""

    @property
    def is_intact(self) -> bool:
        return not self.problem


class Story(Value):
    task: str
    root: str
    #: When it was told.
    at: str
    standing: Standing
    ledger: LedgerCheck
    workflow: str = ""
    cycle: int = 0
    phase: str = ""
    iteration: int = 0
    streak: int = 0
    steps: tuple[PhaseStep, ...] = ()
    #: The last verdict, as its document.
    evaluation: Mapping[str, Any] | None = None
    breaker: Breaker = field(default_factory=Breaker)
    runs: tuple[Run, ...] = ()
    #: Runs that are too old to be listed.
    runs_left_out: int = 0
    happenings: tuple[Happening, ...] = ()
    happenings_left_out: int = 0
    tests: TestHistory = field(default_factory=TestHistory)
    #: The traceability table, as `phase-gate status --criteria` has it.
    criteria: Mapping[str, Any] | None = None
    trend: tuple[Series, ...] = ()
    #: The last proof of each phase of this cycle, as it was stored.
    proofs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Parts of special workflows: each is made elsewhere, and shown as it is.
    more: tuple[Section, ...] = ()

    @property
    def next_step(self) -> tuple[str, str]:
        """The next command and a hint, either of them may be empty. A damaged ledger comes first."""
        if self.ledger.remedy:
            return "", self.ledger.remedy
        return self.standing.next_command, self.standing.next_hint


# --- runs as the columns of a timeline, and their phases: however many runs there are, the columns are few


#: More would be too thin to point at.
AT_MOST = 200

#: Which happenings have a sign in the timeline; phases have bands.
SIGNED = tuple(kind for kind in get_args(HappeningKind) if kind not in ("entered", "claim", "note"))


class Column(Value):
    """One run, or some that follow each other: the worst of them is drawn."""

    runs: tuple[Run, ...]
    happenings: tuple[Happening, ...] = ()

    @property
    def worst(self) -> Run:
        return max(self.runs, key=lambda run: (run.failed, run.total))

    @property
    def first(self) -> Run:
        return self.runs[0]

    @property
    def last(self) -> Run:
        return self.runs[-1]

    @property
    def resets(self) -> bool:
        return any(run.resets for run in self.runs)


class Band(Value):
    """Columns of one phase, one after the other."""

    phase: str
    cycle: int
    first: int
    last: int


def columns_of(runs: Sequence[Run], happenings: Iterable[Happening], at_most: int = AT_MOST) -> tuple[Column, ...]:
    """Return the runs as at most so many columns, each with what happened by its end."""
    if not runs:
        return ()
    size = -(-len(runs) // at_most)
    begin = runs[0].number
    by_column: dict[int, list[Happening]] = {}
    for each in happenings:
        if each.kind in SIGNED and each.run >= begin:
            by_column.setdefault((each.run - begin) // size, []).append(each)
    return tuple(
        Column(runs=tuple(runs[start : start + size]), happenings=tuple(by_column.get(index, ())))
        for index, start in enumerate(range(0, len(runs), size))
    )


def bands_of(columns: Iterable[Column]) -> tuple[Band, ...]:
    """Return the phases below the columns. One with runs of several phases belongs to the last of them."""
    bands: list[Band] = []
    for index, column in enumerate(columns):
        phase, cycle = column.last.phase, column.last.cycle
        if bands and (bands[-1].phase, bands[-1].cycle) == (phase, cycle):
            bands[-1] = Band(phase=phase, cycle=cycle, first=bands[-1].first, last=index)
        else:
            bands.append(Band(phase=phase, cycle=cycle, first=index, last=index))
    return tuple(bands)
