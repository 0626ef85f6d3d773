"""The report and the documentation site in a real browser: `tox -e browser`. Not part of the ordinary suite."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from phase_gate.report.html import render_html
from phase_gate.report.story import Story
from scripts import publish
from tests.browser.chromium import PHONE, Page, chromium
from tests.report.samples import build_hostile, build_long, build_sample

STORIES: dict[str, Callable[[], Story]] = {
    "sample": lambda: build_sample().story(),
    "hostile": build_hostile,
    "long": lambda: build_long(10_000),
}
READERS: dict[str, dict[str, Any]] = {"desktop": {}, "dark": {"dark": True}, "phone": {"width": PHONE, "height": 844}}
#: One page of each kind: sessions, large tables, diagrams, pictures.
SITE = ("index", "tutorial", "how-to/everyday", "reference/metrics", "contributing/architecture")


@pytest.fixture(scope="session", params=READERS)
def reader(request: pytest.FixtureRequest) -> Iterator[Page]:
    with chromium(**READERS[request.param]) as page:
        yield page


@pytest.fixture(scope="session")
def desktop() -> Iterator[Page]:
    with chromium() as page:
        yield page


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports, and the site below `dev`."""
    made = tmp_path_factory.mktemp("pages")
    for name, build in STORIES.items():
        (made / f"{name}.html").write_bytes(render_html(build()).encode("utf-8", "backslashreplace"))
    assert publish.main(["--into", str(made)]) == 0
    return made


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from npm; pinned, because its findings change from version to version."""
    made = tmp_path_factory.mktemp("axe")
    (made / "package.json").write_text("{}", encoding="utf-8")
    subprocess.run(("npm", "install", "--silent", "--ignore-scripts", "axe-core@4.10.3"), cwd=made, check=True)
    return (made / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def open_page(page: Page, path: Path) -> None:
    page.driver.get("about:blank")
    page.complaints()  # those of the page before
    page.driver.get(path.as_uri())


def faults(page: Page, axe: str) -> list[str]:
    """Return what axe-core finds, serious or worse."""
    # The page's own policy forbids other scripts; the debugger may run them.
    page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
    # The theme's sidebar is not ours.
    part = "document.querySelector('article[role=main]') || document"
    call = f"axe.run({part}, {{resultTypes: ['violations']}}).then(found => JSON.stringify(found.violations))"
    asked = {"expression": call, "awaitPromise": True, "returnByValue": True}
    found = json.loads(page.driver.execute_cdp_cmd("Runtime.evaluate", asked)["result"]["value"])
    grave = [row for row in found if row["impact"] in ("serious", "critical")]
    return [f"{row['id']}: {node['target']}" for row in grave for node in row["nodes"][:5]]


@pytest.mark.parametrize("name", [*STORIES, *(f"dev/{each}" for each in SITE)])
def test_a_page_fits_runs_nothing_strange_and_is_accessible(name: str, reader: Page, folder: Path, axe: str) -> None:
    open_page(reader, folder / f"{name}.html")
    assert reader.ask("return document.documentElement.scrollWidth <= innerWidth")
    assert reader.ask("return window.hacked") is None
    assert [each for each in reader.complaints() if "file:" not in each] == []
    assert reader.ask("return performance.getEntriesByType('resource').filter(e => /^http/.test(e.name)).length") == 0
    assert faults(reader, axe) == []


def test_clicks_keys_and_filters(desktop: Page, folder: Path) -> None:
    def rows() -> list[int]:
        cells = "document.querySelectorAll('#runs-table th[scope=row]')"
        return [int(text) for text in desktop.ask(f"return [...{cells}].map(each => each.textContent)")]

    open_page(desktop, folder / "sample.html")
    desktop.find('#timeline [data-run="24"] .hit').click()
    assert desktop.find("#picked").text.startswith("Run 24: GREEN, iteration 5, not green")
    desktop.find("#timeline").send_keys(Keys.ARROW_LEFT)
    assert desktop.find("#picked h3").text.startswith("Run 23:")
    Select(desktop.find("#run-phase")).select_by_value("RED")
    assert rows() == [19, 4, 3]
    desktop.find("#test-name").send_keys("tax")
    assert desktop.find("#tests-said").text.startswith("3 of ")
    open_page(desktop, folder / "long.html")
    desktop.find("#older").click()
    assert (desktop.find("#page").text, rows()[0]) == ("page 2 of 200", 9_950)


def test_the_policy_stops_a_script_that_was_written_into_the_file(desktop: Page, folder: Path, tmp_path: Path) -> None:
    text = (folder / "sample.html").read_text(encoding="utf-8")
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</main>", "</main><script>window.hacked=1</script>"), encoding="utf-8")
    open_page(desktop, changed)
    assert desktop.ask("return window.hacked") is None
    assert any("Content Security Policy" in each for each in desktop.complaints())


def test_light_dark_and_paper(folder: Path) -> None:
    # A browser of its own: what it shows on paper changes its screen for good.
    with chromium() as page:

        def background() -> str:
            return str(page.find("body").value_of_css_property("background-color"))

        open_page(page, folder / "sample.html")
        light = background()
        page.find("#theme").click()
        assert background() != light
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert background() == "rgba(255, 255, 255, 1)"
        assert not page.find("nav").is_displayed()
