"""Every page that the commands write, opened in a browser without a network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import axe_core_python
import pytest

from jobs.cli import BUNDLED
from jobs.ingest.configuration import FILE
from jobs.lake.lake import open_lake
from jobs.schema import VALIDATION
from jobs.views import DuckdbViews
from tests.browser import chromium, in_a_browser
from tests.jobs.two_nights import SNAPSHOTS

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = [pytest.mark.browser, in_a_browser]
NIGHT = "2026-01-31"
AXE = Path(axe_core_python.__file__).with_name("axe.min.js")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a night with owners and a waiver, a what-if and a plan, and return the folder of their lake."""
    folder = tmp_path_factory.mktemp("night")
    shutil.copytree(BUNDLED, folder / "source")
    shutil.copy(SNAPSHOTS / "night-before" / FILE, folder / "source")
    executable = str(Path(sys.executable).with_name("topology-audit"))
    cluster = ("--cluster", "payments-us")
    for command in (["nightly", "source", "--snapshot", NIGHT], ["what-if", *cluster, "--broker", "12"], ["plan", *cluster, "--no-rules"]):
        process = subprocess.run([executable, *command], cwd=folder, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
    return folder / "lake"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a night over 16 generated clusters, and return the folder of its report."""
    folder = tmp_path_factory.mktemp("fleet")
    executable = str(Path(sys.executable).with_name("topology-audit"))
    generate = ["generate", "source", "--clusters", "16", "--brokers", "4", "--topics", "4"]
    for command in (generate, ["nightly", "source", "--snapshot", NIGHT]):
        process = subprocess.run([executable, *command], cwd=folder, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
    return folder / "lake" / "reports" / NIGHT


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium("--host-resolver-rules=MAP * ~NOTFOUND") as browser:
        browser.set_script_timeout(600)  # axe takes more than the default of 30 s on a busy machine
        yield browser


def test_no_page_makes_a_network_request_or_logs_an_error(lake: Path, browser: Chrome) -> None:
    pages = sorted((lake / "reports").rglob("*.html"))
    folders = {page.relative_to(lake / "reports" / NIGHT).parts[0] for page in pages}
    assert folders == {"index.html", "clusters", "dictionary.html", "plan", "validation", "what-if"}
    for page in pages:
        browser.get(page.as_uri())
        assert requested_urls(browser) == {page.as_uri()}
        assert browser.get_log("browser") == [], page


def test_the_index_of_the_data_docs_lists_every_suite_with_its_result(lake: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    browser.get((lake / "reports" / NIGHT / "index.html").as_uri())
    browser.find_element(By.LINK_TEXT, "Great Expectations' Data Docs").click()
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
    # The row of a broken rule contains a table of its broken rows.
    rules = browser.find_elements(By.XPATH, "//*[@id='section-2']//table[not(ancestor::table)]/tbody/tr")
    rows = [row.find_elements(By.XPATH, "./td") for row in rules]
    results = open_lake(str(lake), pytest.fail).read_local(VALIDATION, snapshot_id=NIGHT, suite="hot_key").to_pylist()
    failed = {row["sentence"] for row in results if row["broken_rows"]}
    assert failed
    assert {rule.text.splitlines()[0]: result.text for result, rule, *_ in rows} == {
        row["sentence"]: "failed" if row["sentence"] in failed else "passed" for row in results
    }


def own_pages(lake: Path) -> list[Path]:
    """Return the pages of this project, without those of Great Expectations."""
    return [page for page in sorted((lake / "reports").rglob("*.html")) if "validation" not in page.parts]


@pytest.mark.parametrize("width", [1400, 400])
def test_no_page_scrolls_horizontally(lake: Path, fleet: Path, browser: Chrome, width: int) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    for page in [*own_pages(lake), fleet / "index.html"]:
        browser.get(page.as_uri())
        browser.execute_script("for (const details of document.querySelectorAll('details')) details.open = true")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(lake: Path, fleet: Path, browser: Chrome, scheme: str) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    for page in [*own_pages(lake), fleet / "index.html"]:
        browser.get(page.as_uri())
        browser.execute_script(AXE.read_text(encoding="utf-8"))
        result = browser.execute_async_script("axe.run({preload: false}).then(arguments[arguments.length - 1])")
        assert result["passes"]
        serious = [violation for violation in result["violations"] if violation["impact"] in ("serious", "critical")]
        assert [(violation["id"], violation["nodes"][0]["html"]) for violation in serious] == [], page


def test_the_first_screen_has_the_numbers_of_the_tables_and_leads_to_the_partitions(lake: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    views = DuckdbViews(open_lake(str(lake), pytest.fail))
    browser.get((lake / "reports" / NIGHT / "index.html").as_uri())
    verdict = "SELECT cluster_id, broker_data_newly_lost FROM verdict WHERE latest AND NOT any_broker_data"
    ((cluster_id, lost),) = views.execute(verdict).fetchall()
    card = browser.find_element(By.CSS_SELECTOR, ".card")
    assert card.rect["y"] + card.rect["height"] < 1300  # the height of the window
    assert card.find_element(By.CSS_SELECTOR, ".lead").text.startswith(f"If broker 12 dies, {lost} partitions lose data, ")
    card.find_element(By.LINK_TEXT, cluster_id).click()
    browser.find_element(By.CSS_SELECTOR, "article summary").click()
    browser.find_element(By.CSS_SELECTOR, "article").find_element(By.LINK_TEXT, "broker 12").click()
    failure = browser.find_element(By.ID, "failure-broker-12")
    assert failure.get_attribute("open") is not None
    failure.find_element(By.CSS_SELECTOR, ":scope > details > summary").click()
    sentences = {item.text.partition(". ")[0] for item in failure.find_elements(By.CSS_SELECTOR, ":scope > details[open] li")}
    of_failure = (
        "SELECT sentence FROM explanation WHERE latest AND cluster_id = ? AND scenario_id = 'broker 12' AND scenario_set = 'nightly'"
    )
    assert sentences
    assert sentences <= {sentence for (sentence,) in views.execute(of_failure, [cluster_id]).fetchall()}


def test_findings_can_be_sorted_searched_and_filtered(lake: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    browser.get((lake / "reports" / NIGHT / "index.html").as_uri())

    def shown(column: int) -> list[str]:
        rows = [row for row in browser.find_elements(By.CSS_SELECTOR, "#findings tbody tr") if row.is_displayed()]
        return [row.find_elements(By.TAG_NAME, "td")[column].text for row in rows]

    assert set(shown(1)) == {"orders-eu", "payments-us"}
    browser.find_element(By.XPATH, "//table[@id='findings']//button[text()='Cluster']").click()
    assert shown(1) == sorted(shown(1))
    browser.find_element(By.CSS_SELECTOR, ".filters input").send_keys("orders-eu")
    assert set(shown(1)) == {"orders-eu"}
    before = len(shown(0))
    browser.find_element(By.XPATH, "//select[@name='consequence']/option[text()='balance']").click()
    assert set(shown(0)) == {"balance"}
    assert 0 < len(shown(0)) < before


def test_clusters_of_a_fleet_can_be_searched(fleet: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    browser.get((fleet / "index.html").as_uri())
    cards = browser.find_elements(By.CSS_SELECTOR, ".card")
    assert [card.is_displayed() for card in cards] == [True] * 12 + [False] * 4
    last = cards[-1].find_element(By.TAG_NAME, "h2").get_attribute("textContent")
    browser.find_element(By.CSS_SELECTOR, ".filters input").send_keys(last)
    assert [card for card in cards if card.is_displayed()] == [cards[-1]]
    assert browser.find_element(By.CSS_SELECTOR, ".filters output").text == "1 of 16 match"
    browser.find_element(By.CSS_SELECTOR, ".filters input").clear()
    browser.find_element(By.CSS_SELECTOR, "button[aria-controls=cards]").click()
    assert all(card.is_displayed() for card in cards)


def test_findings_of_a_fleet_begin_with_the_worst_clusters_and_all_can_be_found(fleet: Path, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    browser.get((fleet / "index.html").as_uri())
    script = """
        return [...document.querySelectorAll("#findings > tbody > tr")].map(row => [row.dataset.consequence, row.dataset.cluster, row.checkVisibility()])
    """

    def findings() -> list[tuple[str, str, bool]]:
        return [tuple(row) for row in browser.execute_script(script)]

    worst_first = [heading.get_attribute("textContent") for heading in browser.find_elements(By.CSS_SELECTOR, ".card h2")]
    assert worst_first != sorted(worst_first)
    losing = list(dict.fromkeys(cluster for consequence, cluster, _ in findings() if consequence == "data loss"))
    assert losing == [cluster for cluster in worst_first if cluster in losing]
    assert len(findings()) > 100
    assert [shown for *_, shown in findings()] == [number < 100 for number in range(len(findings()))]
    last_cluster = findings()[-1][1]
    browser.find_element(By.XPATH, f"//select[@name='cluster']/option[text()='{last_cluster}']").click()
    assert {cluster for _, cluster, shown in findings() if shown} == {last_cluster}
    assert findings()[-1][2]
    browser.find_element(By.XPATH, "//select[@name='cluster']/option[text()='all']").click()
    browser.find_element(By.CSS_SELECTOR, "button[aria-controls=findings]").click()
    assert all(shown for *_, shown in findings())


def requested_urls(browser: Chrome) -> set[str]:
    """Return the URLs that the browser has requested since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
