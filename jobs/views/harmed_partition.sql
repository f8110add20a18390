-- The partitions that lose their leader or fall under min ISR in a failure.
-- Example: SELECT topic, partition, trouble FROM harmed_partition WHERE latest AND scenario_id = 'broker 12'
SELECT f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, f.topic, f.partition,
       CASE WHEN f.newly_offline THEN 'no leader' ELSE 'under min ISR' END AS trouble,
       o.live_replicas, o.min_insync_replicas, o.latest
FROM {stored_failover} f
JOIN failover_pattern o ON o.snapshot_id = f.snapshot_id AND o.attempt_id = f.attempt_id AND o.cluster_id = f.cluster_id
     AND o.scenario_set = f.scenario_set AND o.outcome_id = f.outcome_id
WHERE {HARMED}
