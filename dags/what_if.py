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
from typing import Any

from airflow.sdk import DAG, Param

from dags.tasks import answer, fields, form, lines, options

_LINES = {"brokers": "--broker", "racks": "--rack", "log_dirs": "--log-dir"}


def question(form: Mapping[str, Any]) -> list[str]:
    """The form as options of `topology-audit what-if`."""
    return [*options(form, _LINES), "--unclean", form["unclean"], *(["--controlled-shutdown"] if form["controlled_shutdown"] else [])]


with DAG(
    dag_id="what_if",
    dag_display_name="What if these brokers died?",
    description="Which partitions lose their leader, stop taking writes or lose records if these brokers, racks or log dirs fail",
    doc_md=__doc__,
    schedule=None,
    user_defined_macros={"question": question},
    params=fields(
        brokers=lines("Brokers that fail", "Broker ids, one a line, in the order in which they fail.", r"^\s*\d{0,9}\s*$"),
        racks=lines("Racks that fail", "Racks, one a line: their brokers fail after those named above, in the order of their ids.", ".*"),
        log_dirs=lines(
            "Log dirs that fail",
            "Log dirs, one a line, as 3:/var/lib/kafka (broker id, colon, path): they fail last.",
            r"^\s*(\d{1,9}:.+)?$",
        ),
        unclean=Param(
            "topic",
            type="string",
            enum=["topic", "yes", "no"],
            values_display={"topic": "As each topic's config says", "yes": "Allowed everywhere", "no": "Allowed nowhere"},
            title="Unclean leader election",
            description="Whether a replica that is out of sync may lead, at the cost of records (unclean.leader.election.enable).",
        ),
        controlled_shutdown=Param(
            False,
            type="boolean",
            title="Controlled shutdown",
            description="The brokers are stopped in order, each handing its leaders over; else they are killed.",
        ),
    ),
    **form("there is no answer; what is published stands as it was"),
) as dag:
    answer("what-if")
