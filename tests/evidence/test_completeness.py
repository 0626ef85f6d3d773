"""Which documents count, which are new since the cycle began, and what a decision record lacks."""

from __future__ import annotations

import pytest

from phase_gate.evidence.documents.completeness import (
    find_changed,
    find_fault,
    find_missing,
    is_hole,
    is_left_over,
    is_numbered,
)
from phase_gate.evidence.documents.library import read_markdown

#: More than twenty different words.
PROSE = (
    "The parser reads one file after the other, keeps what it knows about each of them in memory, and writes the "
    "result as a table when nothing is left to read."
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(f"# Parser\n\n{PROSE}\n", None, id="a-title-and-a-paragraph"),
        pytest.param(f"# Parser\n\n{PROSE}\n\n```\nTODO\n<name>\n```\n", None, id="placeholders-in-a-code-block"),
        pytest.param("# 読む\n\n構文解析器はファイルを一つずつ読み取り結果を表に書き出します", None, id="no-blanks"),
        pytest.param(f"---\ntitle: <the title>\n---\n\n# Parser\n\n{PROSE}\n", None, id="front-matter-is-no-text"),
        pytest.param("# Parser\n", 1, id="a-title-alone"),
        pytest.param("# Parser\n\n" + "blah " * 50, 2, id="one-word-again-and-again"),
        pytest.param(f"# Parser\n\nIt parses.\n\n```\n{PROSE}\n```\n", 3, id="all-of-it-code"),
        pytest.param(f"# Parser\n\nTODO: {PROSE}\n", 1, id="all-to-do"),
        pytest.param(f"# Parser\n\n{{describe here what {PROSE[:-1].replace(',', '')}}}\n", 1, id="all-of-it-a-hole"),
        pytest.param("# One\n\n```mermaid\npie\n```\n\n<p align='center'>two `three`</p>\n", 3, id="diagrams-and-tags"),
    ],
)
def test_which_documents_count(text: str, words: int | None) -> None:
    fault = find_fault(read_markdown(text), minimum_words=20)
    assert fault == (
        "" if words is None else f"{words} different word{'s' * (words > 1)} of text, at least 20 are wanted"
    )


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        pytest.param({}, {"a": "x"}, {"a": ""}, id="new"),
        pytest.param({"a": "x"}, {"a": "y"}, {"a": ""}, id="another-text"),
        pytest.param({"a": "x"}, {"a": "x"}, {}, id="as-it-was"),
        pytest.param({"a": "x"}, {}, {}, id="gone"),
        pytest.param({"a": "x"}, {"a": "x", "b": "x"}, {"b": "it has the same text as a"}, id="an-old-one-copied"),
        pytest.param({"a": "x"}, {"b": "x"}, {"b": "it was moved here from a"}, id="moved"),
        pytest.param({}, {"a": "x", "b": "x"}, {"a": "", "b": "it has the same text as a"}, id="a-new-one-twice"),
        pytest.param(
            {"a": "x", "b": "y"},
            {"a": "y", "b": "x"},
            {"a": "it has the same text as b", "b": "it has the same text as a"},
            id="swapped",
        ),
        pytest.param({"a": "x", "b": "x"}, {"a": "x", "b": "x"}, {}, id="twins-that-were-there"),
    ],
)
def test_since(before: dict[str, str], now: dict[str, str], changed: dict[str, str]) -> None:
    assert find_changed(now, before) == changed


# --- pages


def test_pieces_have_code_in_backticks_and_no_emphasis() -> None:
    page = read_markdown("**Bold** `code` *[link](x.md)* <b>tag</b> <!-- gone -->\n")
    assert [piece.text.strip() for piece in page.pieces] == ["Bold `code` link <b>tag"]


@pytest.mark.parametrize(
    ("matter", "status"),
    [
        ("---\ntitle: x\nstatus: accepted # by all\n---", "accepted"),
        ("+++\nstatus = 'draft'\n\n+++", "draft"),
        ("x\n\nstatus: x\n", None),
    ],
)
def test_front_matter_is_no_text_and_its_status_is_kept(matter: str, status: str | None) -> None:
    page = read_markdown(f"{matter}\n# Title\n")
    assert [(piece.line, piece.level, piece.text) for piece in page.pieces][-1] == (5, 1, "Title")
    assert (page.status, len(page.pieces)) == (status, 1 if status else 3)


HOLES = (
    *(
        "{title of option 1}",
        "Deciders: {list everyone involved}",
        "Status: [proposed or accepted]",
        "**{short title}**",
    ),
    *("{{ cookiecutter.project_name }}", "<Short Title of the Issue>", "Author: <your name>", "\\<Name of the box\\>"),
)
NO_HOLES = (
    *("Set `<NAME>` to your name", "`{short title here}`", "Returns: {string | undefined}", "{width=50% height=20}"),
    *("{name: text, size: 3}", "<details>", "<Tabs>", "<https://example.org/a/b>", "<someone@example.org>"),
    *("[Unreleased]", "[ ] write the tests", "{{< figure src=a.png >}}", "It maps {a, b, c} to {1, 2, 3}", ""),
)
OPEN = ("TODO", "**tbd**", "[TODO]", "TODO(anna): ask", "...", "-", "???", "TODO - later")
WRITTEN = ("TODO comments are found by the linter", "WIP-limits keep the board short", "`TODO`", "3", "No.")


def test_what_a_template_left_and_what_an_author_wrote() -> None:
    assert [text for text in HOLES if not is_hole(text)] == []
    assert [text for text in NO_HOLES if is_hole(text)] == []
    assert [text for text in OPEN if not is_left_over(text)] == []
    assert [text for text in WRITTEN if is_left_over(text)] == []


# --- decision records


ADR_TOOLS = """\
# 2. Keep state in a file

Date: 2024-05-01

## Status

Accepted

## Context

Several processes have to agree on what happened.

## Decision

We keep an append-only file beside the sources.

## Consequences

Nothing has to be installed. A shared folder needs locks.
"""
MADR_4 = """\
---
status: "accepted"
date: 2024-05-01
decision-makers: Anna, Ben
---

# Keep state in a file

## Context and Problem Statement

Several processes have to agree on what happened.

## Decision Drivers

* no server

## Considered Options

* A file
* A database

## Decision Outcome

Chosen option: "A file", because nothing has to be installed.
"""


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param(ADR_TOOLS, (), id="adr-tools"),
        pytest.param(MADR_4, (), id="madr-where-consequences-are-optional"),
        pytest.param(ADR_TOOLS.replace("## Status\n\nAccepted", "**Status:** Accepted"), (), id="status-in-bold"),
        pytest.param(
            ADR_TOOLS.replace("## Status\n\nAccepted", "| Status | Accepted |\n| --- | --- |\n| Date | today |"),
            (),
            id="status-in-a-table",
        ),
        pytest.param(
            ADR_TOOLS.replace("We keep an append-only file beside the sources.", "```\nappend only, beside it\n```"),
            (),
            id="a-decision-that-is-code",
        ),
        pytest.param(ADR_TOOLS.replace("## Status\n\nAccepted\n", ""), ("a status",), id="no-status"),
        pytest.param(ADR_TOOLS.replace("Accepted", ""), ("a real status (it is empty)",), id="empty-status"),
        pytest.param(ADR_TOOLS.replace("Accepted", "STATUS"), ("a real status (STATUS)",), id="template-status"),
        pytest.param(
            MADR_4.replace('"accepted"', '"{proposed | rejected | accepted}"'),
            ("a real status ({proposed | rejected | accepted})",),
            id="madr-offers-a-choice",
        ),
        pytest.param(
            ADR_TOOLS.replace("## Decision", "## Decision Drivers"), ('a section "Decision"',), id="drivers-only"
        ),
        pytest.param(
            ADR_TOOLS.partition("## Consequences")[0], ('a section "Consequences"',), id="no-consequences-in-adr-tools"
        ),
        pytest.param(
            ADR_TOOLS.replace("We keep an append-only file beside the sources.", "{what was decided}"),
            ('text under "Decision"',),
            id="the-decision-is-a-hole",
        ),
        pytest.param(
            "# Decision on the database\n\nPostgres.\n",
            ("a status", 'a section "Context"', 'a section "Decision"', 'a section "Consequences"'),
            id="a-title-is-no-part",
        ),
    ],
)
def test_what_a_record_lacks(text: str, missing: tuple[str, ...]) -> None:
    assert find_missing(read_markdown(text)) == missing


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in ("0001-state.md", "0012_state.md", "ADR-003-state.md", "adr0004.md", "0006.x.md")),
        *((name, False) for name in ("README.md", "template.md", "keep-state-2.md", "123456-too-long.md")),
    ],
)
def test_records_have_numbers(name: str, expected: bool) -> None:
    assert is_numbered(f"docs/adr/{name}") is expected
