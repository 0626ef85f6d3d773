"""What each outcome counts as: one row a line of the design's table of buckets, and each of its exceptions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.gate.failures import Failure, Reason
from phase_gate.gate.inventory import Inventory, TestFile, bare_name, split_id
from phase_gate.gate.outcomes import Bucket, Green, Judgement, Past, References, judge_outcomes
from phase_gate.values import replace

ME, OTHER = "test_a.py::test_me", "test_a.py::test_other"
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
    outcomes = {} if bucket is None or bucket is Bucket.PASSED else {ME: bucket}
    return replace(Past.of(inventory(*ids, body=body), outcomes), surroundings=on)


WITHOUT_ME = past(ids=(OTHER,))
#: A later run of a cycle: the first one is over and knows both tests.
LATER = References(first=past(), known=inventory(ME, OTHER), known_ids=(ME, OTHER))


def judge(
    bucket: Bucket, references: References | None = None, *, in_first_phase: bool = False, body: str = "body"
) -> Judgement:
    now = inventory(ME, OTHER, body=body)
    outcomes = {ME: bucket, OTHER: Bucket.PASSED}
    return judge_outcomes(outcomes, now, references or References(), in_first_phase=in_first_phase)


def where(judged: Judgement, test_id: str = ME) -> list[str]:
    return [name for name in SIX if test_id in getattr(judged, name)]


def references(base: References = LATER, **changes: object) -> References:
    return replace(base, **changes)


# --- the table


@pytest.mark.parametrize(
    ("bucket", "given", "expected"),
    [
        pytest.param(Bucket.PASSED, References(), "passing", id="passed-is-passing"),
        pytest.param(Bucket.FAILED, References(), "failing", id="failed-is-failing"),
        pytest.param(Bucket.ERROR, References(), "failing", id="an-error-in-setup-teardown-or-worker-is-failing"),
        pytest.param(Bucket.UNCOLLECTABLE, References(), "failing", id="uncollectable-is-failing"),
        pytest.param(Bucket.FLAKY, References(), "passing", id="flaky-is-passing"),
        # known failures
        pytest.param(
            Bucket.FAILED,
            References(baseline=past(Bucket.FAILED)),
            "known_failing",
            id="failed-in-the-baseline-with-the-same-body-is-known",
        ),
        pytest.param(
            Bucket.ERROR,
            References(baseline=past(Bucket.FAILED)),
            "known_failing",
            id="known-however-it-fails-now",
        ),
        pytest.param(
            Bucket.FAILED,
            References(baseline=past(Bucket.UNCOLLECTABLE)),
            "known_failing",
            id="uncollectable-in-the-baseline-is-a-known-failure",
        ),
        pytest.param(
            Bucket.FAILED,
            References(baseline=past(Bucket.FAILED, body="old")),
            "failing",
            id="with-another-body-it-is-a-new-failure",
        ),
        pytest.param(
            Bucket.FAILED,
            References(baseline=past(Bucket.FAILED), recovered=(ME,)),
            "failing",
            id="once-it-passed-it-left-the-list-for-good",
        ),
        pytest.param(Bucket.FAILED, References(baseline=past()), "failing", id="passed-in-the-baseline-is-no-excuse"),
        pytest.param(
            Bucket.FAILED, References(baseline=past(Bucket.SKIPPED)), "failing", id="skipped-in-the-baseline-neither"
        ),
        pytest.param(
            Bucket.FAILED,
            references(first=past(Bucket.FAILED)),
            "failing",
            id="a-failure-in-the-first-run-of-the-cycle-is-not-known",
        ),
        # xfail and xpass
        pytest.param(
            Bucket.XFAILED, References(baseline=past(Bucket.XFAILED)), "exempt", id="xfailed-in-the-baseline-is-exempt"
        ),
        pytest.param(
            Bucket.XPASSED, References(baseline=past(Bucket.XFAILED)), "exempt", id="xpass-of-an-old-mark-is-exempt"
        ),
        pytest.param(
            Bucket.XFAILED, References(baseline=past(Bucket.XPASSED)), "exempt", id="xfail-of-an-old-mark-is-exempt"
        ),
        pytest.param(Bucket.XFAILED, References(), "exempt", id="xfailed-in-the-first-run-of-the-cycle-is-exempt"),
        pytest.param(Bucket.XPASSED, References(), "exempt", id="xpassed-in-the-first-run-of-the-cycle-is-exempt"),
        pytest.param(Bucket.XFAILED, references(first=past(Bucket.XFAILED)), "exempt", id="and-stays-so-in-later-runs"),
        pytest.param(Bucket.XFAILED, LATER, "failing", id="a-new-xfail-mark-is-failing"),
        pytest.param(Bucket.XPASSED, LATER, "odd", id="a-new-xpass-is-odd"),
        pytest.param(
            Bucket.XFAILED, References(baseline=past()), "failing", id="a-mark-that-the-baseline-has-not-is-failing"
        ),
        pytest.param(
            Bucket.XFAILED,
            references(baseline=past(), first=past(Bucket.XFAILED)),
            "failing",
            id="with-a-baseline-the-first-run-excuses-nothing",
        ),
        pytest.param(
            Bucket.XPASSED, References(baseline=past()), "odd", id="an-xpass-that-the-baseline-has-not-is-odd"
        ),
        # skips
        pytest.param(
            Bucket.SKIPPED, References(baseline=past(Bucket.SKIPPED)), "exempt", id="skipped-in-the-baseline-is-exempt"
        ),
        pytest.param(
            Bucket.SKIPPED_IF, References(baseline=past(Bucket.SKIPPED)), "exempt", id="whichever-way-it-skips"
        ),
        pytest.param(Bucket.SKIPPED, References(), "exempt", id="skipped-in-the-first-run-of-the-cycle-is-exempt"),
        pytest.param(
            Bucket.SKIPPED, references(first=past(Bucket.SKIPPED)), "exempt", id="and-in-every-later-run-of-it"
        ),
        pytest.param(
            Bucket.SKIPPED,
            References(baseline=past()),
            "newly_skipped",
            id="passed-in-the-baseline-and-skipped-now-is-new",
        ),
        pytest.param(
            Bucket.SKIPPED,
            References(baseline=past(Bucket.FAILED)),
            "newly_skipped",
            id="failed-in-the-baseline-and-skipped-now-is-new",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            References(baseline=past(on="Python 3.12"), surroundings="Python 3.13"),
            "exempt",
            id="a-skipif-that-stood-in-the-baseline-is-exempt-on-another-platform",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            References(baseline=past(on="Python 3.13"), surroundings="Python 3.13"),
            "newly_skipped",
            id="on-the-same-one-something-else-made-it-skip",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            References(baseline=past(Bucket.SKIPPED_IF, on="Python 3.13"), surroundings="Python 3.13"),
            "exempt",
            id="unless-it-was-skipped-there-already",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            References(baseline=past(), surroundings="Python 3.13"),
            "exempt",
            id="where-nobody-wrote-down-which-it-was-it-is-exempt",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            References(baseline=past(body="without skipif")),
            "newly_skipped",
            id="a-skipif-that-was-added-since-the-baseline-is-new",
        ),
        pytest.param(Bucket.SKIPPED, LATER, "newly_skipped", id="ran-in-the-first-run-and-skipped-now-is-new"),
        pytest.param(
            Bucket.SKIPPED_IF,
            references(first=past(on="Python 3.12"), surroundings="Python 3.13"),
            "exempt",
            id="a-skipif-in-an-unchanged-body-is-exempt-on-another-platform",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            references(first=past(on="Python 3.13"), surroundings="Python 3.13"),
            "newly_skipped",
            id="a-skipif-that-flips-on-the-same-one-is-new",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            references(known=inventory(ME, OTHER, body="without skipif")),
            "newly_skipped",
            id="a-skipif-in-a-changed-body-is-new",
        ),
        pytest.param(
            Bucket.SKIPPED,
            references(known=inventory(OTHER), known_ids=(OTHER,), first=WITHOUT_ME),
            "exempt",
            id="skipped-at-first-sight-is-exempt",
        ),
        pytest.param(
            Bucket.SKIPPED,
            references(known=inventory(OTHER), known_ids=(OTHER,), first=WITHOUT_ME, baseline=WITHOUT_ME),
            "exempt",
            id="also-where-there-is-a-baseline-that-does-not-know-it",
        ),
        pytest.param(
            Bucket.SKIPPED, references(targets=(ME,)), "newly_skipped", id="a-target-that-was-red-is-never-skipped"
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            references(targets=(ME,)),
            "newly_skipped",
            id="not-even-by-a-skipif-in-an-unchanged-body",
        ),
        pytest.param(
            Bucket.SKIPPED,
            references(targets=(ME,), known=inventory(OTHER), known_ids=(OTHER,)),
            "newly_skipped",
            id="nor-at-first-sight",
        ),
        pytest.param(
            Bucket.SKIPPED,
            References(baseline=past(Bucket.SKIPPED), red={ME: "body"}),
            "newly_skipped",
            id="a-test-that-was-red-is-never-skipped-even-if-the-baseline-skips-it",
        ),
        pytest.param(
            Bucket.SKIPPED,
            references(first=past(Bucket.SKIPPED), red={ME: "body"}),
            "newly_skipped",
            id="nor-if-the-first-run-of-the-cycle-did",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            references(first=past(Bucket.UNCOLLECTABLE), targets=(ME,), red={ME: "body"}),
            "exempt",
            id="but-a-skipif-that-stood-in-a-module-that-could-not-be-imported-may-show-now",
        ),
        pytest.param(
            Bucket.SKIPPED_IF,
            references(first=past(Bucket.UNCOLLECTABLE), targets=(ME,), red={ME: "without skipif"}),
            "newly_skipped",
            id="not-one-that-was-added-since",
        ),
        pytest.param(
            Bucket.SKIPPED,
            references(first=past(Bucket.UNCOLLECTABLE), targets=(ME,), red={ME: "body"}),
            "newly_skipped",
            id="nor-any-other-skip",
        ),
    ],
)
def test_what_an_outcome_counts_as(bucket: Bucket, given: References, expected: str) -> None:
    judged = judge(bucket, given)
    assert where(judged) == [expected]
    assert where(judged, OTHER) == ["passing"]


def test_a_test_that_did_not_run_counts_as_nothing() -> None:
    assert where(judge(Bucket.NOT_RUN)) == []


# --- the colour of the run


@pytest.mark.parametrize(
    ("bucket", "given", "green"),
    [
        pytest.param(Bucket.PASSED, References(), Green.GREEN, id="all-passed-is-green"),
        pytest.param(Bucket.FAILED, References(), Green.NOT_GREEN, id="a-failure-is-not"),
        pytest.param(Bucket.ERROR, References(), Green.NOT_GREEN, id="an-error-is-not"),
        pytest.param(Bucket.UNCOLLECTABLE, References(), Green.NOT_GREEN, id="a-broken-module-is-not"),
        pytest.param(Bucket.FLAKY, References(), Green.NOT_GREEN, id="passed-after-a-rerun-is-not"),
        pytest.param(Bucket.SKIPPED, LATER, Green.NOT_GREEN, id="a-new-skip-is-not"),
        pytest.param(Bucket.SKIPPED, References(), Green.GREEN, id="a-known-skip-does-no-harm"),
        pytest.param(Bucket.XFAILED, References(), Green.GREEN, id="a-known-xfail-does-no-harm"),
        pytest.param(Bucket.XFAILED, LATER, Green.NOT_GREEN, id="a-new-xfail-does"),
        pytest.param(Bucket.XPASSED, LATER, Green.ODD, id="a-new-xpass-is-odd"),
        pytest.param(
            Bucket.FAILED, References(baseline=past(Bucket.FAILED)), Green.GREEN, id="a-known-failure-does-no-harm"
        ),
        pytest.param(Bucket.NOT_RUN, References(), Green.GREEN, id="what-did-not-run-is-for-the-kind-of-run-to-say"),
    ],
)
def test_colour(bucket: Bucket, given: References, green: Green) -> None:
    assert judge(bucket, given).green is green


@pytest.mark.parametrize("bucket", [Bucket.SKIPPED, Bucket.XFAILED, Bucket.NOT_RUN])
def test_a_run_without_a_passing_test_is_never_green(bucket: Bucket) -> None:
    judged = judge_outcomes({ME: bucket}, inventory(ME), References(), in_first_phase=False)
    assert judged.green is Green.ODD


def test_flaky_tests_are_named() -> None:
    judged = judge(Bucket.FLAKY)
    assert judged.flaky == {ME}
    assert not judge(Bucket.PASSED).flaky


# --- targets: what the step is about


@pytest.mark.parametrize(
    ("bucket", "given", "is_target"),
    [
        pytest.param(Bucket.FAILED, References(), True, id="nothing-to-compare-with-all-are-targets"),
        pytest.param(Bucket.PASSED, References(), True, id="passing-ones-too"),
        pytest.param(Bucket.SKIPPED, References(), False, id="but-not-skipped-ones"),
        pytest.param(Bucket.FAILED, References(baseline=past()), False, id="an-old-test-that-broke-is-not-the-step"),
        pytest.param(Bucket.PASSED, References(baseline=past()), False, id="an-old-passing-test-is-not-the-step"),
        pytest.param(
            Bucket.FAILED, References(baseline=past(Bucket.FAILED)), False, id="a-known-failure-is-not-the-step"
        ),
        pytest.param(Bucket.FAILED, References(baseline=past(body="old")), True, id="a-changed-body-is-a-target"),
        pytest.param(Bucket.FAILED, References(baseline=WITHOUT_ME), True, id="a-new-test-is-a-target"),
        pytest.param(
            Bucket.PASSED,
            References(head={"test_a.py": {"test_me": "body"}}),
            False,
            id="passing-as-committed-joins-the-baseline",
        ),
        pytest.param(
            Bucket.PASSED,
            References(baseline=WITHOUT_ME, head={"test_a.py": {"test_me": "body"}}),
            False,
            id="a-colleagues-merged-passing-test-is-not-the-step",
        ),
        pytest.param(
            Bucket.PASSED,
            References(baseline=past(body="old"), head={"test_a.py": {"test_me": "body"}}),
            False,
            id="changed-committed-and-passing-is-not-the-step",
        ),
        pytest.param(
            Bucket.FAILED,
            References(head={"test_a.py": {"test_me": "body"}}),
            True,
            id="failing-as-committed-is-a-target",
        ),
        pytest.param(
            Bucket.FLAKY, References(head={"test_a.py": {"test_me": "body"}}), True, id="flaky-as-committed-is-a-target"
        ),
        pytest.param(
            Bucket.PASSED,
            References(head={"test_a.py": {"test_me": "committed"}}),
            True,
            id="changed-since-the-commit-is-a-target",
        ),
        pytest.param(
            Bucket.PASSED, References(head={"test_b.py": {"test_me": "body"}}), True, id="another-file-is-another-test"
        ),
    ],
)
def test_targets_in_the_first_phase(bucket: Bucket, given: References, is_target: bool) -> None:
    assert (ME in judge(bucket, given, in_first_phase=True).targets) is is_target


def test_all_parameter_sets_of_a_changed_test_are_targets() -> None:
    ids = (f"{ME}[1]", f"{ME}[2]", OTHER)
    before = Past.of(inventory(*ids), {})
    outcomes = dict.fromkeys(ids, Bucket.FAILED)
    bodies = {"test_me": "new", "test_other": "body"}
    now = Inventory({"test_a.py": TestFile(content="c", ids=tuple(split_id(each)[1] for each in ids), bodies=bodies)})
    judged = judge_outcomes(outcomes, now, References(baseline=before), in_first_phase=True)
    assert judged.targets == {f"{ME}[1]", f"{ME}[2]"}


def test_a_new_parameter_set_of_an_old_test_is_a_target() -> None:
    before = Past.of(inventory(f"{ME}[1]"), {})
    outcomes = {f"{ME}[1]": Bucket.PASSED, f"{ME}[2]": Bucket.FAILED}
    judged = judge_outcomes(outcomes, inventory(*outcomes), References(baseline=before), in_first_phase=True)
    assert judged.targets == {f"{ME}[2]"}


def test_later_phases_keep_the_targets_of_the_first() -> None:
    assert judge(Bucket.PASSED, references(targets=(ME,))).targets == {ME}
    assert judge(Bucket.PASSED, LATER).targets == frozenset()


# --- what was so before the cycle


@pytest.mark.parametrize(
    ("bucket", "baseline", "named"),
    [
        pytest.param(Bucket.FAILED, past(), True, id="passed-before-fails-now"),
        pytest.param(Bucket.ERROR, past(), True, id="passed-before-error-now"),
        pytest.param(Bucket.FAILED, past(body="old"), False, id="with-another-body-it-is-another-test"),
        pytest.param(Bucket.FAILED, past(Bucket.FAILED), False, id="failed-before-and-fails-now"),
        pytest.param(Bucket.FAILED, past(Bucket.SKIPPED), False, id="was-skipped-before"),
        pytest.param(Bucket.FAILED, WITHOUT_ME, False, id="was-not-there-before"),
        pytest.param(Bucket.PASSED, past(), False, id="still-passes"),
        pytest.param(Bucket.FAILED, None, False, id="no-baseline"),
    ],
)
def test_baseline_failing(bucket: Bucket, baseline: Past | None, named: bool) -> None:
    judged = judge(bucket, References(baseline=baseline))
    assert (judged.baseline_failing == {ME}) is named
    assert judged.baseline_total == (0 if baseline is None else len(baseline.ids))


NEW = "test_more.py::test_new"


@pytest.mark.parametrize(
    ("new", "lines", "in_first_phase", "named"),
    [
        pytest.param(Bucket.UNCOLLECTABLE, (1, 1), True, False, id="the-same-import-fails"),
        pytest.param(Bucket.UNCOLLECTABLE, (1, 2), True, True, id="another-import-fails"),
        pytest.param(Bucket.UNCOLLECTABLE, (1, 1), False, True, id="in-a-later-phase"),
        pytest.param(Bucket.FAILED, (1, 1), True, True, id="the-new-one-can-be-imported"),
        pytest.param(Bucket.PASSED, (1, 1), True, True, id="no-new-one-fails"),
    ],
)
def test_old_tests_wait_with_a_target(new: Bucket, lines: tuple[int, int], in_first_phase: bool, named: bool) -> None:
    failures = {
        test_id: Failure(reason=Reason.STRUCTURAL, file="test_it.py", line=line)
        for test_id, line in zip((ME, NEW), lines, strict=True)
    }
    judged = judge_outcomes(
        {ME: Bucket.UNCOLLECTABLE, NEW: new},
        inventory(ME, NEW),
        References(baseline=past()),
        in_first_phase=in_first_phase,
        failures=failures,
    )
    assert (judged.baseline_failing == {ME}) is named
    assert ME in judged.failing


@pytest.mark.parametrize(
    ("bucket", "recovered"),
    [
        pytest.param(Bucket.PASSED, True, id="a-known-failure-that-passes-has-recovered"),
        pytest.param(Bucket.FLAKY, True, id="after-a-rerun-too"),
        pytest.param(Bucket.FAILED, False, id="one-that-still-fails-has-not"),
        pytest.param(Bucket.SKIPPED, False, id="one-that-is-skipped-has-not"),
    ],
)
def test_recovered(bucket: Bucket, recovered: bool) -> None:
    assert (judge(bucket, References(baseline=past(Bucket.FAILED))).recovered == {ME}) is recovered


# --- the balance

BUCKETS = st.sampled_from(tuple(Bucket))
IDS = [f"test_{file}.py::test_{name}" for file in "ab" for name in "xyz"]
OUTCOMES = st.dictionaries(st.sampled_from(IDS), BUCKETS)
BODIES = st.sampled_from(["old", "new"])


@st.composite
def histories(draw: st.DrawFn) -> Past | None:
    ids = draw(st.lists(st.sampled_from(IDS), unique=True))
    if not ids:
        return None
    odd = {test_id: draw(BUCKETS) for test_id in ids if draw(st.booleans())}
    return Past.of(inventory(*ids, body=draw(BODIES)), odd)


@given(
    outcomes=OUTCOMES,
    body=BODIES,
    baseline=histories(),
    first=histories(),
    known=st.lists(st.sampled_from(IDS), unique=True),
    targets=st.lists(st.sampled_from(IDS), unique=True),
    recovered=st.lists(st.sampled_from(IDS), unique=True),
    red=st.lists(st.sampled_from(IDS), unique=True),
    head=st.dictionaries(st.sampled_from(["test_a.py", "test_b.py"]), st.just({"test_x": "new"})),
    in_first_phase=st.booleans(),
)
def test_every_test_stands_in_exactly_one_place(
    outcomes: dict[str, Bucket],
    body: str,
    baseline: Past | None,
    first: Past | None,
    known: list[str],
    targets: list[str],
    recovered: list[str],
    red: list[str],
    head: Mapping[str, Mapping[str, str]],
    in_first_phase: bool,
) -> None:
    references = References(
        baseline=baseline,
        first=first,
        known=inventory(*known, body=body),
        known_ids=known,
        targets=targets,
        recovered=recovered,
        red=dict.fromkeys(red, body),
        head=head,
    )
    judged = judge_outcomes(outcomes, inventory(*outcomes, body=body), references, in_first_phase=in_first_phase)
    for test_id, bucket in outcomes.items():
        assert len(where(judged, test_id)) == (bucket is not Bucket.NOT_RUN), (test_id, bucket)
    assert sum(len(getattr(judged, name)) for name in SIX) == sum(
        bucket is not Bucket.NOT_RUN for bucket in outcomes.values()
    )
    assert judged.flaky <= judged.passing
    assert judged.baseline_failing <= judged.failing
    if judged.green is Green.GREEN:
        assert judged.passing
        assert not judged.failing | judged.newly_skipped | judged.odd | judged.flaky


@pytest.mark.parametrize("bucket", [Bucket.SKIPPED, Bucket.SKIPPED_IF])
def test_a_set_of_parameters_was_red_if_its_test_was(bucket: Bucket) -> None:
    """While a module can't be imported its tests are counted from the source, where parameters do not show."""
    one = f"{ME}[1]"
    past = references(first=LATER.first, targets=(ME,), red={ME: "body"})
    judged = judge_outcomes({one: bucket, OTHER: Bucket.PASSED}, inventory(one, OTHER), past, in_first_phase=False)
    assert where(judged, one) == ["newly_skipped"]
