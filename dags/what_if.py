"""
### What if these brokers died?

Fill in the form: which brokers, racks or log dirs of a cluster fail, and how. The result is in the **Topology report** tab of the run's page:
which partitions lose their leader, stop accepting writes or lose records, and who takes over the load. It is also stored as rows of
`scenario`, `failover` and `failover_load` under the run's id. The DAG reads a published night and changes none of its rows.

#### When the task is red
The tab and the last line of the log state the reason. The most common one is a cluster, broker or rack that the snapshot does not have; the
message lists those that it has. Trigger a new run with one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import DAG, Param

from dags.forms import command_options, command_task, form_dag_args, form_params, multiline_param

_OPTIONS = {"brokers": "--broker", "racks": "--rack", "log_dirs": "--log-dir"}


def question(form: Mapping[str, Any]) -> list[str]:
    """Return the form as options of `topology-audit what-if`."""
    return [
        *command_options(form, _OPTIONS),
        "--unclean",
        form["unclean"],
        *(["--controlled-shutdown"] if form["controlled_shutdown"] else []),
    ]


with DAG(
    dag_id="what_if",
    dag_display_name="What if these brokers died?",
    description="Which partitions lose their leader, stop accepting writes or lose records if these brokers, racks or log dirs fail",
    doc_md=__doc__,
    schedule=None,
    user_defined_macros={"question": question},
    params=form_params(
        brokers=multiline_param("Brokers that fail", "Broker ids, one per line, in the order of failure.", r"^\s*\d{0,9}\s*$"),
        racks=multiline_param(
            "Racks that fail", "Racks, one per line. Their brokers fail after the brokers above, in the order of their ids.", ".*"
        ),
        log_dirs=multiline_param(
            "Log dirs that fail",
            "Log dirs, one per line: 3:/var/lib/kafka (broker id, colon, path). They fail last.",
            r"^\s*(\d{1,9}:.+)?$",
        ),
        unclean=Param(
            "topic",
            type="string",
            enum=["topic", "yes", "no"],
            values_display={"topic": "As configured for each topic", "yes": "Allowed everywhere", "no": "Allowed nowhere"},
            title="Unclean leader election",
            description="Whether an out-of-sync replica may become leader and lose records (unclean.leader.election.enable).",
        ),
        controlled_shutdown=Param(
            False,
            type="boolean",
            title="Controlled shutdown",
            description="The brokers are stopped in order and hand over their leaders first. Otherwise they are killed.",
        ),
    ),
    **form_dag_args("there is no result; published nights are unchanged"),
) as dag:
    command_task("what-if", "Simulates the failure, writes the page of the run's tab and stores the result under the run's id.")
