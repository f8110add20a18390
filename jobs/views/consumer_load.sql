-- The partitions that the dumps assign to each member of a group, and the records and bytes that producers sent to them (sampled, and
-- growth since the previous night). Members without a partition have a row too; members of a share group may share partitions.
-- Example: SELECT host, sum(partitions), sum(observed_records) FROM consumer_load WHERE latest GROUP BY host
SELECT m.snapshot_id, m.cluster_id, m.group_id, m.member_id, m.client_id, m.host, count(a.topic) AS partitions,
       sum(l.records) AS records, sum(l.size_bytes) AS size_bytes, sum(l.observed_records) AS observed_records,
       sum(l.observed_size_bytes) AS observed_size_bytes, {latest} AS latest
FROM group_member m
LEFT JOIN (SELECT * FROM observed_assignment WHERE {is_latest}) a
       ON a.snapshot_id = m.snapshot_id AND a.cluster_id = m.cluster_id AND a.group_id = m.group_id AND a.member_id = m.member_id
LEFT JOIN (SELECT * FROM producer_load WHERE {is_latest}) l
       ON l.snapshot_id = m.snapshot_id AND l.cluster_id = m.cluster_id AND l.topic = a.topic AND l.partition = a.partition
WHERE m.latest = {latest}
GROUP BY m.snapshot_id, m.cluster_id, m.group_id, m.member_id, m.client_id, m.host
