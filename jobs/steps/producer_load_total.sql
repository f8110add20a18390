-- The sums and extremes of each topic's partitions.
WITH ranked AS (
    SELECT *, row_number() OVER (PARTITION BY number ORDER BY records, partition DESC) AS position FROM {load}
), total AS (
    SELECT number, CAST(count_if(has_sample OR observed_records IS NOT NULL OR size_growth IS NOT NULL) AS INT) AS partitions,
           CAST(max(available_partitions) AS INT) AS available_partitions,
           CAST(sum(records) AS BIGINT) AS records, CAST(sum(size_bytes) AS BIGINT) AS size_bytes, CAST(sum(keys) AS BIGINT) AS keys,
           max_by(partition, position) AS hottest_partition, max(records) AS max_records,
           CAST(sum(unkeyed_records) AS BIGINT) AS unkeyed_records, max(explicit_records + keyed_records) AS max_placed_records,
           max(explicit_records) AS max_explicit_records,
           CAST(sum(librdkafka_moved_keys) AS BIGINT) AS librdkafka_moved_keys,
           CAST(sum(librdkafka_moved_records) AS BIGINT) AS librdkafka_moved_records,
           sum(CAST(records AS DECIMAL(38, 0)) * records) AS squares,  -- at most the square of the sum, which has 64 bits
           CAST(2 * sum(position * CAST(records AS DECIMAL(38, 0))) - (count(*) + 1) * sum(CAST(records AS DECIMAL(38, 0))) AS DOUBLE)
               AS inequality,
           CAST(sum(observed_records) AS BIGINT) AS observed_records,
           CASE WHEN count(observed_records) = count(*) THEN CAST(sum(observed_records) AS BIGINT) END AS all_observed_records,
           max(observed_records) AS max_observed_records
    FROM ranked
    GROUP BY number
)
SELECT number, partitions, available_partitions, records, size_bytes, keys, hottest_partition, max_records, unkeyed_records, max_placed_records,
       max_explicit_records, librdkafka_moved_keys, librdkafka_moved_records,
       -- The standard deviation over the mean, from exact sums. Null if one has more than 38 digits.
       CASE WHEN records > 0 AND partitions * CAST(squares AS DOUBLE) < 1e38
            THEN sqrt(CAST(partitions * squares - CAST(records AS DECIMAL(38, 0)) * records AS DOUBLE)) / records END AS record_cv,
       -- With the records in ascending order: the sum of (2 x position - partitions - 1) x records, over partitions x the sum of the records.
       CASE WHEN records > 0 THEN inequality / CAST(partitions * CAST(records AS DECIMAL(38, 0)) AS DOUBLE) END AS record_gini,
       observed_records, CASE WHEN all_observed_records > 0 THEN all_observed_records END AS complete_observed_records, max_observed_records
FROM total
