-- For each failure and topic: the sampled records without a key that producers sent to partitions which have no leader after the failure,
-- and the number of partitions with a leader that receive these records instead. `records_each` is null if no partition has a leader.
-- Example: SELECT topic, unkeyed_records, led_partitions FROM redirection WHERE latest AND scenario_id = 'broker 12'
SELECT f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, f.topic, {latest} AS latest,
       sum(p.unkeyed_records) AS unkeyed_records, max(t.partitions) - count(*) AS led_partitions,
       CASE WHEN max(t.partitions) > count(*)
            THEN CAST(sum(p.unkeyed_records) AS DOUBLE) / (max(t.partitions) - count(*)) END AS records_each
FROM failover f
JOIN (SELECT * FROM producer_load WHERE {is_latest}) p
     ON p.snapshot_id = f.snapshot_id AND p.cluster_id = f.cluster_id AND p.topic = f.topic AND p.partition = f.partition
JOIN (SELECT * FROM topic WHERE {is_latest}) t ON t.snapshot_id = f.snapshot_id AND t.cluster_id = f.cluster_id AND t.topic = f.topic
WHERE f.latest = {latest} AND f.leader IS NULL AND p.unkeyed_records IS NOT NULL
GROUP BY f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, f.topic
