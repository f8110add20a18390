-- Topics with the partitions of some keys. A location is a key in a partition. The lists have an element for each set of partitioners that
-- explain the same locations: bit n of `explained_by` is the nth of PARTITIONERS in kafka_model.partitioner.key_attribution.
WITH sampled AS (
    SELECT k.snapshot_id, k.cluster_id, k.topic, t.partitions, k.observed_partitions, k.observed_records,
           get(k.observed_partitions, 0) <> element_at(k.observed_partitions, size(k.observed_partitions)) AS split,  -- they are sorted
           murmur2(k.key) & 2147483647 AS murmur2, crc32(k.key) AS crc32, CAST(fnv1a(k.key) AS BIGINT) AS fnv1a
    FROM {key_sample} k
    JOIN {topic} t ON t.snapshot_id = k.snapshot_id AND t.cluster_id = k.cluster_id AND t.topic = k.topic
    WHERE octet_length(k.key) > 0 AND k.partition IS NULL AND size(k.observed_partitions) > 0 AND t.partitions > 1
), located AS (
    SELECT *, explode(sequence(1, size(observed_partitions))) AS position FROM sampled
), location AS (
    SELECT *, element_at(observed_partitions, position) AS partition, element_at(observed_records, position) AS records FROM located
), explained AS (
    SELECT snapshot_id, cluster_id, topic, partitions, position = 1 AS first_of_key, split, records,
           CASE WHEN murmur2 % partitions = partition THEN 1 ELSE 0 END
           + CASE WHEN crc32 % partitions = partition THEN 2 ELSE 0 END
           + CASE WHEN abs(fnv1a) % partitions = partition THEN 4 ELSE 0 END
           + CASE WHEN (fnv1a & 2147483647) % partitions = partition THEN 8 ELSE 0 END
           + CASE WHEN (fnv1a & 4294967295) % partitions = partition THEN 16 ELSE 0 END AS explained_by
    FROM location
), matches AS (
    SELECT snapshot_id, cluster_id, topic, partitions, explained_by, count(*) AS locations, sum(records) AS records,
           count_if(first_of_key) AS keys, count_if(first_of_key AND split) AS split_keys,
           sum(CASE WHEN split THEN records ELSE 0 END) AS split_records
    FROM explained
    GROUP BY snapshot_id, cluster_id, topic, partitions, explained_by
)
SELECT snapshot_id, cluster_id, topic, partitions, CAST(sum(keys) AS BIGINT) AS keys, CAST(sum(split_keys) AS BIGINT) AS split_keys,
       CAST(sum(split_records) AS BIGINT) AS split_records,
       collect_list(explained_by) AS explained_by, collect_list(locations) AS locations, collect_list(CAST(records AS BIGINT)) AS records
FROM matches
GROUP BY snapshot_id, cluster_id, topic, partitions
