-- The partitions that lose their leader or fall under min ISR in a failure.
-- Example: SELECT topic, partition, trouble FROM harmed_partition WHERE latest AND scenario_id = 'broker 12'
SELECT snapshot_id, cluster_id, scenario_set, scenario_id, topic, partition,
       CASE WHEN {OFFLINE} THEN 'no leader' ELSE 'under min ISR' END AS trouble,
       live_replicas, min_insync_replicas, latest
FROM failover
WHERE {HARMED}
