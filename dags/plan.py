"""
### The smallest reassignment that mends a cluster

Fill in the form: the cluster, and what else is wanted, such as a broker to drain. The answer is in the **Topology report** tab of the run's
page: what moves in which wave, and each goal of Cruise Control, each failure and each rule before and after. Beside the page lie the files
for `kafka-reassign-partitions` (a wave each, and what undoes it) and `kafka-leader-election`, and `commands.txt`: what to run, throttled.
The plan is kept as rows of `plan`, `plan_move`, `plan_wave`, `plan_goal`, `plan_scenario`, `plan_blocked` and `plan_rule`, under the run's id.
It reads a published night, changes none of its rows, and executes nothing.

#### When the task is red
The tab and the last line of the log state the reason. If a part of what was asked cannot be done, the tab shows the plan for the rest, and its
first line what is missing; the files for Kafka's tools are there only if nothing gets worse. A plan that makes the cluster worse is refused.
Otherwise the snapshot most often does not have the cluster, broker or topic that the form names: trigger a new run with one that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, Param

from dags.tasks import answer, fields, form, lines, options

_LINES = {"drain": "--drain", "add": "--add", "replication_factor": "--replication-factor", "topics": "--topic"}


def question(form: Mapping[str, Any]) -> list[str]:
    """The form as options of `topology-audit plan`."""
    bounds = {"--wave-gib": "wave_gib", "--moves-per-broker": "moves_per_broker", "--network-share": "network_share"}
    bounded = [word for option, field in bounds.items() for word in (option, str(form[field]))]
    asked = [f"--{'' if form[name] else 'no-'}{name}" for name in ("balance", "rules")]
    limited = [] if form["disk_limit"] is None else ["--disk-limit", str(form["disk_limit"])]
    return [*options(form, _LINES), *asked, *bounded, *limited]


with DAG(
    dag_id="plan",
    dag_display_name="Plan a reassignment",
    description="The smallest reassignment that mends a cluster, drains or adds brokers, or changes a topic's replicas",
    doc_md=__doc__,
    schedule=None,
    user_defined_macros={"question": question},
    params=fields(
        drain=lines("Brokers to drain", "Broker ids, one a line: they are to hold nothing.", r"^\s*\d{0,9}\s*$"),
        add=lines("Brokers to come", "One a line, as 7 or 7:rack-a.", r"^\s*(\d{1,9}(:.+)?)?\s*$"),
        replication_factor=lines("Replication factors", "One a line, as orders=3.", r"^\s*([^=\s]+=[1-9]\d{0,3})?\s*$"),
        topics=lines("Only these topics", "One a line: they alone change, to be rack-safe and off dead brokers.", r"^[^=]*$"),
        balance=Param(True, type="boolean", title="Balance", description="Mend the goals of counts, leaders, disks, network and cpu too."),
        rules=Param(
            True,
            type="boolean",
            title="Rules",
            description="Judge every rule on the night after the plan: it takes as long as a night of the cluster.",
        ),
        wave_gib=Param(100, type="number", exclusiveMinimum=0, title="GiB a wave", description="What a wave may copy."),
        moves_per_broker=Param(
            100, type="integer", minimum=1, title="Moves a broker", description="Replicas that a wave may copy to or from one."
        ),
        network_share=Param(
            0.5,
            type="number",
            exclusiveMinimum=0,
            maximum=1,
            title="Network share",
            description="Part of a broker's network that may be in use while it copies: sets the throttle.",
        ),
        disk_limit=Param(
            None,
            type=["null", "number"],
            minimum=0.01,
            maximum=1,
            title="Disk limit",
            description="Part of a broker's disk that may be in use while it gets replicas, old and new copies together. Empty: as the limits have it.",
        ),
    ),
    **form("there is no plan; what is published stands as it was"),
) as dag:
    answer("plan")
