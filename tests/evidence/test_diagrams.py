"""Diagrams: where they are, which of them are C4, which have nothing in them."""

from __future__ import annotations

import sys

import pytest

from phase_gate.evidence.documents.diagrams import (
    NO_MERMAN,
    Checked,
    Diagram,
    check_mermaid,
    find_in_file,
    find_on_page,
    is_c4,
    is_empty,
)
from phase_gate.evidence.documents.library import Language, read_markdown


def on_page(text: str) -> list[tuple[int, str, str]]:
    found = find_on_page(read_markdown(text), "a.md")
    return [(each.line, each.language, each.text.strip()) for each in found]


PIE = 'pie\n  "a": 1'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(f"```mermaid\n{PIE}\n```\n", 2, id="backticks"),
        pytest.param(f"``` mermaid\n{PIE}\n```\n", 2, id="a-blank-before-the-language"),
        pytest.param(f'```mermaid title="Shares" {{#fig}}\n{PIE}\n```\n', 2, id="more-words-behind-the-fence"),
        pytest.param(f"```{{mermaid}}\n{PIE}\n```\n", 2, id="a-directive-of-myst"),
        pytest.param(f"```{{mermaid}}\n:alt: Shares\n:align: left\n{PIE}\n```\n", 4, id="a-directive-with-options"),
        pytest.param(f"---\ntitle: x\n---\n\n```mermaid\n{PIE}\n```\n", 6, id="behind-front-matter"),
        pytest.param(f"# A\r\n\r\n```mermaid\r\n{PIE.replace(chr(10), chr(13) + chr(10))}\r\n```\r\n", 4, id="crlf"),
        pytest.param('- item\n\n  ```mermaid\n  pie\n    "a": 1\n  ```\n', 4, id="in-a-list"),
        pytest.param('> said:\n>\n> ```mermaid\n> pie\n>   "a": 1\n> ```\n', 4, id="in-a-quotation"),
        pytest.param(f"```mermaid\n{PIE}", 2, id="never-closed"),
    ],
)
def test_a_diagram_on_a_page(text: str, line: int) -> None:
    assert on_page(text) == [(line, "Mermaid", PIE)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"````markdown\n```mermaid\n{PIE}\n```\n````\n", id="an-example-in-a-longer-fence"),
        pytest.param("    ```mermaid\n    pie\n    ```\n", id="an-example-that-is-indented"),
        pytest.param(f"<!--\n```mermaid\n{PIE}\n```\n-->\n", id="in-a-comment"),
        pytest.param(f"```mermaidx\n{PIE}\n```\n", id="a-language-that-begins-alike"),
    ],
)
def test_no_diagram_on_a_page(text: str) -> None:
    assert on_page(text) == []


def test_plantuml_on_a_page_may_do_without_its_start() -> None:
    text = "```plantuml\nA -> B\n```\n\n```puml\n@startuml\nC -> D\n@enduml\n```\n"
    assert on_page(text) == [(2, "PlantUML", "A -> B"), (6, "PlantUML", "@startuml\nC -> D\n@enduml")]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("a.mmd", PIE, [(1, "Mermaid")], id="mmd"),
        pytest.param("a.puml", "' one\n@startuml\nA -> B\n@enduml\n", [(1, "PlantUML")], id="puml"),
        pytest.param("style.puml", "skinparam monochrome true\n", [], id="a-file-for-others-to-include"),
    ],
)
def test_a_file_that_is_a_diagram(name: str, text: str, expected: list[tuple[int, str]]) -> None:
    assert [(each.line, each.language) for each in find_in_file(text, name)] == expected


def diagram(text: str, language: Language = "Mermaid") -> Diagram:
    return Diagram(file="a", line=1, language=language, text=text)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        *(
            pytest.param(f'C4{kind}\n  Person(a, "A")\n', "Mermaid", True, id=kind.lower())
            for kind in ("Context", "Container", "Component", "Dynamic")
        ),
        pytest.param('C4Deployment\n  Deployment_Node(a, "A") {\n  }\n', "Mermaid", True, id="deployment"),
        pytest.param(
            '---\ntitle: x\n---\n%% c\nC4Context\n  System_Ext(a, "A")\n', "Mermaid", True, id="behind-comments"
        ),
        pytest.param("C4Context\n  title Nothing but a title\n", "Mermaid", False, id="without-an-element"),
        pytest.param('flowchart TD\n  C4Context --> Person("a")\n', "Mermaid", False, id="a-node-of-that-name"),
        pytest.param('@startuml\n!include <C4/C4_Container>\nPerson(a, "A")\n@enduml', "PlantUML", True, id="stdlib"),
        pytest.param(
            "@startuml\n!includeurl https://raw.githubusercontent.com/plantuml-stdlib/C4-PlantUML/master/C4_Context.puml\n"
            'System(a, "A")\n@enduml',
            "PlantUML",
            True,
            id="from-github",
        ),
        pytest.param(
            "@startuml\n!include <C4/C4_Container>\nA -> B\n@enduml", "PlantUML", False, id="nothing-of-it-used"
        ),
        pytest.param('@startuml\nPerson(a, "A")\n@enduml', "PlantUML", False, id="plantuml-without-c4"),
    ],
)
def test_c4(text: str, language: Language, expected: bool) -> None:
    assert is_c4(diagram(text, language)) is expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        pytest.param("flowchart TD\n", "Mermaid", True, id="a-head-alone"),
        pytest.param("---\ntitle: x\n---\n%% c\nsequenceDiagram\n\n", "Mermaid", True, id="comments-alone"),
        pytest.param("pie title Shares\n", "Mermaid", True, id="a-title-in-the-head"),
        pytest.param("C4Context\n  title Shares\n  accDescr { a\n b }\n", "Mermaid", True, id="a-title-alone"),
        pytest.param("@startuml\n' c\ntitle x\n@enduml", "PlantUML", True, id="plantuml-nothing"),
        pytest.param("@startuml\nA -> B\n@enduml", "PlantUML", False, id="plantuml-something"),
    ],
)
def test_empty(text: str, language: Language, expected: bool) -> None:
    assert is_empty(diagram(text, language)) is expected


# --- Mermaid, by merman


def mermaid(text: str, line: int = 1) -> Checked:
    (checked,) = check_mermaid([Diagram(file="a.md", line=line, language="Mermaid", text=text)])
    return checked


# --- where it is broken


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("flowchart TD\n A-->B\n\n\n C-->[", 14, id="as-the-parser-says"),
        pytest.param("\n---\ntitle: x\n---\nflowchart TD\n A-->[", 15, id="behind-an-empty-line-and-front-matter"),
    ],
)
def test_a_flaw_has_its_line_in_the_file(text: str, line: int) -> None:
    checked = mermaid(text, line=10)
    assert checked.flaw
    assert checked.line == line


def test_a_diagram_that_mermaid_would_not_draw_is_flawed() -> None:
    """Mermaid's own limit; some longer texts take its parser here minutes."""
    longest = "flowchart TD\n" + " A-->B\n" * 7_141
    assert mermaid(longest).flaw == ""
    longer = mermaid(longest + " A-->B\n", line=3)
    assert (longer.flaw, longer.line) == ("longer than the 50,000 characters that Mermaid draws", 3)


# --- what is not known


def test_without_the_parser_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "merman", None)
    checked = mermaid("flowchart TD\n A-->B")
    assert (checked.flaw, checked.unknown) == ("", NO_MERMAN)
    assert "pytest-phase-gate[mermaid]" in NO_MERMAN
