"""The tables on balance and health: what brokers, topics, partitions and groups carry now, and the verdicts of Cruise Control's goals."""

from __future__ import annotations

from jobs.schema.table import CLUSTER_COLUMNS, PARTITION_COLUMNS, TOPIC_COLUMNS, Table

BROKER_BALANCE = Table(
    "broker_balance",
    "what a broker carries, brokers without replicas included",
    ("snapshot_id", "cluster_id", "broker_id"),
    f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker',
    rack STRING COMMENT 'rack of the broker; null: none, or unknown',
    live BOOLEAN NOT NULL COMMENT 'the broker is live',
    replicas BIGINT NOT NULL COMMENT 'replicas that are assigned to the broker',
    in_sync_replicas BIGINT NOT NULL COMMENT 'assigned replicas that are in sync',
    leaders BIGINT NOT NULL COMMENT 'partitions that the broker leads',
    preferred_leaders BIGINT NOT NULL COMMENT 'partitions whose preferred leader is the broker',
    size_bytes BIGINT COMMENT 'size of the log segments on its log dirs in bytes; null: unknown',
    produced_records BIGINT COMMENT 'sampled records of the partitions that the broker leads; null: no key sample',
    produced_size_bytes BIGINT COMMENT 'sampled bytes of the partitions that the broker leads; null: no key sample',
    disk_used_share DOUBLE COMMENT 'size_bytes divided by the disk capacity of the broker; null: size or capacity unknown',
    live_brokers BIGINT NOT NULL COMMENT 'number of live brokers of the cluster',
    replica_ratio DOUBLE COMMENT 'replicas divided by the mean over the live brokers; null: the broker is dead, or the mean is 0',
    leader_ratio DOUBLE COMMENT 'leaders divided by the mean over the live brokers; null: the broker is dead, or the mean is 0',
    byte_ratio DOUBLE COMMENT 'size_bytes divided by the mean over the live brokers; null: the broker is dead, its size is unknown, or the mean is 0',
    produced_ratio DOUBLE COMMENT 'produced_size_bytes divided by the mean over the live brokers; null: the broker is dead, there is no key sample, or the mean is 0'
""",
)
PARTITION_HEALTH = Table(
    "partition_health",
    "a partition with at least one problem now",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {PARTITION_COLUMNS},
    leaderless BOOLEAN NOT NULL COMMENT 'no leader, or a leader that is not live',
    under_replicated BOOLEAN NOT NULL COMMENT 'the ISR is smaller than the replicas, not counting replicas that a reassignment adds',
    under_min_isr BOOLEAN NOT NULL COMMENT 'no leader, or fewer replicas in sync than effective_min_isr: acks=all is refused',
    at_min_isr BOOLEAN NOT NULL COMMENT 'one more loss from the ISR refuses acks=all; false for partitions with one replica',
    not_preferred BOOLEAN NOT NULL COMMENT 'the leader is not the preferred leader',
    non_replica_in_isr BOOLEAN NOT NULL COMMENT 'the ISR contains a broker that is not a replica',
    unknown_broker BOOLEAN NOT NULL COMMENT 'a replica is on a broker that is not live',
    rack_unsafe BOOLEAN COMMENT 'the replicas are on fewer racks than possible; null: the rack of some broker is unknown',
    no_tolerance BOOLEAN NOT NULL COMMENT 'no more replicas than min.insync.replicas: any loss refuses acks=all',
    replication_factor_mismatch BOOLEAN NOT NULL COMMENT 'the number of replicas differs from the replication factor of the topic, not counting replicas that a reassignment adds',
    min_isr_above_replicas BOOLEAN NOT NULL COMMENT 'fewer replicas than min.insync.replicas: Kafka before 3.7 always refuses acks=all; later releases accept it with all replicas in sync, which are fewer than configured',
    preferred_leader INT COMMENT 'broker id of the preferred leader',
    assigned_replicas INT COMMENT 'number of replicas',
    settled_replicas INT COMMENT 'number of replicas, not counting those that a reassignment adds',
    in_sync_replicas INT COMMENT 'number of replicas in the ISR',
    min_insync_replicas INT COMMENT 'min.insync.replicas of the topic; 1 if unknown',
    effective_min_isr INT COMMENT 'replicas that must be in sync for acks=all: min_insync_replicas, since Kafka 3.7 at most the number of replicas',
    replication_factor INT COMMENT 'replication factor of the topic; null: unknown',
    lagging_replicas ARRAY<INT> COMMENT 'broker ids of the replicas that are not in the ISR'
""",
)
TOPIC_BALANCE = Table(
    "topic_balance",
    "how much a topic stores, and how unevenly",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {TOPIC_COLUMNS},
    partitions BIGINT NOT NULL COMMENT 'number of partitions that the dumps describe',
    records BIGINT COMMENT 'offsets between log start and log end over all partitions, records that compaction has removed included; null: unknown for some partition',
    record_skew DOUBLE COMMENT 'records of the partition with the most, divided by the mean, minus 1; 0 is even; null: unknown for some partition, or no records',
    size_bytes BIGINT COMMENT 'size of the leaders'' replicas in bytes; null: unknown for some partition',
    fullest_partition INT COMMENT 'partition whose leader''s replica is the largest; null: no size is known',
    fullest_size_bytes BIGINT COMMENT 'size of the leader''s replica of fullest_partition in bytes; null: no size is known',
    mean_record_bytes DOUBLE COMMENT 'size_bytes divided by records: the mean size of a record in bytes, compressed as in the log; null: unknown, or no records'
""",
)
GROUP_LOAD = Table(
    "group_load",
    "how evenly the members of a group, or the hosts of all groups, share the partitions that the dumps assign to them",
    ("snapshot_id", "cluster_id", "group_id"),
    f"""
    {CLUSTER_COLUMNS},
    group_id STRING COMMENT 'id of the group; null: all groups of the cluster together, with hosts counted in place of members',
    members BIGINT NOT NULL COMMENT 'number of members, or of hosts',
    idle_members BIGINT NOT NULL COMMENT 'members without a partition',
    topics BIGINT NOT NULL COMMENT 'topics with an assigned partition',
    partitions BIGINT NOT NULL COMMENT 'assigned partitions; a partition that two groups read counts twice',
    max_partitions BIGINT NOT NULL COMMENT 'partitions of the member with the most',
    min_partitions BIGINT NOT NULL COMMENT 'partitions of the member with the fewest',
    partition_cv DOUBLE COMMENT 'coefficient of variation of partitions over the members; 0 is even; null: nothing is assigned',
    busiest_member STRING NOT NULL COMMENT 'member, or host, with the most to read: in bytes, without these in records, without these in partitions',
    records BIGINT COMMENT 'records that producers sent to the assigned partitions: growth since the previous night, otherwise sampled; null: unknown for some partition',
    record_ratio DOUBLE COMMENT 'records of the member with the most divided by the mean; null: unknown for some partition, or no records',
    size_bytes BIGINT COMMENT 'bytes that producers sent to the assigned partitions: growth since the previous night, otherwise sampled; null: unknown for some partition',
    byte_ratio DOUBLE COMMENT 'bytes of the member with the most divided by the mean; null: unknown for some partition, or no bytes',
    cross_rack_partitions BIGINT COMMENT 'partitions assigned to a member on another rack than the leader; null: no member on a known rack',
    cross_rack_size_bytes BIGINT COMMENT 'bytes of the partitions that cross_rack_partitions counts; null: no member on a known rack, or unknown for some partition',
    local_replica_size_bytes BIGINT COMMENT 'bytes of those cross-rack partitions that have an in-sync replica on the member''s rack, which RackAwareReplicaSelector would let the member read; null: no member on a known rack, or unknown for some partition',
    cross_rack_share DOUBLE COMMENT 'cross_rack_size_bytes divided by the bytes of all partitions whose member and leader are on known racks; null: no such bytes, or unknown',
    avoidable_share DOUBLE COMMENT 'local_replica_size_bytes divided by the bytes of all partitions whose member and leader are on known racks; null: no such bytes, or unknown'
""",
)

# ---------------------------------------------------------------- Cruise Control's goals
GOAL_VERDICT = Table(
    "goal_verdict",
    "the verdict of one goal of Cruise Control on the cluster as it is, with nothing moved",
    ("snapshot_id", "cluster_id", "goal"),
    f"""
    {CLUSTER_COLUMNS},
    goal STRING NOT NULL COMMENT 'class name of the goal',
    priority INT COMMENT 'position in the list of default goals, from 1; null: not a default goal',
    hard BOOLEAN NOT NULL COMMENT 'a hard goal: Cruise Control never violates it to satisfy a soft one',
    weight DOUBLE COMMENT 'points that the balancedness score loses if the goal is violated; null: not a default goal',
    verdict STRING NOT NULL COMMENT 'satisfied, violated, unfixable (no move can satisfy it), refused (Cruise Control throws an exception) or unknown (input is missing)',
    breaches BIGINT NOT NULL COMMENT 'number of rows of goal_breach for the goal',
    lower_limit DOUBLE COMMENT 'lower limit, a count or load divided by capacity; null: none, or one for each topic or broker',
    upper_limit DOUBLE COMMENT 'upper limit, a count or load divided by capacity; null: none, or one for each topic or broker',
    near_limit BOOLEAN NOT NULL COMMENT 'a value is so close to its limit that Cruise Control, which computes with 32-bit floats, may decide otherwise',
    missing_input STRING COMMENT 'the input that is missing; null: none',
    provision STRING NOT NULL COMMENT 'the goal''s verdict on the size of the cluster: UNDER_PROVISIONED, RIGHT_SIZED, OVER_PROVISIONED or UNDECIDED',
    brokers INT COMMENT 'number of brokers to add or to drop; null: the goal recommends none',
    racks INT COMMENT 'number of racks to add or to drop; null: the goal recommends none',
    partitions INT COMMENT 'number of partitions that a topic needs; null: the goal recommends none'
""",
)
GOAL_BREACH = Table(
    "goal_breach",
    "a broker, topic or partition outside the limits of a goal, and the smallest change that clears the breach",
    ("snapshot_id", "cluster_id", "goal", "broker_id", "topic", "partition"),
    f"""
    {CLUSTER_COLUMNS},
    goal STRING NOT NULL COMMENT 'class name of the goal',
    broker_id INT COMMENT 'id of the broker outside the limits; null: a partition, a topic or the whole cluster is',
    topic STRING COMMENT 'name of the topic outside the limits; null: a broker or the whole cluster is',
    partition INT COMMENT 'number of the partition outside the limits; null: a topic, a broker or the whole cluster is',
    measured DOUBLE NOT NULL COMMENT 'measured value: replicas, leaders, racks, MiB, KiB/s or percent of a core, as the formula states',
    limit_value DOUBLE NOT NULL COMMENT 'limit, in the unit of measured',
    formula STRING NOT NULL COMMENT 'condition that must hold',
    smallest_change STRING NOT NULL COMMENT 'smallest change that clears the breach',
    near_limit BOOLEAN NOT NULL COMMENT 'the value differs from its limit by less than the rounding of 32-bit floats'
""",
)
CLUSTER_BALANCE = Table(
    "cluster_balance",
    "Cruise Control's balancedness score of a cluster, and whether the cluster has the right size",
    ("snapshot_id", "cluster_id"),
    f"""
    {CLUSTER_COLUMNS},
    balancedness_score DOUBLE COMMENT '100 minus the weights of the violated default goals; -1 with dead brokers or log dirs; null: some goal is unknown',
    lowest_score DOUBLE NOT NULL COMMENT 'score if every unknown goal were violated',
    highest_score DOUBLE NOT NULL COMMENT 'score if every unknown goal were satisfied',
    goals_violated BIGINT NOT NULL COMMENT 'default goals that are violated, unfixable ones included',
    goals_unknown BIGINT NOT NULL COMMENT 'default goals whose input is missing or that Cruise Control refuses to evaluate',
    provision STRING NOT NULL COMMENT 'verdict of all default goals on the size of the cluster: UNDER_PROVISIONED, RIGHT_SIZED, OVER_PROVISIONED or UNDECIDED',
    brokers_to_add INT COMMENT 'number of brokers to add; null: the goals recommend none',
    brokers_to_drop INT COMMENT 'number of brokers to drop; null: the goals recommend none',
    racks_to_add INT COMMENT 'number of racks to add; null: the goals recommend none',
    racks_to_drop INT COMMENT 'number of racks to drop; null: the goals recommend none',
    partitions_needed INT COMMENT 'number of partitions that a topic with too few for its leaders needs; null: the goals recommend none'
""",
)
NET_IMBALANCE = Table(
    "net_imbalance",
    "how many replicas or leaders must move until counts differ by at most one, as Yelp's kafka-utils computes it",
    ("snapshot_id", "cluster_id", "level"),
    f"""
    {CLUSTER_COLUMNS},
    level STRING NOT NULL COMMENT 'what is counted: replicas or leaders of each live broker; topic replicas: replicas of each topic on each broker; rack replicas: replicas of each partition on each rack',
    items BIGINT NOT NULL COMMENT 'number of replicas or leaders that are counted',
    net_imbalance BIGINT NOT NULL COMMENT 'number of replicas or leaders that must move',
    coefficient_of_variation DOUBLE COMMENT 'coefficient of variation of the counts over the live brokers; null: another level than replicas and leaders, or nothing to count',
    fullest_broker_items BIGINT COMMENT 'count of the live broker with the most; null: another level than replicas and leaders',
    fullest_broker_id INT COMMENT 'id of the live broker with the most, the lowest id if several have as many; null: another level than replicas and leaders'
""",
)
