-- The rows of `failover_load`: leaders and load that survivors of a failure take over. A survivor stored the partition before, as a follower,
-- so the bytes that it stores do not change.
WITH rate AS (
    -- Bytes per second that producers write to each partition: Cruise Control's measurement takes precedence over what was written since
    -- the previous snapshot. Sums of multiples of 1/65536 are exact, so they do not depend on the order of rows.
    SELECT snapshot_id, cluster_id, topic, partition, coalesce(groups, 0) AS groups,
           round(coalesce(network_in_bytes_per_s, observed_size_bytes_per_s) * 65536) / 65536 AS rate
    FROM (SELECT snapshot_id, cluster_id, topic, partition, observed_size_bytes_per_s
          FROM {producer_load} WHERE observed_size_bytes_per_s IS NOT NULL) observed
    FULL JOIN (SELECT snapshot_id, cluster_id, topic, partition, network_in_bytes_per_s FROM {partition_load}) measured
         USING (snapshot_id, cluster_id, topic, partition)
    LEFT JOIN (SELECT snapshot_id, cluster_id, topic, partition, count(DISTINCT group_id) AS groups
               FROM {observed_assignment} GROUP BY snapshot_id, cluster_id, topic, partition) readers
         USING (snapshot_id, cluster_id, topic, partition)
), leaders AS (
    SELECT snapshot_id, cluster_id, leader AS broker_id, count(*) AS leaders_before
    FROM {election_inputs} GROUP BY snapshot_id, cluster_id, leader
), sent AS (
    -- A leader sends the written bytes to each live follower and to each group.
    SELECT snapshot_id, cluster_id, leader AS broker_id, sum(rate * (groups + size(live) - 1)) AS sent_before
    FROM {election_inputs} JOIN rate USING (snapshot_id, cluster_id, topic, partition)
    GROUP BY snapshot_id, cluster_id, leader
), moved AS (
    -- Partitions that keep their leader change only the bytes that it sends.
    SELECT /*+ BROADCAST(rated), BROADCAST(o) */
           snapshot_id, cluster_id, scenario_set, scenario_id AS failover_scenario_id, leader_before, leader, count_if({LEADER_MOVED}) AS leaders,
           sum(records) AS records, sum(size_bytes) AS size_bytes, sum(rate) AS rate,
           sum(rate * (groups + live_replicas - 1)) AS sent_after, sum(rate * (groups + live_replicas_before - 1)) AS sent_before
    FROM {failover}
    JOIN {outcome} o USING (outcome_id)
    LEFT JOIN (SELECT DISTINCT snapshot_id, cluster_id, true AS has_rates FROM rate) rated USING (snapshot_id, cluster_id)
    LEFT JOIN (SELECT snapshot_id, cluster_id, topic, partition, records, size_bytes FROM {producer_load} WHERE records IS NOT NULL) sample
         USING (snapshot_id, cluster_id, topic, partition)
    LEFT JOIN rate USING (snapshot_id, cluster_id, topic, partition)
    WHERE {LEADER_MOVED} OR has_rates
    GROUP BY snapshot_id, cluster_id, scenario_set, scenario_id, leader_before, leader
), side AS (
    SELECT *, explode(sequence(0, 1)) AS lost FROM moved -- 0: the new leader gains, 1: the old leader loses
), gained AS (
    SELECT snapshot_id, cluster_id, scenario_set, failover_scenario_id, CASE WHEN lost = 0 THEN leader ELSE leader_before END AS broker_id,
           sum(CASE WHEN lost = 0 THEN leaders ELSE 0 END) AS gained_leaders,
           sum(CASE WHEN lost = 0 AND leaders > 0 THEN records END) AS gained_records,
           sum(CASE WHEN lost = 0 AND leaders > 0 THEN size_bytes END) AS gained_size_bytes,
           sum(CASE WHEN lost = 0 AND leaders > 0 THEN rate END) AS gained_size_bytes_per_s,
           sum(CASE WHEN lost = 0 THEN sent_after ELSE -sent_before END) AS sent_change
    FROM side
    GROUP BY snapshot_id, cluster_id, scenario_set, failover_scenario_id, CASE WHEN lost = 0 THEN leader ELSE leader_before END
), load AS (
    SELECT g.*, coalesce(leaders_before, 0) AS leaders_before, coalesce(sent_before, 0) + sent_change AS network_out_bytes_per_s,
           gained_leaders / sum(gained_leaders) OVER (PARTITION BY snapshot_id, cluster_id, scenario_set, failover_scenario_id) AS gained_share
    FROM gained g LEFT JOIN leaders USING (snapshot_id, cluster_id, broker_id) LEFT JOIN sent USING (snapshot_id, cluster_id, broker_id)
    WHERE gained_leaders > 0
)
SELECT /*+ REBALANCE(cluster_id) */
       snapshot_id, cluster_id, scenario_set, scenario_id, broker_id, leaders_before, gained_leaders, gained_records, gained_size_bytes,
       gained_share, gained_size_bytes_per_s, network_out_bytes_per_s,
       CASE WHEN capacity > 0 THEN network_out_bytes_per_s / capacity END AS network_out_share
FROM load
JOIN (SELECT snapshot_id, cluster_id, scenario_set, scenario_id, failover_scenario_id FROM {failure}) s
     USING (snapshot_id, cluster_id, scenario_set, failover_scenario_id)
LEFT JOIN (SELECT snapshot_id, cluster_id, broker_id, network_out_capacity_bytes_per_s AS capacity FROM {broker}) b
     USING (snapshot_id, cluster_id, broker_id)
