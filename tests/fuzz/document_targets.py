"""Documents and diagrams: whatever stands in a file of the project, a look at it ends soon and in a verdict."""

from __future__ import annotations

from phase_gate.evidence.documents.decisions import find_missing, is_record_like
from phase_gate.evidence.documents.diagrams import Diagram, find_in_file, find_on_page, is_c4, is_empty
from phase_gate.evidence.documents.library import see
from phase_gate.evidence.documents.mermaid import check_mermaid
from phase_gate.evidence.documents.pages import read_markdown
from phase_gate.evidence.documents.rules import find_fault
from tests.integrity.cheats_documents import CONTEXT, DECISION, USAGE

#: Bytes: enough to notice what takes the square of the length, and little enough for a suite.
_MOST = 150_000


def markdown(data: bytes) -> None:
    text = data[:_MOST].decode("utf-8", "replace")
    see(text)
    page = read_markdown(text)
    lines = text.count("\n") + text.count("\r") + 1
    for piece in page.pieces:
        assert 1 <= piece.line <= lines
    find_fault(page, minimum_words=20)
    find_missing(page)
    is_record_like(page)
    for diagram in find_on_page(page, "docs/a.md"):
        assert 1 <= diagram.line <= lines + 1
        is_c4(diagram)
        is_empty(diagram)


def mermaid(data: bytes) -> None:
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    diagram = Diagram(file="a.mmd", line=1, language="Mermaid", text=text)
    (checked,) = check_mermaid([diagram])
    assert checked.unknown == ""
    assert checked.flaw is None or 1 <= checked.flaw.line <= text.count("\n") + 1
    is_c4(diagram)
    is_empty(diagram)


def other_diagrams(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for diagram in find_in_file(text, "a.puml"):
        is_c4(diagram)
        is_empty(diagram)


MARKDOWN = tuple(
    text.encode()
    for text in (
        USAGE,
        CONTEXT,
        DECISION,
        "---\nstatus: x\n---\n\n# A {#b}\n\n| a | b |\n| --- | --- |\n| [c](d.md#e) | TODO |\n",
        "> - ```{mermaid}\n>   :a: b\n>   pie\n",
        "::: mermaid\npie\n:::\n\n[r]: <a b.md>\n[x][r] ![y](z.png) <b>\n\n    code\n",
    )
)
MERMAID = (
    b"flowchart TD\n subgraph a\n  A[x] -->|y| B{z}\n end\n %% c\n style A fill:#fff\n",
    b"sequenceDiagram\n participant A\n loop x\n  A->>+B: y\n end\n Note over A,B: z\n",
    b"---\ntitle: x\n---\nstateDiagram-v2\n state A {\n  [*] --> B\n }\n",
    b"classDiagram\n class A {\n  +int x\n }\n A <|-- B : y\n",
    b"erDiagram\n A ||--o{ B : has\n A {\n  int id PK\n }\n",
    b'C4Context\n Boundary(a, "x") {\n  Person(b, "y")\n }\n Rel(b, a, "z")\n',
    b'%%{init: {"a": 1}}%%\npie\n "a": 1\n',
    b"gantt\n dateFormat YYYY-MM-DD\n section a\n b :c, 2026-01-01, 3d\n",
    b"gitGraph\n commit\n branch a\n checkout a\n merge main\n",
)
OTHERS = (b'@startuml\n!include <C4/C4_Context>\n\' c\nPerson(a, "b")\n@enduml\n',)
