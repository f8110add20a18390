-- What a key sample brings to each partition of a numbered topic: by named partitions, and by keys as the Java client hashes them. A row without
-- a partition has what no partition is known for, such as records without a key.
WITH sampled AS (
    SELECT /*+ BROADCAST(t) */
           t.number, t.partition_count, k.partition AS named_partition, k.partition IS NULL AND k.key IS NOT NULL AS keyed,
           k.partition IS NULL AND k.key IS NULL AS unkeyed, k.records, k.size_bytes,
           (murmur2(k.key) & 2147483647) % t.partition_count AS hashed_partition,
           -- consistent_random of kafka_model.partitioner.other_clients
           CASE WHEN octet_length(k.key) > 0 THEN crc32(k.key) % t.partition_count END AS librdkafka_partition
    FROM {key_sample} k
    JOIN {topic} t ON t.snapshot_id = k.snapshot_id AND t.cluster_id = k.cluster_id AND t.topic = k.topic
), placed AS (
    SELECT *, CASE WHEN partition_count IS NOT NULL THEN coalesce(named_partition, hashed_partition) END AS partition,
           keyed AND librdkafka_partition IS DISTINCT FROM hashed_partition AS moved
    FROM sampled
)
SELECT number, partition,
       CAST(sum(CASE WHEN named_partition IS NOT NULL THEN records ELSE 0 END) AS BIGINT) AS explicit_records,
       CAST(sum(CASE WHEN keyed THEN records ELSE 0 END) AS BIGINT) AS keyed_records,
       CAST(sum(CASE WHEN unkeyed THEN 0 ELSE coalesce(size_bytes, 0) END) AS BIGINT) AS placed_bytes,
       count_if(keyed) AS keys,
       -- What librdkafka would bring to another partition.
       count_if(moved) AS librdkafka_moved_keys,
       CAST(sum(CASE WHEN moved THEN records ELSE 0 END) AS BIGINT) AS librdkafka_moved_records,
       CAST(sum(CASE WHEN unkeyed THEN records ELSE 0 END) AS BIGINT) AS unkeyed_records,
       CAST(sum(CASE WHEN unkeyed THEN coalesce(size_bytes, 0) ELSE 0 END) AS BIGINT) AS unkeyed_bytes,
       count_if(size_bytes IS NULL) AS rows_without_size
FROM placed
GROUP BY number, partition
