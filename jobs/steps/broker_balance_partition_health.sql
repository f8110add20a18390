-- The rows of `partition_health`: the partitions with at least one problem, and the values that each problem is measured by.
WITH configured AS (
    SELECT p.snapshot_id, p.cluster_id, p.topic, p.partition, p.leader, p.replicas, p.isr,
           size(p.replicas) - size(coalesce(p.adding_replicas, slice(p.replicas, 1, 0))) AS settled_replicas,
           t.replication_factor, coalesce(t.min_insync_replicas, 1) AS min_insync_replicas,
           r.min_isr_capped, r.live, r.rack_of, r.all_racks_known, r.racks
    FROM {partition} p
    LEFT JOIN {topic} t ON t.snapshot_id = p.snapshot_id AND t.cluster_id = p.cluster_id AND t.topic = p.topic
    LEFT JOIN {cluster_brokers} r ON r.snapshot_id = p.snapshot_id AND r.cluster_id = p.cluster_id
), measured AS (
    SELECT *, leader IS NOT NULL AND array_contains(live, leader) AS led, {EFFECTIVE_MIN_ISR} AS effective_min_isr,
           size(array_distinct(transform(replicas, broker_id -> coalesce(rack_of[broker_id], '')))) AS racks_used
    FROM configured
), problem AS (
    SELECT *,
           NOT led AS leaderless,
           size(isr) < settled_replicas AS under_replicated,
           NOT led OR size(isr) < effective_min_isr AS under_min_isr,
           led AND size(isr) = effective_min_isr AND size(replicas) > 1 AS at_min_isr,
           led AND leader <> get(replicas, 0) AS not_preferred,
           size(array_except(isr, replicas)) > 0 AS non_replica_in_isr,
           size(array_except(replicas, live)) > 0 AS unknown_broker,
           CASE WHEN all_racks_known THEN racks_used < least(size(replicas), racks) END AS rack_unsafe,
           size(replicas) <= min_insync_replicas AS no_tolerance,
           settled_replicas <> replication_factor AS replication_factor_mismatch,
           size(replicas) < min_insync_replicas AS min_isr_above_replicas
    FROM measured
)
SELECT snapshot_id, cluster_id, topic, partition,
       leaderless, under_replicated, under_min_isr, at_min_isr, not_preferred, non_replica_in_isr, unknown_broker, rack_unsafe,
       no_tolerance, replication_factor_mismatch, min_isr_above_replicas,
       get(replicas, 0) AS preferred_leader, size(replicas) AS assigned_replicas, settled_replicas, size(isr) AS in_sync_replicas,
       min_insync_replicas, effective_min_isr, replication_factor, array_except(replicas, isr) AS lagging_replicas
FROM problem
WHERE leaderless OR under_replicated OR under_min_isr OR at_min_isr OR not_preferred OR non_replica_in_isr OR unknown_broker OR rack_unsafe
      OR no_tolerance OR replication_factor_mismatch OR min_isr_above_replicas
