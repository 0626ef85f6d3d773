"""The report in a real browser: `tox -e browser`. Not part of the ordinary suite, which needs no browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from tests.browser.chromium import Page, tastes

Pages = dict[str, str]


def open_page(page: Page, address: str) -> None:
    page.complaints()  # those of the page before are gone with it
    page.driver.get("about:blank")
    page.driver.get(address)


def rows(page: Page) -> list[int]:
    found: list[int] = page.ask(
        "return [...document.querySelectorAll('#runs-table tbody th')].map(e => +e.textContent)"
    )
    return found


def faults(page: Page, axe: str) -> list[str]:
    """Return what axe-core finds fault with, serious or worse."""
    # The page's own policy forbids strange scripts: the debugger's door is not the page's.
    page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
    call = "axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(found.violations))"
    answer = page.driver.execute_cdp_cmd(
        "Runtime.evaluate", {"expression": call, "awaitPromise": True, "returnByValue": True}
    )
    found: list[dict[str, Any]] = json.loads(answer["result"]["value"])
    return [
        f"{row['impact']} {row['id']}: {node['target']} {node.get('failureSummary', '')[:300]}"
        for row in found
        if row["impact"] in ("serious", "critical")
        for node in row["nodes"][:5]
    ]


@pytest.mark.parametrize("reader", ["desktop", "dark", "phone"])
@pytest.mark.parametrize("name", ["sample", "hostile", "long"])
def test_nothing_serious_is_inaccessible(
    reader: str, name: str, pages: Pages, axe: str, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(reader)
    open_page(page, pages[name])
    for each in page.all("details"):
        page.driver.execute_script("arguments[0].open = true", each)
    assert faults(page, axe) == []


def test_axe_would_find_something(pages: Pages, axe: str, desktop: Page) -> None:
    open_page(desktop, pages["sample"])
    desktop.ask("document.querySelector('#copy').textContent = ''; document.querySelector('h1').style.color = '#eee'")
    assert len(faults(desktop, axe)) >= 2


@pytest.mark.parametrize("reader", ["desktop", "phone"])
@pytest.mark.parametrize("name", ["sample", "hostile", "long"])
def test_nothing_sticks_out_and_nothing_complains(
    reader: str, name: str, pages: Pages, request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(reader)
    open_page(page, pages[name])
    assert page.ask("return document.documentElement.scrollWidth <= innerWidth")
    assert page.complaints() == []


def test_a_hostile_name_runs_nothing(pages: Pages, desktop: Page) -> None:
    open_page(desktop, pages["hostile"])
    for column in desktop.all("#timeline .column .hit")[:3]:
        column.click()
    desktop.find("#test-name").send_keys("script")
    assert desktop.ask("return window.hacked") is None
    assert desktop.ask("return document.scripts.length") == 2
    assert desktop.all("main img") == []
    assert desktop.ask("return [...document.links].every(each => each.getAttribute('href').startsWith('#'))")
    assert desktop.complaints() == []


def test_the_policy_stops_what_somebody_writes_into_the_file(pages: Pages, desktop: Page, tmp_path: Path) -> None:
    text = Path(pages["sample"].removeprefix("file://")).read_text(encoding="utf-8")
    changed = text.replace("</main>", "</main><script>window.hacked=1</script><img src=https://example.org/x.png>")
    (tmp_path / "changed.html").write_text(changed, encoding="utf-8")
    open_page(desktop, (tmp_path / "changed.html").as_uri())
    assert desktop.ask("return window.hacked") is None
    assert len([each for each in desktop.complaints() if "Content Security Policy" in each]) == 2


def test_a_click_on_a_column_tells_of_its_run(pages: Pages, desktop: Page) -> None:
    open_page(desktop, pages["sample"])
    assert not desktop.find("#picked").is_displayed()
    desktop.find('#timeline [data-first="24"] .hit').click()
    said = desktop.find("#picked").text
    assert said.startswith("Run 24: GREEN, iteration 5, not green")
    assert "Changed before it: reminder.py" in said
    assert "the circuit opens: the same error 5 times" in said
    assert desktop.find("#runs-table tr.picked th").text == "24"


def test_arrow_keys_walk_along_the_timeline(pages: Pages, desktop: Page) -> None:
    open_page(desktop, pages["sample"])
    timeline = desktop.find("#timeline")
    timeline.send_keys(Keys.ARROW_LEFT)
    assert desktop.find("#picked h3").text.startswith("Run 29:")
    timeline.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert desktop.find("#picked h3").text.startswith("Run 27:")
    assert timeline.get_attribute("aria-valuetext").startswith("Run 27: GREEN, green")
    timeline.send_keys(Keys.HOME)
    assert desktop.find("#picked h3").text.startswith("Run 1:")


def test_runs_are_filtered(pages: Pages, desktop: Page) -> None:
    open_page(desktop, pages["sample"])
    assert rows(desktop) == list(range(29, 0, -1))
    Select(desktop.find("#run-phase")).select_by_value("RED")
    assert rows(desktop) == [19, 4, 3]
    Select(desktop.find("#run-kind")).select_by_value("exit")
    assert rows(desktop) == [19, 4]
    assert desktop.find("#runs-said").text == "2 of 29 runs"
    desktop.find("#run-all").click()
    assert len(rows(desktop)) == 29
    Select(desktop.find("#run-kind")).select_by_value("uncounted")
    assert rows(desktop) == [26, 9]


def test_tests_are_filtered(pages: Pages, desktop: Page) -> None:
    def shown() -> list[str]:
        return [row.text for row in desktop.all("#tests tbody th") if row.is_displayed()]

    open_page(desktop, pages["sample"])
    everything = len(shown())
    Select(desktop.find("#test-kind")).select_by_value("flaky")
    assert ["test_two_writers_at_once" in each for each in shown()] == [True]
    Select(desktop.find("#test-kind")).select_by_value("all")
    desktop.find("#test-name").send_keys("tax")
    assert len(shown()) == 3
    assert desktop.find("#tests-said").text == f"3 of {everything} tests"


def test_ten_thousand_runs_stay_usable(pages: Pages, desktop: Page) -> None:
    open_page(desktop, pages["long"])
    assert desktop.ask("return document.querySelectorAll('*').length") < 8_000
    assert len(desktop.all("#timeline .column")) == 200
    assert len(rows(desktop)) == 50
    assert desktop.find("#page").text == "page 1 of 200"
    desktop.find("#older").click()
    assert rows(desktop)[0] == 9_950
    desktop.find('#timeline [data-first="5001"] .hit').click()
    assert rows(desktop) == list(range(5_050, 5_000, -1))
    assert desktop.find("#run-all").text == "All runs (now 5001 to 5050)"
    Select(desktop.find("#run-phase")).select_by_value("REFACTOR")
    assert 0 < len(rows(desktop)) < 50
    assert desktop.complaints() == []


def test_without_the_script_it_is_all_there(pages: Pages, without_script: Page) -> None:
    without_script.driver.get(pages["sample"])
    assert "GREEN goes on" in without_script.find("h1").text
    assert [int(row.text) for row in without_script.all("#runs-table tbody th")] == list(range(29, 0, -1))
    assert not without_script.find("#run-phase").is_displayed()
    assert not without_script.find("#copy").is_displayed()


def test_a_proof_is_reached_by_keys(pages: Pages, desktop: Page) -> None:
    open_page(desktop, pages["sample"])
    desktop.ask("document.querySelector('#proof').setAttribute('tabindex', '-1')")
    desktop.ask("document.querySelector('#proof').focus()")
    desktop.driver.switch_to.active_element.send_keys(Keys.TAB)
    active = desktop.driver.switch_to.active_element
    assert active.get_attribute("aria-label") == "GREEN: the runs of each target"


def test_light_and_dark(pages: Pages, desktop: Page, dark: Page) -> None:
    colours = []
    for page in (desktop, dark):
        open_page(page, pages["sample"])
        colours.append(page.find("body").value_of_css_property("background-color"))
        page.find("#theme").click()
        colours.append(page.find("body").value_of_css_property("background-color"))
    light, darkened, night, lightened = colours
    assert (light, darkened) == (lightened, night)
    assert light != night


def test_it_is_printed_on_light_paper(pages: Pages, dark: Page, tmp_path: Path) -> None:
    open_page(dark, pages["sample"])
    data = dark.print_to(tmp_path / "report.pdf")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 10
    dark.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert dark.find("body").value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"
        for selector in ("nav", "#run-phase", "#test-name", "#copy"):
            assert not dark.find(selector).is_displayed(), selector
    finally:
        dark.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": tastes(dark=True)})


def test_whoever_uses_keys_gets_everywhere(pages: Pages, desktop: Page) -> None:
    open_page(desktop, pages["sample"])
    reached: list[str] = []
    for _ in range(60):
        desktop.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(desktop.driver.switch_to.active_element.get_attribute("id") or "")
    assert {"theme", "copy", "timeline", "run-phase", "run-kind", "test-name", "test-kind"} <= set(reached)
