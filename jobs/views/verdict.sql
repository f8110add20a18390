-- The rows of the table `verdict`: what each cluster of `snapshot` survives, how even it is and how many rules it breaks. Any two brokers: pairs
-- that share a partition, and single brokers.
SELECT s.snapshot_id, s.cluster_id, b.live_brokers, b.brokers,
       {survival_columns},
       q.quorum_survives_any_broker, r.restartable,
       b.leader_skew, b.byte_skew, p.producer_skew_lower_bound, g.consumer_spread,
       h.leaderless AS leaderless_now, h.under_min_isr AS under_min_isr_now,
       v.broken_rules, v.unknown_rules
FROM snapshot s
LEFT JOIN (SELECT snapshot_id, cluster_id, count(*) AS brokers, max(live_brokers) AS live_brokers,
                  max(leader_ratio) AS leader_skew, max(byte_ratio) AS byte_skew
           FROM broker_balance GROUP BY snapshot_id, cluster_id) b
       ON b.snapshot_id = s.snapshot_id AND b.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, count_if(live AND restart_order IS NULL) = 0 AS restartable
           FROM broker_restart GROUP BY snapshot_id, cluster_id) r
       ON r.snapshot_id = s.snapshot_id AND r.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id,
                  {survival_aggregates}
           FROM survival GROUP BY snapshot_id, cluster_id) f
       ON f.snapshot_id = s.snapshot_id AND f.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, bool_and(NOT quorum_lost) AS quorum_survives_any_broker
           FROM scenario WHERE {ONE_BROKER_KILLED} GROUP BY snapshot_id, cluster_id) q
       ON q.snapshot_id = s.snapshot_id AND q.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, max(skew_lower_bound) AS producer_skew_lower_bound FROM topic_load GROUP BY snapshot_id, cluster_id) p
       ON p.snapshot_id = s.snapshot_id AND p.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, max(max_partitions - min_partitions) AS consumer_spread
           FROM group_load WHERE group_id IS NOT NULL AND partitions > 0 GROUP BY snapshot_id, cluster_id) g
       ON g.snapshot_id = s.snapshot_id AND g.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, count_if(leaderless) AS leaderless, count_if(under_min_isr) AS under_min_isr
           FROM partition_health GROUP BY snapshot_id, cluster_id) h
       ON h.snapshot_id = s.snapshot_id AND h.cluster_id = s.cluster_id
LEFT JOIN (SELECT snapshot_id, cluster_id, count_if(NOT success) AS broken_rules, count_if(success IS NULL) AS unknown_rules
           FROM validation GROUP BY snapshot_id, cluster_id) v
       ON v.snapshot_id = s.snapshot_id AND v.cluster_id = s.cluster_id
