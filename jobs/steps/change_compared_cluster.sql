-- Clusters with both snapshots. Entities of a kind are added or removed only if <kind>_comparable. lost, returned and failed are the brokers that
-- were lost, that returned, and with a log dir that failed since the previous snapshot; null or empty: none.
SELECT n.snapshot_id, n.cluster_id, p.snapshot_id AS previous_snapshot_id, b.lost, b.returned, l.failed,
       n.sources = p.sources OR t.cluster_id IS NOT NULL AS topics_comparable,
       n.sources = p.sources OR g.cluster_id IS NOT NULL AS groups_comparable,
       n.sources = p.sources OR m.cluster_id IS NOT NULL AS members_comparable,
       n.sources = p.sources OR coalesce(b.racks_reported, false) AS racks_comparable,
       array_intersect(n.sources, {CONFIG_SOURCES}) = array_intersect(p.sources, {CONFIG_SOURCES}) AS configs_comparable
FROM {cluster} n
JOIN {previous_cluster} p ON p.cluster_id = n.cluster_id
LEFT JOIN (
    SELECT cluster_id, array_agg(broker_id) FILTER (WHERE p.live AND NOT coalesce(n.live, false)) AS lost,
           array_agg(broker_id) FILTER (WHERE n.live AND NOT p.live) AS returned, count(n.rack) > 0 AND count(p.rack) > 0 AS racks_reported
    FROM {broker} n
    FULL JOIN {previous_broker} p USING (cluster_id, broker_id)
    GROUP BY cluster_id
) b ON b.cluster_id = n.cluster_id
LEFT JOIN (
    SELECT cluster_id, array_agg(DISTINCT broker_id) AS failed
    FROM {log_dir} n
    LEFT JOIN {previous_log_dir} p USING (cluster_id, broker_id, log_dir)
    WHERE n.error IS NOT NULL AND p.error IS NULL
    GROUP BY cluster_id
) l ON l.cluster_id = n.cluster_id
LEFT JOIN (SELECT cluster_id FROM {topic} INTERSECT SELECT cluster_id FROM {previous_topic}) t ON t.cluster_id = n.cluster_id
LEFT JOIN (SELECT cluster_id FROM {consumer_group} INTERSECT SELECT cluster_id FROM {previous_consumer_group}) g
     ON g.cluster_id = n.cluster_id
LEFT JOIN (SELECT cluster_id FROM {group_member} INTERSECT SELECT cluster_id FROM {previous_group_member}) m
     ON m.cluster_id = n.cluster_id
