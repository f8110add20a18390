-- Changes of clusters and their sources.
WITH pair AS (
    SELECT cluster_id, n.controller, n.elr, n.kafka_version, n.sources,
           p.controller AS previous_controller, p.elr AS previous_elr, p.kafka_version AS previous_kafka_version, p.sources AS previous_sources,
           n.kafka_version_source <> 'assumed' AND p.kafka_version_source <> 'assumed' AS version_reported
    FROM {cluster} n
    JOIN {previous_cluster} p USING (cluster_id)
)
SELECT cluster_id, 'controller changed' AS kind, CAST(NULL AS STRING) AS name, previous_controller AS value_before, controller AS value_after
FROM pair WHERE controller <> previous_controller
UNION ALL
SELECT cluster_id, 'Kafka version changed', NULL, previous_kafka_version, kafka_version
FROM pair WHERE version_reported AND kafka_version <> previous_kafka_version
UNION ALL
SELECT cluster_id, CASE WHEN elr THEN 'ELR switched on' ELSE 'ELR switched off' END, NULL, NULL, NULL FROM pair WHERE elr <> previous_elr
UNION ALL
SELECT cluster_id, 'source appeared', explode(array_except(sources, previous_sources)), NULL, NULL FROM pair
UNION ALL
SELECT cluster_id, 'source gone', explode(array_except(previous_sources, sources)), NULL, NULL FROM pair
