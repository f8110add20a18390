"""Rules of cluster: its release has its kind of controller, and no two folders contain the same Kafka cluster."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, hard, soft


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "version_has_controller",
            "The Kafka version has the cluster's kind of controller: ZooKeeper before 4.0, KRaft since 2.8, eligible leader replicas since 3.8.",
            """
                SELECT cluster_id, controller, elr, kafka_version, kafka_version_source
                FROM (SELECT *, string_split(kafka_version, '.')::INT[] AS numbers FROM cluster)
                WHERE CASE WHEN controller = 'zookeeper' THEN numbers >= [4] WHEN elr THEN numbers < [3, 8] ELSE numbers < [2, 8] END
            """,
        ),
        soft(
            "kafka_cluster_read_once",
            "No two folders of the night have the same Kafka cluster id: otherwise one cluster is counted twice or an id was copied.",
            """
                SELECT one.cluster_id, one.kafka_cluster_id, other.cluster_id AS same_as
                FROM cluster AS one
                JOIN cluster AS other ON one.kafka_cluster_id = other.kafka_cluster_id AND one.cluster_id <> other.cluster_id
            """,
            requires="SELECT cluster_id FROM cluster WHERE kafka_cluster_id IS NOT NULL",
            measured="2",
            limit=1,
            formula="folders of a Kafka cluster = 1",
            change="'remove one of the folders ' || cluster_id || ' and ' || same_as",
        ),
    ]
