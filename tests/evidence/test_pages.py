"""Where links lead: what is looked for, and what is left alone because nobody can tell."""

from __future__ import annotations

import pytest

from phase_gate.evidence.documents.pages import has_anchor, name_headings, resolve


@pytest.mark.parametrize(
    ("target", "first", "anchor"),
    [
        pytest.param("b.md", "docs/b.md", "", id="beside-it"),
        pytest.param("./b.md", "docs/b.md", "", id="beside-it-with-a-dot"),
        pytest.param("../README.md", "README.md", "", id="above"),
        pytest.param("sub/b.md#part", "docs/sub/b.md", "part", id="below-with-an-anchor"),
        pytest.param("a%20b.md", "docs/a b.md", "", id="percent-encoded"),
        pytest.param("%C3%BCber.md#%C3%BCber", "docs/über.md", "über", id="percent-encoded-utf-8"),
        pytest.param("b.md?plain=1#L3", "docs/b.md", "L3", id="with-a-query"),
        pytest.param("../src/", "src", "", id="a-folder"),
        pytest.param("b.md#:~:text=x", "docs/b.md", "", id="a-piece-of-text"),
    ],
)
def test_a_link_inside(target: str, first: str, anchor: str) -> None:
    found = resolve(target, "docs/page.md")
    assert found is not None
    assert (found.candidates[0], found.anchor) == (first, anchor)


def test_a_link_to_the_page_itself() -> None:
    found = resolve("#part-two", "docs/page.md")
    assert found is not None
    assert (found.candidates, found.anchor) == ((), "part-two")


@pytest.mark.parametrize(
    "target",
    [
        "https://example.org/a.md",
        "mailto:someone@example.org",
        "//example.org/a.md",
        "/absolute/on/a/site.md",
        "../../issues",
        "../../../outside.md",
        "{{ site.url }}/a.md",
        "%7B%7Bsite.url%7D%7D/a.md",
        "<placeholder>/a.md",
        "@site/docs/a.md",
        "attrs.frozen",
        "a-label-of-myst",
    ],
)
def test_a_link_that_is_left_alone(target: str) -> None:
    assert resolve(target, "docs/page.md") is None


@pytest.mark.parametrize(
    ("target", "path"),
    [
        pytest.param("../guide", None, id="above-the-docs"),
        pytest.param("./guide", "docs/guide.md", id="without-its-suffix"),
        pytest.param("guide/", "docs/guide/index.md", id="a-folder-with-an-index"),
        pytest.param("guide.html", "docs/guide.md", id="as-it-will-be-built"),
        pytest.param("guide.html", "docs/guide.rst", id="as-it-will-be-built-from-another-language"),
    ],
)
def test_what_a_site_makes_of_it(target: str, path: str | None) -> None:
    found = resolve(target, "docs/page.md")
    assert found is not None
    assert path is None or path in found.candidates


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Getting started", "getting-started"),
        ("What's new?", "whats-new"),
        ("`phase-gate.yaml` and more", "phase-gateyaml-and-more"),
        ("A & B", "a--b"),
        ("A & B", "a-b"),
        ("snake_case_name", "snake_case_name"),
        ("Über uns", "über-uns"),
        ("Über uns", "uber-uns"),
        ("日本語", "日本語"),
        ("1. First", "1-first"),
        ("With <a name='x'></a> a tag", "with--a-tag"),
        ("Q: why? A: because!", "q-why-a-because"),
    ],
)
def test_names_of_headings(heading: str, anchor: str) -> None:
    assert anchor in name_headings([heading])


def test_headings_of_one_name_are_numbered() -> None:
    assert name_headings(["A", "A", "A"]) >= {"a", "a-1", "a-2"}
    assert "a-3" not in name_headings(["A", "A", "A"])


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [("part-two", True), ("Part-Two", True), ("user-content-part-two", True), ("", True), ("top", True), ("x", False)],
)
def test_anchors(anchor: str, expected: bool) -> None:
    assert has_anchor(frozenset({"part-two"}), anchor) is expected
