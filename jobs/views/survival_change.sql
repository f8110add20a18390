-- The nightly failures and pairs that are newly fatal, newly safe, worse or better than in the previous night, and what explains it.
-- Worse: more partitions lose data; if equally many, more go offline; if equally many, more refuse acks=all.
-- Example: SELECT cluster_id, scenario_id, change, cause FROM survival_change WHERE latest
SELECT n.snapshot_id, s.previous_snapshot_id, n.cluster_id, n.scenario_id, {latest} AS latest,
       CASE WHEN coalesce(o.newly_lost + o.newly_offline + o.newly_refusing_acks_all, 0) = 0 THEN 'newly fatal'
            WHEN n.newly_lost + n.newly_offline + n.newly_refusing_acks_all = 0 THEN 'newly safe'
            WHEN (n.newly_lost, n.newly_offline, n.newly_refusing_acks_all) > (o.newly_lost, o.newly_offline, o.newly_refusing_acks_all)
            THEN 'worse' ELSE 'better' END AS change,
       n.newly_offline - coalesce(o.newly_offline, 0) AS offline_change,
       n.newly_refusing_acks_all - coalesce(o.newly_refusing_acks_all, 0) AS refusing_acks_all_change,
       n.newly_lost - coalesce(o.newly_lost, 0) AS lost_change,
       c.cause
FROM harm n
JOIN snapshot s ON s.snapshot_id = n.snapshot_id AND s.cluster_id = n.cluster_id AND s.previous_snapshot_id IS NOT NULL
LEFT JOIN (SELECT * FROM harm WHERE snapshot_id IN (SELECT previous_snapshot_id FROM snapshot WHERE {is_latest})) o
       ON o.snapshot_id = s.previous_snapshot_id AND o.cluster_id = n.cluster_id AND o.scenario_id = n.scenario_id
LEFT JOIN (SELECT snapshot_id, cluster_id, scenario_id, max(cause) AS cause FROM harmed_partition_cause WHERE {is_latest}
           GROUP BY snapshot_id, cluster_id, scenario_id) c
       ON c.snapshot_id = n.snapshot_id AND c.cluster_id = n.cluster_id AND c.scenario_id = n.scenario_id
WHERE n.latest = {latest} AND (n.newly_lost <> coalesce(o.newly_lost, 0) OR n.newly_offline <> coalesce(o.newly_offline, 0)
      OR n.newly_refusing_acks_all <> coalesce(o.newly_refusing_acks_all, 0))
