"""What a failed task and a late night report, and to whom."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.apprise.notifications.apprise import AppriseNotifier
from airflow.sdk import AsyncCallback, DeadlineAlert, DeadlineReference, Variable

from jobs.names import ID_PATTERN
from jobs.report.folder import SNAPSHOT_FILE, name_snapshot

REPORT = "{{ var.value.topology_reports }}/{{ dag.dag_id }}/{{ run_id }}"  # the folder that report_tab.py shows in the run's page
FAILURES = "failures"  # its subfolder with a text file for each failed task
# Airflow's `ds` is not used, because a manually triggered run may have no logical date.
SNAPSHOT = "{{ params.get('snapshot') or (dag_run.run_after | ds) }}"
NOTIFY_CONNECTION = "topology_notify"  # of type `apprise`; it contains the URLs that get messages


def on_failure(consequence: str) -> Callable[[dict[str, Any]], None]:
    """Return a failure callback that writes the command's own error and its consequence for readers to the log and the report's folder."""

    def report_failure(context: dict[str, Any]) -> None:
        run, task = context["dag_run"], context["task"]
        lines = [line.strip() for line in str(context.get("exception") or "").splitlines() if line.strip()]
        error = lines[-1] if lines else "the task ended without an error message"
        log = logging.getLogger("airflow.task")
        log.info("::endgroup::")  # ends Airflow's group "Post Execute", which the UI collapses
        log.error("%s of %s, run %s, failed: %s (%s)", task.task_id, run.dag_id, run.run_id, error, consequence)
        if not re.fullmatch(ID_PATTERN, run.run_id):  # a run id like ".." would write to another folder
            return
        folder = Path(task.render_template(REPORT, context))
        if not (folder / SNAPSHOT_FILE).exists():  # the command may have written the snapshot that it chose
            name_snapshot(folder, task.render_template(SNAPSHOT, context))
        failures = folder / FAILURES
        failures.mkdir(exist_ok=True)
        (failures / f"{task.task_id}.txt").write_text(f"{error}\n({consequence})\n", encoding="utf-8")

    return report_failure


def late_night() -> DeadlineAlert | None:
    """Return the alert for a night that has not succeeded `topology_deadline_hours` after its logical date; None without this Variable.

    Only a person can start a run without a logical date; it has no deadline. The message goes to the URLs of the connection `topology_notify`.
    Airflow sends it from the triggerer.
    """
    # Not on by default: it needs the connection, and `airflow dags test` of Airflow 3.3.2 fails after the last task of a DAG with a deadline
    # (https://github.com/apache/airflow/issues/73428).
    hours = Variable.get("topology_deadline_hours", None)
    if not hours:
        return None
    body = (
        f"Run {{{{ dag_run.dag_run_id }}}} of the DAG nightly has not succeeded within {hours} hours of its logical date. "
        "Unless its task publish is green, readers see the last published night."
    )
    message = {"title": "Kafka topology audit: a night is late", "body": body, "apprise_conn_id": NOTIFY_CONNECTION}
    return DeadlineAlert(
        name="late night",
        # Airflow 3.3 cannot clear a task of a run whose deadline counts from DAGRUN_QUEUED_AT (https://github.com/apache/airflow/issues/70368).
        reference=DeadlineReference.DAGRUN_LOGICAL_DATE,
        interval=timedelta(hours=float(hours)),
        callback=AsyncCallback(AppriseNotifier, kwargs=message),
    )
