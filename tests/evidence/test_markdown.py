"""Markdown as it is read: pieces of text with their lines."""

from __future__ import annotations

from phase_gate.evidence.documents.pages import read_markdown


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
