"""Both DAGs run for real, under `airflow standalone`: over the REST API, through the form in a browser, and with a step killed half-way."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psutil
import pytest
import yaml

from jobs.cli import BUNDLED
from jobs.lake.lake import Lake
from jobs.schema import FAILOVER
from jobs.views import DuckdbViews
from tests.browser import chromium, in_a_browser
from tests.dags.standalone import Airflow, standalone, until
from tests.docker.standalone import ROOT, health_check

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.airflow_ui
HERE = Path(__file__).parent
NIGHT = "2026-01-31"


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    with standalone(tmp_path_factory.mktemp("standalone"), BUNDLED, HERE / "downstream") as airflow:
        yield airflow


@dataclass(frozen=True, slots=True)
class Night:
    """A night whose failover was killed half-way, then run again; and what was to be seen meanwhile."""

    run_id: str
    published_when_killed: int
    page_when_killed: str
    written_when_killed: set[str]
    state: str


@pytest.fixture(scope="module")
def night(airflow: Airflow) -> Night:
    airflow.call("PATCH", "dags/nightly", is_paused=False)
    # Switched on, the schedule makes up for the night just past at once: not the one that is asked for here.
    (scheduled,) = until(lambda: airflow.call("GET", "dags/nightly/dagRuns")["dag_runs"])
    airflow.call("PATCH", f"dags/nightly/dagRuns/{quote(scheduled['dag_run_id'])}", state="failed")
    run_id = airflow.trigger("nightly", snapshot=NIGHT)
    written = kill_half_way(airflow, "failover", ("scenario", "failover", "failover_load"))
    until(lambda: airflow.task("nightly", run_id, "failover")["state"] == "up_for_retry")
    published = published_clusters(airflow)
    page = airflow.page("nightly", run_id).text
    # A retry comes ten minutes later: a person who clears the task has it at once.
    again = {"dag_run_id": run_id, "task_ids": ["failover"], "include_downstream": True, "only_failed": False, "dry_run": False}
    airflow.call("POST", "dags/nightly/clearTaskInstances", **again)
    return Night(run_id, len(published), page, written, airflow.ended("nightly", run_id))


def kill_half_way(airflow: Airflow, step: str, tables: tuple[str, ...]) -> set[str]:
    """Kill a step as soon as a file of one of its tables is there; returns the tables that were committed to by then."""
    spark = until(lambda: [child for child in airflow.process.children(recursive=True) if runs(child, step)])
    while not any((airflow.lake / table).glob("**/*.parquet") for table in tables) and spark[0].is_running():
        time.sleep(0.01)
    for process in [child for child in airflow.process.children(recursive=True) if runs(child, step)]:
        process.kill()
    return {table for table in tables if len(list((airflow.lake / table / "_delta_log").glob("*.json"))) > 1}


def runs(process: psutil.Process, step: str) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return "SparkSubmit" in " ".join(command) and command[-6:-4] == ["step", step]


def published_clusters(airflow: Airflow) -> list[str]:
    rows = (
        DuckdbViews(Lake(str(airflow.lake), pytest.fail))
        .execute("SELECT cluster_id FROM snapshot WHERE snapshot_id = ? ORDER BY 1", [NIGHT])
        .fetchall()
    )
    return [cluster for (cluster,) in rows]


def test_a_step_killed_half_way_leaves_nothing_published(night: Night) -> None:
    assert night.published_when_killed == 0
    assert night.written_when_killed < {"scenario", "failover", "failover_load"}
    assert "No report yet" in night.page_when_killed


def test_a_night_runs_to_its_end_after_the_killed_step_is_cleared(airflow: Airflow, night: Night) -> None:
    assert night.state == "success"
    assert published_clusters(airflow) == sorted(path.name for path in BUNDLED.iterdir() if path.is_dir())
    assert airflow.task("nightly", night.run_id, "ingest")["try_number"] == 1
    key = ", ".join(FAILOVER.key)
    twice = f"SELECT count(*) FROM (SELECT {key} FROM failover GROUP BY {key} HAVING count(*) > 1)"
    assert DuckdbViews(Lake(str(airflow.lake), pytest.fail)).execute(twice).fetchone() == (0,)


def test_a_dag_that_waits_for_the_published_tables_runs_when_they_are(airflow: Airflow, night: Night) -> None:
    (run,) = until(lambda: airflow.call("GET", "dags/downstream/dagRuns")["dag_runs"])
    assert run["run_type"] == "asset_triggered"
    assert airflow.ended("downstream", run["dag_run_id"]) == "success"


def test_the_health_check_of_compose_passes(airflow: Airflow) -> None:
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
    done = health_check(services["airflow"], airflow.url)
    assert done.returncode == 0, done.stderr


def test_the_tab_shows_the_nights_report_and_its_data_docs(airflow: Airflow, night: Night) -> None:
    report = airflow.page("nightly", night.run_id)
    assert NIGHT in report.text
    assert all(cluster in report.text for cluster in published_clusters(airflow))
    assert 'href="validation/index.html"' in report.text
    assert "Great Expectations" in airflow.page("nightly", night.run_id, "validation/index.html").text
    for page in ("", "validation/index.html"):
        assert "script-src 'none'" in airflow.page("nightly", night.run_id, page).headers["Content-Security-Policy"]


def test_the_tab_shows_nothing_to_a_stranger(airflow: Airflow, night: Night) -> None:
    assert airflow.page("nightly", night.run_id, known=False).status_code == 401


@pytest.mark.parametrize("file", [f"{up}{up}{up}airflow.cfg" for up in ("../", "..%2f", "%2e%2e/")] + ["%2fetc%2fpasswd", "no.html"])
def test_the_tab_shows_no_file_but_the_reports(airflow: Airflow, night: Night, file: str) -> None:
    assert (airflow.home / "airflow.cfg").exists()
    assert airflow.page("nightly", night.run_id, file).status_code == 404


def test_the_tab_knows_only_runs_that_are(airflow: Airflow, night: Night) -> None:
    assert airflow.page("nightly", "..").status_code == 404
    assert airflow.page("nightly", f"{night.run_id}x").status_code == 404


def test_an_unknown_broker_is_answered_with_the_brokers_that_there_are(airflow: Airflow, night: Night) -> None:
    run_id = airflow.trigger("what_if", cluster="orders-eu", brokers=["99"])
    assert airflow.ended("what_if", run_id) == "failed"
    wrong = "topology-audit: cluster orders-eu has no live broker 99: it has "
    said = [line for line in airflow.log("what_if", run_id, "what_if") if line and not line.startswith("::")][-1]
    assert said.startswith(f"what_if of what_if, run {run_id}, failed: {wrong}")
    assert said.endswith("(there is no answer; what is published stands as it was)")
    assert wrong in airflow.page("what_if", run_id).text


@pytest.fixture(scope="module")
def browser(airflow: Airflow) -> Iterator[Chrome]:
    from selenium.webdriver.common.by import By

    with chromium() as browser:
        browser.implicitly_wait(120)
        browser.get(airflow.url)
        browser.find_element(By.NAME, "username").send_keys("admin")
        browser.find_element(By.NAME, "password").send_keys(airflow.password)
        browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
        browser.find_element(By.XPATH, "//*[text()='Home']")
        yield browser


def open_tab(browser: Chrome, airflow: Airflow, dag_id: str, run_id: str) -> None:
    """Open the run's page, click on the tab, and step into it."""
    from selenium.webdriver.common.by import By

    browser.get(f"{airflow.url}/dags/{dag_id}/runs/{quote(run_id)}")
    browser.find_element(By.LINK_TEXT, "Topology report").click()
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "iframe[title='Topology report']"))


def picture(browser: Chrome, name: str) -> None:
    if folder := os.environ.get("UI_PICTURES"):
        browser.save_screenshot(f"{folder}/{name}.png")


@in_a_browser
@pytest.mark.browser
def test_a_question_put_in_the_form_is_answered_on_the_runs_page(airflow: Airflow, night: Night, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    before = {run["dag_run_id"] for run in airflow.call("GET", "dags/what_if/dagRuns")["dag_runs"]}
    browser.get(f"{airflow.url}/dags/what_if")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-button]").click()
    browser.find_element(By.NAME, "element_cluster").send_keys("payments-us")
    browser.find_element(By.NAME, "element_brokers").send_keys("12\n")
    browser.find_element(By.NAME, "element_racks").click()
    picture(browser, "form")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-submit]").click()
    asked = until(lambda: {run["dag_run_id"] for run in airflow.call("GET", "dags/what_if/dagRuns")["dag_runs"]} - before)
    (run_id,) = asked
    open_tab(browser, airflow, "what_if", run_id)
    assert browser.find_element(By.TAG_NAME, "h1").text == "No report yet"
    picture(browser, "waiting")
    assert airflow.ended("what_if", run_id) == "success"
    # The page shows the report without a reload by the user.
    until(lambda: "payments-us" in browser.find_element(By.TAG_NAME, "body").text)
    answer = browser.find_element(By.TAG_NAME, "body").text
    picture(browser, "answer")
    browser.switch_to.default_content()
    assert f"Cluster payments-us of {NIGHT}: brokers 12 killed, unclean election as configured for each topic." in answer


@in_a_browser
@pytest.mark.browser
def test_the_nights_report_and_data_docs_are_read_on_the_runs_page(airflow: Airflow, night: Night, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    open_tab(browser, airflow, "nightly", night.run_id)
    assert NIGHT in browser.find_element(By.TAG_NAME, "h1").text
    picture(browser, "report")
    browser.find_element(By.PARTIAL_LINK_TEXT, "Data Docs").click()
    until(lambda: "Data Docs" in browser.find_element(By.TAG_NAME, "body").text and not browser.find_elements(By.TAG_NAME, "pre"))
    picture(browser, "data-docs")
    browser.switch_to.default_content()


@in_a_browser
@pytest.mark.browser
def test_the_lake_is_maintained_from_its_form(airflow: Airflow, night: Night, browser: Chrome) -> None:
    """What is published stays as it was, and the log has a checkpoint."""
    from selenium.webdriver.common.by import By

    before = published_clusters(airflow)
    browser.get(f"{airflow.url}/dags/maintenance")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-button]").click()
    browser.find_element(By.NAME, "element_keep_nights")
    picture(browser, "maintenance")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-submit]").click()
    (run_id,) = until(
        lambda: [run["dag_run_id"] for run in airflow.call("GET", "dags/maintenance/dagRuns")["dag_runs"] if run["run_type"] == "manual"]
    )
    assert airflow.ended("maintenance", run_id) == "success"
    assert published_clusters(airflow) == before
    assert list((airflow.lake / "failover" / "_delta_log").glob("*.checkpoint*.parquet"))
