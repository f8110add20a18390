-- The topics with partitions, numbered: a number replaces the name of a topic in joins of millions of rows.
WITH existing AS (
    SELECT snapshot_id, cluster_id, topic, count(*) AS partitions, count(leader) AS available_partitions,
           min(partition) AS first, max(partition) AS last
    FROM {partition}
    GROUP BY snapshot_id, cluster_id, topic
), configured AS (
    SELECT e.snapshot_id, e.cluster_id, e.topic, e.partitions, e.available_partitions, e.first, e.last,
           CASE WHEN t.partitions < 1 THEN 1 ELSE t.partitions END AS partition_count, t.topic_id, p.topic_id AS previous_topic_id,
           -- The leaders store every record from the start to the end of their logs: compaction deletes some, tiered storage moves some away.
           t.topic IS NOT NULL AND NOT contains(coalesce(t.configs['cleanup.policy'], 'delete'), 'compact')
           AND coalesce(t.configs['remote.storage.enable'], 'false') <> 'true' AS logs_are_complete,
           CASE WHEN e.available_partitions > 0 THEN e.available_partitions ELSE e.partitions END AS taking_partitions
    FROM existing e
    LEFT JOIN {topic} t ON t.snapshot_id = e.snapshot_id AND t.cluster_id = e.cluster_id AND t.topic = e.topic
    LEFT JOIN {previous_topic} p ON p.cluster_id = e.cluster_id AND p.topic = e.topic
)
SELECT snapshot_id, cluster_id, topic, CAST(row_number() OVER (ORDER BY snapshot_id, cluster_id, topic) AS INT) AS number,
       partition_count,  -- what `topic` reports
       available_partitions,
       taking_partitions,  -- take records without a key: the available partitions, or all if none is
       taking_partitions - c.start % taking_partitions AS first_turn,  -- of these
       -- The partitions have no gaps in their numbers, and all or none of them are available.
       first = 0 AND last = partitions - 1 AND available_partitions IN (0, partitions) AS turns_are_numbers,
       topic_id IS NULL OR previous_topic_id IS NULL OR topic_id = previous_topic_id AS same_topic,
       logs_are_complete
FROM configured
CROSS JOIN {counter} c
