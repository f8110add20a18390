"""
### What if these brokers died?

Fill in the form: which brokers, racks or log dirs of a cluster fail, and how. The answer is in the **Topology report** tab of the run's page: which
partitions lose their leader, stop taking writes or lose records, and who takes the load. It is kept as rows of `scenario`, `failover` and
`failover_load` too, under the run's id. It reads a published night and changes none of its rows.

#### When the task is red
The tab, and the last line of the log, say why: most often a cluster, broker or rack that the snapshot does not know, beside those that it
does. Trigger a new run with what it does know.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Param

from dags.tasks import SNAPSHOT_PATTERN, answer, says


def question(form: Mapping[str, Any]) -> list[str]:
    """The form as options of `topology-audit what-if`; what was left empty is left out, as are empty lines."""
    options = ["--cluster", form["cluster"]]
    options += ["--snapshot", form["snapshot"]] if form["snapshot"] else []
    for option, lines in (("--broker", form["brokers"]), ("--rack", form["racks"]), ("--log-dir", form["log_dirs"])):
        for line in lines or []:
            options += [option, line.strip()] if line.strip() else []
    options += ["--unclean", form["unclean"]]
    return options + (["--controlled-shutdown"] if form["controlled_shutdown"] else [])


with DAG(
    dag_id="what_if",
    dag_display_name="What if these brokers died?",
    description="Which partitions lose their leader, stop taking writes or lose records if these brokers, racks or log dirs fail",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2026, 1, 1),
    is_paused_upon_creation=False,  # it runs only when someone asks
    tags=["topology"],
    user_defined_macros={"question": question},
    params={
        "cluster": Param(type="string", minLength=1, title="Cluster", description="Its name, as the nightly report lists it."),
        "brokers": Param(
            [],
            type=["array", "null"],
            items={"type": "string", "pattern": r"^\s*\d{0,9}\s*$"},
            title="Brokers that fail",
            description="Broker ids, one a line, in the order in which they fail.",
        ),
        "racks": Param(
            [],
            type=["array", "null"],
            items={"type": "string"},
            title="Racks that fail",
            description="Racks, one a line: their brokers fail after those named above, in the order of their ids.",
        ),
        "log_dirs": Param(
            [],
            type=["array", "null"],
            items={"type": "string", "pattern": r"^\s*(\d{1,9}:.+)?$"},
            title="Log dirs that fail",
            description="Log dirs, one a line, as 3:/var/lib/kafka (broker id, colon, path): they fail last.",
        ),
        "unclean": Param(
            "topic",
            type="string",
            enum=["topic", "yes", "no"],
            values_display={"topic": "As each topic's config says", "yes": "Allowed everywhere", "no": "Allowed nowhere"},
            title="Unclean leader election",
            description="Whether a replica that is out of sync may lead, at the cost of records (unclean.leader.election.enable).",
        ),
        "controlled_shutdown": Param(
            False,
            type="boolean",
            title="Controlled shutdown",
            description="The brokers are stopped in order, each handing its leaders over; else they are killed.",
        ),
        "snapshot": Param(
            None,
            type=["null", "string"],
            pattern=SNAPSHOT_PATTERN,
            title="Snapshot",
            description="A published night. Empty: the cluster's newest.",
        ),
    },
    default_args={
        "retries": 0,  # someone is waiting, and another try would know no more brokers
        "execution_timeout": timedelta(hours=1),
        "on_failure_callback": says("there is no answer; what is published stands as it was"),
    },
) as dag:
    answer("what-if")
