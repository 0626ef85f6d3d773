"""The pictures of the documentation show what the program does now."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from scripts.pictures import DRAWN, FOLDER
from tests.docs.blocks import pages


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_is_up_to_date(name: str) -> None:
    drawn = DRAWN[name]()
    ElementTree.fromstring(drawn)
    assert (FOLDER / name).read_text(encoding="utf-8") == drawn, "run: python -m scripts.pictures"


def test_every_picture_is_shown_somewhere() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [path.name for path in sorted(FOLDER.iterdir()) if f"pictures/{path.name}" not in text] == []
