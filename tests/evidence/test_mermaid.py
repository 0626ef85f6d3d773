"""Mermaid diagrams by merman: what is valid, where a broken one is broken, and what is not known."""

from __future__ import annotations

import sys

import pytest

from phase_gate.evidence.documents.diagrams import MAX_CHARACTERS, NO_MERMAN, Checked, Diagram, check_mermaid


def check(text: str, line: int = 1) -> Checked:
    (checked,) = check_mermaid([Diagram(file="a.md", line=line, language="Mermaid", text=text)])
    return checked


@pytest.mark.parametrize(
    ("good", "broken"),
    [
        pytest.param("flowchart TD\n A-->B", "flowchart TD\n A-->[", id="flowchart"),
        pytest.param("sequenceDiagram\n A->>B: x", "sequenceDiagram\n A->>", id="sequence"),
        pytest.param("stateDiagram-v2\n [*] --> A", "stateDiagram-v2\n [*] -->", id="state"),
        pytest.param("classDiagram\n A <|-- B", "classDiagram\n A <|--", id="class"),
        pytest.param("erDiagram\n A ||--o{ B : has", "erDiagram\n A ||--o B", id="entities"),
        pytest.param('pie\n "a": 1', 'pie\n "a": b', id="pie"),
        pytest.param("gitGraph\n commit", "gitGraph\n merge x", id="git"),
        pytest.param('C4Context\n Person(a, "A")', 'C4Context\n Person(a, "A"', id="c4"),
    ],
)
def test_valid_and_broken(good: str, broken: str) -> None:
    assert check(good).is_valid
    assert not check(broken).is_valid
    assert check(broken).unknown == ""


def test_one_that_mermaid_would_not_draw_for_its_size_is_broken() -> None:
    flaw = check("flowchart TD\n" + " A-->B\n" * (MAX_CHARACTERS // 7)).flaw
    assert flaw is not None
    assert flaw.why == "it has more than 50,000 characters, which Mermaid does not draw"


# --- where it is broken


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("flowchart TD\n A-->B\n\n\n C-->[", 14, id="as-the-parser-says"),
        pytest.param("\n\nflowchart TD\n A-->[", 13, id="behind-empty-lines"),
        pytest.param("---\ntitle: x\n---\nflowchart TD\n A-->[", 14, id="behind-front-matter"),
        pytest.param("\n---\ntitle: x\n---\nflowchart TD\n A-->[", 15, id="behind-an-empty-line-and-front-matter"),
        pytest.param("hello", 10, id="no-diagram-at-all"),
    ],
)
def test_a_flaw_has_its_line_in_the_file(text: str, line: int) -> None:
    flaw = check(text, line=10).flaw
    assert flaw is not None
    assert flaw.line == line
    assert flaw.why


def test_good_front_matter_may_follow_an_empty_line() -> None:
    assert check("\n---\ntitle: x\n---\nflowchart TD\n A-->B").is_valid


# --- what is not known


def test_without_the_parser_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "merman", None)
    checked = check("flowchart TD\n A-->B")
    assert (checked.flaw, checked.unknown, checked.is_valid) == (None, NO_MERMAN, False)
    assert "pytest-phase-gate[mermaid]" in NO_MERMAN


def test_a_fault_of_the_parser_says_nothing_about_the_diagram(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def validate(self, text: str, options: None) -> None:
            raise RuntimeError("what now")

    monkeypatch.setattr("merman.Merman", Broken)
    checked = check("flowchart TD\n A-->B")
    assert checked.unknown == "merman: RuntimeError: what now"
