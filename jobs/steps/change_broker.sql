-- Changes of brokers and their log dirs.
WITH pair AS (
    SELECT cluster_id, broker_id, n.snapshot_id IS NOT NULL AS known, p.snapshot_id IS NOT NULL AS was_known,
           coalesce(n.live, false) AS live, coalesce(p.live, false) AS was_live, n.rack, p.rack AS previous_rack, racks_comparable
    FROM {broker} n
    FULL JOIN {previous_broker} p USING (cluster_id, broker_id)
    JOIN (SELECT cluster_id, racks_comparable FROM {compared_cluster}) c USING (cluster_id)
)
SELECT cluster_id, broker_id, CASE WHEN known THEN 'broker added' ELSE 'broker removed' END AS kind,
       CAST(NULL AS STRING) AS name, CAST(NULL AS STRING) AS value_before, CAST(NULL AS STRING) AS value_after
FROM pair WHERE known <> was_known
UNION ALL
SELECT cluster_id, broker_id, CASE WHEN live THEN 'broker returned' ELSE 'broker lost' END, NULL, NULL, NULL
FROM pair WHERE was_known AND live <> was_live
UNION ALL
SELECT cluster_id, broker_id, 'rack changed', NULL, previous_rack, rack
FROM pair WHERE known AND was_known AND racks_comparable AND rack IS DISTINCT FROM previous_rack
UNION ALL
SELECT cluster_id, broker_id, CASE WHEN n.error IS NULL THEN 'log dir works again' ELSE 'log dir failed' END, log_dir, p.error, n.error
FROM {log_dir} n
LEFT JOIN {previous_log_dir} p USING (cluster_id, broker_id, log_dir)
JOIN (SELECT cluster_id FROM {compared_cluster}) c USING (cluster_id)
WHERE (n.error IS NULL) <> (p.error IS NULL)
