"""cluster: each is another, whatever name its folder has."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from expectations.limits import Limits
from expectations.rule import soft

READS = ()


def expectations(limits: Limits) -> list[Expectation]:
    return [
        soft(
            "each_another_kafka_cluster",
            "No other folder of the night is of the same Kafka cluster, by its cluster id: else it is told twice, or a copied id lies.",
            """
                SELECT one.cluster_id, one.kafka_cluster_id, other.cluster_id AS same_as
                FROM {batch} AS one
                JOIN {batch} AS other ON one.kafka_cluster_id = other.kafka_cluster_id AND one.cluster_id <> other.cluster_id
            """,
            told="SELECT cluster_id FROM cluster WHERE kafka_cluster_id IS NOT NULL",
            measured="2",
            limit=1,
            formula="folders of a Kafka cluster = 1",
            change="concat('take out one of the folders ', cluster_id, ' and ', same_as)",
        ),
    ]
