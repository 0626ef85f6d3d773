"""Acceptance criteria in Markdown: which lines are criteria, and which only look like some."""

from __future__ import annotations

import pytest

from phase_gate.rules.criteria import find_criteria


def found(text: str) -> list[tuple[str, str]]:
    return [(each.id, each.text) for each in find_criteria(text, file="criteria.md")[0]]


def left_out(text: str) -> list[tuple[int, str]]:
    return [(each.line, each.text) for each in find_criteria(text, file="criteria.md")[1]]


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] AC-1 It adds up",
        "- [x] AC-1 It adds up",
        "- [X] AC-1: It adds up",
        "- [] AC-1 It adds up",
        "* [ ] AC-1 It adds up",
        "+ AC-1 It adds up",
        "- AC-1 It adds up",
        "- AC-1: It adds up",
        "- AC-1:It adds up",
        "- AC-1. It adds up",
        "- AC-1) It adds up",
        "- (AC-1) It adds up",
        "- AC-1 - It adds up",
        "- AC-1 – It adds up",
        "- **AC-1** It adds up",
        "* **AC-1**: It adds up",
        "- **AC-1:** It adds up",
        "- __AC-1__ — It adds up",
        "- `AC-1` It adds up",
        "- **`AC-1`**: It adds up",
        "- [AC-1] It adds up",
        "- [AC-1](https://example.org/1) It adds up",
        "- [ ] **[AC-1](#ac-1)**: It adds up",
        "- [ ] [AC-1](#ac-1): It adds up",
        "1. AC-1 It adds up",
        "12) [ ] AC-1 It adds up",
        "  - [ ] AC-1 It adds up",
        "\t- [ ] AC-1 It adds up",
        "- [ ] AC-1   It   adds  up  ",
        "# AC-1 It adds up",
        "## AC-1: It adds up",
        "### **AC-1** It adds up ###",
        "###### `AC-1` - It adds up",
        "| AC-1 | It adds up |",
        "|AC-1|It adds up|yes|",
        "| **AC-1** | It adds up | must | open |",
        "| [AC-1](#ac-1) | It adds up",
        "AC-1: It adds up",
        "**AC-1**: It adds up",
        "**AC-1:** It adds up",
        "- <!-- from the board --> AC-1 It adds up",
        "- AC-1 It adds up <!-- agreed -->",
    ],
)
def test_a_line_that_gives_a_criterion(line: str) -> None:
    assert found(f"# Sums\n\n{line}\n") == [("AC-1", "It adds up")]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("AC-1 is what this is about", id="a-sentence-that-begins-with-it"),
        pytest.param("This shows AC-1: it adds up", id="a-sentence-that-mentions-it"),
        pytest.param("- see AC-1", id="an-item-that-mentions-it"),
        pytest.param("- [ ] covers AC-1", id="a-box-that-mentions-it"),
        pytest.param("## Notes on AC-1", id="a-heading-that-mentions-it"),
        pytest.param("| It adds up | AC-1 |", id="in-another-cell-than-the-first"),
        pytest.param("> - [ ] AC-1 It adds up", id="in-a-quote"),
        pytest.param("- ~~AC-1 It adds up~~", id="struck-out"),
        pytest.param("- ~~AC-1~~ It adds up", id="its-id-struck-out"),
        pytest.param("- ac-1 It adds up", id="in-small-letters"),
        pytest.param("- AC1 It adds up", id="without-a-hyphen"),
        pytest.param("- AC-1x2 It adds up", id="letters-behind-it"),
        pytest.param("- AC-1/AC-2 It adds up", id="two-at-once"),
        pytest.param("- AC- It adds up", id="without-a-number"),
        pytest.param("-AC-1 It adds up", id="no-item"),
        pytest.param("#AC-1 It adds up", id="no-heading"),
        pytest.param("####### AC-1 It adds up", id="a-heading-too-deep"),
        pytest.param("```\n- [ ] AC-1 It adds up\n```", id="in-a-fence"),
        pytest.param("~~~ markdown\n- [ ] AC-1 It adds up\n~~~", id="in-another-fence"),
        pytest.param("````\n```\n- [ ] AC-1 It adds up\n```\n````", id="in-a-fence-in-a-fence"),
        pytest.param("- an example:\n\n      ```\n      - [ ] AC-1 It adds up\n      ```", id="in-a-fence-in-an-item"),
        pytest.param("> ```\n> - [ ] AC-1 It adds up\n> ```", id="in-a-fence-in-a-quote"),
        pytest.param("```\n- [ ] AC-1 It adds up", id="in-a-fence-that-never-ends"),
        pytest.param("<!-- - [ ] AC-1 It adds up -->", id="in-a-comment"),
        pytest.param("<!--\n- [ ] AC-1 It adds up\n-->", id="in-a-comment-of-some-lines"),
        pytest.param("- [ ] later <!--\n- [ ] AC-1 It adds up\n-->", id="in-a-comment-that-begins-in-a-line"),
    ],
)
def test_a_line_that_gives_none(line: str) -> None:
    assert found(f"# Sums\n\n{line}\n") == []


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("```\n```", id="a-fence"),
        pytest.param("```python\n# AC-2\n```", id="a-fence-with-a-language"),
        pytest.param("`````\n```\n`````", id="a-fence-with-a-fence-in-it"),
        pytest.param("~~~\n```\n~~~", id="a-fence-of-tildes"),
        pytest.param("``` `a` ```", id="code-that-is-no-fence"),
        pytest.param("<!-- a -->", id="a-comment"),
        pytest.param("<!-- a\nb -->", id="a-comment-of-two-lines"),
        pytest.param("a <!-- that never ends", id="a-comment-that-never-ends"),
        pytest.param("| id | what |\n| --- | --- |", id="the-head-of-a-table"),
        pytest.param("---\ntitle: Sums\n---", id="front-matter"),
    ],
)
def test_what_stands_before_hides_nothing(before: str) -> None:
    assert found(f"{before}\n\n- [ ] AC-1 It adds up\n") == [("AC-1", "It adds up")]


def test_a_comment_in_code_is_none() -> None:
    assert found("`<!--` hides a line\n- [ ] AC-1 It adds up\n\nuntil `-->`\n") == [("AC-1", "It adds up")]


@pytest.mark.parametrize(
    "given", ["AC-1", "AC-12", "REQ_12", "US-3-AC-2", "AC-1.4", "AC-1.4.2", "AC-1a", "V2-7", "R-001"]
)
def test_what_an_id_looks_like(given: str) -> None:
    assert found(f"- [ ] {given}: It adds up\n") == [(given, "It adds up")]


@pytest.mark.parametrize("text", ["- [ ] AC-1\n", "- AC-1:\n", "### AC-1\n", "| AC-1 | |\n"])
def test_a_criterion_may_have_no_text(text: str) -> None:
    assert found(text) == [("AC-1", "")]


def test_a_heading_may_end_with_a_hash_of_its_own() -> None:
    assert found("## AC-1 Written in C#\n") == [("AC-1", "Written in C#")]


def test_lines_are_those_of_the_file() -> None:
    text = "# Sums\r\n\r\n- [ ] AC-1 It adds up\r\n<!--\r\n-->\r\n- [x] AC-2 Nothing is 0\r\n"
    listed, _ = find_criteria(text, file="docs/criteria.md")
    assert [(each.id, each.file, each.line) for each in listed] == [
        ("AC-1", "docs/criteria.md", 3),
        ("AC-2", "docs/criteria.md", 6),
    ]


@pytest.mark.parametrize(
    ("text", "ids", "left"),
    [
        pytest.param(
            "## US-1 Sums\n- [ ] AC-1 a\n- [x] AC-2 b\n",
            ["AC-1", "AC-2"],
            [(1, "US-1 Sums")],
            id="with-boxes-a-story-is-none",
        ),
        pytest.param("- [ ] AC-1 a\n- AC-2 b\n### AC-3 c\n", ["AC-1", "AC-2", "AC-3"], [], id="a-box-was-forgotten"),
        pytest.param(
            "- [ ] AC-1 a\n- [ ] SEC-1 b\n- PERF-1 c\n",
            ["AC-1", "SEC-1"],
            [(3, "PERF-1 c")],
            id="with-boxes-the-kinds-that-have-one",
        ),
        pytest.param(
            "- [ ] US-1-AC-1 a\n- [ ] US-2-AC-1 b\n## US-2 c\n",
            ["US-1-AC-1", "US-2-AC-1"],
            [(3, "US-2 c")],
            id="a-kind-is-all-but-the-numbers",
        ),
        pytest.param("## US-1 Sums\n- AC-1 a\n", ["US-1", "AC-1"], [], id="without-boxes-all-of-them"),
        pytest.param(
            "- [ ] AC-1 a\n- [ ] Nothing is 0\n", ["AC-1"], [(2, "Nothing is 0")], id="a-box-without-an-id-is-told"
        ),
        pytest.param("- [ ] AC-1 a\n  - [ ] look twice\n", ["AC-1"], [], id="a-box-below-a-criterion-is-a-detail"),
        pytest.param("- AC-1 a\n- [ ] tell the team\n", ["AC-1"], [], id="without-boxes-a-box-is-something-else"),
    ],
)
def test_which_ids_count(text: str, ids: list[str], left: list[tuple[int, str]]) -> None:
    assert [each for each, _ in found(text)] == ids
    assert left_out(text) == left


@pytest.mark.parametrize(
    "name", ["UTF-8", "ISO-8859-1", "COVID-19", "RFC-2119", "SHA-256", "CVE-2024-1234", "PEP-8", "AES-256", "IEEE-754"]
)
@pytest.mark.parametrize(
    "form", ["- {} is used", "- [ ] {} is used", "## {} is used", "| {} | is used |", "{}: is used"]
)
def test_a_standard_is_no_criterion(name: str, form: str) -> None:
    line = form.format(name)
    assert found(f"- [ ] AC-1 It adds up\n{line}\n") == [("AC-1", "It adds up")]
    assert left_out(f"- [ ] AC-1 It adds up\n{line}\n") == [(2, f"{name} is used")]
    assert found(f"### AC-1 It adds up\n{line}\n") == [("AC-1", "It adds up")]
    assert found(f"{line}\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- [ ] AC-1 a\n\n| AC-1 | test_a |\n| AC-1 | test_b |\n", [("AC-1", "a", 1)], id="a-box"),
        pytest.param("- AC-1 needs a\n## AC-1 a\n", [("AC-1", "a", 2)], id="a-heading"),
        pytest.param("AC-1: see below\n- AC-1 a\n", [("AC-1", "a", 2)], id="an-item"),
        pytest.param("AC-1: see below\n| AC-1 | a |\n", [("AC-1", "a", 2)], id="a-row"),
        pytest.param("- [ ] AC-1 a\n- [ ] AC-1 b\n", [("AC-1", "a", 1), ("AC-1", "b", 2)], id="twice-in-one-form"),
    ],
)
def test_the_most_telling_line_is_the_criterion(text: str, expected: list[tuple[str, str, int]]) -> None:
    listed, left = find_criteria(text, file="criteria.md")
    assert [(each.id, each.text, each.line) for each in listed] == expected
    assert left == ()
