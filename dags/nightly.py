"""
### What breaks if a broker or a rack dies tonight?

Asks the live Kafka clusters of the connections in the Variable `topology_kafka_connections`, if there are any, reads their captures and
the dumps of all others (Variable `topology_source`), computes what Kafka's own algorithms say about them into the Delta
tables of the lake (Variable `topology_lake`), judges those tables, and publishes the clusters whose tables hold. The answer is in the
**Topology report** tab of the run's page. Each task after `capture` is a spark-submit through the connection `spark_default`; the code of task `x` is in
`jobs/x.py`.

A night becomes visible in one go, when `publish` is green. Until then readers keep the last published night. The DAGs that are scheduled on
the published tables run only if at least one cluster is published; the event of each asset names the snapshot and its clusters. If none
is, `publish` is skipped.

#### When a task is red
The report's tab, and the last line of the log, say what is wrong and what to do. Then clear that task *and those downstream of it*: a rerun
replaces its own rows, so nothing doubles.

* **capture**: none of the live clusters could be asked. One that could not says so in `rejected_input`, and the log says it too.
* **ingest**: the source is not there, or no cluster of it has one readable file, which is not tried again: mend the dumps first
  (`all_rejected_input` has the reasons). A line or a file that cannot be read fails nothing: it is a row of `rejected_input`.
* **change**, **replica_assignment**, **producer_load**, **consumer_assignment**, **log_storage**, **failover**, **joint_failover**,
  **broker_restart**, **remedy**, **broker_balance**, **goal**: the job or Spark broke, three times, ten minutes apart.
* **check_...**: the rules could not be judged. A rule that does not hold fails nothing here.
* **publish**: the row that makes the night visible was not written. Safe to clear alone.
* **report**: at least one cluster is absent, and the report starts with which and why. The other clusters are published and sound.
  * *no folder*: it was published in the last nights, and its dumps are gone. Put them back; or, if the cluster is gone on purpose, name it in
    the Variable `topology_retired_clusters` (comma-separated) and clear `publish`.
  * *nothing readable*: no file in its folder can be read. Mend the files that the report names.
  * *withheld, a rule of the gate `ingest` is broken*: bad input. Its dumps are incomplete or contradict themselves, such as one without
    `kafka-topics --describe`. Mend the dump that the report names.
  * *withheld, a rule of another gate is broken*: a computed table contradicts itself or its input. That is a bug of this project; the
    report has the rule and a row that breaks it.

A red night may be left red: the next one does not depend on it, and merely measures growth over two nights.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.sdk import DAG, Param, chain

from dags.tasks import capture, check, ingest, publish, report, says, step
from jobs.names import SNAPSHOT_PATTERN

with DAG(
    dag_id="nightly",
    dag_display_name="Nightly topology audit",
    description="What breaks in each Kafka cluster if a broker or a rack dies tonight",
    doc_md=__doc__,
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,  # the dumps tell of now only
    max_active_runs=1,  # a lake has one writer
    tags=["topology"],
    params={
        "snapshot": Param(
            None,
            type=["null", "string"],
            pattern=SNAPSHOT_PATTERN,
            title="Snapshot",
            description="The night's name; later nights must sort later. Empty: the day of the run, such as 2026-01-31.",
        )
    },
    default_args={
        "retries": 2,
        "retry_delay": timedelta(minutes=10),
        "execution_timeout": timedelta(hours=6),  # a hung task must not keep the next night from starting
        "on_failure_callback": says("this night is not published; readers keep the last published one"),
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
        report(),
    )
