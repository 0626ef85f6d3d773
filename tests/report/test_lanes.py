"""The drawing of who was at work when: a lane each, one bar for each piece of time, and words for all of it."""

from __future__ import annotations

import itertools
import re

import pytest

from phase_gate.drive.model import DriveState, Iteration, section_of
from phase_gate.gate.measured import Stretch, TimeLanes
from phase_gate.report.html import render_html
from phase_gate.report.html.lanes import render_lanes
from phase_gate.report.story.markdown import render_story
from phase_gate.values import replace
from phase_gate.workflow.settings import DriveSettings
from tests.report.history import History
from tests.report.test_html import ELEMENTS, seen


def row(number: int, phase: str, agent: float, tests: float, waited: float = 0.0) -> Iteration:
    return Iteration(
        drive="d",
        number=number,
        phase=phase,
        at="2026-01-02T03:04:05Z",
        how="ended",
        code=0,
        agent_seconds=agent,
        suite_seconds=tests,
        waited_seconds=waited,
        outcome="go-on",
    )


DRIVE = DriveState(
    id="d",
    at="",
    settings=DriveSettings(),
    iterations=(row(1, "RED", 60, 5), row(2, "GREEN", 100, 10), row(3, "GREEN", 20, 5, waited=40)),
)


def draw(drive: DriveState = DRIVE) -> str:
    times = section_of(drive).times
    assert times is not None
    return render_lanes(times, anchor="here")


def bars(text: str) -> list[tuple[str, float, float]]:
    """Return what each bar says, where it begins and how wide it is."""
    found = re.findall(r'<title>(iteration[^<]*)</title><rect x="([\d.]+)" y="\d+" width="([\d.]+)"', text)
    return [(says, float(x), float(wide)) for says, x, wide in found]


def test_each_piece_of_time_is_a_bar_where_the_one_before_ended() -> None:
    drawn = bars(draw())
    assert [says for says, _, _ in drawn] == [
        "iteration 1: agent 1m",
        "iteration 1: tests 5s",
        "iteration 2: agent 1m 40s",
        "iteration 2: tests 10s",
        "iteration 3: agent 20s",
        "iteration 3: tests 5s",
        "iteration 3: waits 40s",
    ]
    for (_, x, wide), (_, after, _) in itertools.pairwise(drawn):
        assert 0 < after - (x + wide) < 1


def test_the_bars_share_the_width_as_they_share_the_time() -> None:
    drawn = {says: wide for says, _, wide in bars(draw())}
    assert drawn["iteration 2: agent 1m 40s"] == pytest.approx(5 * drawn["iteration 3: agent 20s"], rel=0.05)


def test_it_says_what_it_shows() -> None:
    elements = seen(f"<div>{draw()}</div>").elements
    (drawing,) = [attributes for tag, attributes in elements if tag == "svg"]
    ids = {attributes.get("id"): tag for tag, attributes in elements}
    assert drawing["role"] == "img"
    assert (ids[drawing["aria-labelledby"]], ids[drawing["aria-describedby"]]) == ("title", "desc")
    assert "3 iterations: agent 3m, tests 20s, waits 40s; the table below has the numbers" in draw()


def test_a_phase_is_a_band_over_its_iterations() -> None:
    assert re.findall(r'class="band (\S+)"', draw()) == ["phase-red", "phase-green"]


def test_who_never_waited_has_no_such_lane() -> None:
    text = draw(replace(DRIVE, iterations=DRIVE.iterations[:2]))
    assert ">tests<" in text
    assert "waits" not in text


@pytest.mark.parametrize(
    "seconds", [0.001, 0.4, 3.0, 59.0, 3600.0, 40 * 3600.0, 4e6], ids=lambda each: f"{each:g}-seconds"
)
def test_any_length_of_time_has_a_clock_that_can_be_read(seconds: float) -> None:
    times = TimeLanes(title="t", unit="x", lanes=("a",), stretches=(Stretch(name="x", spans=(("a", seconds),)),))
    text = render_lanes(times, anchor="here")
    assert 1 <= text.count('class="grid"') <= 60
    assert text.count("lane-0") == 1


def test_where_no_time_was_spent_nothing_is_drawn() -> None:
    assert draw(replace(DRIVE, iterations=())) == ""


def test_two_hundred_iterations_fit() -> None:
    many = tuple(row(number, "GREEN", 1 + number % 7, 0.01) for number in range(200))
    text = draw(replace(DRIVE, iterations=many))
    assert max(x + wide for _, x, wide in bars(text)) <= 1060
    assert len(text) < 100_000


def test_hostile_names_stay_text() -> None:
    evil = "</title><script>alert(1)</script>\x1b[2J"
    times = TimeLanes(
        title=evil, unit="x", lanes=(evil,), stretches=(Stretch(name=evil, group=evil, spans=((evil, 1.0),)),)
    )
    text = f"<div>{render_lanes(times, anchor='here')}</div>"
    assert {tag for tag, _ in seen(text).elements} <= set(ELEMENTS) - {"script"}


def test_the_page_has_the_drawing_and_the_table() -> None:
    story = replace(History().story(), more=(section_of(DRIVE),))
    text = render_html(story)
    assert text.index("lane-0") > text.index("<style>")
    assert text.index('class="timeline lanes"') < text.index("Iterations of the drive")
    assert "style=" not in text
    assert "Iterations of the drive" in render_story(story)
