"""Take the picture of the report that the docs show: `python -m scripts.pictures`. Needs Chromium."""

from __future__ import annotations

import tempfile
from pathlib import Path

from phase_gate.report.html import render_html
from tests.browser.chromium import chromium
from tests.report.samples import build_sample

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, chromium(height=1230) as browser:
        page = Path(name, "report.html")
        page.write_text(render_html(build_sample().story()), encoding="utf-8")
        browser.driver.get(page.as_uri())
        browser.shoot(FOLDER / "report.png", height=1230)
