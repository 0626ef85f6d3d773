"""Markdown as it is read: links with their lines, anchors, pieces of text."""

from __future__ import annotations

import pytest

from phase_gate.evidence.documents.markdown import read_markdown


def links(text: str) -> list[tuple[int, str]]:
    return [(link.line, link.target) for link in read_markdown(text).links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[a](b.md)", [(1, "b.md")], id="plain"),
        pytest.param('x\ny [a](b.md "title") z', [(2, "b.md")], id="in-the-second-line-with-a-title"),
        pytest.param("[a](<b c.md>)", [(1, "b%20c.md")], id="between-angle-brackets"),
        pytest.param("![a](b.png)", [(1, "b.png")], id="an-image"),
        pytest.param("[![a](b.png)](c.md)", [(1, "c.md"), (1, "b.png")], id="an-image-that-is-a-link"),
        pytest.param("[a][r] [r] [x]\n\n[r]: b.md", [(1, "b.md"), (1, "b.md")], id="references"),
        pytest.param(
            "# [a](b.md)\n\n| [c](d.md) |\n| --- |\n", [(1, "b.md"), (3, "d.md")], id="in-headings-and-tables"
        ),
        pytest.param("`[a](b.md)` ``[c](d.md)``", [], id="code"),
        pytest.param("```\n[a](b.md)\n```\n\n    [c](d.md)\n", [], id="code-blocks"),
        pytest.param("<!-- [a](b.md) -->", [], id="a-comment"),
        pytest.param("\\[a](b.md)", [], id="escaped"),
    ],
)
def test_links(text: str, expected: list[tuple[int, str]]) -> None:
    assert links(text) == expected


def test_anchors() -> None:
    text = (
        "# One *two*\n\nThree\n-----\n\n## Named {#own-name}\n\n## One two\n\n"
        "<a id='by-id'></a> and <a name=\"by-name\"></a>\n\n<div id=block>\n</div>\n\n(a-target)=\n"
    )
    anchors = read_markdown(text).anchors
    assert {"one-two", "three", "own-name", "one-two-1", "by-id", "by-name", "block", "a-target"} <= anchors
    assert "named-own-name" not in anchors


def test_pieces_have_code_in_backticks_and_no_emphasis() -> None:
    page = read_markdown("**Bold** `code` *[link](x.md)* <b>tag</b> <!-- gone -->\n")
    assert [piece.text.strip() for piece in page.pieces] == ["Bold `code` link <b>tag"]


def test_front_matter_is_no_heading() -> None:
    page = read_markdown("---\ntitle: x\nstatus: accepted\n---\n\n# Title\n")
    assert [(piece.line, piece.level, piece.text) for piece in page.pieces] == [(6, 1, "Title")]
    assert page.status == "accepted"


def test_deep_nesting_does_no_harm() -> None:
    read_markdown("> " * 2000 + "x\n")
    read_markdown("[" * 2000 + "x\n")
    read_markdown("- " * 500 + "```mermaid\n")
