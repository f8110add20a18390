"""Rules of remedy: every partition that the death of a broker harms has a row."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, mismatches
from jobs.schema.failure import HARMED, ONE_BROKER_KILLED


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_harmed_partition",
            "Every partition that the death of one broker harms has a row that lists all such scenarios, and no other partition has a row.",
            mismatches(
                "cluster_id, topic, partition",
                stated="SELECT cluster_id, topic, partition, len(scenario_ids) AS stated FROM remedy",
                computed=f"""
                    SELECT cluster_id, topic, partition, count(*) AS computed
                    FROM failover
                    SEMI JOIN (SELECT cluster_id, scenario_set, scenario_id FROM scenario WHERE {ONE_BROKER_KILLED})
                    USING (cluster_id, scenario_set, scenario_id)
                    WHERE {HARMED}
                    GROUP BY ALL
                """,
            ),
        ),
    ]
