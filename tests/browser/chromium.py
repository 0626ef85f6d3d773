"""Chromium without a screen: Debian's chromium and chromium-driver."""

from __future__ import annotations

import base64
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
_ARGUMENTS = (
    *("headless=new", "no-sandbox", "hide-scrollbars", "disable-gpu"),
    *("disable-background-networking", "disable-component-update", "disable-sync"),
)


class Page:
    """One page in a browser."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def ask(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def complaints(self) -> list[str]:
        """Return errors of the script, and everything that the page's policy forbids."""
        return [row["message"] for row in self.driver.get_log("browser")]

    def shoot(self, path: Path, *, height: int) -> None:
        """Take a picture of the top of the page."""
        clip = {"x": 0, "y": 0, "width": self.ask("return innerWidth"), "height": height, "scale": 1}
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        path.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def chromium(*, width: int = DESKTOP, height: int = 900, dark: bool = False) -> Iterator[Page]:
    """Start a browser of this size."""
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for argument in _ARGUMENTS:
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    still = {"name": "prefers-reduced-motion", "value": "reduce"}  # a click would miss what moves
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    try:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield Page(driver)
    finally:
        driver.quit()
