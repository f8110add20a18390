"""Rules of broker: brokers that other tables name are known, and racks and capacities are complete."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, soft

# The capacities in Cruise Control's example config/capacity.json: 100,000 MiB and 10,000 KiB/s.
_EXAMPLE_DISK, _EXAMPLE_NETWORK = 100_000 * 2.0**20, 10_000 * 2.0**10


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "brokers_are_known",
            "Every broker that holds a replica, leads a partition or reports log dirs has a row.",
            """
                WITH named AS (
                    SELECT cluster_id, unnest(replicas) AS broker_id FROM partition
                    UNION SELECT cluster_id, leader FROM partition WHERE leader IS NOT NULL
                    UNION SELECT cluster_id, broker_id FROM log_dir
                )
                SELECT cluster_id, broker_id FROM named ANTI JOIN broker USING (cluster_id, broker_id)
            """,
        ),
        soft(
            "all_brokers_have_racks",
            "All live brokers have a rack, or none has one: otherwise kafka-topics refuses to place replicas by rack.",
            """
                SELECT cluster_id, count_if(rack IS NULL) AS without_rack, count(*) AS brokers
                FROM broker
                WHERE live
                GROUP BY cluster_id
                HAVING without_rack > 0 AND without_rack < brokers
            """,
            measured="without_rack",
            limit=0,
            formula="live brokers without a rack = 0, or all",
            change=f"'set broker.rack on ' || {counted('without_rack', 'broker')}",
        ),
        soft(
            "capacities_configured",
            "No broker has the capacities of Cruise Control's example capacity.json, which make verdicts about capacity meaningless.",
            f"""
                SELECT cluster_id, broker_id, disk_capacity_bytes FROM broker
                WHERE capacity_by_default AND disk_capacity_bytes = {_EXAMPLE_DISK} AND network_in_capacity_bytes_per_s = {_EXAMPLE_NETWORK}
                    AND network_out_capacity_bytes_per_s = {_EXAMPLE_NETWORK}
            """,
            measured="disk_capacity_bytes",
            limit=0,
            formula="capacities from the example = 0",
            change="'set the capacities of broker ' || broker_id || ' in capacity.json'",
            requires="SELECT cluster_id FROM broker WHERE capacity_by_default IS NOT NULL",
        ),
    ]
