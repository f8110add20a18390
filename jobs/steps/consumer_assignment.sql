-- What decides the assignments of a cluster's groups, in rows of three kinds: the members of each group (without a topic), the partitions that
-- each member has (with both), and the topics (without a group). A topic whose readers have a client.rack, or may have one, has a row for each
-- of its partitions. No list is null: Spark's Arrow writer takes n * n steps for n null lists.
WITH read_by_rack AS (
    SELECT DISTINCT snapshot_id, cluster_id, explode(topics) AS topic FROM {group_member} WHERE rack IS NOT NULL OR NOT rack_known
), located AS (
    SELECT snapshot_id, cluster_id, topic, partition, replicas FROM {partition} JOIN read_by_rack USING (snapshot_id, cluster_id, topic)
)
SELECT snapshot_id, cluster_id, group_id, member_id, topic, partition,
       NULL AS protocol, NULL AS assignor, NULL AS state,
       NULL AS group_instance_id, NULL AS rack, NULL AS rack_known, NULL AS topics_known, array_repeat('', 0) AS topics,
       NULL AS topic_id, NULL AS partitions, array_repeat(-1, 0) AS replicas
FROM {observed_assignment}
UNION ALL
SELECT m.snapshot_id, m.cluster_id, m.group_id, m.member_id, NULL, NULL,
       g.protocol, g.assignor, g.state,
       m.group_instance_id, m.rack, m.rack_known, m.topics IS NOT NULL, coalesce(m.topics, array_repeat('', 0)),
       NULL, NULL, array_repeat(-1, 0)
FROM {group_member} m
LEFT JOIN {consumer_group} g ON g.snapshot_id = m.snapshot_id AND g.cluster_id = m.cluster_id AND g.group_id = m.group_id
UNION ALL
SELECT t.snapshot_id, t.cluster_id, NULL, NULL, t.topic, l.partition,
       NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, array_repeat('', 0),
       t.topic_id, t.partitions, coalesce(l.replicas, array_repeat(-1, 0))
FROM {topic} t
LEFT JOIN located l ON l.snapshot_id = t.snapshot_id AND l.cluster_id = t.cluster_id AND l.topic = t.topic
