-- The rows of `topic_load`: lower bounds of the skew of each topic, by the partitions of its keys, and by its hottest keys for any partitioner.
-- Where records without a key go cannot be predicted, so that they only even out the partitions here.
WITH load AS (
    SELECT t.snapshot_id, t.cluster_id, t.topic, s.*, h.hottest_key_records, h.shared_key_floor,
           CASE WHEN s.records > 0 THEN s.records / s.partitions END AS mean
    FROM {total} s
    JOIN {topic} t ON t.number = s.number
    LEFT JOIN {hottest} h ON h.number = s.number
    WHERE s.partitions > 0
)
SELECT /*+ REBALANCE(cluster_id) */
       snapshot_id, cluster_id, topic, partitions, available_partitions, records, size_bytes, keys,
       CASE WHEN records IS NOT NULL THEN hottest_partition END AS hottest_partition,
       unkeyed_records,
       CASE WHEN mean IS NOT NULL THEN greatest(max_placed_records / mean, 1e0) END AS skew_lower_bound,
       record_cv,
       CASE WHEN records > 0 THEN hottest_key_records / records END AS hottest_key_share,
       CASE WHEN mean IS NOT NULL THEN greatest(greatest(coalesce(shared_key_floor, 0), max_explicit_records) / mean, 1e0) END AS skew_floor,
       observed_records,
       max_observed_records / complete_observed_records * partitions AS observed_skew,
       CASE WHEN records IS NOT NULL THEN librdkafka_moved_keys END AS librdkafka_moved_keys,
       CASE WHEN records IS NOT NULL THEN librdkafka_moved_records END AS librdkafka_moved_records,
       CASE WHEN records > 0 THEN max_records / records END AS hottest_share,
       record_gini
FROM load
