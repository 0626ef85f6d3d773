"""Pages to look at, one browser a kind of reader, and axe-core."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from phase_gate.report.html import render_html
from phase_gate.report.story.model import Story
from tests.browser.chromium import PHONE, Page, chromium
from tests.report.hostile import build_hostile
from tests.report.long_story import build_long
from tests.report.sample_story import build_sample

#: Pinned: what it finds fault with changes from version to version.
AXE = "axe-core@4.10.3"


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    (folder / "package.json").write_text("{}", encoding="utf-8")
    command = ("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", AXE)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of the pages, by name."""
    folder = tmp_path_factory.mktemp("pages")
    stories: dict[str, Story] = {
        "sample": build_sample().story(),
        "hostile": build_hostile(),
        "long": build_long(10_000),
    }
    addresses = {}
    for name, story in stories.items():
        path = folder / f"{name}.html"
        path.write_bytes(render_html(story).encode("utf-8", "backslashreplace"))
        addresses[name] = path.as_uri()
    return addresses


@pytest.fixture(scope="session")
def desktop() -> Iterator[Page]:
    with chromium() as page:
        yield page


@pytest.fixture(scope="session")
def dark() -> Iterator[Page]:
    with chromium(dark=True) as page:
        yield page


@pytest.fixture(scope="session")
def phone() -> Iterator[Page]:
    with chromium(width=PHONE, height=844) as page:
        yield page


@pytest.fixture(scope="session")
def without_script() -> Iterator[Page]:
    with chromium(script=False) as page:
        yield page
