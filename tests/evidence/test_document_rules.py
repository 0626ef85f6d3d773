"""Which documents count: a table of what keeps one from counting, and what is new since the cycle began."""

from __future__ import annotations

import pytest

from phase_gate.evidence.documents.library import Seen, read_markdown, see
from phase_gate.evidence.documents.rules import count_words, find_changed, find_fault, is_hole, is_instruction, is_open

#: More than twenty different words.
PROSE = (
    "The parser reads one file after the other, keeps what it knows about each of them in memory, and writes the "
    "result as a table when nothing is left to read."
)


def fault(text: str, minimum_words: int = 20) -> tuple[int | None, str] | None:
    found = find_fault(read_markdown(text), minimum_words=minimum_words)
    return None if found is None else (found.line, found.why)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"# Parser\n\n{PROSE}\n", id="a-title-and-a-paragraph"),
        pytest.param(f"# Parser\n\n{PROSE}\n\nTODO: mention Windows.\n", id="an-open-question-in-a-full-section"),
        pytest.param(
            f"# Parser\n\n{PROSE}\n\n```\nTODO\n<name>\n{{{{ x }}}}\n```\n", id="placeholders-in-a-code-block"
        ),
        pytest.param(f"# Parser\n\n{PROSE}\n\n<!-- TODO: more -->\n", id="a-remark-that-nobody-sees"),
        pytest.param(f"# Parser\n\n{PROSE}\n\nSee [the other page] for more.\n\n[the other page]: b.md\n", id="a-link"),
        pytest.param(
            "# 読む\n\n" + "構文解析器はファイルを一つずつ読み取り結果を表に書き出します", id="no-blanks-between-words"
        ),
        pytest.param(f"---\ntitle: <title>\n---\n\n# Parser\n\n{PROSE}\n", id="front-matter-is-no-text"),
    ],
)
def test_counts(text: str) -> None:
    assert fault(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# Parser\n", (None, "1 different word of text, at least 20 are wanted"), id="a-title-alone"),
        pytest.param(
            "# Parser\n\nIt parses.\n", (None, "3 different words of text, at least 20 are wanted"), id="short"
        ),
        pytest.param(
            "# Parser\n\n" + "blah " * 50, (None, "2 different words of text, at least 20 are wanted"), id="one-word"
        ),
        pytest.param(
            f"# Parser\n\nIt parses.\n\n```\n{PROSE}\n```\n",
            (None, "3 different words of text, at least 20 are wanted"),
            id="all-of-it-code",
        ),
        pytest.param(
            f"# <title>\n\n{PROSE}\n", (1, 'a template\'s text is still in it: "<title>"'), id="a-title-to-be"
        ),
        pytest.param(
            f"# Parser\n\n{PROSE}\n\n* {{decision driver 1}}\n",
            (5, 'a template\'s text is still in it: "{decision driver 1}"'),
            id="a-hole",
        ),
        pytest.param(
            f"# Parser\n\nTODO: {PROSE}\n", (None, "1 different word of text, at least 20 are wanted"), id="all-to-do"
        ),
        pytest.param(
            f"Lorem ipsum dolor sit amet. {PROSE}",
            (1, 'a template\'s text is still in it: "Lorem ipsum dolor sit amet. The parser reads one …"'),
            id="a-typesetters-filling",
        ),
    ],
)
def test_does_not_count(text: str, expected: tuple[int | None, str]) -> None:
    assert fault(text) == expected


def test_words_of_diagrams_and_tags_do_not_count() -> None:
    page = read_markdown("# One\n\n```mermaid\npie\n```\n\n<p align='center'>two `three`</p>\n")
    assert count_words(page) == 3


# --- since the cycle began


TOUCHED = "only blanks or comments changed in this cycle"


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        pytest.param({}, {"a": "x"}, {"a": ""}, id="new"),
        pytest.param({"a": "x"}, {"a": "y"}, {"a": ""}, id="another-text"),
        pytest.param({"a": "x"}, {"a": "x"}, {}, id="as-it-was"),
        pytest.param({"a": "x y"}, {"a": "x\n\n  y\r\n"}, {"a": TOUCHED}, id="other-blanks"),
        pytest.param({"a": "x"}, {"a": "x <!-- y -->"}, {"a": TOUCHED}, id="a-comment"),
        pytest.param({"a": "x"}, {}, {}, id="gone"),
        pytest.param({"a": "x"}, {"a": "x", "b": "x"}, {"b": "it has the same text as a"}, id="an-old-one-copied"),
        pytest.param({"a": "x"}, {"b": "x"}, {"b": "it was moved here from a"}, id="moved"),
        pytest.param({}, {"a": "x", "b": " x "}, {"a": "", "b": "it has the same text as a"}, id="a-new-one-twice"),
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
    def seen(texts: dict[str, str]) -> dict[str, Seen]:
        return {name: see(text) for name, text in texts.items()}

    found = find_changed(seen(now), seen(before))
    assert {path: "" if fault is None else fault.why for path, fault in found.items()} == changed


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
    assert page.status == status
    assert len(page.pieces) == (1 if status else 3)


HOLES = {
    "{short title of solved problem and solution}": "madr-title",
    "{title of option 1}": "madr-option",
    "Deciders: {list everyone involved in the decision}": "behind-a-label",
    'Chosen option: "{title of option 1}", because {justification. e.g., only option}.': "madr-outcome",
    "Good, because {argument a}": "madr-argument",
    'Chosen option: "A file", because {justification. e.g., which resolves force {force}, or more}.': "nested",
    "[short title of solved problem and solution]": "madr-2-title",
    "Status: [proposed or accepted or rejected]": "madr-2-status",
    "Good, because [argument a]": "madr-2-argument",
    "Date: {YYYY-MM-DD when the decision was last updated}": "madr-date",
    "{{ project_name }}": "a-template-engines-hole",
    "{{ cookiecutter.project_name }}": "cookiecutter",
    "<Short Title of the Issue>": "angle-brackets",
    "<DESCRIBE THE CONTEXT>": "angle-brackets-in-capitals",
    "<NAME>": "one-word-in-capitals",
    "Author: <your name>": "angle-brackets-behind-a-label",
    "\\<Name of the black box\\>": "escaped-as-arc42-does",
    "**{short title here}**": "emphasised",
}
NO_HOLES = {
    "Set `<NAME>` to your name": "in-code",
    "`{short title here}`": "code-alone",
    "Returns: {string | undefined}": "a-type",
    "Returns: {Promise} Fulfills with an {fs.Dir}.": "types-in-a-sentence",
    "{HTTP/2 Settings Object}": "the-name-of-a-type",
    "{: .warning #here}": "an-attribute-list",
    "{width=50% height=20}": "attributes-of-an-image",
    "{name: text, size: 3}": "a-mapping",
    "<details>": "a-tag",
    "<details open>": "a-tag-with-a-bare-attribute",
    "<Tabs>": "a-component",
    "<https://example.org/a/b>": "a-link",
    "<someone@example.org>": "an-address",
    "[This was fixed in the next version.]": "a-remark-in-brackets",
    "[Unreleased]": "one-word-in-brackets",
    "[ ] write the tests": "a-task",
    "{{< figure src=a.png >}}": "a-shortcode",
    "{{ page.title }}": "what-a-site-fills-in",
    "The function f maps {a, b, c} to {1, 2, 3}": "sets-in-a-sentence",
    "": "nothing",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for text, name in HOLES.items()])
def test_a_hole(text: str) -> None:
    assert is_hole(text)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for text, name in NO_HOLES.items()])
def test_no_hole(text: str) -> None:
    assert not is_hole(text)


@pytest.mark.parametrize(("is_heading", "expected"), [(True, True), (False, False)])
def test_a_tag_is_a_hole_where_it_is_a_whole_heading(is_heading: bool, expected: bool) -> None:
    assert is_hole("<title>", is_heading=is_heading) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("What is the change that we're proposing and/or doing?", True, id="nygard"),
        pytest.param("What is the change that we’re proposing and/or doing?", True, id="with-a-curly-apostrophe"),
        pytest.param("The issue motivating this decision, and any context that influences it.", True, id="adr-tools"),
        pytest.param("{Describe the context and problem statement, e.g., in free form.}", True, id="madr"),
        pytest.param("[Describe the context and problem statement, e.g., in free form.]", True, id="madr-2"),
        pytest.param("Lorem ipsum dolor sit amet, consectetur", True, id="a-typesetters-filling"),
        pytest.param("The change that we made is small.", False, id="a-sentence-that-begins-alike"),
    ],
)
def test_instructions(text: str, expected: bool) -> None:
    assert is_instruction(text) is expected


OPEN = (
    *(
        "TODO",
        "TBD",
        "todo",
        "FIXME",
        "XXX",
        "WIP",
        "**TODO**",
        "(TBD)",
        "[TODO]",
        "TODO: write this",
        "TODO(anna): ask",
    ),
    *("TBD.", "To be done", "To be determined.", "Coming soon!", "Work in progress...", "...", "…", "-", "???"),
    *("Fill this in", "Insert your text here", "Describe the module here.", "One paragraph of text goes here"),
    *("Context here...", "Decision here...", "TODO - later", "Placeholder text"),
)
WRITTEN = (
    "TODO comments are found by the linter",
    "Todo (the sample application) keeps a list",
    "The word TODO stands for what is open",
    "WIP-limits keep the board short",
    "We decided to be done with it by Friday",
    "Coming soon to a terminal near you is a real possibility with this feature",
    "`TODO`",
    "3",
    "No.",
)


@pytest.mark.parametrize("text", OPEN)
def test_open(text: str) -> None:
    assert is_open(text)


@pytest.mark.parametrize("text", WRITTEN)
def test_written(text: str) -> None:
    assert not is_open(text)
