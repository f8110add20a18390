"""The DAGs under `airflow standalone`: triggered over the REST API and from forms in a browser, and a night whose step is killed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import psutil
import pytest
import yaml

from jobs.cli import BUNDLED
from jobs.lake.lake import open_lake
from jobs.lake.selection import Attempt
from jobs.report.page import script_source
from jobs.schema import FAILOVER
from jobs.views import DuckdbViews
from tests.browser import chromium, in_a_browser
from tests.dags.standalone import Airflow, standalone, wait_until
from tests.docker.standalone import ROOT, health_check
from tests.jobs.notify.recorder import Webhook, recording_webhook

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.airflow_ui
HERE = Path(__file__).parent
NIGHT, GROUPED_NIGHT = "2026-01-31", "2026-02-01"


@pytest.fixture(scope="module")
def webhook() -> Iterator[Webhook]:
    """The service that gets Airflow's messages."""
    with recording_webhook() as webhook:
        yield webhook


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, webhook: Webhook) -> Iterator[Airflow]:
    connection = json.dumps({"conn_type": "apprise", "extra": {"config": {"path": webhook.url(), "tag": "alerts"}}})
    variables = {"AIRFLOW_CONN_TOPOLOGY_NOTIFY": connection, "AIRFLOW_VAR_TOPOLOGY_DEADLINE_HOURS": "0.02"}
    with standalone(tmp_path_factory.mktemp("standalone"), BUNDLED, HERE / "downstream", **variables) as airflow:
        yield airflow


@dataclass(frozen=True, slots=True)
class InterruptedNight:
    """A night whose step `failover` was killed and then cleared: the state after the kill, and the state of the run at its end."""

    run_id: str
    clusters_published_after_kill: list[str]
    page_after_kill: str
    tables_written_before_kill: set[str]
    end_state: str


@pytest.fixture(scope="module")
def night(airflow: Airflow) -> InterruptedNight:
    airflow.call("POST", "variables", key="topology_submit_each_task", value="yes")
    # The DAG is active, so its last scheduled run starts at once. Fail that run, because nights run one at a time.
    (scheduled,) = wait_until(lambda: airflow.call("GET", "dags/nightly/dagRuns")["dag_runs"])
    airflow.call("PATCH", f"dags/nightly/dagRuns/{quote(scheduled['dag_run_id'])}", state="failed")
    run_id = airflow.trigger("nightly", snapshot=NIGHT, logical_date=datetime.now(UTC))
    written = kill_during_write(airflow, "failover", ("scenario", "failover", "failover_load"))
    wait_until(lambda: airflow.task("nightly", run_id, "failover")["state"] == "up_for_retry")
    published = published_clusters(airflow)
    page = airflow.page("nightly", run_id).text
    # A cleared task starts at once; a retry would start ten minutes later.
    tasks = {"dag_run_id": run_id, "task_ids": ["failover"], "include_downstream": True, "only_failed": False, "dry_run": False}
    airflow.call("POST", "dags/nightly/clearTaskInstances", **tasks)
    return InterruptedNight(run_id, published, page, written, airflow.wait_for_end("nightly", run_id))


@pytest.fixture(scope="module")
def grouped_night(airflow: Airflow, night: InterruptedNight) -> str:
    """The id of a run whose steps and checks `ingest` ran ahead."""
    airflow.call("PATCH", "variables/topology_submit_each_task", key="topology_submit_each_task", value="")
    run_id = airflow.trigger("nightly", snapshot=GROUPED_NIGHT)
    assert airflow.wait_for_end("nightly", run_id) == "success"
    return run_id


def kill_during_write(airflow: Airflow, step: str, tables: tuple[str, ...]) -> set[str]:
    """Kill a step as soon as one of its tables has a data file, and return the tables that it had committed to."""
    (submit, *_) = wait_until(lambda: submits(airflow, step))
    while not any((airflow.lake / table).glob("**/*.parquet") for table in tables) and submit.is_running():
        time.sleep(0.01)
    for process in submits(airflow, step):
        process.kill()
    return {table for table in tables if len(list((airflow.lake / table / "_delta_log").glob("*.json"))) > 1}


def submits(airflow: Airflow, step: str) -> list[psutil.Process]:
    """Return Airflow's processes that run a spark-submit of the step."""
    return [child for child in airflow.process.children(recursive=True) if submits_step(child, step)]


def submits_step(process: psutil.Process, step: str) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return "SparkSubmit" in " ".join(command) and command[-6:-4] == ["step", step]


def published_clusters(airflow: Airflow) -> list[str]:
    rows = (
        DuckdbViews(open_lake(str(airflow.lake), pytest.fail))
        .execute("SELECT cluster_id FROM snapshot WHERE snapshot_id = ? ORDER BY 1", [NIGHT])
        .fetchall()
    )
    return [cluster for (cluster,) in rows]


def test_nothing_is_published_while_a_killed_step_waits_for_its_retry(night: InterruptedNight) -> None:
    assert night.clusters_published_after_kill == []
    assert night.tables_written_before_kill < {"scenario", "failover", "failover_load"}
    assert "No report yet" in night.page_after_kill


def test_a_night_succeeds_after_its_killed_step_is_cleared(airflow: Airflow, night: InterruptedNight) -> None:
    assert night.end_state == "success"
    assert published_clusters(airflow) == sorted(path.name for path in BUNDLED.iterdir() if path.is_dir())
    assert airflow.task("nightly", night.run_id, "ingest")["try_number"] == 1
    assert open_lake(str(airflow.lake), pytest.fail).attempts(FAILOVER) == {Attempt(NIGHT, "1")}
    key = ", ".join(FAILOVER.key)
    duplicate_keys = f"SELECT count(*) FROM (SELECT {key} FROM failover GROUP BY {key} HAVING count(*) > 1)"
    assert DuckdbViews(open_lake(str(airflow.lake), pytest.fail)).execute(duplicate_keys).fetchone() == (0,)


def test_a_night_whose_tasks_ran_ahead_has_the_same_rows(airflow: Airflow, grouped_night: str) -> None:
    for task in ("failover", "check_failover", "goal"):
        assert "The task ingest ran this task ahead" in "".join(airflow.log("nightly", grouped_night, task))
    assert "step failover" in "".join(airflow.log("nightly", grouped_night, "ingest"))
    views = DuckdbViews(open_lake(str(airflow.lake), pytest.fail))
    for table in ("failover", "remedy", "goal_verdict", "validation"):
        counts = f"SELECT snapshot_id, count(*) FROM {table} WHERE snapshot_id IN ('{NIGHT}', '{GROUPED_NIGHT}') GROUP BY 1 ORDER BY 1"
        [(_, apart), (_, grouped)] = views.execute(counts).fetchall()
        assert apart == grouped > 0, table


def test_a_late_night_is_reported_and_one_without_a_change_is_not(night: InterruptedNight, airflow: Airflow, webhook: Webhook) -> None:
    message = f"Run {night.run_id} of the DAG nightly has not succeeded within 0.02 hours of its logical date. "
    late = [
        body for title, body in zip(webhook.titles(), webhook.bodies(), strict=True) if title == "Kafka topology audit: a night is late"
    ]
    assert [body for body in late if body.startswith(message)]
    assert airflow.task("nightly", night.run_id, "notify")["state"] == "success"
    assert len(webhook.messages) == len(late)
    assert f"Nothing changed in night {NIGHT}: no message." in "".join(airflow.log("nightly", night.run_id, "notify"))


def test_a_dag_scheduled_on_published_tables_runs_after_they_are_published(airflow: Airflow, night: InterruptedNight) -> None:
    run, *_ = wait_until(lambda: airflow.call("GET", "dags/downstream/dagRuns")["dag_runs"])
    assert run["run_type"] == "asset_triggered"
    assert airflow.wait_for_end("downstream", run["dag_run_id"]) == "success"


def test_the_health_check_in_compose_yaml_passes(airflow: Airflow) -> None:
    services = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
    result = health_check(services["airflow"], airflow.url)
    assert result.returncode == 0, result.stderr


def test_the_tab_serves_the_report_and_the_data_docs_and_allows_only_the_script_of_the_report(
    airflow: Airflow, night: InterruptedNight
) -> None:
    report = airflow.page("nightly", night.run_id)
    assert NIGHT in report.text
    assert all(cluster in report.text for cluster in published_clusters(airflow))
    assert 'href="validation/index.html"' in report.text
    assert "Great Expectations" in airflow.page("nightly", night.run_id, "validation/index.html").text
    for page in ("", "validation/index.html"):
        policy = airflow.page("nightly", night.run_id, page).headers["Content-Security-Policy"]
        assert policy == f"script-src {script_source()}; object-src 'none'"


def test_the_tab_requires_a_login(airflow: Airflow, night: InterruptedNight) -> None:
    assert airflow.page("nightly", night.run_id, logged_in=False).status_code == 401


@pytest.mark.parametrize("file", [f"{up}{up}{up}airflow.cfg" for up in ("../", "..%2f", "%2e%2e/")] + ["%2fetc%2fpasswd", "no.html"])
def test_the_tab_serves_only_files_of_the_report(airflow: Airflow, night: InterruptedNight, file: str) -> None:
    assert (airflow.home / "airflow.cfg").exists()
    assert airflow.page("nightly", night.run_id, file).status_code == 404


def test_the_tab_of_an_unknown_run_is_not_found(airflow: Airflow, night: InterruptedNight) -> None:
    assert airflow.page("nightly", "..").status_code == 404
    assert airflow.page("nightly", f"{night.run_id}x").status_code == 404


def test_the_error_on_an_unknown_broker_lists_the_live_brokers(airflow: Airflow, night: InterruptedNight) -> None:
    run_id = airflow.trigger("what_if", cluster="orders-eu", brokers=["99"])
    assert airflow.wait_for_end("what_if", run_id) == "failed"
    error = "topology-audit: cluster orders-eu has no live broker 99: it has "
    last_line = [line for line in airflow.log("what_if", run_id, "what_if") if line and not line.startswith("::")][-1]
    assert last_line.startswith(f"what_if of what_if, run {run_id}, failed: {error}")
    assert last_line.endswith("(there is no result; published nights are unchanged)")
    assert error in airflow.page("what_if", run_id).text


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
    """Open the run's page, click the report's tab, and switch to the frame in it."""
    from selenium.webdriver.common.by import By

    browser.get(f"{airflow.url}/dags/{dag_id}/runs/{quote(run_id)}")
    browser.find_element(By.LINK_TEXT, "Topology report").click()
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "iframe[title='Topology report']"))


def save_screenshot(browser: Chrome, name: str) -> None:
    """Save a screenshot into the folder UI_PICTURES, if that variable is set."""
    if folder := os.environ.get("UI_PICTURES"):
        browser.save_screenshot(f"{folder}/{name}.png")


@in_a_browser
@pytest.mark.browser
def test_a_what_if_from_the_form_shows_its_report_on_the_page_of_the_run(airflow: Airflow, grouped_night: str, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    before = {run["dag_run_id"] for run in airflow.call("GET", "dags/what_if/dagRuns")["dag_runs"]}
    browser.get(f"{airflow.url}/dags/what_if")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-button]").click()
    suggested = browser.find_elements(By.CSS_SELECTOR, "#list_cluster option")
    assert [option.get_attribute("value") for option in suggested] == ["orders-eu", "payments-us"]
    browser.find_element(By.NAME, "element_cluster").send_keys("payments-us")
    browser.find_element(By.NAME, "element_brokers").send_keys("12\n")
    browser.find_element(By.NAME, "element_racks").click()
    save_screenshot(browser, "form")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-submit]").click()
    (run_id,) = wait_until(lambda: {run["dag_run_id"] for run in airflow.call("GET", "dags/what_if/dagRuns")["dag_runs"]} - before)
    open_tab(browser, airflow, "what_if", run_id)
    assert browser.find_element(By.TAG_NAME, "h1").text == "No report yet"
    save_screenshot(browser, "waiting")
    assert airflow.wait_for_end("what_if", run_id) == "success"
    # The page shows the report without a reload by the user.
    wait_until(lambda: "payments-us" in browser.find_element(By.TAG_NAME, "body").text)
    text = browser.find_element(By.TAG_NAME, "body").text
    save_screenshot(browser, "result")
    browser.switch_to.default_content()
    assert f"Cluster payments-us of {GROUPED_NIGHT}: brokers 12 killed, unclean election as configured for each topic." in text


@in_a_browser
@pytest.mark.browser
def test_the_page_of_a_run_links_its_report_and_data_docs(airflow: Airflow, night: InterruptedNight, browser: Chrome) -> None:
    from selenium.webdriver.common.by import By

    open_tab(browser, airflow, "nightly", night.run_id)
    assert NIGHT in browser.find_element(By.TAG_NAME, "h1").text
    save_screenshot(browser, "report")
    browser.find_element(By.PARTIAL_LINK_TEXT, "Data Docs").click()
    wait_until(lambda: "Data Docs" in browser.find_element(By.TAG_NAME, "body").text and not browser.find_elements(By.TAG_NAME, "pre"))
    save_screenshot(browser, "data-docs")
    browser.switch_to.default_content()


def manual_runs(airflow: Airflow, dag_id: str) -> list[str]:
    """Return the ids of the DAG's manually triggered runs."""
    return [run["dag_run_id"] for run in airflow.call("GET", f"dags/{dag_id}/dagRuns")["dag_runs"] if run["run_type"] == "manual"]


@in_a_browser
@pytest.mark.browser
def test_maintenance_from_the_form_keeps_published_clusters_and_writes_a_checkpoint(
    airflow: Airflow, night: InterruptedNight, browser: Chrome
) -> None:
    from selenium.webdriver.common.by import By

    before = published_clusters(airflow)
    browser.get(f"{airflow.url}/dags/maintenance")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-button]").click()
    browser.find_element(By.NAME, "element_keep_nights")
    save_screenshot(browser, "maintenance")
    browser.find_element(By.CSS_SELECTOR, "[data-testid=trigger-dag-submit]").click()
    (run_id,) = wait_until(lambda: manual_runs(airflow, "maintenance"))
    assert airflow.wait_for_end("maintenance", run_id) == "success"
    assert published_clusters(airflow) == before
    assert list((airflow.lake / "failover" / "_delta_log").glob("*.checkpoint*.parquet"))
