"""The tables on failures, and the SQL predicates that define what harm a failure does.

The predicates are Boolean expressions over rows of `failover_pattern`, of the view `failover` and of `scenario`, for Spark and DuckDB.
jobs.failure.patterns.counts_of has the same definitions in Python; a test compares them.
"""

from __future__ import annotations

from jobs.schema.table import CLUSTER_COLUMNS, PARTITION_COLUMNS, Table

NIGHTLY = "nightly"  # the scenario_set of the failures that every night computes

LEADER_MOVED = "(leader IS NOT NULL AND leader IS DISTINCT FROM leader_before)"
LEADER_LOST = "(leader_before IS NOT NULL AND leader IS DISTINCT FROM leader_before)"
# The two availability harms are disjoint: a partition without a leader counts as offline only. Lost records are a separate question.
OFFLINE = "(leader IS NULL AND leader_before IS NOT NULL)"
REFUSES_ACKS_ALL = "(leader IS NOT NULL AND under_min_isr AND NOT under_min_isr_before)"
LOST = "(safe_replicas = 0 AND safe_replicas_before > 0)"
# Each harm by the column that counts it in `scenario`, `broker_pair` and `plan_scenario`.
HARMS = {"newly_offline": OFFLINE, "newly_refusing_acks_all": REFUSES_ACKS_ALL, "newly_lost": LOST}
# A cluster survives a failure for data, reads or writes if all these counts are 0. The counts in one tuple are disjoint and can be added.
MUST_BE_ZERO = {"data": ("newly_lost",), "reads": ("newly_offline",), "writes": ("newly_offline", "newly_refusing_acks_all")}
HARMED = "(newly_offline OR newly_refusing_acks_all)"  # rows of `failover` where writes with acks=all no longer succeed
ONE_BROKER_KILLED = f"(scenario_set = '{NIGHTLY}' AND kind = 'broker')"
# The failures of the table `verdict`, each with the prefix of the columns that state whether the cluster survives it.
SURVIVES = {"broker": "any_broker", "rolling_restart": "rolling_restart", "rack": "any_rack", "two": "any_two"}

_SCENARIO_COLUMNS = f"""{CLUSTER_COLUMNS},
    scenario_set STRING NOT NULL COMMENT 'nightly, or the id of a what-if',
    scenario_id STRING NOT NULL COMMENT 'name of the failure within its set, such as broker 3 or rack a; for a what-if its id'"""
_AFFECTED_COLUMNS = f"""{_SCENARIO_COLUMNS},
    topic STRING NOT NULL COMMENT 'name of the topic',
    partition INT NOT NULL COMMENT 'number of the partition within its topic, from 0'"""
SCENARIO = Table(
    "scenario",
    "a failure and its outcome",
    ("snapshot_id", "cluster_id", "scenario_set", "scenario_id"),
    f"""
    {_SCENARIO_COLUMNS},
    kind STRING NOT NULL COMMENT 'broker (one is killed), stop (one is stopped by controlled shutdown), rack or what-if',
    brokers ARRAY<INT> NOT NULL COMMENT 'ids of the brokers that fail, in this order',
    racks ARRAY<STRING> NOT NULL COMMENT 'racks whose failure was requested',
    unclean BOOLEAN COMMENT 'unclean leader election is allowed for all topics (true) or for none (false); null: as unclean.leader.election.enable of each topic states',
    controlled_shutdown BOOLEAN NOT NULL COMMENT 'the brokers are stopped by controlled shutdown, not killed',
    partitions BIGINT NOT NULL COMMENT 'partitions with a replica on a failed broker',
    moved_leaders BIGINT NOT NULL COMMENT 'partitions that get another leader',
    leaderless BIGINT NOT NULL COMMENT 'partitions without a leader after the failure, whether or not they had one before',
    newly_offline BIGINT NOT NULL COMMENT 'partitions that have a leader before the failure and none after it',
    under_min_isr BIGINT NOT NULL COMMENT 'partitions that refuse acks=all after the failure, whether or not they did before; includes every leaderless partition',
    newly_refusing_acks_all BIGINT NOT NULL COMMENT 'partitions that have a leader after the failure, refuse acks=all, and accepted it before; never also counted in newly_offline',
    at_min_isr BIGINT NOT NULL COMMENT 'partitions with a leader and exactly min.insync.replicas in sync after the failure',
    unclean_leaders BIGINT NOT NULL COMMENT 'partitions whose new leader was out of sync: records are lost',
    no_replica_left BIGINT NOT NULL COMMENT 'partitions whose replicas are all on failed or dead brokers',
    undeliverable_records BIGINT COMMENT 'sampled records that producers can deliver to no partition: their partition has no leader, by key or by name, or no partition of the topic has one; null: no key sample',
    busiest_survivor INT COMMENT 'id of the live broker that gains the most leaders; null: none gains any',
    busiest_gained_leaders BIGINT NOT NULL COMMENT 'leaders that the busiest survivor gains; 0: none gains any',
    newly_lost BIGINT NOT NULL COMMENT 'partitions that had a live replica with every acknowledged record (in the ISR or ELR) before the failure and have none after it; can also be counted in newly_offline or newly_refusing_acks_all',
    changed_partitions BIGINT NOT NULL COMMENT 'partitions whose leader, ISR or ELR changes: KRaft writes at least one PartitionChangeRecord for each, the ZooKeeper controller a state znode',
    undeliverable_size_bytes BIGINT COMMENT 'size of the undeliverable records in bytes; null: no key sample',
    moved_coordinators BIGINT COMMENT 'consumer groups whose coordinator moves to another broker; null: no group or no __consumer_offsets is known',
    lost_coordinators BIGINT COMMENT 'consumer groups without a coordinator after the failure: their members stop; null: no group or no __consumer_offsets is known',
    log_dirs ARRAY<STRING> COMMENT 'log dirs whose failure was requested, after the brokers and racks: broker id, colon, path',
    controller_moves BOOLEAN COMMENT 'the active controller is among the failed brokers; null: the active controller is unknown',
    quorum_lost BOOLEAN COMMENT 'the KRaft quorum has no majority after the failure: no leader moves and no ISR shrinks; null: voters unknown, or ZooKeeper',
    transitions BIGINT COMMENT 'changes of partition state that the controller makes',
    metadata_records BIGINT COMMENT 'records that the KRaft controller writes: PartitionChangeRecords and those of broker registrations; null: ZooKeeper',
    leader_and_isr_requests BIGINT COMMENT 'LeaderAndIsr requests that the ZooKeeper controller sends; null: KRaft, several brokers fail, or the controller itself fails',
    update_metadata_requests BIGINT COMMENT 'UpdateMetadata requests that the ZooKeeper controller sends; null: KRaft, several brokers fail, or the controller itself fails',
    stop_replica_requests BIGINT COMMENT 'StopReplica requests that the ZooKeeper controller sends; null: KRaft, several brokers fail, or the controller itself fails',
    at_risk_size_bytes BIGINT COMMENT 'bytes that the lost leaders have and their successors do not, over the partitions with known sizes',
    at_risk_records BIGINT COMMENT 'records that the lost leaders have and their successors do not, over the partitions with known sizes',
    at_risk_unknown BIGINT COMMENT 'partitions that lose their leader and whose at-risk bytes are unknown',
    moved_transaction_coordinators BIGINT COMMENT 'partitions of __transaction_state whose leader moves; each is the coordinator of some transactional ids; null: the topic does not exist',
    lost_transaction_coordinators BIGINT COMMENT 'partitions of __transaction_state without a leader after the failure: their producers can neither begin nor commit a transaction; null: the topic does not exist',
    affected_groups BIGINT COMMENT 'consumer groups that read a partition which loses its leader; null: no group is known',
    stranded_members BIGINT COMMENT 'group members that read nothing because all their partitions lose their leader; null: no assignment is known',
    redirected_records BIGINT COMMENT 'sampled records without a key that producers send to other partitions of the topic because theirs has lost its leader; null: no key sample',
    undeliverable_share DOUBLE COMMENT 'undeliverable records divided by all sampled records of the cluster; null: no key sample',
    concentration DOUBLE COMMENT 'leaders that the busiest survivor gains divided by the mean over all survivors; 1 is even; null: no leader moves',
    fullest_survivor INT COMMENT 'id of the live broker that uses the largest fraction of its outgoing network capacity after the failure; null: unknown',
    fullest_survivor_share DOUBLE COMMENT 'fraction of its outgoing network capacity that fullest_survivor uses after the failure; null: unknown',
    failover_scenario_id STRING NOT NULL COMMENT 'scenario_id of the stored rows of failover: broker N for stop N of a KRaft cluster, because both have the same outcome; otherwise that of this row',
    order_dependent_partitions BIGINT COMMENT 'partitions with order_dependent_columns in failover: another order of the same deaths would change their ELR, last known leader, ISR or number of elections, and so transitions and metadata_records of this row; null: the quorum is lost and several brokers fail, so that every count can depend on the order'
""",
    partition_by=("snapshot_id", "scenario_set"),
)
# A position of a partition's brokers: its replicas in the order of the assignment, then the other brokers that its ISR, ELR and last known
# ELR name, in the order of their first occurrence.
_POSITIONS = "positions among the partition''s brokers, from 1: its replicas, then other_members of failover"
FAILOVER_PATTERN = Table(
    "failover_pattern",
    "what a failure does to all partitions of the same pattern, with positions in place of broker ids",
    ("snapshot_id", "cluster_id", "scenario_set", "outcome_id"),
    f"""
    {CLUSTER_COLUMNS},
    scenario_set STRING NOT NULL COMMENT 'nightly, or the id of a what-if',
    outcome_id BIGINT NOT NULL COMMENT 'hash of the columns from kraft to controlled_shutdown, equal in all snapshots and clusters',
    kraft BOOLEAN NOT NULL COMMENT 'the controller is that of KRaft, not of ZooKeeper',
    elr_enabled BOOLEAN NOT NULL COMMENT 'the cluster maintains eligible leader replicas',
    unclean_elections BOOLEAN NOT NULL COMMENT 'unclean leader elections are allowed, by the topic or by the scenario',
    rules_since STRING NOT NULL COMMENT 'first Kafka release with the election rules that are applied, those of cluster.kafka_version; 2.0.0 for ZooKeeper, and for KRaft before 3.6',
    oldest_rules_since STRING NOT NULL COMMENT 'first Kafka release with the election rules of the oldest release that the cluster may run: cluster.kafka_version if configured, another patch of the finalized metadata.version, otherwise any release',
    min_insync_replicas INT NOT NULL COMMENT 'replicas that must be in sync for acks=all: min.insync.replicas of the topic, since Kafka 3.7 at most the number of replicas',
    oldest_min_insync_replicas INT NOT NULL COMMENT 'replicas that must be in sync for acks=all in the oldest release that the cluster may run',
    replication_factor INT NOT NULL COMMENT 'replicas of partition 0 of the topic, which limit min.insync.replicas for the ELR; if unknown, those of the partition',
    assigned_replicas INT NOT NULL COMMENT 'number of assigned replicas, on live or dead brokers',
    leader_before INT COMMENT 'position of the leader before the failure; null: none, or a dead broker',
    isr_before ARRAY<INT> NOT NULL COMMENT 'ISR before the failure: {_POSITIONS}; sorted',
    elr_before ARRAY<INT> NOT NULL COMMENT 'eligible leader replicas before the failure: {_POSITIONS}',
    last_known_elr_before ARRAY<INT> NOT NULL COMMENT 'last known eligible leader replicas before the failure: {_POSITIONS}',
    live_before ARRAY<INT> NOT NULL COMMENT 'positions of the replicas on live brokers before the failure',
    dying ARRAY<INT> NOT NULL COMMENT 'positions of the replicas that fail, in this order',
    effective_deaths INT NOT NULL COMMENT 'number of these failures that the controllers react to: fewer than all if the next one breaks their quorum',
    quorum_lost BOOLEAN NOT NULL COMMENT 'the KRaft quorum has no majority after the failure',
    controlled_shutdown BOOLEAN NOT NULL COMMENT 'the brokers are stopped by controlled shutdown; false for KRaft, where this makes no difference',
    state_before STRING NOT NULL COMMENT 'state before the failure: OnlinePartition or OfflinePartition',
    state STRING NOT NULL COMMENT 'state after the failure: OnlinePartition or OfflinePartition',
    transitions ARRAY<STRING> NOT NULL COMMENT 'transitions of the controller''s partition state machine, in order',
    election STRING NOT NULL COMMENT 'last election of the partition: none, offline, unclean or controlled-shutdown',
    leader INT COMMENT 'position of the leader after the failure; null: none',
    isr ARRAY<INT> NOT NULL COMMENT 'ISR after the failure: {_POSITIONS}',
    elr ARRAY<INT> COMMENT 'eligible leader replicas after the failure: {_POSITIONS}; null: the cluster does not maintain them',
    last_known_elr ARRAY<INT> COMMENT 'last known eligible leader replicas after the failure, without the -1 that Kafka before 4.1.1 records if there was no leader: {_POSITIONS}; null: the cluster does not maintain them',
    survivors ARRAY<INT> NOT NULL COMMENT 'positions of the replicas on live brokers after the failure',
    under_min_isr_before BOOLEAN NOT NULL COMMENT 'acks=all was refused before the failure',
    under_min_isr BOOLEAN NOT NULL COMMENT 'acks=all is refused after the failure',
    at_min_isr BOOLEAN NOT NULL COMMENT 'the partition has a leader and exactly min.insync.replicas in sync after the failure',
    unclean BOOLEAN NOT NULL COMMENT 'the new leader was not in sync: records are lost',
    live_replicas_before INT NOT NULL COMMENT 'assigned replicas on live brokers before the failure',
    live_replicas INT NOT NULL COMMENT 'replicas on live brokers after the failure',
    safe_replicas_before INT NOT NULL COMMENT 'replicas on live brokers in the ISR or ELR before the failure: they have every acknowledged record',
    safe_replicas INT NOT NULL COMMENT 'replicas counted in safe_replicas_before whose broker is still live after the failure',
    metadata_records INT COMMENT 'PartitionChangeRecords that KRaft writes for the partition; null: ZooKeeper',
    leader_epochs INT NOT NULL COMMENT 'increase of the leader epoch: clients look up the leader again for each',
    depends_on_version BOOLEAN NOT NULL COMMENT 'in an older release that the cluster may run, the election, leader, ISR, ELR, last known ELR or the acceptance of acks=all would differ: configure the cluster''s kafka_version',
    order_dependent_columns ARRAY<STRING> COMMENT 'columns of this row that another order of the same deaths would change, such as elr and last_known_elr: the controller handles deaths at the same time in an order that no dump contains; null: the quorum is lost, and the order decides to which deaths the controllers still react'
""",
    partition_by=("snapshot_id", "scenario_set"),
)
# The view `failover` also has the columns that follow from `failover_pattern` and `partition`: those of PUBLISHED_FAILOVER.
FAILOVER = Table(
    "failover",
    "what a failure does to a partition with a replica on a failed broker",
    ("snapshot_id", "cluster_id", "scenario_set", "scenario_id", "topic", "partition"),
    f"""
    {_AFFECTED_COLUMNS},
    outcome_id BIGINT NOT NULL COMMENT 'id of the row of failover_pattern with the state before and after the failure',
    leader_before INT COMMENT 'broker id of the leader before the failure; null: none',
    leader INT COMMENT 'broker id of the leader after the failure; null: none',
    newly_offline BOOLEAN NOT NULL COMMENT 'the partition has a leader before the failure and none after it',
    newly_refusing_acks_all BOOLEAN NOT NULL COMMENT 'the partition has a leader after the failure, refuses acks=all, and accepted it before; never also newly_offline',
    newly_lost BOOLEAN NOT NULL COMMENT 'the partition had a live replica with every acknowledged record (in the ISR or ELR) before the failure and has none after it',
    at_risk_size_bytes BIGINT COMMENT 'bytes that the lost leader has and its successor (without one, the largest remaining replica) does not; lost unless the leader returns; 0: the leader stays; null: sizes unknown',
    at_risk_records BIGINT COMMENT 'records in at_risk_size_bytes, estimated from the mean record size since the previous snapshot; 0: the leader stays; null: unknown',
    other_members ARRAY<INT> COMMENT 'broker ids at the positions of failover_pattern after the replicas: brokers that only ISR, ELR or last known ELR name; null: none'
""",
    partition_by=("snapshot_id", "scenario_set"),
)
PUBLISHED_FAILOVER = Table(
    FAILOVER.name,
    FAILOVER.comment,
    FAILOVER.key,
    f"""
    {_AFFECTED_COLUMNS},
    state_before STRING NOT NULL COMMENT 'state before the failure: OnlinePartition or OfflinePartition',
    state STRING NOT NULL COMMENT 'state after the failure: OnlinePartition or OfflinePartition',
    transitions ARRAY<STRING> NOT NULL COMMENT 'transitions of the controller''s partition state machine, in order',
    election STRING NOT NULL COMMENT 'last election of the partition: none, offline, unclean or controlled-shutdown',
    leader_before INT COMMENT 'broker id of the leader before the failure; null: none',
    leader INT COMMENT 'broker id of the leader after the failure; null: none',
    isr_before ARRAY<INT> NOT NULL COMMENT 'broker ids of the ISR before the failure',
    isr ARRAY<INT> NOT NULL COMMENT 'broker ids of the ISR after the failure, sorted',
    elr ARRAY<INT> COMMENT 'broker ids of the eligible leader replicas after the failure, sorted; null: the cluster does not maintain them',
    last_known_elr ARRAY<INT> COMMENT 'broker ids of the last known eligible leader replicas after the failure, without the -1 that Kafka before 4.1.1 records if there was no leader; null: the cluster does not maintain them',
    min_insync_replicas INT NOT NULL COMMENT 'replicas that must be in sync for acks=all: min.insync.replicas of the topic, since Kafka 3.7 at most the number of replicas',
    under_min_isr_before BOOLEAN NOT NULL COMMENT 'acks=all was refused before the failure',
    under_min_isr BOOLEAN NOT NULL COMMENT 'acks=all is refused after the failure',
    at_min_isr BOOLEAN NOT NULL COMMENT 'the partition has a leader and exactly min.insync.replicas in sync after the failure',
    unclean BOOLEAN NOT NULL COMMENT 'the new leader was not in sync: records are lost',
    live_replicas INT NOT NULL COMMENT 'replicas on live brokers after the failure',
    safe_replicas_before INT NOT NULL COMMENT 'replicas on live brokers in the ISR or ELR before the failure: they have every acknowledged record',
    safe_replicas INT NOT NULL COMMENT 'replicas counted in safe_replicas_before whose broker is still live after the failure',
    metadata_records INT COMMENT 'PartitionChangeRecords that KRaft writes for the partition; null: ZooKeeper',
    at_risk_size_bytes BIGINT COMMENT 'bytes that the lost leader has and its successor (without one, the largest remaining replica) does not; lost unless the leader returns; 0: the leader stays; null: sizes unknown',
    at_risk_records BIGINT COMMENT 'records in at_risk_size_bytes, estimated from the mean record size since the previous snapshot; 0: the leader stays; null: unknown',
    leader_epochs INT COMMENT 'increase of the leader epoch: clients look up the leader again for each',
    depends_on_version BOOLEAN NOT NULL COMMENT 'another release that the cluster may run, by its reported version, has another election, leader, ISR, ELR or last known ELR, or accepts acks=all otherwise: configure its kafka_version',
    assigned_replicas INT NOT NULL COMMENT 'number of assigned replicas, on live or dead brokers',
    live_replicas_before INT NOT NULL COMMENT 'assigned replicas on live brokers before the failure',
    survivors ARRAY<INT> NOT NULL COMMENT 'broker ids of the replicas on live brokers after the failure, in the order of the assignment',
    order_dependent_columns ARRAY<STRING> COMMENT 'columns of this row that another order of the same deaths would change, such as elr and last_known_elr: the controller handles deaths at the same time in an order that no dump contains; null: the quorum is lost, and the order decides to which deaths the controllers still react'
""",
    partition_by=("snapshot_id", "scenario_set"),
)
FAILOVER_LOAD = Table(
    "failover_load",
    "what a surviving broker takes over in a failure, for brokers that gain a leader",
    ("snapshot_id", "cluster_id", "scenario_set", "scenario_id", "broker_id"),
    f"""
    {_SCENARIO_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the surviving broker',
    leaders_before BIGINT NOT NULL COMMENT 'partitions that the broker leads before the failure',
    gained_leaders BIGINT NOT NULL COMMENT 'partitions whose leader moves to the broker',
    gained_records BIGINT COMMENT 'sampled records of the gained partitions; null: no key sample',
    gained_size_bytes BIGINT COMMENT 'sampled bytes of the gained partitions; null: no key sample',
    gained_share DOUBLE NOT NULL COMMENT 'gained leaders divided by all leaders that move in the failure',
    gained_size_bytes_per_s DOUBLE COMMENT 'traffic from producers to the gained partitions in bytes/s, as Cruise Control measured, otherwise observed_size_bytes_per_s of producer_load; the broker stored these bytes before, as a follower; null: unknown',
    network_out_bytes_per_s DOUBLE COMMENT 'traffic to followers and consumer groups from all partitions that the broker leads after the failure, in bytes/s; null: unknown',
    network_out_share DOUBLE COMMENT 'network_out_bytes_per_s divided by the broker''s outgoing network capacity; null: one of them is unknown'
""",
    partition_by=("snapshot_id", "scenario_set"),
)
BROKER_PAIR = Table(
    "broker_pair",
    "what happens if two live brokers that share a partition are both killed",
    ("snapshot_id", "cluster_id", "broker_id", "other_broker_id"),
    f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'lower id of the two brokers',
    other_broker_id INT NOT NULL COMMENT 'higher id of the two brokers',
    shared_partitions BIGINT NOT NULL COMMENT 'partitions with a replica on both brokers',
    newly_offline BIGINT NOT NULL COMMENT 'partitions of the cluster, shared or not, that have a leader before both brokers die and none after',
    newly_refusing_acks_all BIGINT NOT NULL COMMENT 'partitions of the cluster that have a leader after both brokers died, refuse acks=all, and accepted it before; never also counted in newly_offline',
    newly_lost BIGINT NOT NULL COMMENT 'partitions of the cluster that had a live replica with every acknowledged record (in the ISR or ELR) and have none after both brokers died; can also be counted in newly_offline or newly_refusing_acks_all',
    order_dependent BOOLEAN NOT NULL COMMENT 'the deaths lose the controller quorum, which reacts to the first of them only, and the counts differ if other_broker_id dies first; this row has those with broker_id dying first'
""",
)
JOINT_LOSS = Table(
    "joint_loss",
    "how many sets of live brokers are fatal if all brokers of the set die",
    ("snapshot_id", "cluster_id", "deaths"),
    f"""
    {CLUSTER_COLUMNS},
    deaths INT NOT NULL COMMENT 'number of brokers in a set: 2, and each replication factor of the cluster up to 5',
    live_brokers INT NOT NULL COMMENT 'live brokers of the cluster',
    broker_sets BIGINT NOT NULL COMMENT 'number of sets of as many live brokers as deaths',
    copysets BIGINT NOT NULL COMMENT 'distinct replica sets of as many brokers as deaths, all live, with a replica that has every acknowledged record',
    data_loss_sets BIGINT COMMENT 'sets of live brokers that contain, for some partition, all replicas with every acknowledged record; null: too many sets to count',
    write_outage_sets BIGINT COMMENT 'sets of live brokers without which some partition has fewer than min.insync.replicas in sync although it has enough now, or the KRaft quorum has no majority; null: too many sets to count',
    data_loss_probability DOUBLE COMMENT 'data_loss_sets divided by broker_sets: the probability that the death of a random set loses data; null: too many sets to count',
    write_outage_probability DOUBLE COMMENT 'write_outage_sets divided by broker_sets: the probability that the death of a random set stops acks=all for some partition; null: too many sets to count'
""",
)
BROKER_RESTART = Table(
    "broker_restart",
    "when a broker can be restarted, and what its return after a kill or a clean stop brings back and costs",
    ("snapshot_id", "cluster_id", "broker_id"),
    f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker',
    live BOOLEAN NOT NULL COMMENT 'the broker is live; false: it is already dead, and the row describes its return now; the dumps do not contain whether it was killed or stopped',
    restart_order INT COMMENT 'position of the broker in a rolling restart where each broker is back in sync before the next one stops and no partition falls under min ISR that can avoid it; null: no such position, or the broker is not live',
    under_min_isr_partitions BIGINT NOT NULL COMMENT 'partitions that fall under min ISR whenever the broker stops, because they have no more live replicas than min.insync.replicas',
    rejoining_partitions BIGINT NOT NULL COMMENT 'partitions whose ISR the broker must rejoin',
    revived_after_kill BIGINT NOT NULL COMMENT 'partitions without a leader that get one when the broker returns after a kill, which removes it from ISR and ELR',
    revived_uncleanly_after_kill BIGINT NOT NULL COMMENT 'partitions counted in revived_after_kill that may miss records: by unclean election, or as the last known leader after an unclean shutdown',
    revived_after_stop BIGINT NOT NULL COMMENT 'partitions without a leader that get one when the broker returns after a clean stop (controlled shutdown), after which it is still in the ELR',
    revived_uncleanly_after_stop BIGINT NOT NULL COMMENT 'partitions counted in revived_after_stop that may miss records: by unclean election, or as the last known leader',
    preferred_partitions BIGINT NOT NULL COMMENT 'partitions whose preferred leader is the broker',
    regained_leaders_after_kill BIGINT NOT NULL COMMENT 'partitions that the broker leads again only after a preferred leader election, if it was killed',
    regained_leaders_after_stop BIGINT NOT NULL COMMENT 'partitions that the broker leads again only after a preferred leader election, if it was stopped cleanly',
    full_copy_bytes BIGINT COMMENT 'bytes to fetch from leaders if the broker returns with empty disks; null: sizes unknown',
    catch_up_bytes_per_s DOUBLE COMMENT 'bytes that the broker must fetch in addition for each second of absence; null: unknown',
    truncated_size_bytes BIGINT COMMENT 'bytes that this broker has and the leader elected after its death has not: it truncates them when it follows; null: unknown'
""",
)
REMEDY = Table(
    "remedy",
    "the smallest change after which a partition survives the loss of any one broker, for partitions that do not survive it now",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {PARTITION_COLUMNS},
    scenario_ids ARRAY<STRING> NOT NULL COMMENT 'scenarios that the partition does not survive',
    goes_offline BOOLEAN NOT NULL COMMENT 'the partition loses its leader in one of scenario_ids; false: it only falls under min ISR',
    remedy STRING COMMENT 'the smallest change after which, by simulation, the partition survives the loss of any one broker; null: no change that was tried is enough',
    replicas ARRAY<INT> COMMENT 'broker ids of the replicas after the change, the preferred leader first; null: no remedy',
    added_replicas ARRAY<INT> COMMENT 'broker ids of the replicas that the change adds; null: no remedy'
""",
)
