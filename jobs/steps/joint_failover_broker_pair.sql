-- The rows of `broker_pair`: what the deaths of two brokers do, both together.
WITH alone AS (
    SELECT snapshot_id, cluster_id, get(brokers, 0) AS broker_id, newly_offline, newly_refusing_acks_all, newly_lost
    FROM {scenario} WHERE {ONE_BROKER_KILLED}
)
SELECT p.snapshot_id, p.cluster_id, p.broker_id, p.other_broker_id, p.shared_partitions,
       p.newly_offline + one.newly_offline + other.newly_offline AS newly_offline,
       p.newly_refusing_acks_all + one.newly_refusing_acks_all + other.newly_refusing_acks_all AS newly_refusing_acks_all,
       p.newly_lost + one.newly_lost + other.newly_lost AS newly_lost,
       false AS order_dependent
FROM {joint_count} p
JOIN alone one ON one.snapshot_id = p.snapshot_id AND one.cluster_id = p.cluster_id AND one.broker_id = p.broker_id
JOIN alone other ON other.snapshot_id = p.snapshot_id AND other.cluster_id = p.cluster_id AND other.broker_id = p.other_broker_id
ANTI JOIN {quorum_count} q
     ON q.snapshot_id = p.snapshot_id AND q.cluster_id = p.cluster_id AND q.broker_id = p.broker_id AND q.other_broker_id = p.other_broker_id
UNION ALL
SELECT p.snapshot_id, p.cluster_id, p.broker_id, p.other_broker_id, p.shared_partitions,
       p.newly_offline, p.newly_refusing_acks_all, p.newly_lost,
       (p.newly_offline, p.newly_refusing_acks_all, p.newly_lost) <> (q.newly_offline, q.newly_refusing_acks_all, q.newly_lost)
FROM {quorum_count} p
JOIN {quorum_count} q
     ON q.snapshot_id = p.snapshot_id AND q.cluster_id = p.cluster_id AND q.broker_id = p.other_broker_id AND q.other_broker_id = p.broker_id
WHERE p.broker_id < p.other_broker_id
