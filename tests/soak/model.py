"""The rules of the shipped workflow, written down a second time and as plainly as possible.

Shares nothing with the product. Whether RED's tests fail for a reason is the product's to say; what follows from it
is predicted here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PHASES = ("RED", "GREEN", "REFACTOR", "DOCUMENT")
MAY_END = ("GREEN", "REFACTOR")
REQUIRED_GREEN_RUNS = 2
MAX_REFACTOR_ITERATIONS = 5

#: Complete runs in a row without progress, and with the same errors, each on a new tree.
NO_PROGRESS = SAME_ERROR = 5

OPEN, CLOSED, HALTED, NOT_ALLOWED, TESTS_FAILED = 0, 10, 12, 13, 1


@dataclass
class Run:
    is_complete: bool
    is_green: bool
    tree: int


@dataclass
class Verdict:
    phase: str
    gate_1: bool
    can_exit: bool
    #: Made without a run, as in DOCUMENT.
    without_run: bool = False


@dataclass
class Circuit:
    """The breaker of GREEN and REFACTOR; in RED these stories switch it off."""

    status: str = "closed"
    no_progress: int = 0
    same_error: int = 0
    seen: list[frozenset[str]] = field(default_factory=list)
    best: int = -1
    last: frozenset[str] | None = None
    tree: int | None = None

    def see(self, failing: frozenset[str], passing: int, tree: int, *, holds: bool, needs_person: bool) -> None:
        if self.status == "open":
            return
        if holds or not failing:
            self.status, self.no_progress, self.same_error = "closed", 0, 0
            self.best, self.last, self.tree = max(self.best, passing), None, tree
            return
        if needs_person or tree == self.tree:
            return
        better, is_new = passing > self.best, failing not in self.seen
        self.no_progress = 0 if better or is_new else self.no_progress + 1
        self.same_error = max(2, self.same_error + 1) if failing == self.last and not better else 0
        self.seen.append(failing)
        self.best, self.last, self.tree = max(self.best, passing), failing, tree
        left = min(NO_PROGRESS - self.no_progress, SAME_ERROR - self.same_error)
        is_stalled = bool(self.no_progress or self.same_error)
        if left <= 0 or (self.status == "half-open" and is_stalled and not (better or is_new)):
            self.status = "open"
        elif self.status == "half-open" or not is_stalled:
            self.status, self.same_error = "closed", 0
        else:
            self.status = "half-open" if left == 1 else "closed"

    def reset(self) -> int:
        if self.status != "open":
            return NOT_ALLOWED
        self.status = "half-open"
        return OPEN


@dataclass
class Model:
    phase: str | None = None
    cycle: int = 0
    iteration: int = 0
    exited: bool = False
    #: Runs since the phase was entered, oldest first.
    log: list[Run] = field(default_factory=list)
    verdict: Verdict | None = None
    is_stale: bool = False
    #: What the phase's last complete run found, as long as no other run came after it.
    measured_green: bool | None = None
    measured_red: bool = False
    measured_streak: int = 0
    measured_iteration: int = 0
    ran_since: bool = False
    has_declared: bool = False
    waiting: str | None = None
    premature: int = 0
    tree: int = 0
    left: int | None = None
    knows: bool = False
    spent: int = 0
    circuit: Circuit = field(default_factory=Circuit)

    # --- how a run begins

    def entry(self, phase: str) -> str:
        """Return how a run in a phase begins: stay, enter, cycle, rewind; or refused."""
        if self.phase is None:
            return "cycle"
        if phase == self.phase:
            return "stay"
        here = PHASES.index(self.phase)
        if self.exited and phase == PHASES[here + 1]:
            return "enter"
        if phase == "RED":
            return "cycle" if self.exited and self.phase in MAY_END else "rewind"
        return "refused"

    def enter(self, phase: str) -> None:
        self.phase, self.iteration, self.exited, self.log = phase, 0, False, []
        self.measured_green, self.has_declared, self.ran_since = None, False, False
        self.is_stale = self.verdict is not None
        self.circuit = Circuit()

    @property
    def is_halted(self) -> bool:
        return self.circuit.status == "open"

    @property
    def streak(self) -> int:
        """Complete green runs in a row, all on one tree."""
        since: list[Run] = []
        for run in self.log:
            since = [*since, run] if run.is_green else []
        greens = [run for run in since if run.is_complete]
        return sum(run.tree == greens[-1].tree for run in greens) if greens else 0

    # --- what happens

    def start_run(self, phase: str, how: str) -> None:
        if how == "cycle":
            self.cycle += 1
            self.premature = 0
        if how in ("cycle", "enter"):
            self.enter(phase)

    def end_run(self, phase: str, *, is_complete: bool, is_green: bool) -> None:
        self.left = self.tree
        self.log.append(Run(is_complete, is_green, self.tree))
        self.is_stale = self.verdict is not None
        if not is_complete:
            self.ran_since = True
            return
        self.knows = True
        self.iteration += 1
        self.measured_green, self.measured_streak = is_green, self.streak
        self.measured_iteration, self.ran_since = self.iteration, False

    def gate_1(self) -> bool:
        """What Gate 1 says of the last complete run, with the facts that are declared by now."""
        assert self.measured_green is not None
        if self.phase == "RED":
            return self.measured_red
        if self.phase == "GREEN":
            return self.measured_green and self.measured_streak >= REQUIRED_GREEN_RUNS
        if self.phase == "REFACTOR":
            is_enough = self.has_declared or self.measured_iteration >= MAX_REFACTOR_ITERATIONS
            return self.measured_green and is_enough
        return False  # nobody measures documents here

    def judge(self, answer: str | None, *, gate_1: bool, without_run: bool = False) -> Verdict:
        """Take a verdict down, spend the signal, leave the phase if both gates are open."""
        assert self.phase is not None
        can_exit = gate_1 and answer == "done" and not self.is_halted
        self.verdict = Verdict(self.phase, gate_1, can_exit, without_run)
        self.is_stale = False
        self.exited = can_exit
        if can_exit:
            self.circuit = Circuit()
        self.premature += answer == "done" and not gate_1
        self.spent += answer is not None
        self.waiting = None
        return self.verdict

    def strictest(self, given: str | None) -> str | None:
        """Whatever is not `done` wins over what is."""
        both = [answer for answer in (given, self.waiting) if answer is not None]
        return next((answer for answer in both if answer != "done"), both[0] if both else None)

    # --- commands

    def signal(self, answer: str) -> int:
        if self.phase is None or (self.exited and answer == "done"):
            return NOT_ALLOWED
        needs_no_run = self.phase == "DOCUMENT" and self.measured_green is None
        is_past = not needs_no_run and (self.measured_green is None or self.ran_since or self.tree != self.left)
        if answer == "blocked" and (is_past or self.exited):
            return self.call_person()
        if needs_no_run:
            self.iteration += 1
            self.judge(self.strictest(answer), gate_1=False, without_run=True)
            return CLOSED
        if is_past:
            return NOT_ALLOWED
        return OPEN if self.judge(self.strictest(answer), gate_1=self.gate_1()).can_exit else CLOSED

    def call_person(self) -> int:
        """Say at any time that a person is needed: it opens nothing, and takes no exit back."""
        assert self.phase is not None
        self.verdict, self.is_stale = Verdict(self.phase, gate_1=False, can_exit=False, without_run=True), False
        self.spent += 1
        self.waiting = None
        return CLOSED

    def withdraw(self) -> int:
        if self.waiting is None:
            return NOT_ALLOWED
        self.waiting = None
        return OPEN

    def declare(self) -> int:
        if self.phase != "REFACTOR":  # no other phase asks for a fact
            return NOT_ALLOWED
        self.has_declared = True
        return OPEN

    def advance(self) -> int:
        if self.phase is None:
            return NOT_ALLOWED
        if self.exited:
            self.enter(PHASES[PHASES.index(self.phase) + 1])
            return OPEN
        if self.phase != "DOCUMENT":
            return NOT_ALLOWED
        self.iteration += 1
        self.judge(self.waiting, gate_1=False, without_run=True)
        return CLOSED

    def rewind(self, phase: str) -> int:
        if self.phase is None or PHASES.index(phase) > PHASES.index(self.phase):
            return NOT_ALLOWED
        self.enter(phase)
        return OPEN

    def check(self, *, gate_1_only: bool) -> int:
        verdict = self.verdict
        if self.is_halted:
            return HALTED
        if verdict is None or verdict.phase != self.phase or self.is_stale:
            return CLOSED
        if not verdict.without_run and self.tree != self.left:
            return CLOSED
        return OPEN if verdict.can_exit or (gate_1_only and verdict.gate_1) else CLOSED
