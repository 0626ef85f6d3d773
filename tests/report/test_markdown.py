"""Verdicts and stories as Markdown: read by a real parser, so that what looks like a table is one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from phase_gate.gate.measured import Section, Table
from phase_gate.gate.verdict import GuardResult
from phase_gate.report.markdown import render_markdown, render_story, show
from phase_gate.report.story import LedgerCheck, Story
from phase_gate.values import replace
from tests.report.samples import build_hostile, build_long, build_sample
from tests.report.test_ci_files import evaluation, finding


def as_html(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable("table").render(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("![x](https://example.org/x.png)", id="a-picture"),
        pytest.param("[read this](javascript:alert)", id="a-link"),
        pytest.param("<img src=x>", id="a-tag"),
        pytest.param("a | b", id="a-cell"),
        pytest.param("a\\[b](https://example.org)", id="a-backslash"),
    ],
)
def test_a_hostile_name_in_a_verdict_is_only_a_name(text: str) -> None:
    findings = (finding("test-altered", detail=text),)
    html = as_html(render_markdown(evaluation(root="project", warnings=(text,), reason=text, findings=findings)))
    assert html.count(text.replace("<", "&lt;").replace(">", "&gt;")) >= 2
    assert [part for part in ("<img", "<a ") if part in html] == []


def test_choices_stay_together_and_unmeasured_guards_are_unknown() -> None:
    choices = {"condition": "(a == true OR b == true)", "values": {"a": False, "b": True}}
    guards = (GuardResult(name="targets-proven"),)
    text = render_markdown(evaluation(gate_1={**choices, "guards": guards}))
    rows = ("✅ | one of | ", "❌ | · `a == true` | false", "✅ | · `b == true` | true", "❔ | targets-proven | ")
    assert "\n".join(f"| {row} |" for row in rows) in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x00b", "a\\x00b", id="nothing"),
        pytest.param("a\nb\tc", "a b c", id="line-ends-are-blanks"),
        pytest.param("\x1b[31m", "\\x1b[31m", id="colors-of-a-terminal"),
        pytest.param("x\u202ey", "x\\u202ey", id="turned-around"),
        pytest.param("\ud800", "\\ud800", id="half-a-pair"),
        pytest.param("\u200b", "\\u200b", id="no-width"),
        pytest.param("naïve Ω 日本 🙂", "naïve Ω 日本 🙂", id="letters-stay"),
    ],
)
def test_invisible_characters_are_shown(text: str, shown: str) -> None:
    assert show(text) == shown


def test_a_long_text_is_cut_in_the_middle() -> None:
    shown = show("a" * 5_000 + "z" * 5_000)
    assert len(shown) < 450
    assert shown.startswith("aaa")
    assert shown.endswith("zzz (10,000 characters)")


# --- the story


def test_every_part_is_there() -> None:
    text = as_html(render_story(build_sample().story()))
    titles = ("Both gates", "Runs", "Criteria", "Tests", "Trend", "Evidence", "What happened", "Ledger")
    for title in titles:
        assert f"<h3>{title}</h3>" in text
    assert "<h2>Phase gate: GREEN is in progress</h2>" in text
    assert "<code>tests/test_storage.py::test_two_writers_at_once</code>" in text
    assert "<p>The last verdict, on GREEN, iteration 9:</p>" in text
    # Gates, runs, criteria, tests.
    assert text.count("<table>") == 5


def test_a_hostile_name_is_a_name() -> None:
    text = as_html(render_story(build_hostile()))
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


def test_damage_is_said_first() -> None:
    check = LedgerCheck(events=3, problem="ledger.jsonl:4: its hash is wrong", remedy="phase-gate audit")
    text = render_story(replace(build_sample().story(), ledger=check))
    assert text.startswith("## Phase gate: This record can't be trusted\n\n**ledger.jsonl:4: its hash is wrong**")


def test_parts_of_special_workflows() -> None:
    table = Table(title="Steps", columns=("step", "standing"), rows=(("build", "passed"),))
    text = as_html(render_story(replace(build_sample().story(), more=(Section(title="Pipeline", tables=(table,)),))))
    assert "<h3>Pipeline</h3>" in text
    assert "<td>build</td>" in text
