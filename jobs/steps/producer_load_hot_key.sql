-- The rows of `hot_key`: the keys of each topic with the most records. Ties go to the lower key in byte order.
WITH hot AS (
    -- Only the keys with as many records as the last hot one are sorted.
    SELECT /*+ BROADCAST(t), BROADCAST(h) */
           t.number, t.partition_count, k.key, k.records, k.size_bytes,
           row_number() OVER (PARTITION BY t.number ORDER BY k.records DESC, k.key) AS rank
    FROM {key_sample} k
    JOIN {topic} t ON t.snapshot_id = k.snapshot_id AND t.cluster_id = k.cluster_id AND t.topic = k.topic
    JOIN {hottest} h ON h.number = t.number
    WHERE k.key IS NOT NULL AND k.partition IS NULL AND k.records >= h.least_hot_key_records AND t.partition_count IS NOT NULL
)
SELECT /*+ REBALANCE(cluster_id) */
       t.snapshot_id, t.cluster_id, t.topic, hot.rank, hot.key, try_validate_utf8(hot.key) AS key_text,
       (murmur2(hot.key) & 2147483647) % hot.partition_count AS partition,
       hot.records, hot.size_bytes,
       CASE WHEN s.records > 0 THEN hot.records / s.records ELSE 0e0 END AS record_share,
       CASE WHEN octet_length(hot.key) > 0 THEN CAST(crc32(hot.key) % hot.partition_count AS INT) END AS librdkafka_partition
FROM hot
JOIN {topic} t ON t.number = hot.number
JOIN {total} s ON s.number = hot.number
WHERE hot.rank <= {HOT_KEYS}
