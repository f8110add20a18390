"""Operators of the DAGs: a spark-submit for each command of `topology-audit`, and the capture of live clusters."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.apprise.hooks.apprise import AppriseHook
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import Asset, Connection, Context, Variable
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException, AirflowSkipException

from dags.alerts import NOTIFY_CONNECTION, REPORT, SNAPSHOT, on_failure
from dags.lineage import NightSubmit
from jobs.errors import AuditError, NothingReadable
from jobs.report.folder import AHEAD
from jobs.schema import BY_NAME
from jobs.spark.scale import Scale
from jobs.views import VIEWS

LAKE = "{{ var.value.topology_lake }}"
OWNER = "topology-audit"  # of all tasks, as Airflow's UI shows it
PUBLISHED_FILE = "published.json"  # the file in the report's folder with the outcome of `publish`
CLUSTERS_VARIABLE = "topology_clusters"  # the published clusters, which `publish` writes and the forms suggest
# The settings for the night's scale, which the task `ingest` pushes. DAGs without this task use those of a small night.
SPARK_PROPERTIES = (
    "{{ (ti.xcom_pull('ingest', key='scale') == 'large' and var.value.get('topology_spark_properties_large', ''))"
    " or var.value.get('topology_spark_properties', '') }}"
)
# An asset for each view of published rows: a DAG scheduled on some of them runs when a night publishes at least one cluster. The URI names no
# lake, because a task knows the lake only when it runs.
PUBLISHED = [
    Asset(f"topology.{name}", f"x-kafka-topology://published/{name}", group="topology", extra={"comment": view.comment})
    for name, view in (BY_NAME | VIEWS).items()
]

_JOBS = Path(__file__).parents[1] / "jobs"
_CLI = _JOBS / "cli.py"
_NIGHT = ("--lake", LAKE, "--snapshot", SNAPSHOT)
_AHEAD_FOLDER = f"{REPORT}/{AHEAD}"
# A second try runs nothing ahead: what ended the first one is then the error of its own task.
_WHETHER_AHEAD = "{{ '--no-ahead' if ti.try_number > 1 or var.value.get('topology_submit_each_task', '') else '--ahead' }}"


def capture() -> PythonOperator:
    """Capture the live clusters of Airflow's connections into the source. The task runs in the worker, so no command line has a password."""
    arguments = {"connections": "{{ var.value.get('topology_kafka_connections', '') }}", "source": "{{ var.value.topology_source }}"}
    return PythonOperator(
        task_id="capture",
        python_callable=capture_connections,
        op_kwargs=arguments,
        do_xcom_push=False,
        doc_md="Captures each live cluster of the connections in the Variable `topology_kafka_connections` into the source.",
    )


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


class Ingest(NightSubmit):
    """A spark-submit of `step ingest`, which is not retried if no cluster of the source has a readable file.

    The tasks after it use the Spark settings for the scale of the source. In a small night, starting Spark takes most of the time of a task, so
    the first try also runs the steps and checks ahead, and creates a file for each in the folder `ahead`.
    """

    template_fields = (*NightSubmit.template_fields, "source", "ahead")

    def __init__(self, *, source: str, ahead: str, **options: Any) -> None:
        super().__init__(**options)
        self.source, self.ahead = source, ahead

    def execute(self, context: Context) -> None:
        shutil.rmtree(self.ahead, ignore_errors=True)  # from an earlier attempt
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


class Computation(NightSubmit):
    """A spark-submit of a step or a check, unless `ingest` ran it ahead. If the task is cleared, it runs again."""

    template_fields = (*NightSubmit.template_fields, "ahead_file")

    def __init__(self, *, ahead_file: str, **options: Any) -> None:
        super().__init__(**options)
        self.ahead_file = ahead_file

    def execute(self, context: Context) -> None:
        try:
            Path(self.ahead_file).unlink()
        except FileNotFoundError:
            super().execute(context)
        else:
            self.log.info("The task ingest ran this task ahead, because the night is small; its log has the time.")


class Publish(NightSubmit):
    """A spark-submit of `publish`. It is skipped if no cluster is published; otherwise the extra of each asset's event names the clusters.

    The command writes the published clusters to a file in the report's folder, which the driver and this worker share. The forms suggest these
    clusters, and those that readers still see although the night does not publish them.
    """

    template_fields = (*NightSubmit.template_fields, "published_file")

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
        readable = {*outcome["clusters"], *(row["cluster_id"] for row in outcome["absent"] if row["last_snapshot_id"])}
        Variable.set(CLUSTERS_VARIABLE, sorted(readable), "The published clusters, written by the task publish", serialize_json=True)
        if not outcome["clusters"]:
            raise AirflowSkipException(f"no cluster of snapshot {outcome['snapshot_id']} is published: the task report states why")
        for asset in self.outlets:
            context["outlet_events"][asset].extra = {"snapshot_id": outcome["snapshot_id"], "clusters": outcome["clusters"]}


class Notify(SparkSubmitOperator):
    """A spark-submit of `notify`, with the URLs of a connection of type `apprise`. It is skipped if there is no such connection.

    The URLs contain passwords. They are in the environment of spark-submit, not in its command line or in a template, and a driver that runs
    elsewhere (deploy mode `cluster`) does not get them.
    """

    def execute(self, context: Context) -> None:
        try:
            connection = Connection.get(NOTIFY_CONNECTION)
        except AirflowNotFoundException:
            raise AirflowSkipException(f"Airflow has no connection {NOTIFY_CONNECTION}: nobody is notified") from None
        config = AppriseHook(NOTIFY_CONNECTION).get_config_from_conn(connection)
        urls = [service["path"] for service in (config if isinstance(config, list) else [config])]
        with _environment_variable("TOPOLOGY_NOTIFY", " ".join(urls)):
            super().execute(context)


@contextmanager
def _environment_variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable of this process, and of the processes that it starts."""
    previous = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if previous is None:
            del os.environ[name]
        else:
            os.environ[name] = previous


def ingest() -> Ingest:
    """Read the dumps of every cluster into the lake, and run the steps and checks of a small night ahead."""
    source = "{{ var.value.topology_source }}"
    arguments = ["step", "ingest", *_NIGHT, "--source", source, "--report", REPORT, _WHETHER_AHEAD]
    doc = _docstring("ingest/__init__.py")
    return submit("ingest", arguments, Ingest, source=source, ahead=_AHEAD_FOLDER, doc_md=doc)


def step(name: str) -> Computation:
    """Compute and write the tables of jobs/steps/<name>.py."""
    doc = _docstring(f"steps/{name}.py")
    return submit(name, ["step", name, *_NIGHT], Computation, ahead_file=f"{_AHEAD_FOLDER}/step-{name}", doc_md=doc)


def check(gate: str) -> Computation:
    """Validate the tables of a gate."""
    doc = f"Evaluates the rules of the gate `{gate}` with Great Expectations. The results are rows of `validation`; the rules are in `expectations/`."
    arguments = ["check", gate, *_NIGHT, "--report", REPORT]
    return submit(f"check_{gate}", arguments, Computation, ahead_file=f"{_AHEAD_FOLDER}/check-{gate}", doc_md=doc)


def publish() -> Publish:
    """Make the night's sound clusters visible to readers, and start the DAGs that are scheduled on the tables."""
    retired = "{{ var.value.get('topology_retired_clusters', '') }}"
    arguments = ["publish", *_NIGHT, "--report", REPORT, "--retired", retired]
    doc = "Makes the clusters that break no hard rule visible to readers, in one commit, and records the absent ones in `absent_cluster`."
    return submit("publish", arguments, Publish, outlets=PUBLISHED, published_file=f"{REPORT}/{PUBLISHED_FILE}", doc_md=doc)


def report() -> SparkSubmitOperator:
    """Write the run's page, even if nothing is published. Fail without a retry if a cluster is absent."""
    consequence = "readers see the last published night of each absent cluster, and this night of the others"
    options = {"retries": 0, "trigger_rule": "none_failed", "on_failure_callback": on_failure(consequence)}
    doc = "Writes the pages of the run's tab **Topology report**. It is red if a cluster is absent."
    return submit("report", ["report", *_NIGHT, "--report", REPORT], doc_md=doc, **options)


def notify() -> Notify:
    """Send what changed since the previous night, even if nothing is published."""
    consequence = "the night is published; somebody did not get its message"
    doc = "Sends what changed since the previous night to the URLs of the connection `topology_notify`, once."
    options = {"trigger_rule": "none_failed", "on_failure_callback": on_failure(consequence)}
    return submit("notify", ["notify", *_NIGHT], Notify, doc_md=doc, **options)


def maintain() -> SparkSubmitOperator:
    """Delete expired nights, their reports, and superseded attempts; compact the files of the others."""
    limits = ["--keep-nights", "{{ params.keep_nights }}", "--vacuum-hours", "{{ params.vacuum_hours }}"]
    doc = "Deletes expired nights, their reports and superseded attempts, and compacts the others."
    return submit("maintain", ["maintain", "--lake", LAKE, "--reports", "{{ var.value.topology_reports }}", *limits], doc_md=doc)


Operator = TypeVar("Operator", bound=SparkSubmitOperator)


def submit(task_id: str, arguments: list[str] | str, operator: type[Operator] = SparkSubmitOperator, **options: Any) -> Operator:
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


def _docstring(module: str) -> str:
    """Return the docstring at the start of a module of jobs/, without importing it: a step imports Spark."""
    return (_JOBS / module).read_text(encoding="utf-8").split('"""')[1]
