-- The rows of `broker_restart`: the turn of each broker in a rolling restart, and what its return brings back and costs.
WITH catch_up AS (
    -- The sum of decimals does not depend on the order of rows. DuckDB converts a float to the same decimal as Spark only as a text.
    SELECT snapshot_id, cluster_id, broker_id, CAST(sum(rate) AS DOUBLE) AS catch_up_bytes_per_s
    FROM (
        SELECT p.snapshot_id, p.cluster_id, explode(p.replicas) AS broker_id,
               CAST(CAST(l.observed_size_bytes_per_s AS STRING) AS DECIMAL(38, 9)) AS rate
        FROM {partition} p
        JOIN {producer_load} l
             ON l.snapshot_id = p.snapshot_id AND l.cluster_id = p.cluster_id AND l.topic = p.topic AND l.partition = p.partition
        WHERE l.observed_size_bytes_per_s IS NOT NULL
    ) grown
    GROUP BY snapshot_id, cluster_id, broker_id
)
SELECT b.snapshot_id, b.cluster_id, b.broker_id, b.live,
       -- The live brokers of a cluster without partitions restart in the order of their ids.
       CASE WHEN t.broker_id IS NULL AND b.live
            THEN row_number() OVER (PARTITION BY b.snapshot_id, b.cluster_id, b.live ORDER BY b.broker_id)
            ELSE t.restart_order END AS restart_order,
       coalesce(r.under_min_isr_partitions, 0) AS under_min_isr_partitions, coalesce(r.rejoining_partitions, 0) AS rejoining_partitions,
       coalesce(r.revived_after_kill, 0) AS revived_after_kill, coalesce(r.revived_uncleanly_after_kill, 0) AS revived_uncleanly_after_kill,
       coalesce(r.revived_after_stop, 0) AS revived_after_stop, coalesce(r.revived_uncleanly_after_stop, 0) AS revived_uncleanly_after_stop,
       coalesce(r.preferred_partitions, 0) AS preferred_partitions,
       coalesce(r.regained_leaders_after_kill, 0) AS regained_leaders_after_kill,
       coalesce(r.regained_leaders_after_stop, 0) AS regained_leaders_after_stop,
       r.full_copy_bytes, c.catch_up_bytes_per_s, r.truncated_size_bytes
FROM {broker} b
LEFT JOIN {turn} t ON t.snapshot_id = b.snapshot_id AND t.cluster_id = b.cluster_id AND t.broker_id = b.broker_id
LEFT JOIN {broker_return} r ON r.snapshot_id = b.snapshot_id AND r.cluster_id = b.cluster_id AND r.broker_id = b.broker_id
LEFT JOIN catch_up c ON c.snapshot_id = b.snapshot_id AND c.cluster_id = b.cluster_id AND c.broker_id = b.broker_id
