-- Partitions with the log dirs of their replicas, each as broker id, colon and path.
SELECT p.*, coalesce(d.log_dirs, slice(split('', ','), 1, 0)) AS log_dirs -- an empty list of strings in both engines
FROM {partitions} p
LEFT JOIN (
    SELECT snapshot_id, cluster_id, topic, partition, array_agg(concat(broker_id, ':', log_dir)) AS log_dirs
    FROM {replica} WHERE log_dir IS NOT NULL AND replica_index IS NOT NULL
    GROUP BY snapshot_id, cluster_id, topic, partition
) d ON d.snapshot_id = p.snapshot_id AND d.cluster_id = p.cluster_id AND d.topic = p.topic AND d.partition = p.partition
