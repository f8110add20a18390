-- Changes of topics and their configs.
WITH pair AS (
    SELECT cluster_id, topic, n.topic_id, n.partitions, n.replication_factor, n.configs,
           p.topic_id AS previous_topic_id, p.partitions AS previous_partitions, p.replication_factor AS previous_replication_factor,
           p.configs AS previous_configs, coalesce(n.topic_id <> p.topic_id, false) AS recreated, configs_comparable
    FROM {topic} n
    FULL JOIN {previous_topic} p USING (cluster_id, topic)
    JOIN (SELECT cluster_id, configs_comparable FROM {compared_cluster} WHERE topics_comparable) c USING (cluster_id)
), same AS (
    SELECT * FROM pair WHERE partitions IS NOT NULL AND previous_partitions IS NOT NULL AND NOT recreated
), config AS (
    SELECT *, explode(array_distinct(map_keys(configs) || map_keys(previous_configs))) AS name FROM same
)
SELECT cluster_id, topic, 'topic created' AS kind, CAST(NULL AS STRING) AS name, CAST(NULL AS STRING) AS value_before,
       partitions || ' partitions, replication factor ' || replication_factor AS value_after,
       CASE WHEN recreated THEN 'recreated: its topic id was ' || previous_topic_id END AS cause
FROM pair WHERE previous_partitions IS NULL OR recreated
UNION ALL
SELECT cluster_id, topic, 'topic deleted', NULL,
       previous_partitions || ' partitions, replication factor ' || previous_replication_factor, NULL, NULL
FROM pair WHERE partitions IS NULL OR recreated
UNION ALL
SELECT cluster_id, topic, CASE WHEN partitions > previous_partitions THEN 'partitions added' ELSE 'partitions removed' END, NULL,
       CAST(previous_partitions AS STRING), CAST(partitions AS STRING), NULL
FROM same WHERE partitions <> previous_partitions
UNION ALL
SELECT cluster_id, topic, 'replication factor changed', NULL,
       CAST(previous_replication_factor AS STRING), CAST(replication_factor AS STRING), NULL
FROM same WHERE replication_factor <> previous_replication_factor
UNION ALL
SELECT cluster_id, topic, 'config changed', name, previous_configs[name], configs[name], NULL
FROM config
WHERE configs[name] IS DISTINCT FROM previous_configs[name]
      AND (configs_comparable OR (configs[name] IS NOT NULL AND previous_configs[name] IS NOT NULL))
