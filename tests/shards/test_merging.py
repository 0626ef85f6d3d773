"""Whether shards are one whole run, and what they show together. Pure: no files, no sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from phase_gate.gate.measured import Finding
from phase_gate.gate.outcomes import Failure
from phase_gate.gate.record import Document
from phase_gate.shards.merging import combine_shards
from phase_gate.shards.records import Shard, ShardError, Split, collection_digest
from phase_gate.values import fields, replace
from phase_gate.workflow.model import Workflow

IDS = ("t.py::test_a", "t.py::test_b", "t.py::test_c", "t.py::test_d")
SPLITTER, MARKS = "splitter:choose", "_pytest.mark:deselect_by_mark"


def shard(index: int, *own: str, total: int = 2, **changes: Any) -> Shard:
    """A shard that ran its own tests, all of them well; the splitter deselected the others."""
    facts = Document(
        outcomes=dict.fromkeys(own, "passed"),
        exit_status=0,
        tally={"passed": len(own), "deselected": len(IDS) - len(own)},
        duration_s=float(index),
    )
    made = Shard(
        id=f"id-{index}",
        split=Split(index, total),
        file=f"{index}-of-{total}",
        task="default",
        phase="GREEN",
        began="2026-01-01T00:00:00.000Z",
        commit="1" * 40,
        tree="git:" + "2" * 64,
        python="3.13.1",
        pytest="9.2.0",
        workflow=Workflow(name="tdd", phases=()),
        collected=IDS,
        collection=collection_digest(IDS),
        left_out={SPLITTER: tuple(place for place, each in enumerate(IDS) if each not in own)},
        facts=facts,
    )
    inner = {name: changes.pop(name) for name in list(changes) if name in FACTS}
    return replace(made, **changes, **({"facts": replace(facts, **inner)} if inner else {}))


FACTS = {*fields(Document)} - {*fields(Shard)}


def pair(**second: Any) -> list[Shard]:
    return [shard(1, *IDS[:2]), shard(2, *IDS[2:], **second)]


def collection(*ids: str) -> dict[str, Any]:
    return {"collected": ids, "collection": collection_digest(ids)}


@pytest.mark.parametrize(
    ("shards", "says"),
    [
        pytest.param([shard(1, *IDS)], "shard 2/2 of the run is missing", id="one-is-missing"),
        pytest.param(
            [*pair(), shard(2, *IDS[2:], id="other", file="old/2-of-2")],
            "shard 2/2 is there twice: 2-of-2 and old/2-of-2",
            id="one-is-repeated",
        ),
        pytest.param(
            [shard(1, *IDS[:2]), shard(2, *IDS[2:], total=3)],
            "they differ in the number of shards",
            id="two-splittings",
        ),
        pytest.param(
            pair(facts=None),
            "shard 2/2 began at 2026-01-01T00:00:00.000Z and never ended: it crashed, or was stopped",
            id="one-crashed",
        ),
        pytest.param(
            pair(commit="3" * 40),
            "shard 2/2 (333333333333) and shard 1/2 (111111111111) are not of one run: they differ in the commit",
            id="another-commit",
        ),
        pytest.param(pair(commit=""), "shard 2/2 (none) and shard 1/2", id="without-git"),
        pytest.param(pair(tree="git:" + "4" * 64), "they differ in the sources", id="other-sources-on-the-same-commit"),
        pytest.param(pair(phase="RED"), "shard 2/2 (RED) and shard 1/2 (GREEN)", id="another-phase"),
        pytest.param(pair(task="other"), "they differ in the task", id="another-task"),
        pytest.param(pair(python="3.12.1"), "they differ in Python", id="another-python"),
        pytest.param(pair(pytest="8.4.0"), "they differ in pytest", id="another-pytest"),
        pytest.param(pair(criteria=("AC-1",)), "(AC-1) and shard 1/2 (none)", id="other-criteria"),
        pytest.param(
            pair(workflow=Workflow(name="mine", phases=())), "they differ in the workflow", id="another-workflow"
        ),
        pytest.param(
            pair(settings={"option -W": "True"}),
            "shard 2/2 ('True') and shard 1/2 ('not set') are not of one run: they differ in the setting 'option -W'",
            id="another-setting",
        ),
        pytest.param(
            pair(**collection(*IDS[:3], "t.py::test_new")),
            "shard 2/2 (4 tests collected, among them t.py::test_new) and"
            " shard 1/2 (4 tests collected, among them t.py::test_d) are not of one run: they differ in the collection",
            id="another-collection",
        ),
        pytest.param(
            pair(collection_errors=("u.py",)), "4 tests collected, u.py not imported", id="a-module-failed-in-one-only"
        ),
        pytest.param(pair(is_void=True), "shard 2/2 is not complete: no test was meant to run", id="void"),
        pytest.param(pair(interrupted="interrupted"), "shard 2/2 is not complete: interrupted", id="interrupted"),
        pytest.param(
            pair(outcomes={IDS[2]: "failed", IDS[3]: "not-run"}),
            "shard 2/2 is not complete: 1 test of its own did not run: t.py::test_d",
            id="stopped-at-the-first-failure",
        ),
        pytest.param(
            pair(changed_sources=("calc.py",)), "sources changed while it ran: calc.py", id="sources-changed-meanwhile"
        ),
        pytest.param(
            [shard(1, *IDS[:3]), shard(2, *IDS[2:])],
            "shard 1/2 and shard 2/2 both ran 1 test: t.py::test_c",
            id="a-test-ran-twice",
        ),
        pytest.param(
            [shard(1, IDS[0]), shard(2, *IDS[2:])],
            "1 collected test ran in no shard: t.py::test_b",
            id="the-splitter-lost-one",
        ),
        pytest.param(
            [shard(1, IDS[0], left_out={}), shard(2, *IDS[2:], left_out={})],
            "1 collected test ran in no shard: t.py::test_b",
            id="dropped-without-a-word-everywhere",
        ),
    ],
)
def test_what_is_refused(shards: Sequence[Shard], says: str) -> None:
    refusal = _refusal(shards)
    assert says in refusal.problem
    assert refusal.remedy


def _refusal(shards: Sequence[Shard]) -> ShardError:
    with pytest.raises(ShardError) as caught:
        combine_shards(shards)
    return caught.value


def test_most_have_it_right_so_the_odd_one_is_named() -> None:
    shards = [shard(index, IDS[index - 1], total=4) for index in (1, 2, 3, 4)]
    shards[0] = replace(shards[0], commit="9" * 40)
    assert _refusal(shards).problem.startswith("shard 1/4 (999999999999) and shard 2/4")


def test_a_copy_a_patch_release_of_python_and_an_empty_shard_do_no_harm() -> None:
    assert len(combine_shards([*pair(), replace(pair()[1], file="copy/2-of-2")]).outcomes) == 4
    assert len(combine_shards(pair(python="3.13.7")).outcomes) == 4
    facts = combine_shards([shard(1, *IDS), shard(2, exit_status=5, tally={"deselected": 4})])
    assert (len(facts.outcomes), facts.exit_status, facts.tally) == (4, 0, {"passed": 4})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({MARKS: (1,)}, {MARKS: (1,)}, id="in-every-shard"),
        pytest.param({MARKS: (1,)}, {}, id="in-the-shard-that-would-have-run-it"),
    ],
)
def test_deselected_on_purpose_is_not_lost(first: Any, second: Any) -> None:
    """A test that a mark leaves out: whether the splitter or the mark comes first."""
    others: list[dict[str, tuple[int, ...]]] = [{SPLITTER: (2, 3)}, {SPLITTER: (0,)}]
    facts = combine_shards(
        [
            shard(1, IDS[0], left_out={**others[0], **first}, narrowed_by=("-m 'not slow'",)),
            shard(2, *IDS[2:], left_out={**others[1], **second}, narrowed_by=("-m 'not slow'",)),
        ]
    )
    assert facts.deselected == {"t.py::test_b"}
    assert facts.narrowed_by == ("-m 'not slow'",)
    assert facts.tally == {"passed": 3, "deselected": 1}


def test_who_splits_by_marks_does_not_deselect() -> None:
    """`-m "a"` here and `-m "b"` there: what nobody ran is lost, not left out."""
    shards = [
        shard(1, IDS[0], left_out={MARKS: (1, 2, 3)}),
        shard(2, *IDS[2:], left_out={MARKS: (0, 1)}),
    ]
    assert "1 collected test ran in no shard: t.py::test_b" in str(_refusal(shards))


def test_a_hook_that_deselects_is_said() -> None:
    hook = "conftest:pytest_collection_modifyitems"
    facts = combine_shards(
        [
            shard(1, IDS[0], left_out={hook: (1,), SPLITTER: (2, 3)}),
            shard(2, *IDS[2:], left_out={hook: (1,), SPLITTER: (0,)}),
        ]
    )
    assert facts.narrowed_by == ("1 deselected by a hook",)


def test_words_that_only_some_shards_were_given_narrow_nothing() -> None:
    shards = pair(narrowed_by=("-k 'c or d'",))
    assert combine_shards(shards).narrowed_by == ()


def test_what_they_show_together() -> None:
    doubt = Finding(slug="asserts-off", tier="hard", detail="python -O", guard="outcomes-genuine", id="PYTHONOPTIMIZE")
    broken = dict.fromkeys(("u.py::test_x", "u.py::test_y"), "uncollectable")
    shards = [
        shard(
            1,
            outcomes={IDS[0]: "failed", IDS[1]: "passed", **broken},
            tally={"failed": 1, "passed": 1, "errors": 1, "skipped": 1, "deselected": 2},
            collection_errors=("u.py",),
            skipped_modules=1,
            exit_status=1,
            failures={IDS[0]: Failure(reason="assertion")},
            messages={IDS[0]: "assert 1 == 2"},
            modules={"calc": "calc.py"},
            doubts=(doubt,),
            marked={IDS[0]: ("AC-1",)},
        ),
        shard(
            2,
            outcomes={IDS[2]: "skipped", IDS[3]: "passed", **broken},
            tally={"skipped": 2, "passed": 1, "errors": 1, "deselected": 2},
            collection_errors=("u.py",),
            skipped_modules=1,
            modules={"calc": "../calc.py", "other": "other.py"},
            doubts=(doubt,),
            marked={IDS[3]: ("AC-2",)},
            guarding={IDS[3]: "worked before"},
        ),
    ]
    facts = combine_shards(shards)
    assert dict(facts.outcomes) == {
        IDS[0]: "failed",
        IDS[1]: "passed",
        IDS[2]: "skipped",
        IDS[3]: "passed",
        **broken,
    }
    # One module that can't be imported, and one that is skipped: all shards see them, and they are one each.
    assert facts.tally == {"failed": 1, "passed": 2, "errors": 1, "skipped": 2}
    assert (facts.exit_status, facts.duration_s, facts.skipped_modules) == (1, 2.0, 1)
    assert facts.collection_errors == ("u.py",)
    assert facts.failures.keys() == facts.messages.keys() == {IDS[0]}
    assert facts.modules == {"calc": "../calc.py", "other": "other.py"}
    assert facts.doubts == (doubt,)
    assert facts.marked == {IDS[0]: ("AC-1",), IDS[3]: ("AC-2",)}
    assert facts.guarding == {IDS[3]: "worked before"}


def test_a_metric_that_shards_disagree_about_is_unknown() -> None:
    shards = pair(measured={"coverage": 40, "license_ok": True})
    shards[0] = replace(shards[0], facts=replace(shards[0].facts, measured={"coverage": 60, "license_ok": True}))  # type: ignore[type-var]
    facts = combine_shards(shards)
    assert facts.measured == {"license_ok": True}
    assert facts.complaints == ("metric 'coverage' is 60 in shard 1/2 and 40 in shard 2/2: unknown in the whole run",)
