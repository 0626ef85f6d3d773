"""The reference says what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from phase_gate.config.workflow_files import shipped_workflow_names
from phase_gate.gate.events import EVENT_KINDS
from phase_gate.gate.state import PARTS, load_part
from phase_gate.project import COMPILED_FOLDER
from scripts import generate
from tests.e2e.sessions import load_schema


def name(page: Path) -> str:
    top = generate.DOCS.parent
    return str(page.relative_to(top)) if page.is_relative_to(top) else page.name  # of an installed package


@pytest.mark.parametrize(
    "page", [page for page in generate.pages() if generate.part_names(page.read_text(encoding="utf-8"))], ids=name
)
def test_a_page_is_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert generate.render(text) == text, "run: python -m scripts.generate"


@pytest.mark.parametrize("path", generate.WHOLE_FILES, ids=name)
def test_a_file_that_nobody_writes_by_hand_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generate.WHOLE_FILES[path](), "run: python -m scripts.generate"


def test_every_shipped_workflow_is_compiled_and_nothing_else() -> None:
    assert sorted(path.stem for path in COMPILED_FOLDER.iterdir()) == sorted(shipped_workflow_names())


def test_every_part_stands_on_a_page() -> None:
    used = {part for page in generate.pages() for part in generate.part_names(page.read_text(encoding="utf-8"))}
    assert used == set(generate.PARTS)


def test_every_event_is_described() -> None:
    assert set(generate.EVENTS) == EVENT_KINDS.union(*(load_part(name).events for name in PARTS))


def test_every_setting_is_described_and_nothing_else() -> None:
    page = (generate.DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    settings = load_schema("configuration")["properties"]
    rows = page.partition("| --- |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^[|] `(\w+)`", rows, re.MULTILINE)) == set(settings)
    in_sections = {name for section in settings.values() for name in section.get("properties", ())}
    assert {name for name in in_sections if not re.search(rf"\b{name}\b", page)} == set()
