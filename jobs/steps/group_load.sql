-- The rows of `group_load`: one for each group and its members, and one for each cluster and the hosts of all its groups.
WITH member AS (
    SELECT snapshot_id, cluster_id, group_id, member_id, host,
           CASE WHEN count(partitions) = count(*) THEN CAST(sum(partitions) AS BIGINT) END AS partitions,
           CASE WHEN count(records) = count(*) THEN CAST(sum(records) AS BIGINT) END AS records,
           CASE WHEN count(size_bytes) = count(*) THEN CAST(sum(size_bytes) AS BIGINT) END AS size_bytes,
           CASE WHEN count(located_partitions) = count(*) THEN CAST(sum(located_partitions) AS BIGINT) END AS located_partitions,
           CASE WHEN count(located_size_bytes) = count(*) THEN CAST(sum(located_size_bytes) AS BIGINT) END AS located_size_bytes,
           CASE WHEN count(cross_rack_partitions) = count(*) THEN CAST(sum(cross_rack_partitions) AS BIGINT) END AS cross_rack_partitions,
           CASE WHEN count(cross_rack_size_bytes) = count(*) THEN CAST(sum(cross_rack_size_bytes) AS BIGINT) END AS cross_rack_size_bytes,
           CASE WHEN count(local_replica_size_bytes) = count(*) THEN CAST(sum(local_replica_size_bytes) AS BIGINT) END AS local_replica_size_bytes
    FROM {member_topic}
    GROUP BY snapshot_id, cluster_id, group_id, member_id, host
), host AS (
    SELECT snapshot_id, cluster_id, host,
           CASE WHEN count(partitions) = count(*) THEN CAST(sum(partitions) AS BIGINT) END AS partitions,
           CASE WHEN count(records) = count(*) THEN CAST(sum(records) AS BIGINT) END AS records,
           CASE WHEN count(size_bytes) = count(*) THEN CAST(sum(size_bytes) AS BIGINT) END AS size_bytes,
           CASE WHEN count(located_partitions) = count(*) THEN CAST(sum(located_partitions) AS BIGINT) END AS located_partitions,
           CASE WHEN count(located_size_bytes) = count(*) THEN CAST(sum(located_size_bytes) AS BIGINT) END AS located_size_bytes,
           CASE WHEN count(cross_rack_partitions) = count(*) THEN CAST(sum(cross_rack_partitions) AS BIGINT) END AS cross_rack_partitions,
           CASE WHEN count(cross_rack_size_bytes) = count(*) THEN CAST(sum(cross_rack_size_bytes) AS BIGINT) END AS cross_rack_size_bytes,
           CASE WHEN count(local_replica_size_bytes) = count(*) THEN CAST(sum(local_replica_size_bytes) AS BIGINT) END AS local_replica_size_bytes
    FROM member
    GROUP BY snapshot_id, cluster_id, host
), reader AS (
    SELECT snapshot_id, cluster_id, group_id, member_id AS reader, partitions, records, size_bytes, located_partitions,
           located_size_bytes, cross_rack_partitions, cross_rack_size_bytes, local_replica_size_bytes
    FROM member
    UNION ALL
    SELECT snapshot_id, cluster_id, CAST(NULL AS STRING), host, partitions, records, size_bytes, located_partitions,
           located_size_bytes, cross_rack_partitions, cross_rack_size_bytes, local_replica_size_bytes
    FROM host
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY snapshot_id, cluster_id, group_id
                                 ORDER BY size_bytes DESC NULLS LAST, records DESC NULLS LAST, partitions DESC, reader DESC) AS load_rank
    FROM reader
), total AS (
    SELECT snapshot_id, cluster_id, group_id, count(*) AS members, count_if(partitions = 0) AS idle_members,
           max(partitions) AS max_partitions, min(partitions) AS min_partitions,
           -- The standard deviation over the mean, from exact sums: those of doubles depend on the order of rows.
           CASE WHEN sum(partitions) > 0 THEN
               sqrt(CAST(sum(CAST(partitions AS DECIMAL(19, 0)) * partitions) * count(*) - sum(CAST(partitions AS DECIMAL(19, 0))) * sum(partitions)
                         AS DOUBLE)) / CAST(sum(partitions) AS DOUBLE) END AS partition_cv,
           max(CASE WHEN load_rank = 1 THEN reader END) AS busiest_member,
           CASE WHEN count(records) = count(*) AND sum(records) > 0 THEN max(records) / avg(records) END AS record_ratio,
           CASE WHEN count(size_bytes) = count(*) AND sum(size_bytes) > 0 THEN max(size_bytes) / avg(size_bytes) END AS byte_ratio,
           CASE WHEN count(partitions) = count(*) THEN CAST(sum(partitions) AS BIGINT) END AS total_partitions,
           CASE WHEN count(records) = count(*) THEN CAST(sum(records) AS BIGINT) END AS total_records,
           CASE WHEN count(size_bytes) = count(*) THEN CAST(sum(size_bytes) AS BIGINT) END AS total_size_bytes,
           CASE WHEN count(located_partitions) = count(*) THEN CAST(sum(located_partitions) AS BIGINT) END AS total_located_partitions,
           CASE WHEN count(located_size_bytes) = count(*) THEN CAST(sum(located_size_bytes) AS BIGINT) END AS total_located_size_bytes,
           CASE WHEN count(cross_rack_partitions) = count(*) THEN CAST(sum(cross_rack_partitions) AS BIGINT) END AS total_cross_rack_partitions,
           CASE WHEN count(cross_rack_size_bytes) = count(*) THEN CAST(sum(cross_rack_size_bytes) AS BIGINT) END AS total_cross_rack_size_bytes,
           CASE WHEN count(local_replica_size_bytes) = count(*) THEN CAST(sum(local_replica_size_bytes) AS BIGINT) END AS total_local_replica_size_bytes
    FROM ranked
    GROUP BY snapshot_id, cluster_id, group_id
), topic_count AS (
    SELECT snapshot_id, cluster_id, group_id, count(DISTINCT topic) AS topics FROM {member_topic} GROUP BY snapshot_id, cluster_id, group_id
    UNION ALL
    SELECT snapshot_id, cluster_id, CAST(NULL AS STRING), count(DISTINCT topic) FROM {member_topic} GROUP BY snapshot_id, cluster_id
)
SELECT t.snapshot_id, t.cluster_id, t.group_id, members, idle_members, topics, total_partitions AS partitions, max_partitions, min_partitions,
       partition_cv, busiest_member, total_records AS records, record_ratio, total_size_bytes AS size_bytes, byte_ratio,
       CASE WHEN total_located_partitions > 0 THEN total_cross_rack_partitions END AS cross_rack_partitions,
       CASE WHEN total_located_partitions > 0 THEN total_cross_rack_size_bytes END AS cross_rack_size_bytes,
       CASE WHEN total_located_partitions > 0 THEN total_local_replica_size_bytes END AS local_replica_size_bytes,
       CASE WHEN total_located_partitions > 0 AND total_located_size_bytes > 0
            THEN total_cross_rack_size_bytes / total_located_size_bytes END AS cross_rack_share,
       CASE WHEN total_located_partitions > 0 AND total_located_size_bytes > 0
            THEN total_local_replica_size_bytes / total_located_size_bytes END AS avoidable_share
FROM total t
JOIN topic_count c ON c.snapshot_id = t.snapshot_id AND c.cluster_id = t.cluster_id
     AND (c.group_id = t.group_id OR c.group_id IS NULL AND t.group_id IS NULL)
