"""The DAGs that a form triggers: their fields, and the command that a filled-in form becomes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Param, Variable

from dags.alerts import on_failure
from dags.tasks import CLUSTERS_VARIABLE, OWNER, submit
from jobs.names import SNAPSHOT_PATTERN


def form_dag_args(consequence: str) -> dict[str, Any]:
    """Return the arguments of a DAG that is triggered by a form; the log and the report's tab state `consequence` after a failure."""
    return {
        "start_date": datetime(2026, 1, 1),
        "is_paused_upon_creation": False,  # it has no schedule
        "tags": ["topology"],
        "default_args": {
            "owner": OWNER,
            "retries": 0,  # a retry would read the same snapshot and fail again
            "execution_timeout": timedelta(hours=1),
            "on_failure_callback": on_failure(consequence),
        },
    }


def form_params(**params: Param) -> dict[str, Param]:
    """Return the fields of a form: the cluster, the given params, and the snapshot. The published clusters are suggestions."""
    clusters = Variable.get(CLUSTERS_VARIABLE, [], deserialize_json=True)
    suggestions = {"examples": clusters} if clusters else {}
    cluster = Param(type="string", minLength=1, title="Cluster", description="The cluster's id, as in the nightly report.", **suggestions)
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


def command_task(command: str, doc: str) -> SparkSubmitOperator:
    """Return a spark-submit of a form's command, with the options of the DAG's macro `question` and the run's id."""
    return submit(
        command.replace("-", "_"),
        # One expression that renders to a list, because a list of templates cannot leave out an option.
        f"{{{{ ['{command}', '--lake', var.value.topology_lake] + question(params)"
        " + ['--id', run_id, '--report', [var.value.topology_reports, dag.dag_id, run_id] | join('/')] }}",
        doc_md=doc,
        render_template_as_native_obj=True,
    )
