"""replica: every replica that a partition assigns is there, and none lies on a disk without being assigned."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import equal, hard, soft
from jobs.schema import PARTITION

READS = (PARTITION,)


def expectations(limits: Limits) -> list[Expectation]:
    return [
        hard(
            "replicas_as_assigned",
            "Every replica of a partition has its row, with its place in the assignment and its size, in sync if the ISR has it.",
            equal(
                "cluster_id, topic",
                said="""
                    SELECT cluster_id, topic, struct(count(*) AS replicas, count_if(in_sync) AS in_sync,
                        bit_xor(xxhash64(partition, replica_index, broker_id, in_sync, size_bytes)) AS hash) AS said
                    FROM {batch}
                    WHERE replica_index IS NOT NULL
                    GROUP BY ALL
                """,
                found="""
                    WITH placed AS (
                        SELECT *, explode(sequence(0, size(replicas) - 1)) AS replica_index FROM partition WHERE size(replicas) > 0
                    ), assigned AS (
                        SELECT *, get(replicas, replica_index) AS broker_id, get(replica_size_bytes, replica_index) AS size_bytes FROM placed
                    )
                    SELECT cluster_id, topic, struct(count(*) AS replicas, count_if(array_contains(isr, broker_id)) AS in_sync,
                        bit_xor(xxhash64(partition, replica_index, broker_id, array_contains(isr, broker_id), size_bytes)) AS hash) AS found
                    FROM assigned
                    GROUP BY ALL
                """,
            ),
        ),
        soft(
            "no_stray_replicas",
            "No log dir holds a replica that is not assigned to its broker.",
            """
                SELECT cluster_id, topic, partition, broker_id, log_dir, size_bytes FROM {batch}
                WHERE replica_index IS NULL
            """,
            told="SELECT cluster_id FROM replica WHERE log_dir IS NOT NULL",
            measured="1",
            limit=0,
            formula="replicas on disk that are not assigned = 0",
            change="concat('delete ', topic, '-', partition, ' on broker ', broker_id, ' once no reassignment is under way')",
        ),
    ]
