-- Partitions that differ, also in whether they exist, and those whose topic was recreated; with the brokers of their cluster that explain it.
SELECT cluster_id, topic, partition, topic_deleted, topic_created, topic_recreated, lost, returned, failed,
       n.leader, n.replicas, n.isr, n.elr, n.adding_replicas, n.removing_replicas, n.leader_recovering,
       p.leader AS previous_leader, p.replicas AS previous_replicas, p.isr AS previous_isr, p.elr AS previous_elr,
       p.adding_replicas AS previous_adding_replicas, p.removing_replicas AS previous_removing_replicas,
       p.leader_recovering AS previous_leader_recovering
FROM {partition} n
FULL JOIN {previous_partition} p USING (cluster_id, topic, partition)
JOIN (SELECT cluster_id, lost, returned, failed FROM {compared_cluster} WHERE topics_comparable) c USING (cluster_id)
LEFT JOIN (
    SELECT cluster_id, topic, n.snapshot_id IS NULL AS topic_deleted, p.snapshot_id IS NULL AS topic_created,
           n.topic_id <> p.topic_id AS topic_recreated
    FROM {topic} n
    FULL JOIN {previous_topic} p USING (cluster_id, topic)
) t USING (cluster_id, topic)
WHERE topic_recreated
      OR (n.leader, n.replicas, n.isr, n.elr, n.adding_replicas, n.removing_replicas, n.leader_recovering)
         IS DISTINCT FROM (p.leader, p.replicas, p.isr, p.elr, p.adding_replicas, p.removing_replicas, p.leader_recovering)
