-- The rows of `producer_load`: the partitions with a predicted or observed load.
WITH load AS (
    SELECT /*+ BROADCAST(t), BROADCAST(s), BROADCAST(c) */
           t.snapshot_id, t.cluster_id, t.topic, l.*, c.seconds,
           CASE WHEN s.size_bytes > 0 AND s.records > 0 THEN s.size_bytes / s.records END AS sample_record_bytes
    FROM {load} l
    JOIN {total} s ON s.number = l.number
    JOIN {topic} t ON t.number = l.number
    LEFT JOIN {capture} c ON c.snapshot_id = t.snapshot_id AND c.cluster_id = t.cluster_id
    WHERE l.has_sample OR l.observed_records IS NOT NULL OR l.size_growth IS NOT NULL
), sourced AS (
    SELECT *, CASE WHEN observed_records = 0 OR (observed_records IS NOT NULL AND log_record_bytes IS NOT NULL) THEN 'offsets_and_log'
                   WHEN observed_records IS NOT NULL AND sample_record_bytes IS NOT NULL THEN 'offsets_and_sample'
                   WHEN size_growth IS NOT NULL THEN 'size_growth' END AS observed_size_source
    FROM load
), written AS (
    SELECT *, CASE WHEN observed_size_source = 'size_growth' THEN size_growth
                   WHEN observed_size_source IS NOT NULL
                   THEN CAST(round(observed_records * coalesce(log_record_bytes, sample_record_bytes, 0e0)) AS BIGINT) END AS observed_size_bytes
    FROM sourced
)
SELECT snapshot_id, cluster_id, topic, partition, records, size_bytes, explicit_records, keyed_records, unkeyed_records, keys,
       observed_records, observed_size_bytes, observed_size_source, observed_size_bytes / seconds AS observed_size_bytes_per_s
FROM written
