-- The predicted and the observed load of each partition of a numbered topic. Without a key sample of the topic the prediction is null.
WITH sample AS (
    SELECT number, CAST(sum(unkeyed_records) AS BIGINT) AS unkeyed_records, CAST(sum(unkeyed_bytes) AS BIGINT) AS unkeyed_bytes,
           sum(rows_without_size) = 0 AS sizes_known
    FROM {placed}
    GROUP BY number
), counted AS (
    -- The positions of partitions whose numbers are not their turns.
    SELECT t.number, p.partition, row_number() OVER (PARTITION BY t.number ORDER BY p.partition) - 1 AS position
    FROM {partition} p
    JOIN {topic} t ON t.snapshot_id = p.snapshot_id AND t.cluster_id = p.cluster_id AND t.topic = p.topic
    WHERE NOT t.turns_are_numbers AND (p.leader IS NOT NULL OR t.available_partitions = 0)
), previous AS (
    SELECT t.number, p.partition, p.log_end_offset AS end_offset, {LEADER_SIZE} AS leader_size
    FROM {previous_partition} p
    JOIN {topic} t ON t.cluster_id = p.cluster_id AND t.topic = p.topic
    WHERE t.same_topic
), numbered AS (
    SELECT /*+ BROADCAST(t), BROADCAST(s) */
           t.number, p.partition, t.available_partitions, t.logs_are_complete, t.taking_partitions, t.first_turn, t.turns_are_numbers,
           p.log_end_offset AS end_offset, p.log_end_offset - p.log_start_offset AS log_records, {LEADER_SIZE} AS leader_size,
           s.number IS NOT NULL AS has_sample, s.sizes_known, s.unkeyed_records AS sampled_unkeyed_records,
           s.unkeyed_bytes AS sampled_unkeyed_bytes,
           div(s.unkeyed_records, t.taking_partitions) AS records_of_turn, s.unkeyed_records % t.taking_partitions AS longer_turns
    FROM {partition} p
    JOIN {topic} t ON t.snapshot_id = p.snapshot_id AND t.cluster_id = p.cluster_id AND t.topic = p.topic
    LEFT JOIN sample s ON s.number = t.number
), joined AS (
    SELECT n.*, (CASE WHEN n.turns_are_numbers THEN n.partition ELSE c.position END + n.first_turn) % n.taking_partitions AS turn,
           q.end_offset AS previous_end_offset, q.leader_size AS previous_leader_size,
           coalesce(k.explicit_records, 0) AS explicit_records, coalesce(k.keyed_records, 0) AS keyed_records,
           coalesce(k.placed_bytes, 0) AS placed_bytes, coalesce(k.keys, 0) AS keys,
           coalesce(k.librdkafka_moved_keys, 0) AS librdkafka_moved_keys, coalesce(k.librdkafka_moved_records, 0) AS librdkafka_moved_records
    FROM numbered n
    LEFT JOIN counted c ON c.number = n.number AND c.partition = n.partition
    LEFT JOIN previous q ON q.number = n.number AND q.partition = n.partition
    LEFT JOIN {placed} k ON k.number = n.number AND k.partition = n.partition
), spread AS (
    -- A partition without a turn gets no record without a key.
    SELECT *, CASE WHEN turn IS NULL THEN 0 ELSE turn * records_of_turn + least(turn, longer_turns) END AS records_before,
           CASE WHEN turn IS NULL THEN 0
                ELSE records_of_turn + CASE WHEN turn < longer_turns THEN 1 ELSE 0 END END AS unkeyed_records
    FROM joined
), load AS (
    SELECT *,
           -- Rounding the bytes of so many first records makes the partitions add up to the total. 64 bits are too few for the products.
           CAST(div(CAST(sampled_unkeyed_bytes AS DECIMAL(38, 0)) * (records_before + unkeyed_records), greatest(sampled_unkeyed_records, 1)) AS BIGINT)
           - CAST(div(CAST(sampled_unkeyed_bytes AS DECIMAL(38, 0)) * records_before, greatest(sampled_unkeyed_records, 1)) AS BIGINT) AS unkeyed_bytes
    FROM spread
)
SELECT number, partition, available_partitions, has_sample,
       CASE WHEN has_sample THEN explicit_records + keyed_records + unkeyed_records END AS records,
       CASE WHEN sizes_known THEN placed_bytes + unkeyed_bytes END AS size_bytes,
       CASE WHEN has_sample THEN explicit_records END AS explicit_records,
       CASE WHEN has_sample THEN keyed_records END AS keyed_records,
       CASE WHEN has_sample THEN unkeyed_records END AS unkeyed_records,
       CASE WHEN has_sample THEN keys END AS keys,
       librdkafka_moved_keys, librdkafka_moved_records,
       CASE WHEN end_offset >= previous_end_offset THEN end_offset - previous_end_offset END AS observed_records,
       -- Unknown if the end offset fell: the log was truncated, or it is that of another topic.
       CASE WHEN leader_size >= previous_leader_size AND NOT coalesce(end_offset < previous_end_offset, false)
            THEN leader_size - previous_leader_size END AS size_growth,
       CASE WHEN logs_are_complete AND log_records > 0 THEN leader_size / log_records END AS log_record_bytes
FROM load
