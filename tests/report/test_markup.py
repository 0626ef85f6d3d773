"""No text gets out of the place that it is put into."""

from __future__ import annotations

import html
import json

import pytest

from phase_gate.report.html.markup import Html, embed, escape, show, tag
from tests.report.hostile import TEXTS


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_stays_a_text(text: str) -> None:
    made = tag("p", text, title=text)
    inside = made.removeprefix('<p title="').removesuffix("</p>")
    assert "<" not in inside
    assert inside.count('"') == 1
    assert html.unescape(escape(text)) == show(text)
    made.encode("utf-8")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_document_stays_a_document(text: str) -> None:
    made = embed({"name": text})
    assert json.loads(made) == {"name": text}
    assert not {"<", ">", "&"} & set(made)
    assert made.isascii()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\x00b", "a\\x00b", id="nothing"),
        pytest.param("a\nb\tc", "a b c", id="line-ends-are-blanks"),
        pytest.param("\x1b[31m", "\\x1b[31m", id="colours-of-a-terminal"),
        pytest.param("x\u202ey", "x\\u202ey", id="turned-around"),
        pytest.param("\ud800", "\\ud800", id="half-a-pair"),
        pytest.param("\u200b", "\\u200b", id="no-width"),
        pytest.param("\U000e0041", "\\U000e0041", id="a-tag-that-nobody-sees"),
        pytest.param("naïve Ω 日本 🙂", "naïve Ω 日本 🙂", id="letters-stay"),
    ],
)
def test_what_nobody_would_see_is_shown(text: str, shown: str) -> None:
    assert show(text) == shown


def test_a_long_text_is_cut_in_the_middle() -> None:
    shown = show("a" * 5_000 + "z" * 5_000)
    assert len(shown) < 450
    assert shown.startswith("aaa")
    assert shown.endswith("zzz (10,000 characters)")


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param({"onclick": "x"}, id="a-handler"),
        pytest.param({"ONCLICK": "x"}, id="a-handler-in-capitals"),
        pytest.param({"style": "x"}, id="a-style"),
        pytest.param({"src": "x"}, id="a-source"),
        pytest.param({"href": "javascript:x"}, id="a-script"),
        pytest.param({"href": "https://example.org"}, id="a-way-out"),
        pytest.param({"x y": "x"}, id="two-attributes"),
        pytest.param({"x>": "x"}, id="the-end-of-the-tag"),
    ],
)
def test_attributes_that_are_never_written(attributes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"written|page"):
        tag("a", **attributes)


def test_children() -> None:
    assert tag("p", "a<", Html("<b>"), None, 3, ["x", tag("br")]) == "<p>a&lt;<b>3x<br/></p>"
