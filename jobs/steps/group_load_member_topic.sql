-- What each member of a consumer group reads of each topic; `topic` is null for a member that reads nothing. The load of a partition is what
-- producers sent to it: the growth since the previous snapshot, otherwise the sample. A sum is null if one of its values is unknown.
-- `located_...`: of partitions where the racks of the member and of the leader are known.
WITH assigned AS (
    SELECT a.snapshot_id, a.cluster_id, a.group_id, a.member_id, a.topic, p.isr, r.rack_of, r.rack_of[p.leader] AS leader_rack,
           coalesce(l.observed_records, l.records) AS sent_records, coalesce(l.observed_size_bytes, l.size_bytes) AS sent_bytes
    FROM {observed_assignment} a
    LEFT JOIN {producer_load} l
         ON l.snapshot_id = a.snapshot_id AND l.cluster_id = a.cluster_id AND l.topic = a.topic AND l.partition = a.partition
    LEFT JOIN {partition} p
         ON p.snapshot_id = a.snapshot_id AND p.cluster_id = a.cluster_id AND p.topic = a.topic AND p.partition = a.partition
    LEFT JOIN {cluster_brokers} r ON r.snapshot_id = a.snapshot_id AND r.cluster_id = a.cluster_id
), located AS (
    SELECT m.snapshot_id, m.cluster_id, m.group_id, m.member_id, coalesce(m.host, m.member_id) AS host, topic, sent_records, sent_bytes,
           rack IS NOT NULL AND leader_rack IS NOT NULL AS is_located, coalesce(rack <> leader_rack, false) AS crosses_racks,
           coalesce(array_contains(transform(isr, broker_id -> coalesce(rack_of[broker_id], '')), rack), false) AS has_local_replica
    FROM {group_member} m
    LEFT JOIN assigned a
         ON a.snapshot_id = m.snapshot_id AND a.cluster_id = m.cluster_id AND a.group_id = m.group_id AND a.member_id = m.member_id
)
SELECT snapshot_id, cluster_id, group_id, member_id, host, topic,
       count(topic) AS partitions,
       CASE WHEN count(sent_records) = count(topic) THEN coalesce(sum(sent_records), 0) END AS records,
       CASE WHEN count(sent_bytes) = count(topic) THEN coalesce(sum(sent_bytes), 0) END AS size_bytes,
       count_if(is_located) AS located_partitions,
       CASE WHEN count_if(is_located AND sent_bytes IS NULL) = 0
            THEN coalesce(sum(CASE WHEN is_located THEN sent_bytes END), 0) END AS located_size_bytes,
       count_if(crosses_racks) AS cross_rack_partitions,
       CASE WHEN count_if(crosses_racks AND sent_bytes IS NULL) = 0
            THEN coalesce(sum(CASE WHEN crosses_racks THEN sent_bytes END), 0) END AS cross_rack_size_bytes,
       CASE WHEN count_if(crosses_racks AND has_local_replica AND sent_bytes IS NULL) = 0
            THEN coalesce(sum(CASE WHEN crosses_racks AND has_local_replica THEN sent_bytes END), 0) END AS local_replica_size_bytes
FROM located
GROUP BY snapshot_id, cluster_id, group_id, member_id, host, topic
