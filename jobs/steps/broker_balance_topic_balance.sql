-- The rows of `topic_balance`: the bytes of each topic in its leaders, and the records between the start and the end of its logs.
WITH stored AS (
    SELECT snapshot_id, cluster_id, topic, partition, log_end_offset - log_start_offset AS records, {LEADER_SIZE} AS size_bytes
    FROM {partition}
), ranked AS (
    SELECT *, max(size_bytes) OVER (PARTITION BY snapshot_id, cluster_id, topic) AS fullest_size_bytes FROM stored
), total AS (
    SELECT snapshot_id, cluster_id, topic, count(*) AS partitions,
           CASE WHEN count(records) = count(*) THEN CAST(sum(records) AS BIGINT) END AS records, max(records) AS max_records,
           CASE WHEN count(size_bytes) = count(*) THEN CAST(sum(size_bytes) AS BIGINT) END AS size_bytes,
           max(CASE WHEN size_bytes = fullest_size_bytes THEN partition END) AS fullest_partition,
           max(fullest_size_bytes) AS fullest_size_bytes
    FROM ranked
    GROUP BY snapshot_id, cluster_id, topic
)
SELECT snapshot_id, cluster_id, topic, partitions, records,
       CASE WHEN records > 0 THEN max_records * partitions / records - 1 END AS record_skew,
       size_bytes, fullest_partition, fullest_size_bytes,
       CASE WHEN records > 0 THEN size_bytes / records END AS mean_record_bytes
FROM total
