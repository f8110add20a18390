"""
### What breaks if a broker or a rack dies tonight?

This DAG captures the live Kafka clusters of the connections in the Variable `topology_kafka_connections`, if there are any. It reads these
captures and the dumps of all other clusters (Variable `topology_source`), computes what Kafka's own algorithms do with them, and writes the
Delta tables of the lake (Variable `topology_lake`). It validates those tables and publishes the clusters that break no hard rule. The report
is in the **Topology report** tab of the run's page. Each task after `capture` is a spark-submit through the connection `spark_default`. The
code of step `x` is in `jobs/steps/x.py`.

The start of Spark takes most of the time of a small night. Therefore `ingest` also runs the steps and checks of a night with at most 4 MiB of dumps
ahead, in its spark-submit, and their tasks only confirm it; its log has the times. A task that failed there, or that is cleared, has its
own spark-submit. With the Variable `topology_submit_each_task` (any value), every task has.

A night becomes visible at once, when `publish` is green. Until then, readers see the last published night. DAGs that are scheduled on the
published tables run only if at least one cluster is published; the event of each asset names the snapshot and its clusters. If no cluster
is published, `publish` is skipped. `notify` sends what changed since the previous night to the URLs of the connection `topology_notify` (type
`apprise`), and is skipped if Airflow has no such connection. If Airflow's OpenLineage provider is installed, each task reports the tables that it reads and writes.

#### When a task is red
The report's tab and the last line of the log state the error and what to do. Then clear that task *and those downstream of it*. A cleared
task replaces its own rows, so no row is doubled. To run a published night again, clear `ingest` and all tasks downstream: each `ingest` starts
a new attempt, and readers see the published one until `publish` replaces it.

* **capture**: no live cluster could be read. If only some cannot be read, the task is green; `rejected_input` and the log have the reasons.
* **ingest**: the source does not exist, or no cluster has a readable file. This is not retried: repair the dumps first
  (`all_rejected_input` has the reasons). A line or a file that cannot be read does not fail the task: it is a row of `rejected_input`.
* **change**, **replica_assignment**, **producer_load**, **consumer_assignment**, **log_storage**, **failover**, **joint_failover**,
  **broker_restart**, **remedy**, **broker_balance**, **goal**: the step or Spark failed three times, ten minutes apart.
* **check_...**: the rules could not be evaluated. A broken rule does not fail this task.
* **publish**: the rows that make the night visible were not written. It is safe to clear this task alone.
* **report**: at least one cluster is absent; the report starts with its name and the reason. The other clusters are published.
  * *no folder*: the cluster was published in one of the last nights, and its dumps are missing. Restore them. If the cluster was retired,
    add it to the Variable `topology_retired_clusters` (comma-separated) and clear `publish`.
  * *nothing readable*: no file in its folder can be read. Repair the files that the report names.
  * *withheld, a rule of the gate `ingest` is broken*: bad input. Its dumps are incomplete or contradict themselves, for example without
    `kafka-topics --describe`. Repair the dump that the report names.
  * *withheld, a rule of another gate is broken*: a computed table contradicts itself or its input. That is a bug of this project; the
    report has the rule and a row that breaks it.
* **notify**: a message was not sent; the log has the reason. The night is published. Clear this task: it sends only what was not sent.

A night that has not succeeded as many hours after its logical date as the Variable `topology_deadline_hours` states is reported to the
connection `topology_notify`. The logical date of a scheduled run is the time of its schedule. A red night can stay red: the next night does not
depend on it and measures growth over two nights.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.sdk import DAG, Param, chain

from dags.alerts import late_night, on_failure
from dags.tasks import OWNER, capture, check, ingest, notify, publish, report, step
from jobs.names import SNAPSHOT_PATTERN

with DAG(
    dag_id="nightly",
    dag_display_name="Nightly topology audit",
    description="What breaks in each Kafka cluster if a broker or a rack dies tonight",
    doc_md=__doc__,
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,  # dumps describe the present only
    is_paused_upon_creation=False,
    max_active_runs=1,  # a lake has one writer
    tags=["topology"],
    deadline=late_night(),
    params={
        "snapshot": Param(
            None,
            type=["null", "string"],
            pattern=SNAPSHOT_PATTERN,
            title="Snapshot",
            description="The snapshot's id; later nights must sort later. Empty: the day of the run, for example 2026-01-31.",
        )
    },
    default_args={
        "owner": OWNER,
        "retries": 2,
        "retry_delay": timedelta(minutes=10),
        "execution_timeout": timedelta(hours=6),  # a hung task must not keep the next night from starting
        "on_failure_callback": on_failure("this night is not published; readers see the last published one"),
    },
) as dag:
    chain(
        capture(),
        ingest(),
        check("ingest"),
        [step("change"), step("replica_assignment"), step("producer_load"), step("consumer_assignment"), step("log_storage")],
        check("computed"),
        step("failover"),
        [step("joint_failover"), step("broker_restart"), step("remedy")],
        check("failover"),
        [step("broker_balance"), step("goal")],
        check("balance"),
        publish(),
        [report(), notify()],
    )
