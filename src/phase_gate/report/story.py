"""The story of a task as one value: everything that a long report shows. Pure; `story_builder` makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from phase_gate.gate.breaker import Breaker
from phase_gate.gate.measured import Section
from phase_gate.values import Value, field
from phase_gate.visible import count
from phase_gate.workflow.names import DONE

if TYPE_CHECKING:
    from phase_gate.gate.freshness import CurrentStatus
    from phase_gate.gate.state import State
    from phase_gate.gate.verdict import Evaluation

#: What else happened; `entered`, `claim` and `note` have no sign in the timeline.
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
SIGNED = tuple(kind for kind in get_args(HappeningKind) if kind not in ("entered", "claim", "note"))

#: Letters of a test's history: how it ended in one run.
CELL_WORDS: Mapping[str, str] = {
    "p": "passed",
    "f": "failed",
    "k": "passed after a rerun",
    "s": "skipped",
    ".": "not there",
}
ABSENT = "."


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
    #: `green`, `not-green` or `odd`; empty if the run has not ended.
    green: str = ""
    #: Green runs in a row after it, and whether it ended a streak.
    streak: int = 0
    resets: bool = False
    seconds: float | None = None
    #: Why it does not count, or the verdict on it.
    says: str = ""
    can_exit: bool | None = None
    #: The first files that changed before it, and how many changed; None if that is not known.
    changed: tuple[str, ...] = ()
    changed_count: int | None = None

    @property
    def counts(self) -> bool:
        return self.iteration is not None

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped

    @property
    def outcome(self) -> str:
        """How it ended, in a word or two."""
        return self.green.replace("-", " ") if self.counts else self.kind

    @property
    def tests(self) -> str:
        named = ((self.passed, "passed"), (self.failed, "failed"), (self.skipped, "skipped"))
        return ", ".join(f"{number} {name}" for number, name in named if number) or "no tests"

    @property
    def title(self) -> str:
        streak = f", streak {self.streak}" if self.counts else ""
        return f"Run {self.number}: {self.phase}, {self.outcome}, {self.tests}{streak}"


class Happening(Value):
    """Something between the runs that changed the state of the task."""

    #: The run that began last before it; 0 before the first.
    run: int
    at: str
    kind: HappeningKind
    text: str


class TestRow(Value):
    """One test over the last complete runs."""

    __test__ = False

    id: str
    #: One letter of `CELL_WORDS` per run.
    cells: str
    #: It passed and failed on the same files, or passed only after a rerun.
    is_flaky: bool = False
    is_failing: bool = False
    failures: int = 0

    @property
    def in_words(self) -> str:
        seen = self.cells.replace(ABSENT, "")
        letters = sorted(dict.fromkeys(seen), key=lambda letter: -seen.count(letter))
        counts = ", ".join(f"{seen.count(letter)} {CELL_WORDS[letter]}" for letter in letters)
        return f"{counts} in {count(len(self.cells.strip(ABSENT)), 'run')}"


class TestHistory(Value):
    __test__ = False

    #: Numbers of the complete runs in the cells, oldest first.
    runs: tuple[int, ...] = ()
    rows: tuple[TestRow, ...] = ()
    #: Tests that are not listed and passed in each of these runs.
    quiet: int = 0
    #: Tests that are not listed and did not always pass.
    left_out: int = 0


class Series(Value):
    """A number over the runs."""

    name: str
    unit: str
    #: Numbers of runs, and the value in each.
    points: tuple[tuple[int, float], ...]


class PhaseStep(Value):
    name: str
    standing: Literal["past", "now", "exited", "ahead"]


class LedgerCheck(Value):
    """The result of verifying every line of the ledger."""

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
    #: When it was read.
    at: str
    standing: CurrentStatus
    ledger: LedgerCheck
    state: State
    steps: tuple[PhaseStep, ...] = ()
    #: The last verdict.
    evaluation: Evaluation | None = None
    breaker: Breaker = Breaker()
    runs: tuple[Run, ...] = ()
    #: Runs that are too old to be listed.
    runs_left_out: int = 0
    happenings: tuple[Happening, ...] = ()
    happenings_left_out: int = 0
    tests: TestHistory = TestHistory()
    #: The traceability table, as `phase-gate status --criteria` shows it.
    criteria: Mapping[str, Any] | None = None
    trend: tuple[Series, ...] = ()
    #: The last proof of each phase of this cycle, as stored.
    proofs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Sections of other features, shown as they are.
    more: tuple[Section, ...] = ()

    @property
    def next_step(self) -> tuple[str, str]:
        """The next command and a hint; either may be empty. A damaged ledger comes first."""
        if self.ledger.remedy:
            return "", self.ledger.remedy
        return self.standing.next_command, self.standing.next_hint

    @property
    def all_runs(self) -> int:
        return len(self.runs) + self.runs_left_out

    @property
    def headline(self) -> str:
        """The state of the task in a few words."""
        if not self.ledger.is_intact:
            return "This record can't be trusted"
        phase = self.state.phase
        if phase is None:
            return "Nothing is recorded yet"
        if phase == DONE:
            return "The cycle is done"
        if self.standing.is_halted:
            return f"{phase} is halted"
        if self.standing.is_open:
            return f"{phase} may end"
        waits = {"waiting": "waits for the signal", "needs-person": "needs a person"}
        return f"{phase} {waits.get(self.standing.status, 'is in progress')}"

    @property
    def tone(self) -> str:
        if not self.ledger.is_intact or self.standing.is_halted:
            return "bad"
        return "good" if self.standing.is_open else "open"


def short_time(at: str) -> str:
    """Return date and time to the minute, in UTC like every time in the record."""
    return at[:16].replace("T", " ")
