"""The pictures of the documentation."""

from __future__ import annotations

from html import unescape

from phase_gate.project import load_compiled
from tests.docs.blocks import ROOT, pages

FOLDER = ROOT / "docs" / "pictures"


def test_the_flow_shows_the_phases_of_the_shipped_workflow() -> None:
    workflow = load_compiled("tdd")
    assert workflow is not None
    drawn = unescape((FOLDER / "flow.svg").read_text(encoding="utf-8"))
    names = [phase.name for phase in workflow.phases]
    assert f"{' to '.join(names)} to DONE" in drawn
    assert [name for name in names if f'class="name">{name}<' not in drawn] == []


def test_every_picture_is_shown_somewhere() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [path.name for path in sorted(FOLDER.iterdir()) if f"pictures/{path.name}" not in text] == []
