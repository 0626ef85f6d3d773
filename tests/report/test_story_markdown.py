"""The story as Markdown: read by a real parser, so that what looks like a table is one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from phase_gate.gate.measured import Section, Table
from phase_gate.report.story.markdown import render_story
from phase_gate.report.story.model import LedgerCheck, Story
from phase_gate.values import replace
from tests.report.history import History
from tests.report.hostile import build_hostile
from tests.report.long_story import build_long
from tests.report.sample_story import build_sample


def rendered(story: Story) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(render_story(story)))


def test_every_part_is_there() -> None:
    text = rendered(build_sample().story())
    titles = ("Both gates", "Runs", "Criteria", "Tests", "Trend", "Evidence", "What happened", "Ledger")
    for title in titles:
        assert f"<h3>{title}</h3>" in text
    assert "<h2>Phase gate: GREEN goes on</h2>" in text
    assert "<code>tests/test_storage.py::test_two_writers_at_once</code>" in text
    # Gates, runs, criteria, tests.
    assert text.count("<table>") == 5


def test_a_hostile_name_is_a_name() -> None:
    text = rendered(build_hostile())
    for word in ("<script", "<img", "<svg", "<style", "<a ", "</e"):
        assert word not in text
    assert text.count("<h2>") == 1


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    lines = render_story(build_hostile()).splitlines()
    for number, line in enumerate(lines):
        if line.startswith("|") and set(line) <= set("| -"):
            head = lines[number - 1].replace("\\|", "").count("|")
            for row in lines[number + 1 :]:
                if not row.startswith("|"):
                    break
                assert row.replace("\\|", "").count("|") == head


@pytest.mark.parametrize("build", [lambda: build_long(10_000), build_hostile], ids=["long", "hostile"])
def test_a_comment_takes_it(build: Callable[[], Story]) -> None:
    assert len(render_story(build())) < 65_536


def test_nothing_yet() -> None:
    text = render_story(History().story())
    assert text.startswith("## Phase gate: Nothing is recorded yet\n")
    assert "No run is recorded yet." in text


def test_damage_is_said_first() -> None:
    check = LedgerCheck(events=3, problem="ledger.jsonl:4: its hash is wrong", remedy="phase-gate audit")
    text = render_story(replace(build_sample().story(), ledger=check))
    assert text.startswith("## Phase gate: This record can't be trusted\n\n**ledger.jsonl:4: its hash is wrong**")


def test_parts_of_special_workflows() -> None:
    table = Table(title="Steps", columns=("step", "standing"), rows=(("build", "passed"),))
    text = rendered(replace(build_sample().story(), more=(Section(title="Pipeline", tables=(table,)),)))
    assert "<h3>Pipeline</h3>" in text
    assert "<td>build</td>" in text
