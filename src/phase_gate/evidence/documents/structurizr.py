"""Look at Structurizr DSL for what every workspace has: closed texts, balanced braces, a model, a view.

Pure. A structural check, not a parser: the only parser is a Java program, and what this accepts it may still refuse.
"""

from __future__ import annotations

import re

from phase_gate.evidence.documents.diagrams import Diagram, Flaw, block_of, strip_dsl

_TOKEN = re.compile(r'/\*.*?\*/|^[ \t]*(?://|#)[^\n]*|""".*?"""|"(?:\\.|[^"\\\n])*"|"|/\*|[{}]', re.S | re.M)
_ELEMENT = re.compile(r"\b(?:person|softwareSystem|element|container|component|deploymentEnvironment)\b", re.I)


def find_flaw(diagram: Diagram) -> Flaw | None:
    """Return the first thing that is wrong; None if it looks whole."""
    text = diagram.text
    open_at: list[int] = []
    line, counted = diagram.line, 0
    for found in _TOKEN.finditer(text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        if found[0] == '"':
            return Flaw("a text is never closed", line)
        if found[0] == "/*":
            return Flaw("a comment is never closed", line)
        if found[0] == "{":
            open_at.append(line)
        elif found[0] == "}":
            if not open_at:
                return Flaw("a brace is closed that was never opened", line)
            open_at.pop()
    if open_at:
        return Flaw("a brace is never closed", open_at[-1])
    return _find_missing(diagram)


def _find_missing(diagram: Diagram) -> Flaw | None:
    stripped = strip_dsl(diagram.text)
    workspace = block_of(stripped, "workspace")
    if workspace is None:
        return Flaw("there is no workspace { … }", diagram.line)
    # What a workspace extends, or includes, may have the rest.
    if re.search(r"\bworkspace\s+extends\b", stripped, re.I) or re.search(r"^[ \t]*+!include\b", workspace, re.M):
        return None
    model = block_of(workspace, "model")
    if model is None or not _ELEMENT.search(model):
        return Flaw("its model { … } has no element" if model is not None else "it has no model { … }", diagram.line)
    views = block_of(workspace, "views")
    if views is None or "{" not in views:
        return Flaw("its views { … } has no view" if views is not None else "it has no views { … }", diagram.line)
    return None
