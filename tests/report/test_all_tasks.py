"""Every task on one page: as text, Markdown and HTML, from values."""

from __future__ import annotations

import re

import pytest

from phase_gate.report.all_tasks import TaskLine, TaskList, Wanted, render_markdown, render_text
from phase_gate.report.html.all_tasks import render_all
from phase_gate.values import replace

LINE = TaskLine(task="part-1", name="part 1", workflow="verification", state="pending", shown="pending", tone="open")
HELD = replace(
    LINE,
    task="part-2",
    name="part 2",
    state="executing",
    shown="executing",
    by="ann",
    since="2026-01-26T14:00:00.000Z",
    wave="one",
    waits_for="the report of ann",
    next_command="phase-gate verify status --task part-2",
)
DONE = replace(LINE, task="part-3", name="part 3", state="approved", shown="approved", tone="good", is_finished=True)
TASKS = TaskList(root="shop", at="2026-01-26T14:05:00.000Z", lines=(LINE, HELD, DONE))


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        pytest.param(Wanted(), ["part 1", "part 2", "part 3"], id="all"),
        pytest.param(Wanted(state="EXECUTING"), ["part 2"], id="state-in-any-case"),
        pytest.param(Wanted(wave="one"), ["part 2"], id="wave"),
        pytest.param(Wanted(by="Ann"), ["part 2"], id="who"),
        pytest.param(Wanted(by="ann", state="pending"), [], id="both"),
    ],
)
def test_filters(wanted: Wanted, names: list[str]) -> None:
    assert [line.name for line in TASKS.lines if wanted.fits(line)] == names


def test_the_text_leaves_out_columns_that_say_nothing() -> None:
    text = render_text(TASKS)
    assert "part-2  executing  one   ann  2026-01-26 14:00  the report of ann" in text
    assert "3 tasks: 1 pending, 1 executing, 1 approved" in text
    assert text.endswith("next: phase-gate verify status --task part-2")
    assert "wave" not in render_text(TaskList(root="shop", at="", lines=(LINE,)))
    assert render_text(TaskList(root="shop", at="")) == "no task"


def test_markdown_has_the_same_and_who_has_what() -> None:
    text = render_markdown(TASKS)
    assert "| part 2 | executing | one | ann | 2026-01-26 14:00 | the report of ann |" in text
    assert "## Who has what" in text


def test_the_page_stands_alone_and_has_every_task() -> None:
    page = render_all(TASKS)
    assert "1 of 3 tasks finished" in page
    for text in ('<option value="executing">', '<option value="one">', '<option value="ann">', "the report of ann"):
        assert text in page
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", page)
    assert "There is no task yet." in render_all(TaskList(root="shop", at=TASKS.at))


def test_names_can_not_be_injected() -> None:
    hostile = replace(HELD, name="<script>alert(1)</script>|x", by='"><img onerror=1>')
    page = render_all(replace(TASKS, lines=(hostile,)))
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<script>alert" not in render_markdown(replace(TASKS, lines=(hostile,)))
