"""Chromium, without a screen, and what tests want to know of a page in it."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

PHONE, DESKTOP = 390, 1280


class Page:
    """One page in a browser."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        found: list[WebElement] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def ask(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def complaints(self) -> list[str]:
        """Return what the browser said against the page: errors of the script, and all that the policy forbids."""
        return [row["message"] for row in self.driver.get_log("browser")]

    def shoot(self, path: Path, *, height: int | None = None) -> bytes:
        """Take a picture of the page as a whole, or of its top."""
        size = {"x": 0, "y": 0, "width": self.ask("return innerWidth"), "scale": 1}
        size["height"] = height or self.ask("return document.documentElement.scrollHeight")
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": size})
        data = base64.b64decode(taken["data"])
        path.write_bytes(data)
        return data

    def print_to(self, path: Path) -> bytes:
        done = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
        data = base64.b64decode(done["data"])
        path.write_bytes(data)
        return data


def tastes(*, dark: bool) -> list[dict[str, str]]:
    """Return what a reader likes: colours, and nothing that moves (a click would miss it)."""
    return [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]


@contextmanager
def chromium(
    *, width: int = DESKTOP, height: int = 900, dark: bool = False, script: bool = True, scale: float = 1
) -> Iterator[Page]:
    """Start a browser of this size; without `script`, it runs none."""
    options = Options()
    options.binary_location = _find("chromium", "google-chrome")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(_find("chromedriver")))
    try:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": tastes(dark=dark)})
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 500},
        )
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        yield Page(driver)
    finally:
        driver.quit()


def _find(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise RuntimeError(f"{' or '.join(names)} is not installed: apt-get install chromium chromium-driver")
    return found
