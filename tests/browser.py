"""A headless Chromium for the tests marked `browser`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CHROMIUM, DRIVER = (next(filter(None, map(shutil.which, names)), None) for names in (("chromium", "google-chrome"), ("chromedriver",)))
in_a_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium and chromedriver on the PATH")


@contextmanager
def chromium(*arguments: str) -> Iterator[Chrome]:
    """The browser, which logs its console and its network events."""
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
