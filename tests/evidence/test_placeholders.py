"""Text that a template left, beside honest text that looks a little like it."""

from __future__ import annotations

import pytest

from phase_gate.evidence.documents.rules import is_hole, is_instruction, is_open

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
        pytest.param("The sample pages are filled with lorem ipsum.", False, id="about-a-typesetters-filling"),
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
