"""What the DAGs are made of: a spark-submit for each verb of `topology-audit`, a capture of live clusters, and what a failure says last."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import Asset, Connection, Context, Param
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException, AirflowSkipException

from jobs.errors import NothingReadable
from jobs.names import ID_PATTERN, SNAPSHOT_PATTERN
from jobs.report.folder import SNAPSHOT_FILE, name_snapshot
from jobs.schema import BY_NAME
from jobs.views import ANSWERS

LAKE = "{{ var.value.topology_lake }}"
REPORT = "{{ var.value.topology_reports }}/{{ dag.dag_id }}/{{ run_id }}"  # the folder that report_tab.py shows in the run's page
FAILURES = "failures"  # in it, a text for each task that failed
PUBLISHED_FILE = "published.json"  # in it, what `publish` published
# Not `ds`: a run that a person triggered may have no logical date.
SNAPSHOT = "{{ params.get('snapshot') or (dag_run.run_after | ds) }}"
# An asset for each view of published rows: a DAG scheduled on some of them runs when a night publishes at least one cluster.
PUBLISHED = [Asset(f"topology.{view}", group="topology") for view in (*BY_NAME, *ANSWERS)]

_CLI = Path(__file__).parents[1] / "jobs" / "cli.py"
_NIGHT = ("--lake", LAKE, "--snapshot", SNAPSHOT)


def capture() -> PythonOperator:
    """Ask the live clusters of Airflow's connections, and save what they say among the dumps: no command line has what they connect with."""
    asked = {"connections": "{{ var.value.get('topology_kafka_connections', '') }}", "source": "{{ var.value.topology_source }}"}
    return PythonOperator(task_id="capture", python_callable=capture_connections, op_kwargs=asked, do_xcom_push=False)


def capture_connections(connections: str, source: str) -> None:
    """Capture the cluster of each connection id, parted by commas, into the source's folder of that name."""
    from jobs.capture import capture_clusters  # and with it the way to Java, which parsing a DAG does without
    from jobs.capture.connection import from_airflow
    from jobs.errors import AuditError

    def properties(id: str) -> dict[str, str]:
        try:
            told = Connection.get(id)
        except AirflowNotFoundException as e:
            raise AuditError(f"Airflow has no connection {id}") from e
        return from_airflow(told.host, told.port, told.login, told.password, told.extra_dejson)

    log = logging.getLogger("airflow.task")
    ids = [id.strip() for id in connections.split(",") if id.strip()]
    if not ids:
        log.info("No live cluster is asked: the Variable topology_kafka_connections names no connection.")
        return
    unread = capture_clusters(source, {id: lambda client, id=id: properties(id) for id in ids})
    for id, why in unread.items():
        log.error("%s cannot be read, and its capture says so: %s", id, why)
    if len(unread) == len(ids):
        raise AuditError(f"none of the live clusters can be read, such as {ids[0]}: {unread[ids[0]]}")


class Ingest(SparkSubmitOperator):
    """A spark-submit of `step ingest`, which is not tried again if no cluster of the source has a readable file."""

    def execute(self, context: Context) -> None:
        try:
            super().execute(context)
        except AirflowException as error:
            # spark-submit ends with the command's own exit code, which the provider states in its message alone.
            codes = re.findall(r"(?:Error|Kubernetes spark exit) code is: (\d+)", str(error))
            if str(NothingReadable.exit_code) in codes:
                raise AirflowFailException(str(error)) from None
            raise


class Publish(SparkSubmitOperator):
    """A spark-submit of `publish`; it is skipped if no cluster is published, and otherwise names them in the extra of each asset's event.

    The command writes what it published to a file beside the report, which the driver and this worker see alike.
    """

    template_fields = (*SparkSubmitOperator.template_fields, "published_file")

    def __init__(self, *, published_file: str, **options: Any) -> None:
        super().__init__(**options)
        self.published_file = published_file

    def execute(self, context: Context) -> None:
        file = Path(self.published_file)
        file.unlink(missing_ok=True)  # of an earlier try
        super().execute(context)
        try:
            outcome = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise AirflowFailException(
                f"publish ended, but {file} is not there: the Variable topology_reports must name a folder that the Spark driver shares"
            ) from None
        if not outcome["clusters"]:
            raise AirflowSkipException(f"no cluster of snapshot {outcome['snapshot_id']} is published: the task report states why")
        for asset in self.outlets:
            context["outlet_events"][asset].extra = {"snapshot_id": outcome["snapshot_id"], "clusters": outcome["clusters"]}


def ingest() -> SparkSubmitOperator:
    """Read the dumps of every cluster into the lake."""
    return submit("ingest", ["step", "ingest", *_NIGHT, "--source", "{{ var.value.topology_source }}"], Ingest)


def step(name: str) -> SparkSubmitOperator:
    """Compute and write the tables of jobs/<name>.py."""
    return submit(name, ["step", name, *_NIGHT])


def check(gate: str) -> SparkSubmitOperator:
    """Judge the tables that the steps before it wrote."""
    return submit(f"check_{gate}", ["check", gate, *_NIGHT, "--report", REPORT])


def publish() -> SparkSubmitOperator:
    """Show the night's sound clusters to readers, and start the DAGs that wait for the tables."""
    retired = "{{ var.value.get('topology_retired_clusters', '') }}"
    arguments = ["publish", *_NIGHT, "--report", REPORT, "--retired", retired]
    return submit("publish", arguments, Publish, outlets=PUBLISHED, published_file=f"{REPORT}/{PUBLISHED_FILE}")


def report() -> SparkSubmitOperator:
    """Write the run's page, also if nothing is published; fail if a cluster is absent, which another try would not change."""
    consequence = "readers keep the last published night of each absent cluster, and have this night of the others"
    options = {"retries": 0, "trigger_rule": "none_failed", "on_failure_callback": says(consequence)}
    return submit("report", ["report", *_NIGHT, "--report", REPORT], **options)


def maintain() -> SparkSubmitOperator:
    """Delete old nights and their reports, and compact the others."""
    kept = ["--keep-nights", "{{ params.keep_nights }}", "--vacuum-hours", "{{ params.vacuum_hours }}"]
    return submit("maintain", ["maintain", "--lake", LAKE, "--reports", "{{ var.value.topology_reports }}", *kept])


def form(consequence: str) -> dict[str, Any]:
    """What a DAG is that runs when someone asks; `consequence` of a failure is said in the log and the report's tab."""
    return {
        "start_date": datetime(2026, 1, 1),
        "is_paused_upon_creation": False,  # it runs only when someone asks
        "tags": ["topology"],
        "default_args": {
            "retries": 0,  # someone is waiting, and another try would know no more brokers
            "execution_timeout": timedelta(hours=1),
            "on_failure_callback": says(consequence),
        },
    }


def fields(**more: Param) -> dict[str, Param]:
    """The fields of a form: the cluster, these, and the night."""
    cluster = Param(type="string", minLength=1, title="Cluster", description="Its name, as the nightly report lists it.")
    about = {"title": "Snapshot", "description": "A published night. Empty: the cluster's newest."}
    return {"cluster": cluster, **more, "snapshot": Param(None, type=["null", "string"], pattern=SNAPSHOT_PATTERN, **about)}


def lines(title: str, description: str, pattern: str) -> Param:
    """A field of lines, each of the pattern."""
    return Param([], type=["array", "null"], items={"type": "string", "pattern": pattern}, title=title, description=description)


def options(form: Mapping[str, Any], lines: Mapping[str, str]) -> list[str]:
    """The cluster, the night and the fields of lines as options of the command; what was left empty is left out, as are empty lines."""
    named = [("--cluster", form["cluster"]), ("--snapshot", form["snapshot"] or "")]
    named += [(option, line.strip()) for field, option in lines.items() for line in form[field] or []]
    return [word for option, value in named if value for word in (option, value)]


def answer(command: str) -> SparkSubmitOperator:
    """Answer a form: the command with the options that the DAG's macro `question` makes of it, under the run's id."""
    return submit(
        command.replace("-", "_"),
        # One expression, rendered to the list that it is: a list of templates could leave no option out.
        f"{{{{ ['{command}', '--lake', var.value.topology_lake] + question(params)"
        " + ['--id', run_id, '--report', [var.value.topology_reports, dag.dag_id, run_id] | join('/')] }}",
        render_template_as_native_obj=True,
    )


def submit(
    task_id: str, arguments: list[str] | str, operator: type[SparkSubmitOperator] = SparkSubmitOperator, **options: Any
) -> SparkSubmitOperator:
    """Run the command through spark-submit, where the connection `spark_default` says."""
    return operator(
        task_id=task_id,
        name=f"topology {task_id}",
        conn_id="spark_default",
        application=str(_CLI),
        application_args=arguments,
        properties_file="{{ var.value.get('topology_spark_properties', '') }}",
        do_xcom_push=False,
        **options,
    )


def says(consequence: str) -> Callable[[dict[str, Any]], None]:
    """On failure: say in the log and in the report's tab what went wrong, in the job's own words, and what that means to readers."""

    def explain(context: dict[str, Any]) -> None:
        run, task = context["dag_run"], context["task"]
        said = [line.strip() for line in str(context.get("exception") or "").splitlines() if line.strip()]
        why = said[-1] if said else "it ended without a word"
        log = logging.getLogger("airflow.task")
        log.info("::endgroup::")  # of Airflow's own "Post Execute", which the UI shows folded up
        log.error("%s of %s, run %s, failed: %s (%s)", task.task_id, run.dag_id, run.run_id, why, consequence)
        if not re.fullmatch(ID_PATTERN, run.run_id):  # such as "..": its report would be another folder
            return
        folder = Path(task.render_template(REPORT, context))
        if not (folder / SNAPSHOT_FILE).exists():  # a what-if or plan may have found another one
            name_snapshot(folder, task.render_template(SNAPSHOT, context))
        failures = folder / FAILURES
        failures.mkdir(exist_ok=True)
        (failures / f"{task.task_id}.txt").write_text(f"{why}\n({consequence})\n", encoding="utf-8")

    return explain
