"""Classify each test's outcome: passing, failing, exempt, or neither; and why it failed.

Pure. Every id has exactly one bucket; its class depends on the outcomes before this cycle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Set
from functools import cached_property

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


class Past(Value, kw_only=False):
    """Tests and outcomes of an earlier run."""

    inventory: Inventory
    outcomes: Outcomes
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

    #: Of a run in which every test passed, a view of its outcomes: a set of so many ids would be half a megabyte.
    passing: Set[str]
    failing: frozenset[str]
    known_failing: frozenset[str]
    exempt: frozenset[str]
    newly_skipped: frozenset[str]
    odd: frozenset[str]
    flaky: frozenset[str]
    targets: frozenset[str]
    baseline_failing: frozenset[str]
    recovered: frozenset[str]
    #: Passing rows of functions with a failing row: a target is a function, and one red row makes it red.
    rows_passing: frozenset[str] = frozenset()
    #: Exempt only because a person waived these skips.
    excused: frozenset[str] = frozenset()

    @property
    def too_early(self) -> frozenset[str]:
        """The targets that pass, but have to fail."""
        return self.targets.intersection(self.passing) - self.rows_passing

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
    comparison = _Comparison(inventory, past)
    if in_first_phase:
        targets = frozenset(
            test_id
            for test_id, bucket in outcomes.items()
            if test_id not in guarding and comparison.is_target(test_id, bucket)
        )
    else:
        targets = frozenset(past.targets or ())
    sets: defaultdict[str, set[str]] = defaultdict(set)
    # Nearly all tests, or all: handled in bulk, because this dominates the cost for a big suite.
    others = [] if all_passed(outcomes) else [row for row in outcomes.items() if row[1] != "passed"]
    for test_id, bucket in others:
        sets[comparison.standing(test_id, bucket, targets)].add(test_id)
    plain: Set[str] = outcomes.keys()
    passing = plain - {test_id for test_id, _ in others} | sets["passing"] if others else plain
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
        baseline_failing=frozenset(filter(comparison.was_passing, sets["failing"] - waiting)),
        rows_passing=frozenset(each for each in targets if red and each in passing and bare_id(each) in red),
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


class _Comparison:
    """The tests of a run, compared with those of earlier runs."""

    def __init__(self, inventory: Inventory, past: References) -> None:
        self._now, self._past, self._baseline = inventory, past, past.baseline

    @cached_property
    def _old(self) -> frozenset[str]:
        """The ids of the baseline. Built at the first lookup: most runs have none."""
        return frozenset() if self._baseline is None else frozenset(self._baseline.inventory.ids())

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset() if self._past.known is None else frozenset(self._past.known.ids())

    def standing(self, test_id: str, bucket: Bucket, targets: Collection[str]) -> str:
        if bucket == "flaky":
            return "passing"
        if bucket in FAILING:
            return "known_failing" if self._is_known_failure(test_id) else "failing"
        if bucket in SKIPPED:
            return "exempt" if self._skip_is_exempt(test_id, bucket, targets) else "newly_skipped"
        if bucket in XMARKED:
            reference = self._baseline or self._past.first
            if reference is None or reference.outcomes.get(test_id) in XMARKED:
                return "exempt"
            return "failing" if bucket == "xfailed" else "odd"
        return "not_run"

    def is_target(self, test_id: str, bucket: Bucket) -> bool:
        baseline, withdrawn = self._baseline, self._past.withdrawn
        if baseline is not None and test_id in self._old and self._has_body_of(test_id, baseline.inventory):
            # A failing test with changed data or helpers around it is a new test; a passing one need not be.
            has_failed = bucket in _RAN_AND_FAILED and not self._is_known_failure(test_id)
            return has_failed and not self._is_same_around(test_id, baseline.inventory)
        if withdrawn is not None and _is_in(test_id, withdrawn):
            # A test that now passes was red, and is finished; one that still fails is still a target, under any rules.
            return bucket in FAILING or not self._has_body_of(test_id, withdrawn)
        # An old test that still passes is not a target, even if it was merged from another branch.
        path, name = split_id(test_id)
        at_head = self._past.head.get(path, {}).get(bare_name(name))
        return bucket != "passed" or at_head is None or at_head != self._now.body(test_id)

    def was_passing(self, test_id: str) -> bool:
        baseline = self._baseline
        return (
            baseline is not None
            and test_id in self._old
            and baseline.outcomes.get(test_id, "passed") == "passed"
            and self._has_body_of(test_id, baseline.inventory)
            and self._is_same_around(test_id, baseline.inventory)
        )

    def _is_known_failure(self, test_id: str) -> bool:
        baseline = self._baseline
        return (
            baseline is not None
            and baseline.outcomes.get(test_id) in FAILING
            and test_id not in self._past.recovered
            and self._has_body_of(test_id, baseline.inventory)
        )

    def _skip_is_exempt(self, test_id: str, bucket: Bucket, targets: Collection[str]) -> bool:
        past, baseline, by_condition = self._past, self._baseline, bucket == "skipped-if"
        if _is_among(test_id, past.red):
            # It was red: it has to become green, not skipped. While its module could not be imported, it had no marks.
            red = past.red.get(test_id, past.red.get(bare_id(test_id), ""))
            first = {} if past.first is None else past.first.outcomes
            was_broken = first.get(bare_id(test_id)) == "uncollectable"
            return by_condition and was_broken and bool(red) and self._now.body(test_id) == red
        if baseline is not None and test_id in self._old:
            if baseline.outcomes.get(test_id) in SKIPPED:
                return True
            return by_condition and self._has_body_of(test_id, baseline.inventory) and _moved_on(baseline, past)
        if past.first is None or past.first.outcomes.get(test_id) in SKIPPED:
            return True
        if _is_among(test_id, targets):
            return False
        if not _is_among(test_id, self._known):
            return True
        if past.known is None or not self._has_body_of(test_id, past.known):
            return False
        return by_condition and _moved_on(past.first, past)

    def _has_body_of(self, test_id: str, then: Inventory) -> bool:
        return self._now.body(test_id) == then.body(test_id)

    def _is_same_around(self, test_id: str, then: Inventory) -> bool:
        """Return whether all code around a test in its file is still there: imports, constants, helpers, fixtures."""
        path = split_id(test_id)[0]
        if path not in self._now.files or path not in then.files:
            return True
        before = frozenset(then.files[path].statements or ())
        return before.issubset(self._now.files[path].statements or ())


def _is_in(test_id: str, inventory: Inventory) -> bool:
    path, name = split_id(test_id)
    file = inventory.files.get(path)
    return file is not None and (name in file.ids or bare_name(name) in file.bodies)


def _is_among(test_id: str, ids: Collection[str]) -> bool:
    """Return whether the test is among the ids, or was counted from its source, which does not show its parameters."""
    return test_id in ids or bare_id(test_id) in ids


def _moved_on(then: Past, past: References) -> bool:
    """Return whether platform, Python or packages have changed, so that an old skip condition may now be true.

    Other inputs of a condition, such as a variable or a file, can be set by the agent that wants the skip.
    """
    return not then.surroundings or then.surroundings != past.surroundings
