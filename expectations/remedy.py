"""remedy: every partition that does not live through the loss of a broker has its row, and no other."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard
from jobs.tables import FAILOVER

READS = (FAILOVER,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_harmed_partition",
            "A partition that some broker's death harms has its row, with every such death.",
            equal(
                "cluster_id, topic, partition",
                said="SELECT cluster_id, topic, partition, size(scenario_ids) AS said FROM {batch}",
                found="""
                    SELECT cluster_id, topic, partition, CAST(count(*) AS INT) AS found
                    FROM failover
                    WHERE scenario_set = 'nightly' AND scenario_id LIKE 'broker %'
                      AND ((leader IS NULL AND leader_before IS NOT NULL) OR (under_min_isr AND NOT under_min_isr_before))
                    GROUP BY ALL
                """,
            ),
        ),
    ]
