"""The DAGs as Airflow loads them: their tasks, the order of the tasks, and the exact arguments of each."""

from __future__ import annotations

import asyncio
import copy
import gzip
import json
import logging
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from jobs import ingest
from jobs.night import GATES, JOBS, NIGHT
from jobs.schema import FAILOVER, VERDICT
from jobs.views import EVERY_NIGHT, VIEWS, statements
from tests.jobs.notify.recorder import recording_webhook

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk import DAG

DAGS = Path(__file__).parents[2] / "dags"
RUN_ID = "manual__2026-01-31T02:00:00+00:00"


@pytest.fixture(scope="module")
def bag(airflow_environment: None) -> DagBag:
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(dag_folder=str(DAGS), bundle_path=DAGS)


def run_context(dag: DAG, **form: Any) -> dict[str, Any]:
    """Return the context from which a run with these values of the form renders its templates."""
    from airflow.sdk.definitions.param import ParamsDict
    from airflow.sdk.execution_time.context import VariableAccessor

    params = ParamsDict(copy.deepcopy(dict(dag.params.items())))
    params.update(form)
    return {
        "params": params.validate(),
        "var": {"value": VariableAccessor(deserialize_json=False)},
        "dag": dag,
        "dag_run": SimpleNamespace(run_after=datetime(2026, 1, 31, 2, tzinfo=UTC), dag_id=dag.dag_id, run_id=RUN_ID),
        "run_id": RUN_ID,
        "ti": SimpleNamespace(xcom_pull=lambda task_id, key: None, try_number=1),
    }


def rendered_arguments(dag: DAG, **form: Any) -> dict[str, Any]:
    """Return the rendered arguments of each task in a run with these values of the form."""
    context, arguments = run_context(dag, **form), {}
    for task in (task.prepare_for_execution() for task in dag.tasks):
        task.render_template_fields(context)
        arguments[task.task_id] = task.op_kwargs if task.task_id == "capture" else task.application_args
    return arguments


def test_all_dags_load_without_errors(bag: DagBag) -> None:
    assert bag.import_errors == {}
    assert set(bag.dags) == {"maintenance", "nightly", "plan", "what_if"}


def test_airflow_parses_only_files_that_contain_a_dag(bag: DagBag) -> None:
    assert {Path(stat.file).name for stat in bag.dagbag_stats} == {"maintenance.py", "nightly.py", "plan.py", "what_if.py"}


def test_parsing_loads_no_spark_pandas_or_great_expectations(airflow_environment: None) -> None:
    parse = (
        "import sys; from airflow.dag_processing.dagbag import DagBag; bag = DagBag(dag_folder=sys.argv[1]); assert len(bag.dags) == 4;"
        "print([name for name in ('pyspark', 'pandas', 'great_expectations', 'duckdb', 'numba', 'typer') if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", parse, str(DAGS)], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines()[-1] == "[]"


def test_the_nightly_tasks_pass_these_arguments(bag: DagBag) -> None:
    night = ["--lake", "/lake", "--snapshot", "2026-01-31"]
    report = ["--report", f"/reports/nightly/{RUN_ID}"]
    assert rendered_arguments(bag.dags["nightly"]) == {
        "capture": {"connections": "", "source": "/dumps"},
        "ingest": ["step", "ingest", *night, "--source", "/dumps", *report, "--ahead"],
        "check_ingest": ["check", "ingest", *night, *report],
        "change": ["step", "change", *night],
        "replica_assignment": ["step", "replica_assignment", *night],
        "producer_load": ["step", "producer_load", *night],
        "consumer_assignment": ["step", "consumer_assignment", *night],
        "log_storage": ["step", "log_storage", *night],
        "check_computed": ["check", "computed", *night, *report],
        "failover": ["step", "failover", *night],
        "joint_failover": ["step", "joint_failover", *night],
        "broker_restart": ["step", "broker_restart", *night],
        "remedy": ["step", "remedy", *night],
        "check_failover": ["check", "failover", *night, *report],
        "broker_balance": ["step", "broker_balance", *night],
        "goal": ["step", "goal", *night],
        "check_balance": ["check", "balance", *night, *report],
        "publish": ["publish", *night, *report, "--retired", ""],
        "report": ["report", *night, *report],
        "notify": ["notify", *night],
    }


def test_a_given_snapshot_replaces_the_day_of_the_run(bag: DagBag) -> None:
    arguments = rendered_arguments(bag.dags["nightly"], snapshot="2026-01-30.b")["goal"]
    assert arguments == ["step", "goal", "--lake", "/lake", "--snapshot", "2026-01-30.b"]


def test_retired_clusters_are_read_from_their_variable(bag: DagBag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_RETIRED_CLUSTERS", "east, west")
    assert rendered_arguments(bag.dags["nightly"])["publish"][-2:] == ["--retired", "east, west"]


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ({}, ["--unclean", "topic"]),
        ({"brokers": ["3", " 1", ""], "racks": [""], "unclean": "no"}, ["--broker", "3", "--broker", "1", "--unclean", "no"]),
        ({"racks": ["rack a", "[1]"], "brokers": None}, ["--rack", "rack a", "--rack", "[1]", "--unclean", "topic"]),
        ({"log_dirs": [" 3:/d 1 ", ""]}, ["--log-dir", "3:/d 1", "--unclean", "topic"]),
        ({"snapshot": "a", "controlled_shutdown": True}, ["--snapshot", "a", "--unclean", "topic", "--controlled-shutdown"]),
    ],
)
def test_a_what_if_form_becomes_these_arguments(bag: DagBag, form: dict[str, Any], options: list[str]) -> None:
    report = ["--id", RUN_ID, "--report", f"/reports/what_if/{RUN_ID}"]
    arguments = ["what-if", "--lake", "/lake", "--cluster", "7", *options, *report]
    assert rendered_arguments(bag.dags["what_if"], cluster="7", **form) == {"what_if": arguments}


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ({}, []),
        ({"drain": ["3", ""], "add": ["7:rack a", " 8"]}, ["--drain", "3", "--add", "7:rack a", "--add", "8"]),
        ({"replication_factor": ["t=3"], "topics": ["t"]}, ["--replication-factor", "t=3", "--topic", "t"]),
        ({"disk_limit": 0.85}, []),
    ],
)
def test_a_plan_form_becomes_these_arguments(bag: DagBag, form: dict[str, Any], options: list[str]) -> None:
    bounds = ["--balance", "--rules", "--wave-gib", "100", "--moves-per-broker", "100", "--network-share", "0.5"]
    bounds += ["--disk-limit", "0.85"] if "disk_limit" in form else []
    arguments = ["plan", "--lake", "/lake", "--cluster", "7", *options, *bounds, "--id", RUN_ID, "--report", f"/reports/plan/{RUN_ID}"]
    assert rendered_arguments(bag.dags["plan"], cluster="7", **form) == {"plan": arguments}


@pytest.mark.parametrize(
    ("dag_id", "form"),
    [
        ("nightly", {"snapshot": "../2026-01-31"}),
        ("nightly", {"snapshot": ""}),
        ("plan", {}),
        ("plan", {"cluster": "east", "drain": ["one"]}),
        ("plan", {"cluster": "east", "add": ["rack:7"]}),
        ("plan", {"cluster": "east", "replication_factor": ["t=0"]}),
        ("plan", {"cluster": "east", "network_share": 1.5}),
        ("plan", {"cluster": "east", "disk_limit": 0}),
        ("what_if", {}),
        ("what_if", {"cluster": ""}),
        ("what_if", {"cluster": "east", "brokers": ["one"]}),
        ("what_if", {"cluster": "east", "brokers": [1]}),
        ("what_if", {"cluster": "east", "unclean": "perhaps"}),
        ("what_if", {"cluster": "east", "controlled_shutdown": "no"}),
    ],
)
def test_a_form_with_an_invalid_value_is_refused(bag: DagBag, dag_id: str, form: dict[str, Any]) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    with pytest.raises(ParamValidationError):
        rendered_arguments(bag.dags[dag_id], **form)


def test_the_maintenance_task_passes_these_arguments(bag: DagBag) -> None:
    arguments = ["maintain", "--lake", "/lake", "--reports", "/reports", "--keep-nights", "400", "--vacuum-hours", "168"]
    assert rendered_arguments(bag.dags["maintenance"]) == {"maintain": arguments}
    assert rendered_arguments(bag.dags["maintenance"], keep_nights=30, vacuum_hours=24)["maintain"][6:] == ["30", "--vacuum-hours", "24"]


@pytest.mark.parametrize(
    ("dag_id", "form", "snapshot"),
    [
        ("nightly", {}, "2026-01-31"),
        ("nightly", {"snapshot": "2026-01-30.b"}, "2026-01-30.b"),
        ("what_if", {"cluster": "east", "snapshot": "2026-01-05"}, "2026-01-05"),
        ("maintenance", {}, "2026-01-31"),
    ],
)
def test_the_report_folder_of_a_failed_run_names_its_snapshot(
    bag: DagBag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dag_id: str, form: dict[str, Any], snapshot: str
) -> None:
    """`maintain` deletes the folder together with that snapshot."""
    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_REPORTS", str(tmp_path))
    dag = bag.dags[dag_id]
    task = dag.tasks[0].prepare_for_execution()
    context = run_context(dag, **form) | {"task": task, "exception": RuntimeError("the disk is full")}
    dag.default_args["on_failure_callback"](context)
    folder = tmp_path / dag_id / RUN_ID
    assert (folder / "snapshot.txt").read_text() == f"{snapshot}\n"
    assert "the disk is full" in (folder / "failures" / f"{task.task_id}.txt").read_text()
    (folder / "snapshot.txt").write_text("2026-01-04\n")  # written by the command of an earlier try, which chose another snapshot
    dag.default_args["on_failure_callback"](context)
    assert (folder / "snapshot.txt").read_text() == "2026-01-04\n"


def test_every_task_except_capture_is_a_spark_submit_of_the_same_command(bag: DagBag) -> None:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    from dags.tasks import SPARK_PROPERTIES

    for task in (task for dag in bag.dags.values() for task in dag.tasks if task.task_id != "capture"):
        assert isinstance(task, SparkSubmitOperator)
        assert task._conn_id == "spark_default"
        assert task.application == str(DAGS.parent / "jobs" / "cli.py")
        assert task.properties_file == SPARK_PROPERTIES
        assert task.do_xcom_push is False


@pytest.mark.parametrize(("scale", "expected"), [(None, "small"), ("small", "small"), ("large", "large")])
def test_tasks_use_the_spark_settings_for_the_scale_that_ingest_pushed(bag: DagBag, scale: str | None, expected: str) -> None:
    dag = bag.dags["nightly"]
    pushed = {("ingest", "scale"): scale}
    context = run_context(dag) | {"ti": SimpleNamespace(xcom_pull=lambda task_id, key: pushed[task_id, key], try_number=1)}
    task = dag.get_task("failover").prepare_for_execution()
    task.render_template_fields(context)
    assert task.properties_file == f"/spark-{expected}.properties"


def test_a_deployment_with_one_settings_file_uses_it_at_any_scale(bag: DagBag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_VAR_TOPOLOGY_SPARK_PROPERTIES_LARGE")
    dag = bag.dags["nightly"]
    task = dag.get_task("failover").prepare_for_execution()
    task.render_template_fields(run_context(dag) | {"ti": SimpleNamespace(xcom_pull=lambda task_id, key: "large")})
    assert task.properties_file == "/spark-small.properties"


@pytest.mark.parametrize(("lines", "expected"), [(1, "small"), (100_000, "large")])
def test_ingest_pushes_the_scale_of_the_source(
    bag: DagBag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, expected: str
) -> None:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_SOURCE", str(tmp_path))
    monkeypatch.setattr(SparkSubmitOperator, "execute", lambda task, context: None)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "topics.txt").write_text("\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n" * lines)
    dag, pushed = bag.dags["nightly"], []
    task = dag.get_task("ingest").prepare_for_execution()
    context = run_context(dag) | {
        "ti": SimpleNamespace(xcom_pull=lambda task_id, key: None, xcom_push=lambda *pair: pushed.append(pair), try_number=1)
    }
    task.render_template_fields(context)
    task.execute(context)
    assert pushed == [("scale", expected)]


def test_live_clusters_are_captured_from_connections_without_leaking_passwords(
    airflow_environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from dags.tasks import capture_connections
    from jobs.errors import AuditError

    extra = {"security.protocol": "SASL_PLAINTEXT", "default.api.timeout.ms": "1500", "request.timeout.ms": "1000"}
    unreachable = {"conn_type": "kafka", "host": "127.0.0.1", "port": 1, "login": "audit", "password": "open sesame", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_UNREACHABLE", json.dumps(unreachable))
    caplog.set_level(logging.DEBUG)
    capture_connections(" ", str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(AuditError, match="no live cluster can be read, for example unreachable: TimeoutException") as error:
        capture_connections("unreachable, absent", str(tmp_path))
    captures = {folder.name: gzip.decompress((folder / "topology-capture.jsonl.gz").read_bytes()).decode() for folder in tmp_path.iterdir()}
    assert json.loads(captures["unreachable"].splitlines()[1])["why"].startswith("TimeoutException")
    assert json.loads(captures["absent"].splitlines()[1])["why"] == "Airflow has no connection absent"
    assert "sesame" not in caplog.text + str(error.value) + "".join(captures.values())


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program spark-submit that writes its arguments, and the URLs in its environment, to this file."""
    file = tmp_path / "submitted.txt"
    (tmp_path / "spark-submit").write_text(f'#!/bin/sh\necho "$@" > {file}\necho "$TOPOLOGY_NOTIFY" >> {file}\n')
    (tmp_path / "spark-submit").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return file


def test_the_urls_of_messages_are_only_in_the_environment_of_spark_submit(
    bag: DagBag, submitted: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    urls = ["json://audit:sesame@a", "json://b"]
    config = [{"path": url, "tag": "alerts"} for url in urls]
    caplog.set_level(logging.DEBUG)
    context = run_context(bag.dags["nightly"])
    task = bag.dags["nightly"].get_task("notify").prepare_for_execution()
    task.render_template_fields(context)
    with pytest.raises(AirflowSkipException, match="no connection topology_notify"):
        task.execute(context)
    for given, expected in ((config, " ".join(urls)), (config[0], urls[0]), (json.dumps(config), " ".join(urls))):
        monkeypatch.setenv("AIRFLOW_CONN_TOPOLOGY_NOTIFY", json.dumps({"conn_type": "apprise", "extra": {"config": given}}))
        task.execute(context)
        command, *environment = submitted.read_text().splitlines()
        assert environment == [expected]
        assert command.endswith("notify --lake /lake --snapshot 2026-01-31")
    assert "TOPOLOGY_NOTIFY" not in os.environ
    assert "sesame" not in caplog.text + command


def test_a_task_that_ingest_ran_ahead_is_not_submitted_until_it_is_cleared(
    bag: DagBag, submitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_REPORTS", str(tmp_path / "reports"))
    ahead = tmp_path / "reports" / "nightly" / RUN_ID / "ahead"
    ahead.mkdir(parents=True)
    for task_id, file, command in (("remedy", "step-remedy", "step remedy"), ("check_failover", "check-failover", "check failover")):
        (ahead / file).touch()
        for submits in (False, True):
            submitted.unlink(missing_ok=True)
            task = bag.dags["nightly"].get_task(task_id).prepare_for_execution()
            context = run_context(bag.dags["nightly"])
            task.render_template_fields(context)
            task.execute(context)
            assert submitted.exists() is submits
        assert f"cli.py {command} --lake" in submitted.read_text()


def test_ingest_forgets_the_tasks_of_an_earlier_attempt_and_runs_none_ahead_in_a_second_try(
    bag: DagBag, submitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_REPORTS", str(tmp_path / "reports"))
    folder = tmp_path / "reports" / "nightly" / RUN_ID / "ahead"
    dag, found = bag.dags["nightly"], []
    for try_number, each_task in ((1, ""), (2, ""), (1, "yes")):
        folder.mkdir(parents=True)
        monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_SUBMIT_EACH_TASK", each_task)
        ti = SimpleNamespace(xcom_pull=lambda task_id, key: None, xcom_push=lambda *pair: None, try_number=try_number)
        context = run_context(dag) | {"ti": ti}
        task = dag.get_task("ingest").prepare_for_execution()
        task.render_template_fields(context)
        task.execute(context)
        found.append(submitted.read_text().split()[-1])
        assert not folder.exists()
    assert found == ["--ahead", "--no-ahead", "--no-ahead"]


def test_the_nightly_dag_runs_the_same_commands_as_the_local_night(bag: DagBag) -> None:
    capture, *tasks = bag.dags["nightly"].topological_sort()
    assert capture.task_id == "capture"
    commands = [" ".join(takewhile(lambda word: not word.startswith("--"), task.application_args)) for task in tasks]
    assert commands == [f"{kind} {name}".strip() for kind, name in NIGHT] + ["report", "notify"]


def test_a_task_runs_after_every_task_that_writes_its_inputs(bag: DagBag) -> None:
    nightly = bag.dags["nightly"]
    upstream = {task.task_id: task.get_flat_relative_ids(upstream=True) for task in nightly.tasks}
    writers = {table: "ingest" for table in ingest.WRITES} | {table: name for name, job in JOBS.items() for table in job.WRITES}
    reads = {name: job.READS for name, job in JOBS.items()} | {f"check_{gate}": tables for gate, tables in GATES.items()}
    for task, tables in reads.items():
        assert {writers[table] for table in tables} - upstream[task] == set(), task


def test_publish_runs_after_every_written_table_is_checked(bag: DagBag) -> None:
    nightly = bag.dags["nightly"]
    upstream = nightly.get_task("publish").get_flat_relative_ids(upstream=True)
    checked = {table for gate, tables in GATES.items() for table in tables if f"check_{gate}" in upstream}
    assert checked == {*ingest.WRITES, *(table for job in JOBS.values() for table in job.WRITES)}
    assert nightly.get_task("publish").downstream_task_ids == {"report", "notify"}
    assert nightly.get_task("report").upstream_task_ids == nightly.get_task("notify").upstream_task_ids == {"publish"}


def test_each_task_of_the_night_has_the_tables_of_its_step_or_gate_for_openlineage(bag: DagBag) -> None:
    from dags.lineage import NightSubmit

    tasks = [task for task in bag.dags["nightly"].tasks if isinstance(task, NightSubmit)]
    assert [task.night_task for task in tasks] == [(kind, name) for kind, name in NIGHT]


@pytest.mark.parametrize(
    ("lake", "expected"),
    [  # the names of Delta tables in https://openlineage.io/docs/spec/naming
        ("/srv/lake", ("file", "/srv/lake/broker")),
        ("file:///srv/lake/", ("file", "/srv/lake/broker")),
        ("s3a://bucket/path", ("s3://bucket", "path/broker")),
        ("gs://bucket", ("gs://bucket", "broker")),
        ("abfss://container@account.dfs.core.windows.net/p", ("abfss://container@account.dfs.core.windows.net", "p/broker")),
        ("hdfs://namenode:8020/lake", ("hdfs://namenode:8020", "/lake/broker")),
    ],
)
def test_openlineage_gets_the_address_of_a_table(airflow_environment: None, lake: str, expected: tuple[str, str]) -> None:
    from dags.lineage import dataset_name

    assert dataset_name(lake, "broker") == expected


def test_openlineage_converts_a_step_to_the_tables_that_it_reads_and_writes(bag: DagBag, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.providers.openlineage.extractors.manager import ExtractorManager
    from airflow.utils.state import TaskInstanceState

    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_LAKE", "s3a://bucket/lake")
    task = bag.dags["nightly"].get_task("remedy").prepare_for_execution()
    context = run_context(bag.dags["nightly"])
    task.render_template_fields(context)
    lineage = ExtractorManager().extract_metadata(context["dag_run"], task, TaskInstanceState.RUNNING, context["ti"])
    assert {(dataset.namespace, dataset.name) for dataset in lineage.inputs} == {
        ("s3://bucket", f"lake/{table}") for table in ("broker", "cluster", "failover", "partition", "scenario", "topic")
    }
    (remedy,) = lineage.outputs
    assert (remedy.namespace, remedy.name) == ("s3://bucket", "lake/remedy")
    assert {("snapshot_id", "STRING"), ("attempt_id", "STRING"), ("partition", "INT"), ("added_replicas", "ARRAY<INT>")} <= {
        (field.name, field.type) for field in remedy.facets["schema"].fields
    }


def test_every_dag_and_task_has_an_owner_and_a_description(bag: DagBag) -> None:
    for dag in bag.dags.values():
        assert dag.description
        assert {task.owner for task in dag.tasks} == {"topology-audit"}
        assert [task.task_id for task in dag.tasks if len(task.doc_md or "") < 40] == []
    # The description of a step is that of its module.
    assert bag.dags["nightly"].get_task("remedy").doc_md.startswith("remedy: the smallest change with which a partition survives")


def test_a_new_airflow_starts_the_night_and_the_forms_but_not_the_maintenance(bag: DagBag) -> None:
    paused = {id: dag.is_paused_upon_creation for id, dag in bag.dags.items()}
    assert paused == {"nightly": False, "what_if": False, "plan": False, "maintenance": None}  # None: as Airflow is configured


def test_a_night_is_late_after_the_hours_of_the_variable(bag: DagBag, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.dag_processing.dagbag import DagBag

    assert bag.dags["nightly"].deadline is None  # the Variable is not set
    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_DEADLINE_HOURS", "1.5")
    [alert] = DagBag(dag_folder=str(DAGS / "nightly.py"), bundle_path=DAGS).dags["nightly"].deadline
    assert alert.interval == timedelta(minutes=90)
    assert type(alert.reference).__name__ == "DagRunLogicalDateDeadline"  # one that lets a person clear tasks before the deadline
    with recording_webhook() as webhook:
        connection = {"conn_type": "apprise", "extra": {"config": {"path": webhook.url(), "tag": "alerts"}}}
        monkeypatch.setenv("AIRFLOW_CONN_TOPOLOGY_NOTIFY", json.dumps(connection))
        asyncio.run(run_callback(alert.callback.path, **alert.callback.kwargs, context={"dag_run": {"dag_run_id": RUN_ID}}))
    assert webhook.titles() == ["Kafka topology audit: a night is late"]
    assert webhook.bodies()[0].startswith(f"Run {RUN_ID} of the DAG nightly has not succeeded within 1.5 hours of its logical date. ")


async def run_callback(path: str, **arguments: Any) -> None:
    """Run a callback as Airflow's triggerer does."""
    from airflow.triggers.callback import CallbackTrigger

    states = [event.payload["state"] async for event in CallbackTrigger(path, arguments).run()]
    assert states == ["running", "success"]


def test_the_forms_suggest_the_published_clusters_and_accept_others(bag: DagBag, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_CLUSTERS", '["east", "west"]')
    for dag_id in ("what_if", "plan"):
        assert "examples" not in bag.dags[dag_id].params.get_param("cluster").schema  # nothing is published yet
        dag = DagBag(dag_folder=str(DAGS / f"{dag_id}.py"), bundle_path=DAGS).dags[dag_id]
        assert dag.params.get_param("cluster").schema["examples"] == ["east", "west"]
        assert "north" in rendered_arguments(dag, cluster="north")[dag_id]


def test_each_dag_documents_its_red_tasks(bag: DagBag) -> None:
    for dag in bag.dags.values():
        assert "red" in dag.doc_md
        assert dag.tags == {"topology"}
        assert dag.catchup is False
    assert bag.dags["nightly"].max_active_runs == 1
    assert [name for name in JOBS if f"**{name}**" not in bag.dags["nightly"].doc_md] == []


def test_only_publish_updates_the_assets(bag: DagBag) -> None:
    outlets = {task.task_id: {asset.name for asset in task.outlets} for dag in bag.dags.values() for task in dag.tasks if task.outlets}
    every_night = {f"all_{table.name}" for table in EVERY_NIGHT}
    assert outlets == {"publish": {f"topology.{view}" for view in statements(lambda table: table.name).keys() - every_night}}


def test_the_assets_have_the_comments_of_their_views_and_no_address_of_this_machine(bag: DagBag) -> None:
    from airflow.sdk.definitions.asset import _sanitize_uri

    assets = {asset.name: asset for asset in bag.dags["nightly"].get_task("publish").outlets}
    for name, comment in (("failover", FAILOVER.comment), ("verdict", VERDICT.comment), ("finding", VIEWS["finding"].comment)):
        asset = assets[f"topology.{name}"]
        assert asset.uri == _sanitize_uri(asset.uri) == f"x-kafka-topology://published/{name}"
        assert asset.extra == {"comment": comment}
    assert [name for name, asset in assets.items() if not asset.extra["comment"]] == []


def test_a_failure_is_written_only_into_the_folder_of_its_run(bag: DagBag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.execution_time.context import VariableAccessor

    monkeypatch.setenv("AIRFLOW_VAR_TOPOLOGY_REPORTS", str(tmp_path / "reports"))
    task = bag.dags["what_if"].get_task("what_if")
    variables = {"value": VariableAccessor(deserialize_json=False)}
    for run_id in (RUN_ID, "..", "../../x"):
        run = SimpleNamespace(dag_id="what_if", run_id=run_id, run_after=datetime(2026, 1, 31, 2, tzinfo=UTC))
        context = {"dag": task.dag, "dag_run": run, "run_id": run_id, "task": task, "var": variables, "params": {}}
        task.on_failure_callback[0](context | {"exception": "no such broker"})
    folder = tmp_path / "reports" / "what_if" / RUN_ID
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {folder / "snapshot.txt", folder / "failures" / "what_if.txt"}
