-- Partitions with the load that Cruise Control reports, and a row without a topic for each cluster, which states whether a log dir failed. No
-- size list of a partition is null: Spark's Arrow writer takes n * n steps for n null lists.
SELECT snapshot_id, cluster_id, topic, partition, leader, replicas, coalesce(replica_size_bytes, slice(replicas, 1, 0)) AS replica_size_bytes,
       disk_bytes, network_in_bytes_per_s, network_out_bytes_per_s, cpu_percent, NULL AS has_failed_log_dir
FROM (SELECT snapshot_id, cluster_id, topic, partition, leader, replicas, replica_size_bytes FROM {partition}) p
LEFT JOIN {partition_load} l USING (snapshot_id, cluster_id, topic, partition)
UNION ALL
SELECT c.snapshot_id, c.cluster_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, bool_or(error IS NOT NULL)
FROM {cluster} c LEFT JOIN {log_dir} d ON d.snapshot_id = c.snapshot_id AND d.cluster_id = c.cluster_id
GROUP BY c.snapshot_id, c.cluster_id
