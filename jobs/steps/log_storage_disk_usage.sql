-- The rows of `disk_usage`: the bytes in each log dir, also an empty one, their growth since the previous snapshot, and when it will be full.
WITH used AS (
    SELECT snapshot_id, cluster_id, broker_id, log_dir, count(*) AS replicas, sum(size_bytes) AS size_bytes,
           -- An entry takes 8 bytes in the offset index and 12 in the time index, which also has one for the end of each closed segment.
           sum(20 * div(greatest(size_bytes - 1, 0), index_interval_bytes + 1) + 12 * (segments - 1)) AS index_bytes,
           sum(segments) AS segments, sum(deletable_bytes) AS deletable_bytes,
           CASE WHEN count(retention_bytes) = count(*) THEN sum(retention_bytes + segment_bytes) END AS retained_bytes_most
    FROM {log_storage}
    GROUP BY snapshot_id, cluster_id, broker_id, log_dir
), usage AS (
    -- The disk capacity of a broker with one log dir is the capacity of that log dir.
    SELECT snapshot_id, cluster_id, broker_id, log_dir, coalesce(replicas, 0) AS replicas,
           CAST(coalesce(size_bytes, 0) AS BIGINT) AS size_bytes, coalesce(index_bytes, 0) AS index_bytes, coalesce(segments, 0) AS segments,
           coalesce(deletable_bytes, 0) AS deletable_bytes, retained_bytes_most,
           coalesce(capacity_bytes, CASE WHEN log_dirs = 1 THEN disk_capacity_bytes END) AS capacity_bytes
    FROM {log_dir}
    FULL JOIN used USING (snapshot_id, cluster_id, broker_id, log_dir)
    LEFT JOIN (SELECT snapshot_id, cluster_id, broker_id, disk_capacity_bytes FROM {broker}) b USING (snapshot_id, cluster_id, broker_id)
    LEFT JOIN (SELECT snapshot_id, cluster_id, broker_id, count(*) AS log_dirs FROM {log_dir} GROUP BY snapshot_id, cluster_id, broker_id) d
         USING (snapshot_id, cluster_id, broker_id)
), growth AS (
    SELECT usage.*, c.captured_at, (usage.size_bytes - p.size_bytes) / c.seconds AS growth_bytes_per_s
    FROM usage
    LEFT JOIN {capture} c ON c.snapshot_id = usage.snapshot_id AND c.cluster_id = usage.cluster_id
    LEFT JOIN {previous_disk_usage} p
         ON p.cluster_id = usage.cluster_id AND p.broker_id = usage.broker_id AND p.log_dir = usage.log_dir
), filling AS (
    SELECT *, CASE WHEN growth_bytes_per_s > 0 AND coalesce(retained_bytes_most > capacity_bytes, true)
                   THEN greatest(capacity_bytes - size_bytes, CAST(0 AS DOUBLE)) / growth_bytes_per_s END AS seconds_left
    FROM growth
)
SELECT snapshot_id, cluster_id, broker_id, log_dir, replicas, size_bytes, index_bytes, segments, capacity_bytes,
       CASE WHEN capacity_bytes > 0 THEN size_bytes / capacity_bytes END AS used_share, deletable_bytes, retained_bytes_most,
       growth_bytes_per_s,
       -- Dates more than 100 years ahead do not matter, and may not fit in a timestamp.
       CASE WHEN seconds_left <= 3153600000
            THEN timestamp_micros(unix_micros(captured_at) + CAST(round(seconds_left * 1000000) AS BIGINT)) END AS full_at
FROM filling
