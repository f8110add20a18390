"""Every page that the commands write, opened in a browser without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobs.lake.lake import open_lake
from jobs.schema import VALIDATION
from tests.browser import chromium, in_a_browser

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = [pytest.mark.browser, in_a_browser]
NIGHT = "2026-01-31"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a night, a what-if and a plan, and return the folder of their lake."""
    folder = tmp_path_factory.mktemp("night")
    executable = str(Path(sys.executable).with_name("topology-audit"))
    cluster = ("--cluster", "payments-us")
    for command in (["nightly", "--snapshot", NIGHT], ["what-if", *cluster, "--broker", "12"], ["plan", *cluster, "--no-rules"]):
        process = subprocess.run([executable, *command], cwd=folder, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
    return folder / "lake"


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium("--host-resolver-rules=MAP * ~NOTFOUND") as browser:
        yield browser


def test_no_page_makes_a_network_request_or_logs_an_error(lake: Path, browser: Chrome) -> None:
    pages = sorted((lake / "reports").rglob("*.html"))
    assert {page.relative_to(lake / "reports" / NIGHT).parts[0] for page in pages} == {"index.html", "plan", "validation", "what-if"}
    for page in pages:
        browser.get(page.as_uri())
        assert requested_urls(browser) == {page.as_uri()}
        assert browser.get_log("browser") == [], page


def test_the_index_of_the_data_docs_lists_every_suite_with_its_result(lake: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    browser.get((lake / "reports" / NIGHT / "index.html").as_uri())
    (link,) = browser.find_elements(By.CSS_SELECTOR, "a")
    link.click()
    rows = [row.find_elements(By.TAG_NAME, "td") for row in browser.find_elements(By.CSS_SELECTOR, "tbody tr")]
    shown = {suite.text: result.text for suite, result, *_ in rows}
    results = open_lake(str(lake), pytest.fail).read_local(VALIDATION, snapshot_id=NIGHT).to_pylist()
    failed = {row["suite"] for row in results if row["broken_rows"]}
    assert shown == {row["suite"]: "failed" if row["suite"] in failed else "passed" for row in results}
    assert {"passed", "failed"} == set(shown.values())


def test_the_page_of_a_suite_shows_the_result_of_each_rule(lake: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    browser.get((lake / "reports" / NIGHT / "validation" / "index.html").as_uri())
    browser.find_element(By.LINK_TEXT, "hot_key").click()
    rows = [row.find_elements(By.TAG_NAME, "td") for row in browser.find_elements(By.CSS_SELECTOR, "#section-2 tbody tr")]
    results = open_lake(str(lake), pytest.fail).read_local(VALIDATION, snapshot_id=NIGHT, suite="hot_key").to_pylist()
    failed = {row["sentence"] for row in results if row["broken_rows"]}
    assert failed
    assert {rule.text: result.text for result, rule, *_ in rows} == {
        row["sentence"]: "failed" if row["sentence"] in failed else "passed" for row in results
    }


def requested_urls(browser: Chrome) -> set[str]:
    """Return the URLs that the browser has requested since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
