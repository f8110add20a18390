"""remedy: every partition that does not live through the loss of a broker has its row, and no other."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.schema import FAILOVER, SCENARIO
from jobs.schema.failure import HARMED, ONE_BROKER_KILLED

READS = (FAILOVER, SCENARIO)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_harmed_partition",
            "A partition that some broker's death harms has its row, with every such death.",
            equal(
                "cluster_id, topic, partition",
                said="SELECT cluster_id, topic, partition, size(scenario_ids) AS said FROM {batch}",
                found=f"""
                    SELECT cluster_id, topic, partition, CAST(count(*) AS INT) AS found
                    FROM failover
                    SEMI JOIN (SELECT cluster_id, scenario_set, scenario_id FROM scenario WHERE {ONE_BROKER_KILLED})
                    USING (cluster_id, scenario_set, scenario_id)
                    WHERE {HARMED}
                    GROUP BY ALL
                """,
            ),
        ),
    ]
