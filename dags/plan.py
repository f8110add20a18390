"""
### The smallest reassignment that mends a cluster

Fill in the form: the cluster, and what else is wanted, such as a broker to drain. The answer is in the **Topology report** tab of the run's
page: what moves in which wave, and each goal of Cruise Control before and after. Beside the page lie the files for
`kafka-reassign-partitions` (a wave each, and what undoes it) and `kafka-leader-election`. The plan is kept as rows of `plan`, `plan_move`,
`plan_wave` and `plan_goal`, under the run's id. It reads a published night, changes none of its rows, and executes nothing.

#### When the task is red
The tab, and the last line of the log, say why: most often a cluster, broker or topic that the snapshot does not know. Trigger a new run
with what it does know.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Param

from dags.tasks import SNAPSHOT_PATTERN, answer, says

_LINES = {"drain": "--drain", "add": "--add", "replication_factor": "--replication-factor", "topics": "--topic"}


def question(form: Mapping[str, Any]) -> list[str]:
    """The form as options of `topology-audit plan`; what was left empty is left out, as are empty lines."""
    options = ["--cluster", form["cluster"]]
    options += ["--snapshot", form["snapshot"]] if form["snapshot"] else []
    for field, option in _LINES.items():
        for line in form[field] or []:
            options += [option, line.strip()] if line.strip() else []
    options += ["--balance" if form["balance"] else "--no-balance"]
    return [
        *options,
        "--wave-gib",
        str(form["wave_gib"]),
        "--moves-per-broker",
        str(form["moves_per_broker"]),
        "--network-share",
        str(form["network_share"]),
    ]


def _lines(title: str, description: str, pattern: str) -> Param:
    return Param([], type=["array", "null"], items={"type": "string", "pattern": pattern}, title=title, description=description)


with DAG(
    dag_id="plan",
    dag_display_name="Plan a reassignment",
    description="The smallest reassignment that mends a cluster, drains or adds brokers, or changes a topic's replicas",
    doc_md=__doc__,
    schedule=None,
    start_date=datetime(2026, 1, 1),
    is_paused_upon_creation=False,  # it runs only when someone asks
    tags=["topology"],
    user_defined_macros={"question": question},
    params={
        "cluster": Param(type="string", minLength=1, title="Cluster", description="Its name, as the nightly report lists it."),
        "drain": _lines("Brokers to drain", "Broker ids, one a line: they are to hold nothing.", r"^\s*\d{0,9}\s*$"),
        "add": _lines("Brokers to come", "One a line, as 7 or 7:rack-a.", r"^\s*(\d{1,9}(:.+)?)?\s*$"),
        "replication_factor": _lines("Replication factors", "One a line, as orders=3.", r"^\s*([^=\s]+=[1-9]\d{0,3})?\s*$"),
        "topics": _lines("Only these topics", "One a line: they alone change, to be rack-safe and off dead brokers.", r"^[^=]*$"),
        "balance": Param(True, type="boolean", title="Balance", description="Mend the goals of counts, leaders and disks too."),
        "wave_gib": Param(100, type="number", exclusiveMinimum=0, title="GiB a wave", description="What a wave may copy."),
        "moves_per_broker": Param(
            100, type="integer", minimum=1, title="Moves a broker", description="Replicas that a wave may copy to or from one."
        ),
        "network_share": Param(
            0.5,
            type="number",
            exclusiveMinimum=0,
            maximum=1,
            title="Network share",
            description="Part of a broker's network that copying may take.",
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
        "on_failure_callback": says("there is no plan; what is published stands as it was"),
    },
) as dag:
    answer("plan")
