-- The rows of `change`: the changes of each kind of entity, with both snapshots of their cluster.
SELECT snapshot_id, cluster_id, previous_snapshot_id, kind, broker_id, topic, partition, group_id, name, value_before, value_after, cause
FROM (
    SELECT cluster_id, kind, CAST(NULL AS INT) AS broker_id, CAST(NULL AS STRING) AS topic, CAST(NULL AS INT) AS partition,
           CAST(NULL AS STRING) AS group_id, name, value_before, value_after, CAST(NULL AS STRING) AS cause
    FROM {cluster_change}
    UNION ALL
    SELECT cluster_id, kind, broker_id, NULL, NULL, NULL, name, value_before, value_after, NULL FROM {broker_change}
    UNION ALL
    SELECT cluster_id, kind, NULL, topic, NULL, NULL, name, value_before, value_after, cause FROM {topic_change}
    UNION ALL
    SELECT cluster_id, kind, NULL, topic, partition, NULL, NULL, value_before, value_after, cause FROM {partition_change}
    UNION ALL
    SELECT cluster_id, kind, NULL, NULL, NULL, group_id, name, value_before, value_after, cause FROM {group_change}
) change
JOIN (SELECT snapshot_id, cluster_id, previous_snapshot_id FROM {compared_cluster}) c USING (cluster_id)
