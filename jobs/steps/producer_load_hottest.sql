-- The hottest sampled keys of each numbered topic with keys.
WITH ranked AS (
    SELECT /*+ BROADCAST(t) */
           t.number, t.partition_count, k.records, row_number() OVER (PARTITION BY t.number ORDER BY k.records DESC) AS rank
    FROM {key_sample} k
    JOIN {topic} t ON t.snapshot_id = k.snapshot_id AND t.cluster_id = k.cluster_id AND t.topic = k.topic
    WHERE k.key IS NOT NULL AND k.partition IS NULL
)
SELECT number, max(records) AS hottest_key_records,
       min(records) FILTER (WHERE rank <= {HOT_KEYS}) AS least_hot_key_records,
       -- The least records of the fullest partition, wherever the keys go. Among the n x partitions + 1 hottest keys, some n + 1 share a
       -- partition, which gets at least the records of the n + 1 smallest of them.
       CAST(greatest(
           max(records),
           CASE WHEN count(*) > partition_count
                THEN sum(records) FILTER (WHERE rank BETWEEN partition_count AND partition_count + 1) END,
           CASE WHEN count(*) > 2 * partition_count
                THEN sum(records) FILTER (WHERE rank BETWEEN 2 * partition_count - 1 AND 2 * partition_count + 1) END,
           CASE WHEN count(*) > 3 * partition_count
                THEN sum(records) FILTER (WHERE rank BETWEEN 3 * partition_count - 2 AND 3 * partition_count + 1) END
       ) AS BIGINT) AS shared_key_floor
FROM ranked
GROUP BY number, partition_count
