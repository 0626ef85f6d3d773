"""A verdict as Markdown: what somebody else has written is shown, and does nothing."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from phase_gate.report.markdown import render_markdown
from tests.report.test_ci import document, finding

TEXTS = {
    "a-picture": "![x](https://example.org/x.png)",
    "a-link": "[read this](javascript:alert)",
    "a-tag": "<img src=x>",
    "a-cell": "a | b",
    "a-backslash": "a\\[b](https://example.org)",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_hostile_name_is_only_a_name(text: str) -> None:
    more = {"root": "project", "overrides": [], "warnings": [text], "notes": []}
    page = render_markdown(document(**more, reason=text, findings=[finding("test-altered", detail=text)]))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    assert html.count(text.replace("<", "&lt;").replace(">", "&gt;")) >= 2
    assert [part for part in ("<img", "<a ") if part in html] == []
