"""The tables that ingest writes: what the dumps of a cluster report, and the parameters of the run."""

from __future__ import annotations

from jobs.schema.table import CLUSTER_COLUMNS, PARTITION_COLUMNS, SNAPSHOT_COLUMNS, TOPIC_COLUMNS, Table

BESIDE = "."  # cluster_id in `input_file` and `rejected_input` for files outside the clusters' folders
FOLDER = "."  # file in `input_file` and `rejected_input` for the cluster's folder itself

PARAMETER = Table(
    "parameter",
    "a parameter of the run",
    ("snapshot_id", "name"),
    f"""
    {SNAPSHOT_COLUMNS},
    name STRING NOT NULL COMMENT 'name of the parameter',
    value STRING COMMENT 'value of the parameter as text; null: its default'
""",
)
CLUSTER = Table(
    "cluster",
    "a cluster of the night",
    ("snapshot_id", "cluster_id"),
    f"""
    {CLUSTER_COLUMNS},
    controller STRING NOT NULL COMMENT 'kind of controller, whose election rules apply: zookeeper or kraft',
    controller_assumed BOOLEAN NOT NULL COMMENT 'no file shows the kind of controller: the election rules of zookeeper are assumed, and the placement of topics is unknown',
    elr BOOLEAN NOT NULL COMMENT 'the cluster maintains eligible leader replicas (KIP-966)',
    kafka_version STRING NOT NULL COMMENT 'Kafka release whose rules all answers about the cluster follow, as major.minor.patch',
    kafka_version_source STRING NOT NULL COMMENT 'origin of kafka_version: configured (topology-audit.toml beside the dumps), metadata_version (the newest patch of the release of the finalized metadata.version) or assumed (no file reports a known version: the newest release with this kind of controller)',
    sources ARRAY<STRING> NOT NULL COMMENT 'formats of the files that were read, sorted; what no file reports is unknown, not healthy',
    captured_at TIMESTAMP COMMENT 'when the newest file of the cluster was last written, or when its capture was taken; null: unknown',
    kafka_cluster_id STRING COMMENT 'cluster id that Kafka generated; null: unknown',
    controller_id INT COMMENT 'broker or node id of the active controller, with KRaft the leader of the quorum; null: unknown',
    voters ARRAY<INT> COMMENT 'node ids of the voters of the KRaft quorum, sorted; an id that is also a broker id is a combined broker and controller; null: unknown',
    controllers ARRAY<INT> COMMENT 'node ids of the controllers that the dumps name, sorted: voters and observers of the KRaft quorum; null: unknown',
    features MAP<STRING, STRING> COMMENT 'finalized features with their levels, as the dumps report them: numbers, or releases of metadata.version; null: unknown'
""",
)
INPUT_FILE = Table(
    "input_file",
    "a file that was read",
    ("snapshot_id", "cluster_id", "file"),
    f"""
    {CLUSTER_COLUMNS},
    file STRING NOT NULL COMMENT 'path of the file within the folder of its cluster',
    format STRING COMMENT 'format of the file, recognised by its content; null: not recognised',
    entries BIGINT NOT NULL COMMENT 'entries of the file: lines or elements of JSON lists that state something about the cluster; the sum of accepted and rejected',
    accepted BIGINT NOT NULL COMMENT 'entries that were read into the tables',
    rejected BIGINT NOT NULL COMMENT 'entries that could not be read: the rows of rejected_input for this file',
    size_bytes BIGINT NOT NULL COMMENT 'size of the file in bytes',
    skipped BIGINT NOT NULL COMMENT 'lines and records that are no entries, because no table has what they state: headings, messages of tools, Kafka''s default configs, supported APIs, positions of the quorum, credentials'
""",
)
REJECTED_INPUT = Table(
    "rejected_input",
    "an entry of a file that could not be read, or that a better source contradicts",
    ("snapshot_id", "cluster_id", "file", "line", "entry"),
    f"""
    {CLUSTER_COLUMNS},
    file STRING NOT NULL COMMENT 'path of the file within the folder of its cluster',
    line BIGINT NOT NULL COMMENT 'line number, from 1; for a JSON document the line where it starts, for Parquet the row, for a metadata log the record',
    entry BIGINT NOT NULL COMMENT 'index of the rejected entry within its line, from 0',
    text STRING NOT NULL COMMENT 'first 1000 characters of the entry',
    reason STRING NOT NULL COMMENT 'why the entry was rejected'
""",
)
BROKER = Table(
    "broker",
    "a broker that a broker list, a capacity, a log dir or a replica names",
    ("snapshot_id", "cluster_id", "broker_id"),
    f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker',
    rack STRING COMMENT 'rack of the broker (broker.rack); null: none, or unknown',
    live BOOLEAN NOT NULL COMMENT 'the broker is live: it is in the broker list; without a list, it answered kafka-log-dirs; without both, it leads a partition or is in an ISR',
    disk_capacity_bytes DOUBLE COMMENT 'disk capacity of the broker in bytes, from capacity.json; null: unknown',
    network_in_capacity_bytes_per_s DOUBLE COMMENT 'capacity of incoming network traffic in bytes/s, from capacity.json; null: unknown',
    network_out_capacity_bytes_per_s DOUBLE COMMENT 'capacity of outgoing network traffic in bytes/s, from capacity.json; null: unknown',
    cpu_capacity_percent DOUBLE COMMENT 'CPU capacity in percent of one core, from capacity.json: 400 is four cores; null: unknown',
    capacity_by_default BOOLEAN COMMENT 'the capacities of the broker come from the entry -1 of capacity.json, the default for brokers without an entry; null: no capacity is known',
    network_in_bytes_per_s DOUBLE COMMENT 'traffic that the broker receives from producers and leaders in bytes/s, as Cruise Control''s load reports; null: unknown',
    network_out_bytes_per_s DOUBLE COMMENT 'traffic that the broker sends to consumers and followers in bytes/s, as Cruise Control''s load reports; null: unknown',
    host STRING COMMENT 'host of the broker, as Cruise Control''s load reports it, otherwise the host of the listeners; brokers with the same host share it; null: unknown',
    cordoned BOOLEAN COMMENT 'all log dirs of the broker are cordoned (KIP-1066): Kafka places no new replica on it; null: unknown, which is false before Kafka 4.3'
""",
)
LOG_DIR = Table(
    "log_dir",
    "a log dir of a broker",
    ("snapshot_id", "cluster_id", "broker_id", "log_dir"),
    f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker',
    log_dir STRING NOT NULL COMMENT 'path of the log dir',
    error STRING COMMENT 'exception that the broker reports for the log dir; null: none',
    capacity_bytes DOUBLE COMMENT 'capacity in bytes, from capacity.json if it has capacities by log dir, otherwise total_bytes; null: unknown',
    total_bytes BIGINT COMMENT 'size of the volume in bytes, as the broker reports it; null: unknown',
    usable_bytes BIGINT COMMENT 'free space of the volume in bytes, as the broker reports it; null: unknown',
    cordoned BOOLEAN COMMENT 'the log dir is cordoned (KIP-1066): it takes no new replica; null: unknown, which is false before Kafka 4.3'
""",
)
TOPIC = Table(
    "topic",
    "a topic",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {TOPIC_COLUMNS},
    topic_id STRING COMMENT 'id of the topic (KIP-516); null: unknown',
    partitions INT NOT NULL COMMENT 'number of partitions, as the dump''s topic line reports it; counted if that line is missing',
    replication_factor INT NOT NULL COMMENT 'replication factor, as the dump''s topic line reports it; that of partition 0 if that line is missing',
    min_insync_replicas INT COMMENT 'min.insync.replicas of the topic; null: unknown, then the default of 1 is used',
    configs MAP<STRING, STRING> NOT NULL COMMENT 'configs that are set for the topic or for all brokers; Kafka''s own defaults are not included'
""",
)
PARTITION = Table(
    "partition",
    "a partition",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {PARTITION_COLUMNS},
    leader INT COMMENT 'broker id of the leader; null: none',
    replicas ARRAY<INT> NOT NULL COMMENT 'broker ids of the replicas, the preferred leader first',
    isr ARRAY<INT> NOT NULL COMMENT 'broker ids of the in-sync replicas, sorted',
    elr ARRAY<INT> COMMENT 'broker ids of the eligible leader replicas (KIP-966), sorted; null: unknown',
    last_known_elr ARRAY<INT> COMMENT 'broker ids of the last known eligible leader replicas; null: unknown',
    adding_replicas ARRAY<INT> COMMENT 'broker ids that a reassignment in progress adds; null: none',
    removing_replicas ARRAY<INT> COMMENT 'broker ids that a reassignment in progress removes; null: none',
    log_end_offset BIGINT COMMENT 'log end offset of the leader; null: unknown',
    leader_recovering BOOLEAN COMMENT 'the leader was elected uncleanly and its ISR has not changed since (leader recovery state 1); null: unknown',
    log_start_offset BIGINT COMMENT 'log start offset of the leader; null: unknown',
    replica_size_bytes ARRAY<BIGINT> COMMENT 'size of each replica in bytes, in the order of replicas; null: unknown'
""",
)
REPLICA = Table(
    "replica",
    "a replica: assigned, or on disk without being assigned",
    ("snapshot_id", "cluster_id", "topic", "partition", "broker_id"),
    f"""
    {PARTITION_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker that has the replica',
    replica_index INT COMMENT 'index in the assignment, 0 is the preferred leader; null: on disk, but not assigned',
    in_sync BOOLEAN NOT NULL COMMENT 'the replica is in the ISR',
    log_dir STRING COMMENT 'path of the log dir that contains the replica; null: unknown',
    size_bytes BIGINT COMMENT 'size of the replica in bytes; null: unknown',
    offset_lag BIGINT COMMENT 'records that the replica is behind the leader''s high watermark or log end offset; null: unknown',
    future_log_dir STRING COMMENT 'log dir that an intra-broker move copies the replica to; null: no such move is in progress',
    directory_id STRING COMMENT 'directory id of the log dir, from the metadata log; null: unknown, or not assigned yet'
""",
)
CONSUMER_GROUP = Table(
    "consumer_group",
    "a consumer, share or streams group",
    ("snapshot_id", "cluster_id", "group_id"),
    f"""
    {CLUSTER_COLUMNS},
    group_id STRING NOT NULL COMMENT 'id of the group',
    protocol STRING COMMENT 'classic, consumer (KIP-848), share (KIP-932) or streams (KIP-1071); null: unknown',
    assignor STRING COMMENT 'assignor that the group reports, such as range or roundrobin; null: unknown',
    state STRING COMMENT 'state of the group, as Kafka names it; null: unknown',
    coordinator_id INT COMMENT 'broker id of the group coordinator; null: unknown',
    members INT NOT NULL COMMENT 'number of members that the dumps name'
""",
)
GROUP_MEMBER = Table(
    "group_member",
    "a member of a consumer, share or streams group",
    ("snapshot_id", "cluster_id", "group_id", "member_id"),
    f"""
    {CLUSTER_COLUMNS},
    group_id STRING NOT NULL COMMENT 'id of the group',
    member_id STRING NOT NULL COMMENT 'id of the member',
    group_instance_id STRING COMMENT 'group.instance.id of a static member; null: a dynamic member',
    client_id STRING COMMENT 'client.id of the member; null: unknown',
    host STRING COMMENT 'host of the member; null: unknown',
    topics ARRAY<STRING> COMMENT 'topics that the member subscribes to, sorted, as a capture reports them, with the topics that topic_regex matches, if the group has partitions of each; without a capture the topics assigned to the group, if every member has a partition of each and the group is not rebalancing; null: unknown',
    rack STRING COMMENT 'client.rack of the member; null: none, or unknown',
    topic_regex STRING COMMENT 'regular expression that the member subscribes with (KIP-848); null: none, or unknown',
    rack_known BOOLEAN NOT NULL COMMENT 'a capture reports client.rack of the member, or that it has none'
""",
)
OBSERVED_ASSIGNMENT = Table(
    "observed_assignment",
    "a partition that a dump reports as assigned to a member; share groups can assign one partition to several members",
    ("snapshot_id", "cluster_id", "group_id", "topic", "partition", "member_id"),
    f"""
    {PARTITION_COLUMNS},
    group_id STRING NOT NULL COMMENT 'id of the group',
    member_id STRING NOT NULL COMMENT 'id of the member that the partition is assigned to'
""",
)
COMMITTED_OFFSET = Table(
    "committed_offset",
    "the committed offset of a group for a partition",
    ("snapshot_id", "cluster_id", "group_id", "topic", "partition"),
    f"""
    {PARTITION_COLUMNS},
    group_id STRING NOT NULL COMMENT 'id of the group',
    current_offset BIGINT COMMENT 'committed offset; null: none',
    log_end_offset BIGINT COMMENT 'log end offset of the partition, as the group''s dump reports it; null: unknown',
    lag BIGINT COMMENT 'records between the committed offset and the log end offset; null: unknown'
""",
)
KEY_SAMPLE = Table(
    "key_sample",
    "the records that producers sent with a key, or without one, to a topic",
    ("snapshot_id", "cluster_id", "topic", "key", "partition"),
    f"""
    {TOPIC_COLUMNS},
    key BINARY COMMENT 'key of the records; null: sent without a key, which differs from the empty key',
    partition INT COMMENT 'partition that the producer named; null: the partitioner chose',
    records BIGINT NOT NULL COMMENT 'sampled records with this key',
    size_bytes BIGINT COMMENT 'size of the sampled records in bytes; null: unknown',
    observed_partitions ARRAY<INT> COMMENT 'partitions that contain the records, sorted; null: unknown',
    observed_records ARRAY<BIGINT> COMMENT 'records in each of observed_partitions, in the same order; null: unknown'
""",
)
PARTITION_LOAD = Table(
    "partition_load",
    "the load of a partition's leader, as Cruise Control measured it",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {PARTITION_COLUMNS},
    cpu_percent DOUBLE NOT NULL COMMENT 'CPU load in percent of one core',
    disk_bytes DOUBLE NOT NULL COMMENT 'size on disk in bytes',
    network_in_bytes_per_s DOUBLE NOT NULL COMMENT 'traffic from producers in bytes/s',
    network_out_bytes_per_s DOUBLE NOT NULL COMMENT 'traffic to consumers and followers in bytes/s'
""",
)
CONFIG = Table(
    "config",
    "a config that is set on a broker, on all brokers, on a group or on a client-metrics subscription; those of topics are in topic.configs",
    ("snapshot_id", "cluster_id", "entity_type", "entity_name", "config"),
    f"""
    {CLUSTER_COLUMNS},
    entity_type STRING NOT NULL COMMENT 'broker, group or client-metrics',
    entity_name STRING NOT NULL COMMENT 'id of the broker or group, or name of the subscription; empty: the default of all brokers',
    config STRING NOT NULL COMMENT 'name of the config',
    value STRING COMMENT 'value of the config as text; null: not stored, because it may be a secret'
""",
)
CLIENT_QUOTA = Table(
    "client_quota",
    "a quota of clients (KIP-13, KIP-546)",
    ("snapshot_id", "cluster_id", "user", "client_id", "ip", "quota"),
    f"""
    {CLUSTER_COLUMNS},
    user STRING COMMENT 'user principal that the quota applies to; <default>: every user without a quota of its own; null: the quota does not depend on the user',
    client_id STRING COMMENT 'client.id that the quota applies to; <default>: every client id without a quota of its own; null: the quota does not depend on the client id',
    ip STRING COMMENT 'IP address that the quota applies to; <default>: every address without a quota of its own; null: the quota does not depend on the address',
    quota STRING NOT NULL COMMENT 'name of the quota: producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate or connection_creation_rate',
    value DOUBLE NOT NULL COMMENT 'limit, in the unit of the quota: bytes/s, percent of a thread, mutations/s or connections/s'
""",
)
ACL = Table(
    "acl",
    "an access control entry of the KRaft authorizer",
    ("snapshot_id", "cluster_id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission"),
    f"""
    {CLUSTER_COLUMNS},
    resource_type STRING NOT NULL COMMENT 'TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN or USER',
    resource_name STRING NOT NULL COMMENT 'name of the resource, or its prefix; *: all resources of the type',
    pattern_type STRING NOT NULL COMMENT 'LITERAL: resource_name is the name; PREFIXED: it is a prefix of names',
    principal STRING NOT NULL COMMENT 'principal, for example User:alice; User:*: every principal',
    host STRING NOT NULL COMMENT 'IP address of the client; *: every address',
    operation STRING NOT NULL COMMENT 'operation in the words of kafka-acls, for example READ; ALL: every operation',
    permission STRING NOT NULL COMMENT 'ALLOW or DENY'
""",
)
PROPOSED_REASSIGNMENT = Table(
    "proposed_reassignment",
    "a partition or topic in a plan for kafka-reassign-partitions or kafka-leader-election, which is not the state of the cluster",
    ("snapshot_id", "cluster_id", "file", "topic", "partition"),
    f"""
    {TOPIC_COLUMNS},
    file STRING NOT NULL COMMENT 'path of the plan within the folder of its cluster',
    partition INT COMMENT 'number of the partition; null: the file names the whole topic',
    replicas ARRAY<INT> COMMENT 'broker ids of the proposed replicas, the preferred leader first; null: the file does not propose replicas',
    log_dirs ARRAY<STRING> COMMENT 'proposed log dir of each replica, in the order of replicas; a null element: the broker chooses; null: the file does not propose log dirs'
""",
)
