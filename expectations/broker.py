"""broker: whoever holds a replica or leads is known, and racks are told of all brokers or of none."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import hard, soft
from jobs.schema import LOG_DIR, PARTITION

READS = (LOG_DIR, PARTITION)

# Cruise Control's config/capacity.json as it comes: 100,000 MiB and 10,000 KiB/s.
_EXAMPLE_DISK, _EXAMPLE_NETWORK = 100_000 * 2.0**20, 10_000 * 2.0**10


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
            measured="without_rack",
            limit=0,
            formula="live brokers without a rack = 0, or all",
            change="concat('set broker.rack on ', without_rack, ' brokers')",
        ),
        soft(
            "capacities_of_its_own",
            "No broker has the capacities of Cruise Control's example, left in place as capacity.json's default: verdicts by these mean nothing.",
            f"""
                SELECT cluster_id, broker_id, disk_capacity_bytes FROM {{batch}}
                WHERE capacity_by_default AND disk_capacity_bytes = {_EXAMPLE_DISK} AND network_in_capacity_bytes_per_s = {_EXAMPLE_NETWORK}
                    AND network_out_capacity_bytes_per_s = {_EXAMPLE_NETWORK}
            """,
            measured="disk_capacity_bytes",
            limit=0,
            formula="capacities from the example = 0",
            change="concat('tell the capacities of broker ', broker_id, ' in capacity.json')",
            told="SELECT cluster_id FROM broker WHERE capacity_by_default IS NOT NULL",
        ),
    ]
