"""broker_pair: every pair that shares a partition is played, and does no less harm than either alone."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import BROKER, PARTITION, SCENARIO

READS = (BROKER, PARTITION, SCENARIO)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "every_pair_played",
            "Two live brokers that share partitions have a row, and share as many as the partitions say.",
            equal(
                "cluster_id, broker_id, other_broker_id",
                said="SELECT cluster_id, broker_id, other_broker_id, shared_partitions AS said FROM {batch} WHERE shared_partitions > 0",
                found="""
                    WITH pair AS (
                        SELECT cluster_id, broker_id, explode(replicas) AS other_broker_id
                        FROM (SELECT cluster_id, replicas, explode(replicas) AS broker_id FROM partition)
                    ), sharing AS (
                        SELECT cluster_id, broker_id, other_broker_id, count(*) AS found FROM pair
                        WHERE broker_id < other_broker_id GROUP BY ALL
                    ), live AS (
                        SELECT cluster_id, broker_id, broker_id AS other_broker_id FROM broker WHERE live
                    )
                    SELECT * FROM sharing SEMI JOIN live USING (cluster_id, broker_id) SEMI JOIN live USING (cluster_id, other_broker_id)
                """,
            ),
        ),
        hard(
            "no_less_than_one",
            "Two brokers leave no fewer partitions without a leader than the worse of them alone.",
            """
                SELECT cluster_id, broker_id, other_broker_id, pair.newly_offline AS by_both, alone.newly_offline AS by_one
                FROM {batch} AS pair
                JOIN (
                    SELECT cluster_id, get(brokers, 0) AS one, newly_offline
                    FROM scenario WHERE scenario_set = 'nightly' AND kind = 'broker'
                ) AS alone USING (cluster_id)
                WHERE one IN (broker_id, other_broker_id) AND alone.newly_offline > pair.newly_offline
            """,
        ),
        soft(
            "data_survives_two_brokers",
            "Whichever two brokers are lost, every partition keeps a replica with all acknowledged records.",
            "SELECT cluster_id, broker_id, other_broker_id, newly_lost FROM {batch} WHERE newly_lost > 0",
            measured="newly_lost",
            limit=0,
            formula="partitions that lose acknowledged records with both = 0",
            change="concat('move a replica of ', newly_lost, ' partitions off broker ', broker_id, ' or ', other_broker_id, ', or add one')",
        ),
    ]
