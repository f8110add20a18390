-- The number of other live brokers that share a partition with a broker. They take over its load if it dies. More of them spread the load
-- better, but also make more pairs of brokers whose death can lose data.
-- Example: SELECT broker_id, scatter_width FROM scatter_width WHERE latest
SELECT snapshot_id, cluster_id, broker_id, count(*) AS scatter_width, sum(shared_partitions) AS shared_partitions, latest
FROM (
    SELECT snapshot_id, cluster_id, broker_id, shared_partitions, latest FROM broker_pair
    UNION ALL SELECT snapshot_id, cluster_id, other_broker_id, shared_partitions, latest FROM broker_pair
) AS pairs
GROUP BY snapshot_id, cluster_id, broker_id, latest
