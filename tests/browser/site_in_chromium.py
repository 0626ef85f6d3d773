"""The documentation site in a real browser: `tox -e browser -- tests/browser/site_in_chromium.py`.

It is built twice, as an unreleased and as a released version, and served from a folder as a host would.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from scripts import publish
from tests.browser.chromium import Page
from tests.browser.in_chromium import faults

#: One page of each kind: first pages, sessions, large tables, diagrams, pictures.
PAGES = (
    "index.html",
    "how-to/everyday.html",
    "tutorial.html",
    "reference/metrics.html",
    "reference/workflows.html",
    "contributing/architecture.html",
    "explanation/trust.html",
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    assert publish.main(["--into", str(folder)]) == 0
    assert publish.main(["--into", str(folder), "--version", "0.1.0"]) == 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def asked_hosts(page: Page) -> set[str]:
    names: list[str] = page.ask("return performance.getEntriesByType('resource').map(entry => entry.name)")
    return {urlsplit(name).netloc for name in names if name.startswith("http")}


@pytest.mark.parametrize("reader", ["desktop", "dark", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_asks_no_other_host_and_is_accessible(
    reader: str, name: str, site: str, axe: str, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(reader)
    page.complaints()
    page.driver.get(f"{site}/dev/{name}")
    assert page.ask("return document.documentElement.scrollWidth <= innerWidth")
    assert asked_hosts(page) <= {urlsplit(site).netloc}
    assert page.complaints() == []
    assert faults(page, axe) == []


def test_the_front_page_is_one_screen(site: str, desktop: Page, tmp_path: Path) -> None:
    desktop.driver.get(f"{site}/dev/index.html")
    bottom = desktop.ask("return document.querySelector('article').getBoundingClientRect().bottom")
    assert bottom <= 1000, "on a screen of 1280 x 1000"


def test_the_search_finds_a_word(site: str, desktop: Page) -> None:
    desktop.driver.get(f"{site}/dev/search.html?q=streak")
    WebDriverWait(desktop.driver, 60).until(lambda _: desktop.all("#search-results li a"))


def test_the_menu_of_versions_leads_to_another_one(site: str, desktop: Page) -> None:
    desktop.driver.get(f"{site}/dev/how-to/everyday.html")
    WebDriverWait(desktop.driver, 60).until(lambda _: desktop.all("select.versions"))
    menu = Select(desktop.find("select.versions"))
    assert [option.text for option in menu.options] == ["0.1", "dev"]
    assert menu.first_selected_option.text == "dev"
    menu.select_by_visible_text("0.1")
    WebDriverWait(desktop.driver, 60).until(lambda _: "/0.1/" in desktop.driver.current_url)


def test_the_root_leads_to_the_newest_release(site: str, desktop: Page) -> None:
    desktop.driver.get(f"{site}/")
    WebDriverWait(desktop.driver, 60).until(lambda _: "/0.1/" in desktop.driver.current_url)


def test_a_schema_has_an_address(site: str, desktop: Page) -> None:
    desktop.driver.get(f"{site}/dev/reference/files.html")
    desktop.ask("document.querySelector('a[href$=\"evaluation.schema.json\"]').click()")
    WebDriverWait(desktop.driver, 60).until(lambda _: desktop.driver.current_url.endswith(".json"))
    assert json.loads(desktop.find("body").text)["title"] == "Evaluation of pytest-phase-gate"
