-- What the counts of scenarios need of each outcome. Equal outcomes have the same id in all clusters.
SELECT DISTINCT outcome_id, survivors, live_replicas_before, live_replicas, under_min_isr, at_min_isr, metadata_records, {HARMS},
       {LEADER_MOVED} AS leader_moved, leader IS NULL AS leaderless, unclean AND leader IS NOT NULL AS unclean_leader,
       leader IS DISTINCT FROM leader_before OR array_sort(isr) <> isr_before AS changed, size(transitions) AS transitions,
       coalesce(size(order_dependent_columns), 0) > 0 AS order_dependent,
       -- The batches of requests of a ZooKeeper controller that the partition is part of, if one broker fails. A controlled shutdown hands over
       -- the leaders and removes the broker from the ISR of the other partitions.
       election = 'controlled-shutdown' AS handed_over,
       assigned_replicas > 1 AND NOT coalesce(array_contains(dying, leader_before), false) AS followed,
       {LEADER_MOVED} AND election <> 'controlled-shutdown' AS elected
FROM {failover_pattern}
