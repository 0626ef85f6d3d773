"""The page *evidence*: proof and new lines, and what to type where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from phase_gate.gate.reach import Reach
from phase_gate.new_code.provider import reach_of
from phase_gate.new_code.view import view_of
from phase_gate.report.html.evidence import render_shown
from phase_gate.report.html.source import HOW
from phase_gate.report.story.model import Shown
from phase_gate.source.new_code import find_new
from tests.report.sample_evidence import new_lines
from tests.report.sample_story import build_sample


def shown() -> str:
    return render_shown(build_sample().story().shown)


@pytest.mark.parametrize("command", ["phase-gate prove", "evidence: new_code: true"])
def test_where_there_is_nothing_it_says_what_to_type(command: str) -> None:
    assert f"<code>{command}</code>" in render_shown(Shown())


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("GREEN: 1 of 3 targets proven.", id="proof"),
        pytest.param("No target notices when these functions do nothing:", id="unnoticed"),
        pytest.param("12 new lines in 1 file: no test reaches 3 of them.", id="new lines"),
    ],
)
def test_each_part_tells_what_was_found(said: str) -> None:
    assert said in shown()


def test_the_three_runs_of_a_target_stand_side_by_side() -> None:
    row = shown().partition("test_fee_from_the_second_on</th>")[2].partition("</tr>")[0]
    for label, text in (
        ("without the change", "fails"),
        ("with it", "passes"),
        ("emptied", "not noticed"),
        ("verdict", "checks-nothing"),
    ):
        assert text in row.partition(f'data-label="{label}"')[2].partition("</td>")[0]


def test_what_a_colour_says_stands_there_in_words() -> None:
    page = shown()
    for how in ("reached", "import", "one-way", "untested"):
        row = page.partition(f'<tr class="is-new {how}">')[2].partition("</tr>")[0]
        assert f'<span class="hidden">{HOW[how][1]}</span>' in row


def test_a_view_shows_what_stands_around() -> None:
    (file,) = new_lines()["files"]
    assert [(row["line"], row["how"]) for row in file["rows"]][:8] == [
        (2, ""),
        (3, ""),
        (4, "import"),
        (5, ""),
        (6, ""),
        (7, "import"),
        (8, "reached"),
        (9, "reached"),
    ]


def test_a_view_is_bounded() -> None:
    text = "\n".join(f"x{number} = {'1' * 1000}" for number in range(3000))
    tests = tuple(f"test_{number}" for number in range(500))
    reach = Reach(lines={"a.py": dict.fromkeys(range(1, 3001), tests)})
    found = [reach_of("a.py", find_new({}, {"a.py": text})["a.py"], reach)]
    view: dict[str, Any] = view_of(found, {"a.py": text})
    assert (view["total"], view["untested"], view["is_cut"]) == (3000, 0, True)
    assert len(view["files"][0]["rows"]) == 400
    assert len(str(view)) < 200_000
    assert "and 498 more" in render_shown(Shown(new_lines=view))
    assert len(render_shown(Shown(new_lines=view))) < 200_000
