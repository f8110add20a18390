"""
### The smallest reassignment that repairs a cluster

Fill in the form: the cluster, and optional requests, for example a broker to drain. The plan is in the **Topology report** tab of the run's
page: the moves of each wave, and each Cruise Control goal, failure and rule before and after them. The same folder contains the files for
`kafka-reassign-partitions` (one for each wave, and one that undoes it) and `kafka-leader-election`, and `commands.txt` with the throttled
commands to run. The plan is stored as rows of `plan`, `plan_move`, `plan_wave`, `plan_goal`, `plan_scenario`, `plan_blocked` and `plan_rule`
under the run's id. The DAG reads a published night, changes none of its rows, and executes nothing.

#### When the task is red
The tab and the last line of the log state the reason. If a part of the request cannot be done, the tab shows the plan for the rest, and its
first line names the missing part; the files for Kafka's tools are written only if nothing gets worse. A plan that makes the cluster worse is
refused. The most common other reason is a cluster, broker or topic that the snapshot does not have: trigger a new run with one that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, Param

from dags.forms import command_options, command_task, form_dag_args, form_params, multiline_param

_OPTIONS = {"drain": "--drain", "add": "--add", "replication_factor": "--replication-factor", "topics": "--topic"}


def question(form: Mapping[str, Any]) -> list[str]:
    """Return the form as options of `topology-audit plan`."""
    bounds = {"--wave-gib": "wave_gib", "--moves-per-broker": "moves_per_broker", "--network-share": "network_share"}
    numbers = [word for option, field in bounds.items() for word in (option, str(form[field]))]
    switches = [f"--{'' if form[name] else 'no-'}{name}" for name in ("balance", "rules")]
    disk_limit = [] if form["disk_limit"] is None else ["--disk-limit", str(form["disk_limit"])]
    return [*command_options(form, _OPTIONS), *switches, *numbers, *disk_limit]


with DAG(
    dag_id="plan",
    dag_display_name="Plan a reassignment",
    description="The smallest reassignment that repairs a cluster, drains or adds brokers, or changes a replication factor",
    doc_md=__doc__,
    schedule=None,
    user_defined_macros={"question": question},
    params=form_params(
        drain=multiline_param("Brokers to drain", "Broker ids, one per line. All replicas are moved off them.", r"^\s*\d{0,9}\s*$"),
        add=multiline_param("New brokers", "One per line: 7 or 7:rack-a.", r"^\s*(\d{1,9}(:.+)?)?\s*$"),
        replication_factor=multiline_param("Replication factors", "One per line: orders=3.", r"^\s*([^=\s]+=[1-9]\d{0,3})?\s*$"),
        topics=multiline_param(
            "Only these topics", "One per line. Only these change: they become rack-safe and leave dead brokers.", r"^[^=]*$"
        ),
        balance=Param(
            True, type="boolean", title="Balance", description="Also repair the balancing goals: counts, leaders, disks, network and CPU."
        ),
        rules=Param(
            True,
            type="boolean",
            title="Rules",
            description="Also validate the rules that the plan can change on the cluster after it; this takes as long as a night of the cluster.",
        ),
        wave_gib=Param(100, type="number", exclusiveMinimum=0, title="GiB per wave", description="Most GiB that a wave copies."),
        moves_per_broker=Param(
            100, type="integer", minimum=1, title="Moves per broker", description="Most replicas that a wave copies to or from one broker."
        ),
        network_share=Param(
            0.5,
            type="number",
            exclusiveMinimum=0,
            maximum=1,
            title="Network share",
            description="Share of a broker's network capacity that may be in use during copies; it sets the throttle.",
        ),
        disk_limit=Param(
            None,
            type=["null", "number"],
            minimum=0.01,
            maximum=1,
            title="Disk limit",
            description="Share of a broker's disk that may be in use during copies, old and new replicas together. Empty: the value of the limits.",
        ),
    ),
    **form_dag_args("there is no plan; published nights are unchanged"),
) as dag:
    command_task("plan", "Computes the reassignment, writes it for Kafka's own tools, and stores it under the run's id. Executes nothing.")
