-- The rows of `broker_balance`: the replicas, leaders, bytes and produced records of each broker, also of idle and dead ones.
WITH replica_of AS (
    SELECT snapshot_id, cluster_id, explode(replicas) AS broker_id, replicas, isr FROM {partition}
), stored AS (
    SELECT snapshot_id, cluster_id, broker_id, count(*) AS replicas, count_if(array_contains(isr, broker_id)) AS in_sync_replicas,
           count_if(get(replicas, 0) = broker_id) AS preferred_leaders
    FROM replica_of
    GROUP BY snapshot_id, cluster_id, broker_id
), led AS (
    SELECT p.snapshot_id, p.cluster_id, p.leader AS broker_id, count(*) AS leaders, sum(l.records) AS led_records,
           sum(l.size_bytes) AS led_bytes
    FROM {partition} p
    LEFT JOIN {producer_load} l
         ON l.snapshot_id = p.snapshot_id AND l.cluster_id = p.cluster_id AND l.topic = p.topic AND l.partition = p.partition
    WHERE p.leader IS NOT NULL
    GROUP BY p.snapshot_id, p.cluster_id, p.leader
), used AS (
    SELECT snapshot_id, cluster_id, broker_id, sum(size_bytes) AS size_bytes FROM {disk_usage} GROUP BY snapshot_id, cluster_id, broker_id
), sampled AS (
    SELECT DISTINCT snapshot_id, cluster_id FROM {producer_load} WHERE records IS NOT NULL
), loaded AS (
    SELECT b.snapshot_id, b.cluster_id, b.broker_id, b.rack, b.live, b.disk_capacity_bytes,
           coalesce(stored.replicas, 0) AS replicas, coalesce(in_sync_replicas, 0) AS in_sync_replicas, coalesce(leaders, 0) AS leaders,
           coalesce(preferred_leaders, 0) AS preferred_leaders, CAST(used.size_bytes AS BIGINT) AS size_bytes,
           CASE WHEN s.cluster_id IS NOT NULL THEN CAST(coalesce(led_records, 0) AS BIGINT) END AS produced_records,
           CASE WHEN s.cluster_id IS NOT NULL THEN CAST(coalesce(led_bytes, 0) AS BIGINT) END AS produced_size_bytes
    FROM {broker} b
    LEFT JOIN stored ON stored.snapshot_id = b.snapshot_id AND stored.cluster_id = b.cluster_id AND stored.broker_id = b.broker_id
    LEFT JOIN led ON led.snapshot_id = b.snapshot_id AND led.cluster_id = b.cluster_id AND led.broker_id = b.broker_id
    LEFT JOIN used ON used.snapshot_id = b.snapshot_id AND used.cluster_id = b.cluster_id AND used.broker_id = b.broker_id
    LEFT JOIN sampled s ON s.snapshot_id = b.snapshot_id AND s.cluster_id = b.cluster_id
), live_mean AS (
    SELECT snapshot_id, cluster_id, count_if(live) AS live_brokers, avg(CASE WHEN live THEN replicas END) AS replicas,
           avg(CASE WHEN live THEN leaders END) AS leaders, avg(CASE WHEN live THEN size_bytes END) AS size_bytes,
           avg(CASE WHEN live THEN produced_size_bytes END) AS produced_size_bytes
    FROM loaded
    GROUP BY snapshot_id, cluster_id
)
SELECT l.snapshot_id, l.cluster_id, l.broker_id, l.rack, l.live, l.replicas, l.in_sync_replicas, l.leaders, l.preferred_leaders,
       l.size_bytes, l.produced_records, l.produced_size_bytes,
       CASE WHEN l.disk_capacity_bytes > 0 THEN l.size_bytes / l.disk_capacity_bytes END AS disk_used_share,
       m.live_brokers,
       -- The value of a live broker over the mean of the live brokers.
       CASE WHEN l.live AND m.replicas > 0 THEN l.replicas / m.replicas END AS replica_ratio,
       CASE WHEN l.live AND m.leaders > 0 THEN l.leaders / m.leaders END AS leader_ratio,
       CASE WHEN l.live AND m.size_bytes > 0 THEN l.size_bytes / m.size_bytes END AS byte_ratio,
       CASE WHEN l.live AND m.produced_size_bytes > 0 THEN l.produced_size_bytes / m.produced_size_bytes END AS produced_ratio
FROM loaded l
JOIN live_mean m ON m.snapshot_id = l.snapshot_id AND m.cluster_id = l.cluster_id
