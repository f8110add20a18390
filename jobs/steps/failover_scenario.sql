-- The rows of `scenario`: each failure with the counts of its partitions, clients and records, and the survivors that gain the most. A count
-- is null if the cluster's input for it is missing.
WITH same_outcome AS (
    SELECT snapshot_id, cluster_id, scenario_set, scenario_id, outcome_id, count(*) AS partitions,
           sum(at_risk_size_bytes) AS at_risk_size_bytes, sum(at_risk_records) AS at_risk_records,
           count_if(at_risk_size_bytes IS NULL) AS at_risk_unknown
    FROM {failover}
    GROUP BY snapshot_id, cluster_id, scenario_set, scenario_id, outcome_id
), counted AS (
    SELECT snapshot_id, cluster_id, scenario_set, scenario_id AS failover_scenario_id,
           sum(partitions) AS partitions,
           sum(CASE WHEN leader_moved THEN partitions ELSE 0 END) AS moved_leaders,
           sum(CASE WHEN leaderless THEN partitions ELSE 0 END) AS leaderless,
           sum(CASE WHEN under_min_isr THEN partitions ELSE 0 END) AS under_min_isr,
           sum(CASE WHEN at_min_isr THEN partitions ELSE 0 END) AS at_min_isr,
           sum(CASE WHEN unclean_leader THEN partitions ELSE 0 END) AS unclean_leaders,
           sum(CASE WHEN live_replicas = 0 THEN partitions ELSE 0 END) AS no_replica_left,
           sum(CASE WHEN newly_offline THEN partitions ELSE 0 END) AS newly_offline,
           sum(CASE WHEN newly_refusing_acks_all THEN partitions ELSE 0 END) AS newly_refusing_acks_all,
           sum(CASE WHEN newly_lost THEN partitions ELSE 0 END) AS newly_lost,
           sum(CASE WHEN changed THEN partitions ELSE 0 END) AS changed_partitions,
           sum(partitions * transitions) AS transitions,
           sum(CASE WHEN order_dependent THEN partitions ELSE 0 END) AS order_dependent_partitions,
           sum(at_risk_size_bytes) AS at_risk_size_bytes, sum(at_risk_records) AS at_risk_records, sum(at_risk_unknown) AS at_risk_unknown,
           sum(partitions * metadata_records) AS partition_records,
           sum(CASE WHEN handed_over THEN partitions ELSE 0 END) AS handed_over,
           sum(CASE WHEN followed THEN partitions ELSE 0 END) AS followed,
           sum(CASE WHEN elected THEN partitions ELSE 0 END) AS elected
    FROM same_outcome JOIN {outcome} o USING (outcome_id)
    GROUP BY snapshot_id, cluster_id, scenario_set, scenario_id
), survivor AS (
    SELECT snapshot_id, cluster_id, scenario_set, scenario_id,
           max_by(broker_id, (gained_leaders, -broker_id)) AS busiest_survivor, max(gained_leaders) AS busiest_gained_leaders,
           max_by(broker_id, (network_out_share, -broker_id)) FILTER (WHERE network_out_share IS NOT NULL) AS fullest_survivor,
           max(network_out_share) AS fullest_survivor_share
    FROM {load}
    GROUP BY snapshot_id, cluster_id, scenario_set, scenario_id
), receiver AS (
    -- The brokers to which a ZooKeeper controller sends each batch of requests: the survivors of its partitions. The columnar form of
    -- kafka_model.election.zookeeper_controller; a test compares them.
    SELECT snapshot_id, cluster_id, scenario_set, scenario_id AS failover_scenario_id, count(*) AS affected_receivers,
           count_if(handed_over) AS handed_over_receivers, count_if(followed) AS followed_receivers, count_if(elected) AS elected_receivers
    FROM (
        SELECT snapshot_id, cluster_id, scenario_set, scenario_id, element_at(replicas, position) AS survivor,
               bool_or(handed_over) AS handed_over, bool_or(followed) AS followed, bool_or(elected) AS elected
        FROM (
            -- A semi join: DuckDB would join the failures with all partitions of their cluster first.
            SELECT /*+ BROADCAST(o) */
                   f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id, o.handed_over, o.followed, o.elected,
                   p.replicas, explode(o.survivors) AS position
            FROM {failover} f
            JOIN {outcome} o ON o.outcome_id = f.outcome_id
            JOIN {partition} p ON p.snapshot_id = f.snapshot_id AND p.cluster_id = f.cluster_id
                 AND p.topic = f.topic AND p.partition = f.partition
            WHERE (f.snapshot_id, f.cluster_id, f.scenario_set, f.scenario_id) IN (
                SELECT snapshot_id, cluster_id, scenario_set, scenario_id FROM {failure} WHERE requests_modeled
            )
        ) each_survivor
        GROUP BY snapshot_id, cluster_id, scenario_set, scenario_id, element_at(replicas, position)
    ) each_receiver
    GROUP BY snapshot_id, cluster_id, scenario_set, scenario_id
), coordinated AS (
    -- How many groups each partition of __consumer_offsets coordinates, whose leader is their coordinator (GroupCoordinatorService.partitionFor
    -- of 4.x, GroupMetadataManager.partitionFor before). A partition of __transaction_state counts itself.
    SELECT snapshot_id, cluster_id, '__consumer_offsets' AS topic, partition, count(*) AS coordinated
    FROM (SELECT snapshot_id, cluster_id, CAST(group_hash(group_id) % offsets_partitions AS INT) AS partition
          FROM {consumer_group}
          JOIN (SELECT snapshot_id, cluster_id, count(*) AS offsets_partitions
                FROM {partition} WHERE topic = '__consumer_offsets' GROUP BY snapshot_id, cluster_id) offsets USING (snapshot_id, cluster_id)
         ) coordinated_group
    GROUP BY snapshot_id, cluster_id, partition
    UNION ALL
    SELECT snapshot_id, cluster_id, topic, partition, 1 FROM {partition} WHERE topic = '__transaction_state'
), coordinator AS (
    SELECT snapshot_id, cluster_id, scenario_set, failover_scenario_id,
           sum(CASE WHEN topic = '__consumer_offsets' AND {LEADER_MOVED} THEN coordinated END) AS moved_coordinators,
           sum(CASE WHEN topic = '__consumer_offsets' AND leader IS NULL THEN coordinated END) AS lost_coordinators,
           sum(CASE WHEN topic = '__transaction_state' AND {LEADER_MOVED} THEN coordinated END) AS moved_transaction_coordinators,
           sum(CASE WHEN topic = '__transaction_state' AND leader IS NULL THEN coordinated END) AS lost_transaction_coordinators
    FROM (SELECT *, scenario_id AS failover_scenario_id FROM {failover} WHERE topic IN ('__consumer_offsets', '__transaction_state')) internal
    JOIN coordinated USING (snapshot_id, cluster_id, topic, partition)
    GROUP BY snapshot_id, cluster_id, scenario_set, failover_scenario_id
), known_coordinator AS (
    SELECT snapshot_id, cluster_id,
           bool_or(topic = '__consumer_offsets') AS coordinators_known, bool_or(topic = '__transaction_state') AS transactions_known
    FROM coordinated GROUP BY snapshot_id, cluster_id
), assigned AS (
    SELECT snapshot_id, cluster_id, topic, partition, group_id, member_id FROM {observed_assignment}
), reader AS (
    SELECT * FROM assigned
    UNION ALL
    SELECT snapshot_id, cluster_id, topic, partition, group_id, CAST(NULL AS STRING) FROM {committed_offset}
), lost_reader AS (
    SELECT snapshot_id, cluster_id, scenario_set, failover_scenario_id, group_id, member_id, count(*) AS lost_partitions
    FROM (SELECT *, scenario_id AS failover_scenario_id FROM {failover} WHERE newly_offline) offline
    JOIN reader USING (snapshot_id, cluster_id, topic, partition)
    GROUP BY snapshot_id, cluster_id, scenario_set, failover_scenario_id, group_id, member_id
), client AS (
    SELECT snapshot_id, cluster_id, scenario_set, failover_scenario_id,
           count(DISTINCT group_id) AS affected_groups, count_if(lost_partitions = assigned_partitions) AS stranded_members
    FROM lost_reader
    LEFT JOIN (SELECT snapshot_id, cluster_id, group_id, member_id, count(*) AS assigned_partitions
               FROM assigned GROUP BY snapshot_id, cluster_id, group_id, member_id) member
         USING (snapshot_id, cluster_id, group_id, member_id)
    GROUP BY snapshot_id, cluster_id, scenario_set, failover_scenario_id
), known_reader AS (
    SELECT snapshot_id, cluster_id, true AS readers_known, bool_or(member_id IS NOT NULL) AS members_known
    FROM reader GROUP BY snapshot_id, cluster_id
), sample AS (
    SELECT snapshot_id, cluster_id, topic, partition, records, size_bytes, keyed_records, explicit_records, unkeyed_records
    FROM {producer_load} WHERE records IS NOT NULL
), leaderless AS (
    SELECT snapshot_id, cluster_id, scenario_set, scenario_id AS failover_scenario_id, topic, partition, leader_before
    FROM {failover} WHERE leader IS NULL
), leaderless_topic AS (
    SELECT snapshot_id, cluster_id, scenario_set, failover_scenario_id, topic, true AS topic_leaderless
    FROM leaderless
    JOIN (SELECT snapshot_id, cluster_id, topic, partitions FROM {topic}) t USING (snapshot_id, cluster_id, topic)
    GROUP BY snapshot_id, cluster_id, scenario_set, failover_scenario_id, topic, partitions HAVING count(*) = partitions
), undeliverable AS (
    -- Records with a key or a given partition cannot be delivered while that partition has no leader. Records without a key go to the other
    -- partitions of the topic; if none of them has a leader, they cannot be delivered either.
    SELECT snapshot_id, cluster_id, scenario_set, failover_scenario_id, records, size_bytes,
           explicit_records + keyed_records + CASE WHEN topic_leaderless THEN unkeyed_records ELSE 0 END AS undeliverable,
           CASE WHEN topic_leaderless IS NULL AND leader_before IS NOT NULL THEN unkeyed_records ELSE 0 END AS redirected
    FROM leaderless
    JOIN sample USING (snapshot_id, cluster_id, topic, partition)
    LEFT JOIN leaderless_topic USING (snapshot_id, cluster_id, scenario_set, failover_scenario_id, topic)
), producer AS (
    SELECT snapshot_id, cluster_id, scenario_set, failover_scenario_id,
           sum(undeliverable) AS undeliverable_records, sum(redirected) AS redirected_records,
           sum(CASE WHEN records > 0 THEN CAST(round(size_bytes * (undeliverable / records)) AS BIGINT) END) AS undeliverable_size_bytes
    FROM undeliverable
    GROUP BY snapshot_id, cluster_id, scenario_set, failover_scenario_id
), known_sample AS (
    SELECT snapshot_id, cluster_id, sum(records) AS sampled_records FROM sample GROUP BY snapshot_id, cluster_id
)
SELECT snapshot_id, cluster_id, scenario_set, scenario_id, kind, brokers, racks, unclean, controlled_shutdown, log_dirs,
       controller_moves, quorum_lost, failover_scenario_id,
       coalesce(partitions, 0) AS partitions, coalesce(moved_leaders, 0) AS moved_leaders, coalesce(leaderless, 0) AS leaderless,
       coalesce(newly_offline, 0) AS newly_offline, coalesce(under_min_isr, 0) AS under_min_isr,
       coalesce(newly_refusing_acks_all, 0) AS newly_refusing_acks_all, coalesce(at_min_isr, 0) AS at_min_isr,
       coalesce(unclean_leaders, 0) AS unclean_leaders, coalesce(no_replica_left, 0) AS no_replica_left,
       coalesce(newly_lost, 0) AS newly_lost, coalesce(changed_partitions, 0) AS changed_partitions, coalesce(transitions, 0) AS transitions,
       coalesce(at_risk_size_bytes, 0) AS at_risk_size_bytes, coalesce(at_risk_records, 0) AS at_risk_records,
       coalesce(at_risk_unknown, 0) AS at_risk_unknown,
       CASE WHEN quorum_lost AND size(brokers) > 1 THEN NULL ELSE coalesce(order_dependent_partitions, 0) END AS order_dependent_partitions,
       busiest_survivor, coalesce(busiest_gained_leaders, 0) AS busiest_gained_leaders,
       CASE WHEN moved_leaders > 0 THEN coalesce(busiest_gained_leaders, 0) * surviving_brokers / moved_leaders END AS concentration,
       fullest_survivor, fullest_survivor_share,
       CASE WHEN coordinators_known THEN coalesce(moved_coordinators, 0) END AS moved_coordinators,
       CASE WHEN coordinators_known THEN coalesce(lost_coordinators, 0) END AS lost_coordinators,
       CASE WHEN transactions_known THEN coalesce(moved_transaction_coordinators, 0) END AS moved_transaction_coordinators,
       CASE WHEN transactions_known THEN coalesce(lost_transaction_coordinators, 0) END AS lost_transaction_coordinators,
       CASE WHEN readers_known THEN coalesce(affected_groups, 0) END AS affected_groups,
       CASE WHEN members_known THEN coalesce(stranded_members, 0) END AS stranded_members,
       CASE WHEN sampled_records IS NOT NULL THEN coalesce(undeliverable_records, 0) END AS undeliverable_records,
       CASE WHEN sampled_records IS NOT NULL THEN coalesce(undeliverable_size_bytes, 0) END AS undeliverable_size_bytes,
       CASE WHEN sampled_records IS NOT NULL THEN coalesce(redirected_records, 0) END AS redirected_records,
       CASE WHEN sampled_records > 0 THEN coalesce(undeliverable_records, 0) / sampled_records END AS undeliverable_share,
       CASE WHEN kraft THEN coalesce(partition_records, 0) + registration_records END AS metadata_records,
       -- Requests of a controlled shutdown, if there is one, and of the death of the broker.
       CASE WHEN requests_modeled THEN
           CASE WHEN controlled_shutdown AND handed_over > 0 THEN handed_over_receivers + 1 ELSE 0 END
           + CASE WHEN controlled_shutdown THEN coalesce(followed_receivers, 0) ELSE 0 END
           + coalesce(elected_receivers, 0) + coalesce(affected_receivers, 0) END AS leader_and_isr_requests,
       CAST(CASE WHEN requests_modeled THEN
           CASE WHEN controlled_shutdown AND handed_over > 0 THEN surviving_brokers + 1 ELSE 0 END
           + CASE WHEN controlled_shutdown AND followed > 0 THEN surviving_brokers + 1 ELSE 0 END
           + CASE WHEN elected > 0 THEN surviving_brokers ELSE 0 END + surviving_brokers END AS BIGINT) AS update_metadata_requests,
       CAST(CASE WHEN requests_modeled THEN CASE WHEN controlled_shutdown AND followed > 0 THEN 2 ELSE 0 END END AS BIGINT)
           AS stop_replica_requests
FROM {failure}
LEFT JOIN counted USING (snapshot_id, cluster_id, scenario_set, failover_scenario_id)
LEFT JOIN survivor USING (snapshot_id, cluster_id, scenario_set, scenario_id)
LEFT JOIN receiver USING (snapshot_id, cluster_id, scenario_set, failover_scenario_id)
LEFT JOIN coordinator USING (snapshot_id, cluster_id, scenario_set, failover_scenario_id)
LEFT JOIN client USING (snapshot_id, cluster_id, scenario_set, failover_scenario_id)
LEFT JOIN producer USING (snapshot_id, cluster_id, scenario_set, failover_scenario_id)
LEFT JOIN known_coordinator USING (snapshot_id, cluster_id)
LEFT JOIN known_reader USING (snapshot_id, cluster_id)
LEFT JOIN known_sample USING (snapshot_id, cluster_id)
