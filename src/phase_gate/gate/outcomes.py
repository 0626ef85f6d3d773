"""Classify each test's outcome: passing, failing, exempt, or neither; and why it failed.

Pure. Every id has exactly one bucket; its class depends on the outcomes before this cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from phase_gate.gate.inventory import Frozen, Inventory, bare_id, bare_name, split_id
from phase_gate.values import Literal, Value, field

#: The value of a session as evidence about the suite. The first kind that matches applies.
Kind = Literal["void", "nested", "lost", "incomplete", "partial", "empty", "complete"]

#: Whether a run is green.
Green = Literal[
    "green",
    # No test failed, but something is odd: the run neither extends nor ends a streak.
    "odd",
    "not-green",
]

#: The outcome of a test: the worst stage of all its reports.
Bucket = Literal[
    "passed",
    "failed",
    "error",
    "xfailed",
    "xpassed",
    "flaky",
    "skipped",
    # Skipped, and the test has a skipif mark.
    "skipped-if",
    "not-run",
    "uncollectable",
]

#: Why a test failed. The first two are reasons to write code; the others are not.
Reason = Literal[
    # A failed check, or an error in the project's code or with its results: in doubt, blame the code.
    "assertion",
    "structural",
    "syntax-error",
    "missing-fixture",
    "foreign-module",
    "stub",
    "timeout",
    "crash",
    "teardown-only",
    "test-error",
    # pytest refuses to run it: an unknown argument, a fixture called directly, a missing plugin.
    "broken-test",
    # Reported as failed without an exception: a strict xpass, or a report made by a plugin.
    "unexplained",
]


#: Remedies for a refused failure.
REMEDIES: Mapping[Reason, str] = {
    "syntax-error": "fix the syntax",
    "missing-fixture": "write the fixture that it asks for",
    "foreign-module": "install the module that it imports",
    "stub": "write the check: a stub fails whatever the code does",
    "timeout": "let it fail by a check, not by waiting",
    "crash": "let it fail by a check: a crash proves nothing",
    "teardown-only": "its call passed: let the test itself fail",
    "test-error": "fix the test: the error comes from its own code",
    "broken-test": "fix the test: pytest can't run it",
    "unexplained": "let it fail by an exception: there was none",
}


class Failure(Value):
    reason: Reason
    detail: str = ""
    file: str = ""
    line: int | None = None
    #: For a structural failure: the module that must be inside the root once the code is written.
    missing: str = ""
    #: An assertion in any file, in contrast to an error in the code.
    by_check: bool = False
    #: Functions of the sources that checked on the test's behalf, as `file::name`.
    helpers: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        return self.reason not in REMEDIES


FAILING = frozenset({"failed", "error", "uncollectable"})
_RAN_AND_FAILED = FAILING - {"uncollectable"}
SKIPPED = frozenset({"skipped", "skipped-if"})
XMARKED = frozenset({"xfailed", "xpassed"})

#: Ids with their buckets. Stored snapshots omit passed tests.
Outcomes = Mapping[str, Bucket]


def all_passed(outcomes: Outcomes) -> bool:
    """Return whether every test simply passed, as in most runs: one fast count instead of a loop."""
    return list(outcomes.values()).count("passed") == len(outcomes)


def odd_buckets(outcomes: Outcomes) -> list[Bucket]:
    """Return the other buckets, of tests that did not simply pass."""
    return [] if all_passed(outcomes) else [each for each in outcomes.values() if each != "passed"]


class KnownIds(Collection[str]):
    """The ids of an inventory. Usually only their number is needed, so they are built at the first lookup."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._spelled: frozenset[str] | None = None

    def __len__(self) -> int:
        return sum(len(file.ids) for file in self._inventory.files.values())

    def __iter__(self) -> Iterator[str]:
        return self._inventory.ids()

    def __contains__(self, test_id: object) -> bool:
        if self._spelled is None:
            self._spelled = frozenset(self._inventory.ids())
        return test_id in self._spelled


class Past(Value, kw_only=False):
    """Tests and outcomes of an earlier run."""

    inventory: Inventory
    outcomes: Outcomes
    ids: Collection[str]
    #: Platform, Python and packages at that time; empty if they were not recorded.
    surroundings: str = ""


class References(Value):
    """Earlier results that this run's outcomes are compared with."""

    baseline: Past | None = None
    #: The first complete run of the cycle; None if this run may be the first.
    first: Past | None = None
    #: The last complete run, in any phase.
    latest: Past | None = None
    known: Inventory | None = None
    known_ids: Collection[str] = frozenset()
    #: Bodies at git's HEAD by path and bare name; empty without git.
    head: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Ids of the targets of the cycle, from its first phase; None during that phase.
    targets: Collection[str] | None = None
    recovered: Collection[str] = frozenset()
    frozen: Frozen | None = None
    #: The freeze that a rewind withdrew: its unaltered tests that pass are no longer targets of RED.
    withdrawn: Inventory | None = None
    #: Bodies of tests that failed for a reason in this cycle.
    red: Mapping[str, str] = field(default_factory=dict)
    #: Platform, Python and packages now.
    surroundings: str = ""


class Judgement(Value):
    """Each id of the run is in exactly one of the first six sets."""

    passing: frozenset[str]
    failing: frozenset[str]
    known_failing: frozenset[str]
    exempt: frozenset[str]
    newly_skipped: frozenset[str]
    odd: frozenset[str]
    flaky: frozenset[str]
    targets: frozenset[str]
    baseline_total: int
    baseline_failing: frozenset[str]
    recovered: frozenset[str]
    #: Passing rows of functions with a failing row: a target is a function, and one red row makes it red.
    rows_passing: frozenset[str] = frozenset()
    #: Exempt only because a person waived these skips.
    excused: frozenset[str] = frozenset()

    @property
    def too_early(self) -> frozenset[str]:
        """The targets that pass, but have to fail."""
        return (self.passing & self.targets) - self.rows_passing

    @property
    def green(self) -> Green:
        if self.failing or self.newly_skipped or self.flaky:
            return "not-green"
        return "odd" if self.odd or not self.passing else "green"


def judge_outcomes(
    outcomes: Outcomes,
    inventory: Inventory,
    past: References,
    *,
    in_first_phase: bool,
    guarding: Collection[str] = frozenset(),
    failures: Mapping[str, Failure] | None = None,
) -> Judgement:
    """Classify every id by its outcome.

    :param guarding: tests that are marked as already passing: they are never targets.
    :param failures: why tests failed, in a phase that requires failing tests.
    """
    if in_first_phase:
        targets = frozenset(
            test_id
            for test_id, bucket in outcomes.items()
            if test_id not in guarding and _is_target(test_id, bucket, inventory, past)
        )
    else:
        targets = frozenset(past.targets or ())
    sets: defaultdict[str, set[str]] = defaultdict(set)
    # Nearly all tests, or all: handled in bulk, because this dominates the cost for a big suite.
    others = [] if all_passed(outcomes) else [row for row in outcomes.items() if row[1] != "passed"]
    passing = frozenset(outcomes) if not others else frozenset(outcomes).difference(test_id for test_id, _ in others)
    for test_id, bucket in others:
        sets[_standing(test_id, bucket, inventory, past, targets)].add(test_id)
    passing |= sets["passing"]
    if in_first_phase:
        targets -= sets["exempt"]  # skipped, or expected to fail: it proves nothing now, and is not required later
    red = {bare_id(test_id) for test_id in sets["failing"] & targets if "[" in test_id} if in_first_phase else set()
    waiting = _waiting(outcomes, sets["failing"], targets, failures or {}) if in_first_phase else frozenset()
    not_passing = ("failing", "known_failing", "exempt", "newly_skipped", "odd")
    return Judgement(
        **{name: frozenset(sets[name]) for name in not_passing},
        passing=passing,
        flaky=frozenset(test_id for test_id, bucket in others if bucket == "flaky"),
        targets=targets,
        baseline_total=0 if past.baseline is None else len(past.baseline.ids),
        baseline_failing=frozenset(
            test_id for test_id in sets["failing"] - waiting if _was_passing(test_id, inventory, past.baseline)
        ),
        rows_passing=frozenset(each for each in passing & targets if red and bare_id(each) in red),
        recovered=frozenset(
            test_id
            for test_id, bucket in (past.baseline.outcomes if past.baseline is not None else {}).items()
            if bucket in FAILING and test_id in passing
        ),
    )


def _waiting(
    outcomes: Outcomes, failing: Collection[str], targets: Collection[str], failures: Mapping[str, Failure]
) -> frozenset[str]:
    """Return the old tests that can't be imported because of the same line as a target."""
    broken = {
        test_id: (failures[test_id].file, failures[test_id].line)
        for test_id in failing
        if outcomes[test_id] == "uncollectable" and test_id in failures
    }
    wanted = {place for test_id, place in broken.items() if test_id in targets}
    return frozenset(test_id for test_id, place in broken.items() if place in wanted and test_id not in targets)


def _standing(test_id: str, bucket: Bucket, inventory: Inventory, past: References, targets: Collection[str]) -> str:
    if bucket == "flaky":
        return "passing"
    if bucket in FAILING:
        return "known_failing" if _is_known_failure(test_id, inventory, past) else "failing"
    if bucket in SKIPPED:
        return "exempt" if _skip_is_exempt(test_id, bucket, inventory, past, targets) else "newly_skipped"
    if bucket in XMARKED:
        reference = past.baseline or past.first
        if reference is None or reference.outcomes.get(test_id) in XMARKED:
            return "exempt"
        return "failing" if bucket == "xfailed" else "odd"
    return "not_run"


def _is_target(test_id: str, bucket: Bucket, inventory: Inventory, past: References) -> bool:
    baseline = past.baseline
    if baseline is not None and test_id in baseline.ids and _same_body(test_id, inventory, baseline.inventory):
        # A failing test with changed data or helpers around it is a new test; a passing one need not be.
        return (
            bucket in _RAN_AND_FAILED
            and not _is_known_failure(test_id, inventory, past)
            and not (_same_around(test_id, inventory, baseline.inventory))
        )
    if past.withdrawn is not None and _is_in(test_id, past.withdrawn):
        # A test that now passes was red, and is finished; one that still fails is still a target, under any rules.
        return bucket in FAILING or not _same_body(test_id, inventory, past.withdrawn)
    # An old test that still passes is not a target, even if it was merged from another branch.
    path, name = split_id(test_id)
    at_head = past.head.get(path, {}).get(bare_name(name))
    return bucket != "passed" or at_head is None or at_head != inventory.body(test_id)


def _is_in(test_id: str, inventory: Inventory) -> bool:
    path, name = split_id(test_id)
    file = inventory.files.get(path)
    return file is not None and (name in file.ids or bare_name(name) in file.bodies)


def _same_body(test_id: str, now: Inventory, then: Inventory) -> bool:
    return now.body(test_id) == then.body(test_id)


def _same_around(test_id: str, now: Inventory, then: Inventory) -> bool:
    """Return whether all code around a test in its file is still there: imports, constants, helpers, fixtures."""
    path = split_id(test_id)[0]
    if path not in now.files or path not in then.files:
        return True
    return {*(then.files[path].statements or ())} <= {*(now.files[path].statements or ())}


def _is_known_failure(test_id: str, inventory: Inventory, past: References) -> bool:
    baseline = past.baseline
    return (
        baseline is not None
        and baseline.outcomes.get(test_id) in FAILING
        and test_id not in past.recovered
        and _same_body(test_id, inventory, baseline.inventory)
    )


def _was_passing(test_id: str, inventory: Inventory, baseline: Past | None) -> bool:
    return (
        baseline is not None
        and test_id in baseline.ids
        and baseline.outcomes.get(test_id, "passed") == "passed"
        and _same_body(test_id, inventory, baseline.inventory)
        and _same_around(test_id, inventory, baseline.inventory)
    )


def _is_among(test_id: str, ids: Collection[str]) -> bool:
    """Return whether the test is among the ids, or was counted from its source, which does not show its parameters."""
    return test_id in ids or bare_id(test_id) in ids


def _skip_is_exempt(
    test_id: str, bucket: Bucket, inventory: Inventory, past: References, targets: Collection[str]
) -> bool:
    by_condition = bucket == "skipped-if"
    if _is_among(test_id, past.red):
        # It was red: it has to become green, not skipped. While its module could not be imported, it had no marks.
        red = past.red.get(test_id, past.red.get(bare_id(test_id), ""))
        first = {} if past.first is None else past.first.outcomes
        was_broken = first.get(bare_id(test_id)) == "uncollectable"
        return by_condition and was_broken and bool(red) and inventory.body(test_id) == red
    baseline = past.baseline
    if baseline is not None and test_id in baseline.ids:
        if baseline.outcomes.get(test_id) in SKIPPED:
            return True
        return by_condition and _same_body(test_id, inventory, baseline.inventory) and _moved_on(baseline, past)
    if past.first is None or past.first.outcomes.get(test_id) in SKIPPED:
        return True
    if _is_among(test_id, targets):
        return False
    if not _is_among(test_id, past.known_ids):
        return True
    if past.known is None or not _same_body(test_id, inventory, past.known):
        return False
    return by_condition and _moved_on(past.first, past)


def _moved_on(then: Past, past: References) -> bool:
    """Return whether platform, Python or packages have changed, so that an old skip condition may now be true.

    Other inputs of a condition, such as a variable or a file, can be set by the agent that wants the skip.
    """
    return not then.surroundings or then.surroundings != past.surroundings
