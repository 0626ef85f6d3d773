"""What the pages for contributors name is there: modules, packages, environments."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.house import LAYERS, SOURCES

PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", ROOT / "docs" / "contributing" / "architecture.md"]

_PLACE = re.compile(r"`([\w./-]+(?:\.py|\.yaml|\.md|/))`")
_PACKAGE = re.compile(r"(?<![\w/.])(\w+/)(?=[\s,():`])")
_ENVIRONMENT = re.compile(r"tox -e ([\w,]+)")


def find_unknown_places(text: str) -> list[str]:
    named = {*_PLACE.findall(text), *_PACKAGE.findall(text)}
    return sorted(
        each
        for each in named
        if "NAME" not in each
        and each != "phase-gate.yaml"
        and not any((folder / each).exists() for folder in (SOURCES, ROOT, ROOT / "src"))
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_module_that_is_named_exists(page: Path) -> None:
    assert find_unknown_places(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_environment_that_is_named_exists(page: Path) -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    named = {each for names in _ENVIRONMENT.findall(page.read_text(encoding="utf-8")) for each in names.split(",")}
    assert {each for each in named if f"testenv:{each}" not in tox} == set()


def test_the_picture_shows_every_package() -> None:
    text = PAGES[-1].read_text(encoding="utf-8")
    packages = {name for names in LAYERS for name in names if (SOURCES / name).is_dir()}
    assert {name for name in packages if f"{name}/" not in text} == set()
