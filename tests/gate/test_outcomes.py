"""What each outcome counts as: one row a line of the design's table of buckets, and each of its exceptions."""

from __future__ import annotations

from itertools import product
from typing import Final, get_args

import pytest

from phase_gate.gate.inventory import Inventory, TestFile, bare_name, split_id
from phase_gate.gate.outcomes import (
    REMEDIES,
    Bucket,
    Failure,
    Green,
    Judgement,
    Past,
    Reason,
    References,
    judge_outcomes,
)
from phase_gate.values import replace

ME, OTHER = "test_a.py::test_me", "test_a.py::test_other"
PASSED: Final = "passed"
FAILED: Final = "failed"
ERROR: Final = "error"
FLAKY: Final = "flaky"
XFAILED: Final = "xfailed"
XPASSED: Final = "xpassed"
BROKEN: Final = "uncollectable"
NOT_RUN: Final = "not-run"
SKIPPED: Final = "skipped"
SKIPPED_IF: Final = "skipped-if"
#: Platform, Python and packages of a run.
OLD, NOW = "Python 3.12", "Python 3.13"
SIX = ("passing", "failing", "known_failing", "exempt", "newly_skipped", "odd")


def inventory(*ids: str, body: str = "body") -> Inventory:
    """Tests that all have the same body; a different `body` is a changed test."""
    files: dict[str, list[str]] = {}
    for test_id in ids:
        path, name = split_id(test_id)
        files.setdefault(path, []).append(name)
    return Inventory(
        {
            path: TestFile(content=body, ids=tuple(names), bodies={bare_name(name): body for name in names})
            for path, names in files.items()
        }
    )


def past(bucket: Bucket | None = None, *, body: str = "body", ids: tuple[str, ...] = (ME, OTHER), on: str = "") -> Past:
    """An earlier run in which ME ended so (None: passed); what passed is not stored.

    :param on: platform, Python and packages of that run.
    """
    outcomes = {} if bucket is None or bucket == "passed" else {ME: bucket}
    return Past(inventory(*ids, body=body), outcomes, on)


WITHOUT_ME = past(ids=(OTHER,))
#: A later run of a cycle: the first one is over and knows both tests.
LATER = References(first=past(), known=inventory(ME, OTHER))


def judge(
    bucket: Bucket, references: References | None = None, *, in_first_phase: bool = False, body: str = "body"
) -> Judgement:
    now = inventory(ME, OTHER, body=body)
    outcomes = {ME: bucket, OTHER: "passed"}
    return judge_outcomes(outcomes, now, references or References(), in_first_phase=in_first_phase)


def where(judged: Judgement, test_id: str = ME) -> list[str]:
    return [name for name in SIX if test_id in getattr(judged, name)]


def later(**changes: object) -> References:
    return replace(LATER, **changes)


def since(baseline: Past | None = None, **changes: object) -> References:
    return replace(References(baseline=baseline or past()), **changes)


#: A test that no run before has seen.
UNSEEN = {"known": inventory(OTHER), "first": WITHOUT_ME}


# --- the table


@pytest.mark.parametrize(
    ("bucket", "given", "expected"),
    [
        pytest.param(PASSED, References(), "passing", id="passed"),
        pytest.param(FAILED, References(), "failing", id="failed"),
        pytest.param(BROKEN, References(), "failing", id="uncollectable"),
        pytest.param(FLAKY, References(), "passing", id="flaky"),
        # known failures
        pytest.param(FAILED, since(past(FAILED)), "known_failing", id="failed-in-the-baseline-with-the-same-body"),
        pytest.param(FAILED, since(past(FAILED, body="old")), "failing", id="with-another-body-it-is-a-new-failure"),
        pytest.param(FAILED, since(past(FAILED), recovered=(ME,)), "failing", id="once-it-passed-it-left-the-list"),
        pytest.param(FAILED, since(), "failing", id="passed-in-the-baseline-is-no-excuse"),
        pytest.param(FAILED, later(first=past(FAILED)), "failing", id="nor-a-failure-in-the-first-run-of-the-cycle"),
        # xfail and xpass
        pytest.param(XFAILED, since(past(XFAILED)), "exempt", id="xfailed-in-the-baseline"),
        pytest.param(XPASSED, since(past(XFAILED)), "exempt", id="xpass-of-an-old-mark"),
        pytest.param(XFAILED, References(), "exempt", id="xfailed-in-the-first-run-of-the-cycle"),
        pytest.param(XFAILED, later(first=past(XFAILED)), "exempt", id="and-stays-so-in-later-runs"),
        pytest.param(XFAILED, LATER, "failing", id="a-new-xfail-mark"),
        pytest.param(XPASSED, LATER, "odd", id="a-new-xpass"),
        pytest.param(XFAILED, since(), "failing", id="a-mark-that-the-baseline-has-not"),
        pytest.param(XPASSED, since(), "odd", id="an-xpass-that-the-baseline-has-not"),
        # skips
        pytest.param(SKIPPED, since(past(SKIPPED)), "exempt", id="skipped-in-the-baseline"),
        pytest.param(SKIPPED, References(), "exempt", id="skipped-in-the-first-run-of-the-cycle"),
        pytest.param(SKIPPED, since(), "newly_skipped", id="passed-in-the-baseline"),
        pytest.param(SKIPPED, since(past(FAILED)), "newly_skipped", id="failed-in-the-baseline"),
        pytest.param(SKIPPED_IF, since(past(on=OLD), surroundings=NOW), "exempt", id="a-skipif-on-another-platform"),
        pytest.param(SKIPPED_IF, since(past(on=NOW), surroundings=NOW), "newly_skipped", id="not-on-the-same-one"),
        pytest.param(SKIPPED_IF, since(past(body="no skipif")), "newly_skipped", id="a-skipif-that-was-added-since"),
        pytest.param(SKIPPED, LATER, "newly_skipped", id="ran-in-the-first-run"),
        pytest.param(
            SKIPPED_IF, later(first=past(on=NOW), surroundings=NOW), "newly_skipped", id="in-mid-cycle-on-the-same-one"
        ),
        pytest.param(SKIPPED, later(**UNSEEN), "exempt", id="skipped-at-first-sight"),
        pytest.param(SKIPPED, later(targets=(ME,)), "newly_skipped", id="a-target-that-was-red-is-never-skipped"),
        pytest.param(
            SKIPPED, since(past(SKIPPED), red={ME: "body"}), "newly_skipped", id="one-that-was-red-is-never-skipped"
        ),
        pytest.param(
            SKIPPED_IF,
            later(first=past(BROKEN), targets=(ME,), red={ME: "body"}),
            "exempt",
            id="but-a-skipif-that-stood-in-a-module-that-could-not-be-imported-may-show-now",
        ),
        pytest.param(
            SKIPPED_IF,
            later(first=past(BROKEN), targets=(ME,), red={ME: "no skipif"}),
            "newly_skipped",
            id="not-one-that-was-added-since",
        ),
    ],
)
def test_what_an_outcome_counts_as(bucket: Bucket, given: References, expected: str) -> None:
    judged = judge(bucket, given)
    assert where(judged) == [expected]
    assert where(judged, OTHER) == ["passing"]


# --- the colour of the run


@pytest.mark.parametrize(
    ("bucket", "given", "green"),
    [
        pytest.param(PASSED, References(), "green", id="all-passed-is-green"),
        pytest.param(FAILED, References(), "not-green", id="a-failure-is-not"),
        pytest.param(FLAKY, References(), "not-green", id="passed-after-a-rerun-is-not"),
        pytest.param(SKIPPED, LATER, "not-green", id="a-new-skip-is-not"),
        pytest.param(SKIPPED, References(), "green", id="a-known-skip-does-no-harm"),
        pytest.param(XPASSED, LATER, "odd", id="a-new-xpass-is-odd"),
        pytest.param(FAILED, since(past(FAILED)), "green", id="a-known-failure-does-no-harm"),
        pytest.param(NOT_RUN, References(), "green", id="what-did-not-run-is-for-the-kind-of-run-to-say"),
    ],
)
def test_colour(bucket: Bucket, given: References, green: Green) -> None:
    judged = judge(bucket, given)
    assert judged.green == green
    assert (judged.flaky == {ME}) is (bucket == FLAKY)


@pytest.mark.parametrize("bucket", [SKIPPED, XFAILED, NOT_RUN])
def test_a_run_without_a_passing_test_is_never_green(bucket: Bucket) -> None:
    judged = judge_outcomes({ME: bucket}, inventory(ME), References(), in_first_phase=False)
    assert judged.green == "odd"


# --- targets: what the step is about

AT_HEAD = {"test_a.py": {"test_me": "body"}}


@pytest.mark.parametrize(
    ("bucket", "given", "is_target"),
    [
        pytest.param(FAILED, References(), True, id="nothing-to-compare-with-all-are-targets"),
        pytest.param(SKIPPED, References(), False, id="but-not-skipped-ones"),
        pytest.param(FAILED, since(), False, id="an-old-test-that-broke-is-not-the-step"),
        pytest.param(PASSED, since(), False, id="nor-an-old-passing-test"),
        pytest.param(FAILED, since(past(FAILED)), False, id="nor-a-known-failure"),
        pytest.param(FAILED, since(past(body="old")), True, id="a-changed-body"),
        pytest.param(FAILED, since(WITHOUT_ME), True, id="a-new-test"),
        pytest.param(PASSED, References(head=AT_HEAD), False, id="passing-as-committed-joins-the-baseline"),
        pytest.param(FAILED, References(head=AT_HEAD), True, id="failing-as-committed"),
        pytest.param(PASSED, References(head={"test_a.py": {"test_me": "x"}}), True, id="changed-since-the-commit"),
    ],
)
def test_targets_in_the_first_phase(bucket: Bucket, given: References, is_target: bool) -> None:
    assert (ME in judge(bucket, given, in_first_phase=True).targets) is is_target


# --- what was so before the cycle


@pytest.mark.parametrize(
    ("bucket", "baseline", "named"),
    [
        pytest.param(FAILED, past(), True, id="passed-before-fails-now"),
        pytest.param(FAILED, past(body="old"), False, id="with-another-body-it-is-another-test"),
        pytest.param(FAILED, past(FAILED), False, id="failed-before-and-fails-now"),
        pytest.param(FAILED, WITHOUT_ME, False, id="was-not-there-before"),
        pytest.param(PASSED, past(), False, id="still-passes"),
    ],
)
def test_baseline_failing(bucket: Bucket, baseline: Past | None, named: bool) -> None:
    judged = judge(bucket, References(baseline=baseline))
    assert (judged.baseline_failing == {ME}) is named


NEW = "test_more.py::test_new"


@pytest.mark.parametrize(
    ("new", "lines", "in_first_phase", "named"),
    [
        pytest.param(BROKEN, (1, 1), True, False, id="the-same-import-fails"),
        pytest.param(BROKEN, (1, 2), True, True, id="another-import-fails"),
        pytest.param(BROKEN, (1, 1), False, True, id="in-a-later-phase"),
        pytest.param(FAILED, (1, 1), True, True, id="the-new-one-can-be-imported"),
    ],
)
def test_old_tests_wait_with_a_target(new: Bucket, lines: tuple[int, int], in_first_phase: bool, named: bool) -> None:
    failures = {
        test_id: Failure(reason="structural", file="test_it.py", line=line)
        for test_id, line in zip((ME, NEW), lines, strict=True)
    }
    now = inventory(ME, NEW)
    judged = judge_outcomes({ME: BROKEN, NEW: new}, now, since(), in_first_phase=in_first_phase, failures=failures)
    assert (judged.baseline_failing == {ME}) is named
    assert ME in judged.failing


@pytest.mark.parametrize(("bucket", "recovered"), [(PASSED, True), (FLAKY, True), (FAILED, False), (SKIPPED, False)])
def test_recovered(bucket: Bucket, recovered: bool) -> None:
    assert (judge(bucket, since(past(FAILED))).recovered == {ME}) is recovered


@pytest.mark.parametrize("bucket", [SKIPPED, SKIPPED_IF])
def test_a_set_of_parameters_was_red_if_its_test_was(bucket: Bucket) -> None:
    """While a module can't be imported its tests are counted from the source, where parameters do not show."""
    one = f"{ME}[1]"
    given = later(targets=(ME,), red={ME: "body"})
    judged = judge_outcomes({one: bucket, OTHER: PASSED}, inventory(one, OTHER), given, in_first_phase=False)
    assert where(judged, one) == ["newly_skipped"]


# --- the balance

HISTORIES = (
    References(),
    LATER,
    since(),
    since(past(FAILED)),
    since(past(SKIPPED), recovered=(ME,)),
    later(baseline=WITHOUT_ME, targets=(ME,), red={ME: "body"}),
    later(**UNSEEN, head={"test_a.py": {"test_me": "body"}}),
)


@pytest.mark.parametrize("in_first_phase", [True, False])
@pytest.mark.parametrize("body", ["body", "new"])
def test_every_test_stands_in_exactly_one_place(body: str, in_first_phase: bool) -> None:
    for history, bucket in product(HISTORIES, get_args(Bucket)):
        judged = judge(bucket, history, in_first_phase=in_first_phase, body=body)
        assert len(where(judged)) == (bucket != NOT_RUN), (history, bucket)
        assert judged.flaky <= judged.passing
        assert judged.baseline_failing <= judged.failing
        if judged.green == "green":
            assert judged.passing
            assert not judged.failing | judged.newly_skipped | judged.odd | judged.flaky


def test_every_class_is_accepted_or_has_a_remedy() -> None:
    accepted = [reason for reason in get_args(Reason) if Failure(reason=reason).is_accepted]
    assert accepted == ["assertion", "structural"] == [each for each in get_args(Reason) if each not in REMEDIES]
