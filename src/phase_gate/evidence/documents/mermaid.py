"""Ask a real parser whether Mermaid diagrams are valid: merman, which is Mermaid's grammar without a browser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from phase_gate.evidence.documents.diagrams import Checked, Diagram, Flaw

if TYPE_CHECKING:
    from merman import Merman

#: What to do about diagrams that could not be parsed.
MISSING = "no parser for Mermaid is installed (pip install 'pytest-phase-gate[mermaid]')"

#: What Mermaid takes by default (`maxTextSize`).
MAX_CHARACTERS = 50_000


def check_mermaid(diagrams: Iterable[Diagram]) -> Iterator[Checked]:
    """Yield what the parser says about each."""
    try:
        from merman import Merman
    except (ImportError, OSError):  # it is not there, or its library does not fit this system
        yield from (Checked(diagram=diagram, unknown=MISSING) for diagram in diagrams)
        return
    parser = Merman()
    for diagram in diagrams:
        try:
            yield Checked(diagram=diagram, flaw=_find_flaw(parser, diagram))
        except Exception as error:  # a fault of the parser says nothing about the diagram
            yield Checked(diagram=diagram, unknown=f"merman: {type(error).__name__}: {error}")


def _find_flaw(parser: Merman, diagram: Diagram) -> Flaw | None:
    # Front matter has to be on the first line, for this parser.
    text = diagram.text.lstrip("\n")
    if len(text) > MAX_CHARACTERS:
        return Flaw(f"it has more than {MAX_CHARACTERS:,} characters, which Mermaid does not draw", diagram.line)
    first = diagram.line + len(diagram.text) - len(text)
    if parser.validate(text, None).valid:
        return None
    return _explain(json.loads(parser.analyze_json(text, None)), first)


def _explain(analysis: dict[str, list[dict[str, object]]], first: int) -> Flaw:
    for row in analysis["diagnostics"]:
        if row["severity"] == "error":
            span = row.get("span")
            line = span.get("line") if isinstance(span, dict) else None
            return Flaw(" ".join(str(row["message"]).split()), first + (line - 1 if isinstance(line, int) else 0))
    return Flaw("the parser refuses it, and does not say why", first)
