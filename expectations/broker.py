"""broker: whoever holds a replica or leads is known, and racks are told of all brokers or of none."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.tables import LOG_DIR, PARTITION

READS = (LOG_DIR, PARTITION)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "brokers_are_known",
            "Every broker that holds a replica, leads or tells its log dirs is known.",
            """
                WITH named AS (
                    SELECT cluster_id, explode(replicas) AS broker_id FROM partition
                    UNION SELECT cluster_id, leader FROM partition WHERE leader IS NOT NULL
                    UNION SELECT cluster_id, broker_id FROM log_dir
                )
                SELECT cluster_id, broker_id FROM named ANTI JOIN {batch} USING (cluster_id, broker_id)
            """,
        ),
        soft(
            "racks_of_all",
            "All live brokers have a rack, or none has: kafka-topics refuses to place replicas by racks that only some brokers have.",
            """
                SELECT cluster_id, count_if(rack IS NULL) AS without_rack, count(*) AS brokers
                FROM {batch}
                WHERE live
                GROUP BY cluster_id
                HAVING without_rack > 0 AND without_rack < brokers
            """,
        ),
    ]
