-- Partitions that the death of some one broker leaves without a leader or under min ISR, with these deaths and with their election inputs.
WITH harmed AS (
    SELECT snapshot_id, cluster_id, topic, partition, array_sort(array_agg(scenario_id)) AS scenario_ids, bool_or(leader IS NULL) AS goes_offline
    FROM {failover}
    SEMI JOIN (SELECT snapshot_id, cluster_id, scenario_set, scenario_id FROM {scenario} WHERE {ONE_BROKER_KILLED}) death
         USING (snapshot_id, cluster_id, scenario_set, scenario_id)
    WHERE {HARMED}
    GROUP BY snapshot_id, cluster_id, topic, partition
)
SELECT /*+ REBALANCE(cluster_id) */ snapshot_id, cluster_id, topic, partition, {INPUTS}, scenario_ids, goes_offline
FROM {election_inputs} JOIN harmed USING (snapshot_id, cluster_id, topic, partition)
