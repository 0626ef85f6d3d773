"""What Mermaid said, as it is recorded, and what we say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from phase_gate.evidence.documents.diagrams import Checked, Diagram, refuse_empty
from phase_gate.evidence.documents.mermaid import check_mermaid

RECORDED = Path(__file__).parent.parent / "data" / "mermaid-verdicts.json"

#: Diagrams of the table about which we and Mermaid disagree, and why that is so. Each has to be true.
DISAGREEMENTS = {
    "flowchart/remark-behind-end": "merman takes a comment behind `end` for one",
    "class/bracket-in-name": "merman takes more characters in names",
    "state/colons-behind": "merman takes an empty name behind colons",
    "timeline/colons-behind": "merman takes an empty event",
    "quadrant/bracket-in-text": "merman takes any text without quotes",
    "gantt/no-name": "merman takes a task without a name",
    "gantt/no-date": "merman looks at dates, Mermaid only when it draws",
    "block/no-number": "Mermaid takes a word for a number of columns, and draws nothing that it says",
    "kanban/brackets": "merman takes brackets in a text",
}


def load() -> Any:
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def check(text: str) -> Checked:
    """Return our own verdict, as the provider gives it."""
    diagram = Diagram(file="a.mmd", line=1, language="Mermaid", text=text)
    return refuse_empty(next(check_mermaid([diagram])))
