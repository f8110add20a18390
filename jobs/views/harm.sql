-- What each nightly failure does, and what the death of two brokers that share a partition does: the number of partitions that newly go
-- offline, refuse acks=all or lose data. `brokers` names the brokers of a failure, `broker_id` and `other_broker_id` those of a pair.
-- Example: SELECT scenario_id, newly_lost, newly_offline FROM harm WHERE latest ORDER BY newly_lost DESC, newly_offline DESC LIMIT 5
SELECT snapshot_id, cluster_id, kind, scenario_id, brokers, CAST(NULL AS INT) AS broker_id, CAST(NULL AS INT) AS other_broker_id,
       newly_offline, newly_refusing_acks_all, newly_lost, latest
FROM scenario WHERE scenario_set = 'nightly'
UNION ALL
SELECT snapshot_id, cluster_id, 'pair', concat('brokers ', broker_id, '+', other_broker_id), NULL, broker_id, other_broker_id,
       newly_offline, newly_refusing_acks_all, newly_lost, latest
FROM broker_pair
