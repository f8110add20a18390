-- Partitions with everything that decides their elections when brokers die: the columns of jobs.failure.patterns.INPUTS. No list is null:
-- Spark's Arrow writer takes n * n steps for n null lists.
SELECT /*+ BROADCAST(r) */
       p.snapshot_id, p.cluster_id, p.topic, p.partition, p.leader, p.replicas, p.isr,
       coalesce(p.elr, slice(p.replicas, 1, 0)) AS elr, coalesce(p.last_known_elr, slice(p.replicas, 1, 0)) AS last_known_elr,
       coalesce(p.replica_size_bytes, slice(p.replicas, 1, 0)) AS replica_size_bytes,
       r.kraft, r.election_rules, r.oldest_election_rules, r.elr_enabled AND p.elr IS NOT NULL AS elr_enabled, r.quorum_breaking_brokers,
       r.min_isr_capped, r.oldest_min_isr_capped,
       t.replication_factor, coalesce(t.min_insync_replicas, 1) AS min_insync_replicas,
       coalesce(t.configs['unclean.leader.election.enable'] = 'true', false) AS topic_unclean,
       array_intersect(p.replicas, r.live_brokers) AS live
FROM {partition} p
JOIN {election_rules} r ON r.snapshot_id = p.snapshot_id AND r.cluster_id = p.cluster_id
LEFT JOIN {topic} t ON t.snapshot_id = p.snapshot_id AND t.cluster_id = p.cluster_id AND t.topic = p.topic
