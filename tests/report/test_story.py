"""The timeline, and headlines."""

from __future__ import annotations

import pytest

from phase_gate.report.drawing import draw_timeline
from phase_gate.report.story import Happening, LedgerCheck, Story
from phase_gate.values import replace
from tests.report.history import History, given
from tests.report.samples import build_long, build_sample


def test_the_timeline_has_the_last_runs() -> None:
    timeline = draw_timeline(build_long(300))
    assert [each["run"].number for each in timeline["columns"]] == list(range(101, 301))
    assert timeline["label"].startswith("The last 200 of 300 runs, ")


def test_a_sign_belongs_to_the_run_that_began_last() -> None:
    story = build_sample().story()
    happenings = [Happening(run=number, at="", kind="exited", text=str(number)) for number in (0, 1, 3)]
    columns = draw_timeline(replace(story, happenings=tuple(happenings)))["columns"]
    assert [each["run"].number for each in columns if each["signs"]] == [1, 3]
    assert columns[2]["title"].endswith(". 3")


def test_bands() -> None:
    bands = draw_timeline(build_sample().story())["bands"]
    assert [(band["phase"], band["cycle"]) for band in bands] == [
        *(("GREEN", 1), ("RED", 2), ("GREEN", 2), ("REFACTOR", 2), ("RED", 3), ("GREEN", 3))
    ]
    assert sum(band["width"] for band in bands) == pytest.approx(29 * bands[0]["width"] / 2)


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
