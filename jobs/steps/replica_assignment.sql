-- Partitions with their replicas, and a row for each topic with its replication factor and partition -1. Each row has the number of partitions
-- of all clusters. No list is null: Spark's Arrow writer takes n * n steps for n null lists.
SELECT snapshot_id, cluster_id, topic, partition, replicas, replication_factor, (SELECT count(*) FROM {partition}) AS all_partitions
FROM (
    SELECT snapshot_id, cluster_id, topic, partition, replicas, NULL AS replication_factor FROM {partition}
    UNION ALL
    SELECT snapshot_id, cluster_id, topic, -1, array_repeat(-1, 0), replication_factor FROM {topic}
) described
