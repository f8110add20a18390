"""A headless Chromium for the tests marked `browser`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
in_a_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver on the PATH")


@contextmanager
def chromium(*arguments: str) -> Iterator[Chrome]:
    """Start a browser that records its console and its network events, and quit it at the end."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1500,1300", *arguments):
        options.add_argument(argument)
    browser = Chrome(options, ChromeService(str(DRIVER)))
    try:
        yield browser
    finally:
        browser.quit()
