"""The computed tables on placement, producers, consumers, storage and what changed since the last night."""

from __future__ import annotations

from jobs.schema.table import CLUSTER_COLUMNS, PARTITION_COLUMNS, TOPIC_COLUMNS, Table

CHANGE = Table(
    "change",
    "a difference to the cluster's previous published snapshot, and what explains it",
    ("snapshot_id", "cluster_id", "kind", "broker_id", "topic", "partition", "group_id", "name"),
    f"""
    {CLUSTER_COLUMNS},
    previous_snapshot_id STRING NOT NULL COMMENT 'snapshot that this one is compared with',
    kind STRING NOT NULL COMMENT 'kind of change, such as broker lost, topic created, ISR shrank, leader moved, config changed or group gone',
    broker_id INT COMMENT 'id of the broker that changed; null: not a change of a broker',
    topic STRING COMMENT 'name of the topic that changed; null: not a change of a topic',
    partition INT COMMENT 'number of the partition that changed; null: not a change of a partition',
    group_id STRING COMMENT 'id of the consumer group that changed; null: not a change of a group',
    name STRING COMMENT 'name of the config, log dir, source, member or column of consumer_group that changed; null: none of these',
    value_before STRING COMMENT 'value in the previous snapshot as text, broker ids comma-separated; null: none',
    value_after STRING COMMENT 'value in this snapshot as text, broker ids comma-separated; null: none',
    cause STRING COMMENT 'another change of the night that explains this one, for example the loss of broker 3; null: none does'
""",
)

# ---------------------------------------------------------------- placement
REPLICA_ASSIGNMENT = Table(
    "replica_assignment",
    "where Kafka would place the replicas of a partition, and where they are",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {PARTITION_COLUMNS},
    replicas ARRAY<INT> COMMENT 'broker ids as Kafka places the replicas from the start index and shift, or from the draws, of topic_placement, the preferred leader first; null: no placement explains the topic, or its draws do not determine the replicas of this partition',
    observed ARRAY<INT> NOT NULL COMMENT 'broker ids of the current replicas, the preferred leader first',
    drifted BOOLEAN COMMENT 'the current replicas differ from the computed placement; null: no placement explains the topic',
    misplaced_replicas INT COMMENT 'number of brokers that have a replica which the computed placement does not give them; null: the computed replicas are unknown'
""",
)
TOPIC_PLACEMENT = Table(
    "topic_placement",
    "the start index and shift (ZooKeeper) or the random draws (KRaft) that explain the placement of a topic best",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {TOPIC_COLUMNS},
    algorithm STRING COMMENT 'rack-unaware or rack-aware: placement of AdminUtils, in a cluster with a ZooKeeper controller; striped: placement of StripedReplicaPlacer, in a KRaft cluster; null: the topic cannot be placed, or the kind of controller or the racks are unknown',
    start_index INT COMMENT 'start index of AdminUtils, requested or recovered from the current replicas; null: another algorithm, no start index explains more than half of the partitions, or the topic cannot be placed',
    shift INT COMMENT 'shift of the second replica modulo (brokers - 1), requested or recovered from the current replicas; null: as for start_index',
    start_requested BOOLEAN NOT NULL COMMENT 'start index and shift are parameters of the run; false: recovered from the current replicas',
    draws ARRAY<STRUCT<first_partition: INT, fenced: ARRAY<INT>, rack_offset: INT, broker_offsets: ARRAY<INT>, shuffles: ARRAY<STRUCT<rack_order: ARRAY<INT>, broker_order: ARRAY<INT>>>>> COMMENT 'draws of StripedReplicaPlacer for each placement: that of the new topic, then those of partitions added later. first_partition: where it begins; fenced: brokers that were fenced at the time; brokers that were cordoned then have no part in the draws; rack_offset: index of the first rack, racks sorted by name and brokers without a rack first; broker_offsets: index of the first unfenced and of the first fenced broker of each rack, brokers sorted by id; shuffles: orders of the later rounds, racks as indexes and brokers rack by rack, unfenced before fenced; elements that no replica shows are null. null: another algorithm, or no draws explain the topic',
    partitions INT NOT NULL COMMENT 'number of partitions',
    matching_partitions INT COMMENT 'partitions whose replicas equal the computed placement, in the same order; null: no placement explains the topic',
    explained BOOLEAN COMMENT 'the computed placement explains all partitions; null: the kind of controller or the racks are unknown',
    first_unexplained_partition INT COMMENT 'first partition whose replicas differ from the computed placement, or that breaks all draws of a placement if none explains the topic; null: all partitions are explained, or algorithm is null',
    refusal STRING COMMENT 'why Kafka would refuse to place the topic; null: it would not'
""",
)

# ---------------------------------------------------------------- producers
PRODUCER_LOAD = Table(
    "producer_load",
    "the records that producers send to a partition, for topics with a key sample or a known growth",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {PARTITION_COLUMNS},
    records BIGINT COMMENT 'sampled records that go to the partition: sent to it by name, keyed (murmur2 over all partitions), or without a key, as if producers spread them evenly over the available ones (Kafka''s default partitioner is less even); null: the topic has no key sample',
    size_bytes BIGINT COMMENT 'size in bytes of the sampled records that go to the partition; null: the topic has no key sample with sizes',
    explicit_records BIGINT COMMENT 'sampled records whose producer named the partition; null: the topic has no key sample',
    keyed_records BIGINT COMMENT 'sampled records whose key hashes to the partition; null: the topic has no key sample',
    unkeyed_records BIGINT COMMENT 'sampled records without a key that go to the partition if producers spread them evenly; null: the topic has no key sample',
    keys BIGINT COMMENT 'distinct sampled keys that hash to the partition; null: the topic has no key sample',
    observed_records BIGINT COMMENT 'growth of the log end offset since the previous published snapshot; null: an end offset is unknown',
    observed_size_bytes BIGINT COMMENT 'bytes written to the partition since the previous published snapshot, estimated as observed_size_source states; null: unknown',
    observed_size_source STRING COMMENT 'how observed_size_bytes is computed: offsets_and_log (growth of the log end offset times the mean bytes of a record in the leader''s log), offsets_and_sample (times the mean bytes of the topic''s sampled records), or size_growth (growth of the leader''s size, a lower bound: retention and compaction delete bytes); null: observed_size_bytes is unknown',
    observed_size_bytes_per_s DOUBLE COMMENT 'observed_size_bytes divided by the seconds between the two captures; null: unknown, or the captures are less than ten minutes apart'
""",
    view_columns="""
    record_share DOUBLE COMMENT 'fraction of the topic''s sampled records; sums to 1 over the partitions; null: the topic has no key sample',
    byte_share DOUBLE COMMENT 'fraction of the topic''s sampled bytes; sums to 1 over the partitions, or 0 if no bytes were sampled; null: the topic has no key sample with sizes',
    observed_record_share DOUBLE COMMENT 'fraction of the growth of all partitions of the topic, in records; null: the growth of every partition is unknown, or nothing grew'
""",
)
TOPIC_LOAD = Table(
    "topic_load",
    "how unevenly producers write to the partitions of a topic",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {TOPIC_COLUMNS},
    partitions INT NOT NULL COMMENT 'number of partitions',
    available_partitions INT NOT NULL COMMENT 'partitions with a leader',
    records BIGINT COMMENT 'sampled records; null: the topic has no key sample',
    size_bytes BIGINT COMMENT 'size of the sampled records in bytes; null: the topic has no key sample with sizes',
    keys BIGINT COMMENT 'distinct sampled keys; null: the topic has no key sample',
    hottest_partition INT COMMENT 'partition with the most sampled records if those without a key are spread evenly, the lowest number if several have as many; null: the topic has no key sample',
    unkeyed_records BIGINT COMMENT 'sampled records without a key and without a named partition: a producer sends each batch of them to any partition, often to one with a short queue; null: the topic has no key sample',
    skew_lower_bound DOUBLE COMMENT 'lower bound of the records of the hottest partition divided by the mean over all partitions, wherever the records without a key go; exact if unkeyed_records is 0; 1 is even; null: the topic has no key sample, or no record was sampled',
    record_cv DOUBLE COMMENT 'coefficient of variation of the records over the partitions if those without a key are spread evenly, which real producers do less; 0 is even; null: the topic has no key sample, or no record was sampled',
    hottest_key_share DOUBLE COMMENT 'fraction of the sampled records that have the most frequent key; null: the topic has no key sample, or no record has a key',
    skew_floor DOUBLE COMMENT 'lower bound of the skew for any partitioner that keeps each key in one partition and each record in the partition that its producer named: from the hottest key, and from two, three or four hot keys that must share a partition because there are more hot keys than partitions; null: the topic has no key sample, or no record was sampled',
    observed_records BIGINT COMMENT 'growth of the log end offsets of all partitions since the previous published snapshot; null: unknown',
    observed_skew DOUBLE COMMENT 'growth of the fastest growing partition divided by the mean over all partitions; null: unknown, or nothing grew',
    librdkafka_moved_keys BIGINT COMMENT 'keys that librdkafka''s default partitioner (consistent_random, CRC-32) sends to another partition than the Java client does; null: the topic has no key sample',
    librdkafka_moved_records BIGINT COMMENT 'sampled records with the keys that librdkafka_moved_keys counts: if clients of both kinds send them, their order is lost; null: the topic has no key sample',
    hottest_share DOUBLE COMMENT 'fraction of the sampled records in the hottest partition if those without a key are spread evenly; null: the topic has no key sample, or no record was sampled',
    record_gini DOUBLE COMMENT 'Gini coefficient of the records over the partitions if those without a key are spread evenly: 0 is even, near 1 is all in one; null: the topic has no key sample, or no record was sampled'
""",
)
TOPIC_PARTITIONER = Table(
    "topic_partitioner",
    "which client's partitioner explains the partitions of a topic's keys, for topics with several partitions",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {TOPIC_COLUMNS},
    partitions INT NOT NULL COMMENT 'number of partitions',
    keys BIGINT NOT NULL COMMENT 'non-empty keys whose partition is known',
    records BIGINT NOT NULL COMMENT 'sampled records with a non-empty key whose partition is known',
    partitioner STRING COMMENT 'partitioner that explains the most records: murmur2 (Java), crc32 (librdkafka), fnv1a (Sarama), fnv1a_reference or fnv1a_unsigned; null: none explains more than chance',
    explained_records BIGINT NOT NULL COMMENT 'records that are in the partition which the partitioner chooses for their key',
    unexplained_share DOUBLE NOT NULL COMMENT 'fraction of the records that are in another partition than the partitioner chooses for their key',
    second_partitioner STRING COMMENT 'partitioner that explains the most of the records that the first partitioner does not explain; null: none explains more than chance',
    second_records BIGINT NOT NULL COMMENT 'records that the second partitioner explains and the first does not',
    split_keys BIGINT NOT NULL COMMENT 'keys with records in several partitions, whose order is lost',
    split_records BIGINT NOT NULL COMMENT 'sampled records with a split key'
""",
)
HOT_KEY = Table(
    "hot_key",
    "one of the ten keys of a topic with the most records",
    ("snapshot_id", "cluster_id", "topic", "rank"),
    f"""
    {TOPIC_COLUMNS},
    rank INT NOT NULL COMMENT 'rank of the key by its records, from 1',
    key BINARY NOT NULL COMMENT 'the key',
    key_text STRING COMMENT 'the key as text; null: the key is not valid UTF-8',
    partition INT NOT NULL COMMENT 'partition that the Java client''s default partitioner chooses',
    records BIGINT NOT NULL COMMENT 'sampled records with this key',
    size_bytes BIGINT COMMENT 'size of the sampled records with this key in bytes; null: unknown',
    record_share DOUBLE NOT NULL COMMENT 'fraction of the topic''s sampled records that have this key',
    librdkafka_partition INT COMMENT 'partition that librdkafka''s default partitioner chooses; null: a random one, because the key is empty'
""",
)

# ---------------------------------------------------------------- consumers
_GROUP_CASE = f"""{CLUSTER_COLUMNS},
    group_id STRING NOT NULL COMMENT 'id of the group',
    assignor STRING NOT NULL COMMENT 'assignor that is computed: the group''s own, and for consumer groups also range and roundrobin, those of a classic group as in the newest client; simple is that of share groups',
    members_change INT NOT NULL COMMENT '0: the group as it is; 1: with one member more; -1: with one member fewer: the member with the last id leaves, or another one with its subscription joins'"""
CONSUMER_ASSIGNMENT = Table(
    "consumer_assignment",
    "the group member that an assignor gives a partition to; a share group may have several for a partition",
    ("snapshot_id", "cluster_id", "group_id", "assignor", "members_change", "topic", "partition", "member_id"),
    f"""
    {_GROUP_CASE},
    topic STRING NOT NULL COMMENT 'name of the topic',
    partition INT NOT NULL COMMENT 'number of the partition within its topic, from 0',
    member_id STRING NOT NULL COMMENT 'id of the member that gets the partition'
""",
)
GROUP_ASSIGNMENT = Table(
    "group_assignment",
    "how evenly an assignor distributes the partitions of a group, and what moves when a member joins or leaves",
    ("snapshot_id", "cluster_id", "group_id", "assignor", "members_change"),
    f"""
    {_GROUP_CASE},
    members INT NOT NULL COMMENT 'number of members',
    partitions INT COMMENT 'assigned partitions, in a share group once for each of their members; null: the assignment is unknown',
    idle_members INT COMMENT 'members without a partition; null: the assignment is unknown',
    min_partitions INT COMMENT 'partitions of the member with the fewest; null: the assignment is unknown',
    max_partitions INT COMMENT 'partitions of the member with the most; null: the assignment is unknown',
    spread INT COMMENT 'max_partitions - min_partitions; null: the assignment is unknown',
    moved_partitions INT COMMENT 'partitions that members have and do not have when members_change is 0; null: one of the assignments is unknown',
    observed_differences INT COMMENT 'partitions whose members differ between the computed and the observed assignment; null: the assignment is unknown, members_change is not 0, the group uses another assignor or an unknown one, it is not known to be stable, or a sticky assignment by client racks may follow from an earlier one',
    depends_on_version BOOLEAN COMMENT 'an older release that the cluster may run, by its reported version, assigns otherwise: configure its kafka_version; null: the assignment is unknown',
    missing_input STRING COMMENT 'input that the dumps lack for the assignment: subscriptions, partitions of topics, client racks (where they make a difference), racks of replicas, stable assignment, topic ids, modelled version of Kafka, or assignor that does not fail (Kafka''s throws); null: the assignment is known'
""",
)

# ---------------------------------------------------------------- storage
LOG_STORAGE = Table(
    "log_storage",
    "the segments and indexes of a replica",
    ("snapshot_id", "cluster_id", "topic", "partition", "broker_id"),
    f"""
    {PARTITION_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker that has the replica',
    log_dir STRING NOT NULL COMMENT 'path of the log dir that contains the replica',
    size_bytes BIGINT NOT NULL COMMENT 'size of the log segments in bytes',
    segment_bytes BIGINT NOT NULL COMMENT 'effective segment.bytes',
    index_interval_bytes BIGINT NOT NULL COMMENT 'effective index.interval.bytes',
    segments BIGINT NOT NULL COMMENT 'minimum number of segments for size_bytes, the active segment included',
    retention_ms BIGINT COMMENT 'effective retention on disk in milliseconds: retention.ms, or local.retention.ms of a tiered topic; null: unlimited, or the topic is only compacted',
    retention_bytes BIGINT COMMENT 'effective retention on disk in bytes: retention.bytes, or local.retention.bytes of a tiered topic; null: unlimited, or the topic is only compacted',
    deletable_bytes BIGINT NOT NULL COMMENT 'bytes of closed segments that retention_bytes allows Kafka to delete from the disk now; of a tiered topic only once they are copied',
    tiered BOOLEAN NOT NULL COMMENT 'closed segments are copied to remote storage (remote.storage.enable), and the replica on disk has the retention of local.retention.*'
""",
    view_columns="""
    offset_index_bytes BIGINT NOT NULL COMMENT 'maximum size of the offset indexes in bytes: 8 for each batch that is more than index.interval.bytes after the last entry',
    time_index_bytes BIGINT NOT NULL COMMENT 'maximum size of the time indexes in bytes: 12 for each entry of the offset index, and 12 for the end of each segment'
""",
)
DISK_USAGE = Table(
    "disk_usage",
    "the bytes in a log dir",
    ("snapshot_id", "cluster_id", "broker_id", "log_dir"),
    f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker',
    log_dir STRING NOT NULL COMMENT 'path of the log dir',
    replicas BIGINT NOT NULL COMMENT 'number of replicas in the log dir',
    size_bytes BIGINT NOT NULL COMMENT 'size of the log segments in bytes',
    index_bytes BIGINT NOT NULL COMMENT 'maximum size of the indexes in bytes',
    segments BIGINT NOT NULL COMMENT 'minimum number of segments',
    capacity_bytes DOUBLE COMMENT 'capacity of the log dir in bytes, or of the broker if it has one log dir; null: unknown',
    used_share DOUBLE COMMENT 'size_bytes divided by capacity_bytes; null: the capacity is unknown',
    deletable_bytes BIGINT NOT NULL COMMENT 'bytes that the retention of the replicas allows Kafka to delete from the log dir now',
    retained_bytes_most BIGINT COMMENT 'most bytes that the retention of the replicas leaves in the log dir: the sum of retention_bytes and segment_bytes; null: a replica has no retention_bytes, or the log dir has no replica',
    growth_bytes_per_s DOUBLE COMMENT 'growth of size_bytes since the previous published snapshot in bytes/s, replicas that were moved included; null: no previous size, or the captures are less than ten minutes apart',
    full_at TIMESTAMP COMMENT 'when size_bytes reaches capacity_bytes at growth_bytes_per_s; null: it does not grow, retained_bytes_most is within the capacity, it takes more than 100 years, or a value is unknown'
""",
)
