"""Runs as the columns of a timeline, and headlines."""

from __future__ import annotations

import pytest

from phase_gate.report.story import Happening, LedgerCheck, Run, Story, bands_of, columns_of
from phase_gate.values import replace
from tests.report.history import History, given
from tests.report.samples import build_sample


def runs(*failed: int) -> list[Run]:
    return [
        Run(number=number, id=str(number), at="", phase="GREEN", cycle=1, failed=each, iteration=1)
        for number, each in enumerate(failed, start=1)
    ]


@pytest.mark.parametrize(
    ("number", "columns", "in_first"),
    [
        pytest.param(1, 1, 1, id="one"),
        pytest.param(200, 200, 1, id="as-many-as-there-is-room-for"),
        pytest.param(201, 101, 2, id="one-more-and-two-share-a-column"),
        pytest.param(10_000, 200, 50, id="ten-thousand"),
    ],
)
def test_how_many(number: int, columns: int, in_first: int) -> None:
    found = columns_of(runs(*[0] * number), ())
    assert (len(found), len(found[0].runs)) == (columns, in_first)
    assert [run.number for column in found for run in column.runs] == list(range(1, number + 1))


def test_the_worst_run_is_drawn() -> None:
    assert [column.worst.failed for column in columns_of(runs(0, 3, 1, 0), (), at_most=2)] == [3, 1]


def test_happenings_belong_to_the_run_that_began_last() -> None:
    happenings = [Happening(run=number, at="", kind="exited", text=str(number)) for number in (0, 1, 3, 4)]
    found = columns_of(runs(0, 0, 0, 0), happenings, at_most=2)
    assert [[each.text for each in column.happenings] for column in found] == [["1"], ["3", "4"]]


def test_runs_that_are_left_out_leave_their_happenings_out() -> None:
    found = columns_of(runs(0, 0, 0)[1:], [Happening(run=1, at="", kind="exited", text="gone")])
    assert [column.happenings for column in found] == [(), ()]


def test_bands() -> None:
    story = build_sample().story()
    bands = bands_of(columns_of(story.runs, story.happenings))
    assert [(band.phase, band.cycle, band.first, band.last) for band in bands] == [
        *(("GREEN", 1, 0, 1), ("RED", 2, 2, 3), ("GREEN", 2, 4, 12), ("REFACTOR", 2, 13, 17)),
        *(("RED", 3, 18, 18), ("GREEN", 3, 19, 28)),
    ]


def story_of(*greens: str) -> Story:
    history = History()
    history.run("RED", {"tests/test_a.py::test_a": "f"}, signal=given("it fails"))
    for tree in greens:
        history.run("GREEN", {"tests/test_a.py::test_a": "p" if tree else "f"}, tree=tree)
    return history.story()


@pytest.mark.parametrize(
    ("story", "headline", "tone"),
    [
        pytest.param(History().story(), "Nothing is recorded yet", "open", id="new"),
        pytest.param(story_of(), "RED may end", "good", id="open"),
        pytest.param(story_of("t"), "GREEN is in progress", "open", id="closed"),
        pytest.param(story_of("t", "t"), "GREEN waits for the signal", "open", id="waiting"),
        pytest.param(story_of(*[""] * 5), "GREEN is halted", "bad", id="halted"),
        pytest.param(
            replace(story_of(), ledger=LedgerCheck(events=3, problem="line 4 is wrong")),
            "This record can't be trusted",
            "bad",
            id="damaged",
        ),
    ],
)
def test_headlines(story: Story, headline: str, tone: str) -> None:
    assert (story.headline, story.tone) == (headline, tone)
