-- What each cluster survives, how even it is and how many rules it breaks: a row per cluster. For data, reads and writes: whether it survives
-- any broker, a rolling restart, any rack and any two brokers (`any_broker_data`), the worst failure if it does not (`worst_broker_data`) and
-- its own counts (`broker_data_newly_lost`). Any two brokers: pairs that share a partition, and single brokers.
-- `quorum_survives_any_broker` is null with ZooKeeper or unknown voters. `restartable`: all live brokers have a place in a rolling restart.
-- `leader_skew` and `byte_skew` are the largest ratio of a broker to the mean, `producer_skew_lower_bound` of a partition to the mean of its
-- topic, at least; `consumer_spread` is the largest difference in partitions between two members of a group.
-- Example: SELECT cluster_id, any_broker_writes, any_rack_writes, any_two_data FROM verdict WHERE latest
SELECT s.snapshot_id, s.cluster_id, {latest} AS latest,
       b.live_brokers, b.brokers,
       {survival_columns},
       q.quorum_survives_any_broker, r.restartable,
       b.leader_skew, b.byte_skew, p.producer_skew_lower_bound, g.consumer_spread,
       h.leaderless AS leaderless_now, h.under_min_isr AS under_min_isr_now,
       v.broken_rules, v.unknown_rules
FROM snapshot s
LEFT JOIN (SELECT snapshot_id, cluster_id, count(*) AS brokers, max(live_brokers) AS live_brokers,
                  max(leader_ratio) AS leader_skew, max(byte_ratio) AS byte_skew
           FROM broker_balance WHERE {is_latest} GROUP BY snapshot_id, cluster_id) b
       ON b.snapshot_id = s.snapshot_id AND b.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, sum(CASE WHEN live AND restart_order IS NULL THEN 1 ELSE 0 END) = 0 AS restartable
           FROM broker_restart WHERE {is_latest} GROUP BY snapshot_id, cluster_id) r
       ON r.snapshot_id = s.snapshot_id AND r.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id,
                  {survival_aggregates}
           FROM survival WHERE {is_latest} GROUP BY snapshot_id, cluster_id) f
       ON f.snapshot_id = s.snapshot_id AND f.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, bool_and(NOT quorum_lost) AS quorum_survives_any_broker
           FROM scenario WHERE {is_latest} AND {ONE_BROKER_KILLED} GROUP BY snapshot_id, cluster_id) q
       ON q.snapshot_id = s.snapshot_id AND q.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, max(skew_lower_bound) AS producer_skew_lower_bound FROM topic_load WHERE {is_latest} GROUP BY snapshot_id, cluster_id) p
       ON p.snapshot_id = s.snapshot_id AND p.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, max(max_partitions - min_partitions) AS consumer_spread
           FROM group_load WHERE {is_latest} AND group_id IS NOT NULL AND partitions > 0 GROUP BY snapshot_id, cluster_id) g
       ON g.snapshot_id = s.snapshot_id AND g.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, sum(CASE WHEN leaderless THEN 1 ELSE 0 END) AS leaderless,
                  sum(CASE WHEN under_min_isr THEN 1 ELSE 0 END) AS under_min_isr
           FROM partition_health WHERE {is_latest} GROUP BY snapshot_id, cluster_id) h
       ON h.snapshot_id = s.snapshot_id AND h.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, sum(CASE WHEN NOT success THEN 1 ELSE 0 END) AS broken_rules,
                  sum(CASE WHEN success IS NULL THEN 1 ELSE 0 END) AS unknown_rules
           FROM validation WHERE {is_latest} GROUP BY snapshot_id, cluster_id) v
       ON v.snapshot_id = s.snapshot_id AND v.cluster_id = s.cluster_id
WHERE s.latest = {latest}
