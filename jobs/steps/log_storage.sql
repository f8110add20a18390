-- The rows of `log_storage`: the bounds of each replica whose size is known.
WITH effective AS (
    SELECT *, CASE WHEN tiered AND local_retention_ms <> -2 THEN local_retention_ms ELSE total_retention_ms END AS disk_retention_ms,
           CASE WHEN tiered AND local_retention_bytes <> -2 THEN local_retention_bytes ELSE total_retention_bytes END AS disk_retention_bytes
    FROM (
        -- Kafka's defaults of topic configs (LogConfig, 2.0 to 4.x). -2 is the default of local.retention.*: the same as retention.*.
        SELECT snapshot_id, cluster_id, topic,
               coalesce(try_cast(configs['segment.bytes'] AS BIGINT), 1073741824) AS segment_bytes,
               coalesce(try_cast(configs['index.interval.bytes'] AS BIGINT), 4096) AS index_interval_bytes,
               coalesce(try_cast(configs['retention.ms'] AS BIGINT), 604800000) AS total_retention_ms,
               coalesce(try_cast(configs['retention.bytes'] AS BIGINT), -1) AS total_retention_bytes,
               coalesce(try_cast(configs['local.retention.ms'] AS BIGINT), -2) AS local_retention_ms,
               coalesce(try_cast(configs['local.retention.bytes'] AS BIGINT), -2) AS local_retention_bytes,
               -- Segments are copied to remote storage.
               coalesce(lower(configs['remote.storage.enable']) = 'true', false)
               AND NOT coalesce(lower(configs['remote.log.copy.disable']) = 'true', false) AS tiered,
               contains(coalesce(configs['cleanup.policy'], 'delete'), 'delete') AS deletes
        FROM {topic}
    ) config
), bounds AS (
    SELECT r.snapshot_id, r.cluster_id, r.topic, r.partition, r.broker_id, r.log_dir, r.size_bytes,
           coalesce(c.segment_bytes, 1073741824) AS segment_bytes, coalesce(c.index_interval_bytes, 4096) AS index_interval_bytes,
           coalesce(c.tiered, false) AS tiered,
           greatest(div(r.size_bytes + coalesce(c.segment_bytes, 1073741824) - 1, coalesce(c.segment_bytes, 1073741824)), 1) AS segments,
           -- -1 means no limit, and a topic that is only compacted has none.
           CASE WHEN c.deletes AND c.disk_retention_ms >= 0 THEN c.disk_retention_ms END AS retention_ms,
           CASE WHEN c.deletes AND c.disk_retention_bytes >= 0 THEN c.disk_retention_bytes END AS retention_bytes
    FROM {replica} r
    LEFT JOIN effective c ON c.snapshot_id = r.snapshot_id AND c.cluster_id = r.cluster_id AND c.topic = r.topic
    WHERE r.size_bytes IS NOT NULL
)
SELECT snapshot_id, cluster_id, topic, partition, broker_id, log_dir, size_bytes, segment_bytes, index_interval_bytes, segments,
       retention_ms, retention_bytes,
       -- The active segment is never deleted.
       CASE WHEN retention_bytes IS NULL THEN 0
            ELSE greatest(least(div(size_bytes - retention_bytes, segment_bytes), segments - 1), 0) * segment_bytes END AS deletable_bytes,
       tiered
FROM bounds
