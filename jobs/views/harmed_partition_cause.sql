-- The partitions that a nightly failure harms and did not harm in the previous night, each with the change that explains it.
-- Example: SELECT scenario_id, topic, partition, cause FROM harmed_partition_cause WHERE latest
SELECT harmed.snapshot_id, harmed.cluster_id, harmed.scenario_id, harmed.topic, harmed.partition, {latest} AS latest,
       coalesce(substr(min(concat(
           CASE WHEN c.kind = 'partition added' THEN '1' WHEN c.kind LIKE 'replicas %' THEN '2' WHEN c.kind LIKE 'ISR %' THEN '3'
                WHEN c.kind = 'config changed' THEN '4' WHEN c.kind LIKE 'leader %' THEN '5' ELSE '6' END,
           c.kind, coalesce(' ' || c.name, ''), coalesce(': ' || c.cause, ''))), 2), 'brokers or configs changed') AS cause
FROM harmed_partition harmed
JOIN snapshot s ON s.snapshot_id = harmed.snapshot_id AND s.cluster_id = harmed.cluster_id AND s.previous_snapshot_id IS NOT NULL
LEFT JOIN (SELECT * FROM harmed_partition WHERE snapshot_id IN (SELECT previous_snapshot_id FROM snapshot WHERE {is_latest})) previous
       ON previous.snapshot_id = s.previous_snapshot_id AND previous.cluster_id = harmed.cluster_id
       AND previous.scenario_set = harmed.scenario_set AND previous.scenario_id = harmed.scenario_id
       AND previous.topic = harmed.topic AND previous.partition = harmed.partition
LEFT JOIN (SELECT * FROM change WHERE {is_latest}) c
       ON c.snapshot_id = harmed.snapshot_id AND c.cluster_id = harmed.cluster_id AND c.topic = harmed.topic
       AND (c.partition = harmed.partition OR (c.kind = 'config changed' AND c.name = 'min.insync.replicas'))
WHERE harmed.latest = {latest} AND harmed.scenario_set = 'nightly' AND previous.topic IS NULL
GROUP BY harmed.snapshot_id, harmed.cluster_id, harmed.scenario_id, harmed.topic, harmed.partition
