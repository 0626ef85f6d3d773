"""Documents and diagrams: whatever stands in a file of the project, a look at it ends soon and in a verdict."""

from __future__ import annotations

from phase_gate.evidence.documents.decisions import find_missing, is_record_like
from phase_gate.evidence.documents.diagrams import Diagram, find_in_file, find_on_page, is_c4, is_empty
from phase_gate.evidence.documents.library import reader_of, see
from phase_gate.evidence.documents.mermaid import check_mermaid
from phase_gate.evidence.documents.pages import has_anchor, resolve
from phase_gate.evidence.documents.rules import find_fault
from tests.diagrams.table import rows
from tests.integrity.cheats_documents import CONTEXT, DECISION, USAGE

#: Bytes: enough to notice what takes the square of the length, and little enough for a suite.
_MOST = 150_000


def _document(data: bytes, name: str) -> None:
    text = data[:_MOST].decode("utf-8", "replace")
    see(text)
    page = reader_of(name)(text)
    lines = text.count("\n") + text.count("\r") + 1
    for piece in page.pieces:
        assert 1 <= piece.line <= lines
    find_fault(page, minimum_words=20)
    find_missing(page)
    is_record_like(page)
    for diagram in find_on_page(page, name):
        assert 1 <= diagram.line <= lines + 1
        is_c4(diagram)
        is_empty(diagram)
    for link in page.links:
        target = resolve(link.target, name)
        if target is not None:
            has_anchor(page.anchors, target.anchor)


def markdown(data: bytes) -> None:
    _document(data, "docs/a.md")


def restructured(data: bytes) -> None:
    _document(data, "docs/a.rst")


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
RESTRUCTURED = (
    b"====\nA b\n====\n\n:Status: x\n\nC\n-\n\n- d::\n\n   e\n\n.. mermaid::\n   :f: g\n\n   pie\n\n.. h\n",
)
MERMAID = tuple(text.encode() for text in rows().values())
OTHERS = (b'@startuml\n!include <C4/C4_Context>\n\' c\nPerson(a, "b")\n@enduml\n',)
