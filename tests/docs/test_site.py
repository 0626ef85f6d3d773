"""The documentation site: its first page stays short and leads everywhere, and its pictures are shown and right.

`tox -e docs` builds it and follows each link; `tox -e browser` looks at it.
"""

from __future__ import annotations

from html import unescape

from docs import conf
from phase_gate.project import load_compiled
from tests.docs.blocks import ROOT, pages

DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures"
#: What fits a screen of 1280 x 1000 beside the navigation, counted once in a browser.
A_SCREEN = 280


def test_the_first_page_leads_to_every_other_page_once() -> None:
    there = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert sorted(page for pages in conf.sections().values() for page in pages) == sorted(there)


def test_the_first_page_fits_a_screen() -> None:
    assert len((DOCS / "index.md").read_text(encoding="utf-8").split()) <= A_SCREEN


def test_the_flow_shows_the_phases_of_the_shipped_workflow() -> None:
    workflow = load_compiled("tdd")
    assert workflow is not None
    drawn = unescape((PICTURES / "flow.svg").read_text(encoding="utf-8"))
    names = [phase.name for phase in workflow.phases]
    assert f"{' to '.join(names)} to DONE" in drawn
    assert [name for name in names if f'class="name">{name}<' not in drawn] == []


def test_every_picture_is_shown_somewhere() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [path.name for path in sorted(PICTURES.iterdir()) if f"pictures/{path.name}" not in text] == []
