"""Operators of the DAGs: a spark-submit for each command of `topology-audit`, the capture of live clusters, and the failure callback."""

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

from jobs.errors import AuditError, NothingReadable
from jobs.names import ID_PATTERN, SNAPSHOT_PATTERN
from jobs.report.folder import SNAPSHOT_FILE, name_snapshot
from jobs.schema import BY_NAME
from jobs.spark.scale import Scale
from jobs.views import VIEWS

LAKE = "{{ var.value.topology_lake }}"
REPORT = "{{ var.value.topology_reports }}/{{ dag.dag_id }}/{{ run_id }}"  # the folder that report_tab.py shows in the run's page
FAILURES = "failures"  # its subfolder with a text file for each failed task
PUBLISHED_FILE = "published.json"  # its file with the outcome of `publish`
# The settings for the night's scale, which the task `ingest` pushes. DAGs without this task use those of a small night.
SPARK_PROPERTIES = (
    "{{ (ti.xcom_pull('ingest', key='scale') == 'large' and var.value.get('topology_spark_properties_large', ''))"
    " or var.value.get('topology_spark_properties', '') }}"
)
# Airflow's `ds` is not used, because a manually triggered run may have no logical date.
SNAPSHOT = "{{ params.get('snapshot') or (dag_run.run_after | ds) }}"
# An asset for each view of published rows: a DAG scheduled on some of them runs when a night publishes at least one cluster.
PUBLISHED = [Asset(f"topology.{view}", group="topology") for view in (*BY_NAME, *VIEWS)]

_CLI = Path(__file__).parents[1] / "jobs" / "cli.py"
_NIGHT = ("--lake", LAKE, "--snapshot", SNAPSHOT)


def capture() -> PythonOperator:
    """Capture the live clusters of Airflow's connections into the source. The task runs in the worker, so no command line has a password."""
    arguments = {"connections": "{{ var.value.get('topology_kafka_connections', '') }}", "source": "{{ var.value.topology_source }}"}
    return PythonOperator(task_id="capture", python_callable=capture_connections, op_kwargs=arguments, do_xcom_push=False)


def capture_connections(connections: str, source: str) -> None:
    """Capture the cluster of each connection id (comma-separated) into the source's folder of the same name."""
    from jobs.capture import capture_clusters  # imported here because parsing a DAG needs no Java client
    from jobs.capture.connection import from_airflow
    from jobs.errors import AuditError

    def properties(id: str) -> dict[str, str]:
        try:
            connection = Connection.get(id)
        except AirflowNotFoundException as e:
            raise AuditError(f"Airflow has no connection {id}") from e
        return from_airflow(connection.host, connection.port, connection.login, connection.password, connection.extra_dejson)

    log = logging.getLogger("airflow.task")
    ids = [id.strip() for id in connections.split(",") if id.strip()]
    if not ids:
        log.info("No live cluster to capture: the Variable topology_kafka_connections is empty.")
        return
    unread = capture_clusters(source, {id: lambda client, id=id: properties(id) for id in ids})
    for id, reason in unread.items():
        log.error("cluster %s cannot be read; its capture contains the reason: %s", id, reason)
    if len(unread) == len(ids):
        raise AuditError(f"no live cluster can be read, for example {ids[0]}: {unread[ids[0]]}")


class Ingest(SparkSubmitOperator):
    """A spark-submit of `step ingest`, which is not retried if no cluster of the source has a readable file.

    The tasks after it use the Spark settings for the scale of the source.
    """

    template_fields = (*SparkSubmitOperator.template_fields, "source")

    def __init__(self, *, source: str, **options: Any) -> None:
        super().__init__(**options)
        self.source = source

    def execute(self, context: Context) -> None:
        try:
            super().execute(context)
        except AirflowException as error:
            # spark-submit exits with the command's exit code, which the provider reports only in its error message.
            codes = re.findall(r"(?:Error|Kubernetes spark exit) code is: (\d+)", str(error))
            if str(NothingReadable.exit_code) in codes:
                raise AirflowFailException(str(error)) from None
            raise
        context["ti"].xcom_push("scale", str(_source_scale(self.source)))


def _source_scale(source: str) -> Scale:
    """Return the scale of a source that `ingest` has read; SMALL if this worker cannot read it."""
    from jobs.ingest import source_scale  # imported here because parsing a DAG needs no parser of dumps

    try:
        return source_scale(source)
    except (AuditError, OSError) as error:
        logging.getLogger("airflow.task").warning("Spark runs with the settings of a small night: %s", error)
        return Scale.SMALL


class Publish(SparkSubmitOperator):
    """A spark-submit of `publish`. It is skipped if no cluster is published; otherwise the extra of each asset's event names the clusters.

    The command writes the published clusters to a file in the report's folder, which the driver and this worker share.
    """

    template_fields = (*SparkSubmitOperator.template_fields, "published_file")

    def __init__(self, *, published_file: str, **options: Any) -> None:
        super().__init__(**options)
        self.published_file = published_file

    def execute(self, context: Context) -> None:
        file = Path(self.published_file)
        file.unlink(missing_ok=True)  # from an earlier attempt
        super().execute(context)
        try:
            outcome = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise AirflowFailException(
                f"publish succeeded, but {file} does not exist: the Variable topology_reports must name a folder that the Spark driver shares"
            ) from None
        if not outcome["clusters"]:
            raise AirflowSkipException(f"no cluster of snapshot {outcome['snapshot_id']} is published: the task report states why")
        for asset in self.outlets:
            context["outlet_events"][asset].extra = {"snapshot_id": outcome["snapshot_id"], "clusters": outcome["clusters"]}


def ingest() -> SparkSubmitOperator:
    """Read the dumps of every cluster into the lake."""
    source = "{{ var.value.topology_source }}"
    return submit("ingest", ["step", "ingest", *_NIGHT, "--source", source], Ingest, source=source)


def step(name: str) -> SparkSubmitOperator:
    """Compute and write the tables of jobs/steps/<name>.py."""
    return submit(name, ["step", name, *_NIGHT])


def check(gate: str) -> SparkSubmitOperator:
    """Validate the tables of a gate."""
    return submit(f"check_{gate}", ["check", gate, *_NIGHT, "--report", REPORT])


def publish() -> SparkSubmitOperator:
    """Make the night's sound clusters visible to readers, and start the DAGs that are scheduled on the tables."""
    retired = "{{ var.value.get('topology_retired_clusters', '') }}"
    arguments = ["publish", *_NIGHT, "--report", REPORT, "--retired", retired]
    return submit("publish", arguments, Publish, outlets=PUBLISHED, published_file=f"{REPORT}/{PUBLISHED_FILE}")


def report() -> SparkSubmitOperator:
    """Write the run's page, even if nothing is published. Fail without a retry if a cluster is absent."""
    consequence = "readers see the last published night of each absent cluster, and this night of the others"
    options = {"retries": 0, "trigger_rule": "none_failed", "on_failure_callback": on_failure(consequence)}
    return submit("report", ["report", *_NIGHT, "--report", REPORT], **options)


def maintain() -> SparkSubmitOperator:
    """Delete expired nights, their reports, and superseded attempts; compact the files of the others."""
    limits = ["--keep-nights", "{{ params.keep_nights }}", "--vacuum-hours", "{{ params.vacuum_hours }}"]
    return submit("maintain", ["maintain", "--lake", LAKE, "--reports", "{{ var.value.topology_reports }}", *limits])


def form_dag_args(consequence: str) -> dict[str, Any]:
    """Return the arguments of a DAG that is triggered by a form; the log and the report's tab state `consequence` after a failure."""
    return {
        "start_date": datetime(2026, 1, 1),
        "is_paused_upon_creation": False,  # it has no schedule
        "tags": ["topology"],
        "default_args": {
            "retries": 0,  # a retry would read the same snapshot and fail again
            "execution_timeout": timedelta(hours=1),
            "on_failure_callback": on_failure(consequence),
        },
    }


def form_params(**params: Param) -> dict[str, Param]:
    """Return the fields of a form: the cluster, the given params, and the snapshot."""
    cluster = Param(type="string", minLength=1, title="Cluster", description="The cluster's id, as in the nightly report.")
    labels = {"title": "Snapshot", "description": "A published snapshot. Empty: the cluster's newest."}
    return {"cluster": cluster, **params, "snapshot": Param(None, type=["null", "string"], pattern=SNAPSHOT_PATTERN, **labels)}


def multiline_param(title: str, description: str, pattern: str) -> Param:
    """Return a field with one value per line, each matching the pattern."""
    return Param([], type=["array", "null"], items={"type": "string", "pattern": pattern}, title=title, description=description)


def command_options(form: Mapping[str, Any], multiline_options: Mapping[str, str]) -> list[str]:
    """Return the cluster, the snapshot and the multiline fields as options of the command, without empty values."""
    options = [("--cluster", form["cluster"]), ("--snapshot", form["snapshot"] or "")]
    options += [(option, line.strip()) for field, option in multiline_options.items() for line in form[field] or []]
    return [word for option, value in options if value for word in (option, value)]


def command_task(command: str) -> SparkSubmitOperator:
    """Return a spark-submit of a form's command, with the options of the DAG's macro `question` and the run's id."""
    return submit(
        command.replace("-", "_"),
        # One expression that renders to a list, because a list of templates cannot leave out an option.
        f"{{{{ ['{command}', '--lake', var.value.topology_lake] + question(params)"
        " + ['--id', run_id, '--report', [var.value.topology_reports, dag.dag_id, run_id] | join('/')] }}",
        render_template_as_native_obj=True,
    )


def submit(
    task_id: str, arguments: list[str] | str, operator: type[SparkSubmitOperator] = SparkSubmitOperator, **options: Any
) -> SparkSubmitOperator:
    """Run a command of `topology-audit` through the connection `spark_default`."""
    return operator(
        task_id=task_id,
        name=f"topology {task_id}",
        conn_id="spark_default",
        application=str(_CLI),
        application_args=arguments,
        properties_file=SPARK_PROPERTIES,
        do_xcom_push=False,
        **options,
    )


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
