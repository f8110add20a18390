"""Every Delta table of the lake, declared once: name, key, columns with their meaning and units.

The DDL text feeds CREATE TABLE, createDataFrame, applyInPandas and the tests alike. Every row belongs to a snapshot (one night)
and, but for `parameter`, to a cluster. A job replaces its own slice, so that a rerun changes nothing; readers see a snapshot's rows
once the row of `snapshot` stands (jobs/views/). Words are Kafka's own; ids end in _id; units are in the names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

_SNAPSHOT = "snapshot_id STRING NOT NULL COMMENT 'the night that the row belongs to; later nights sort later'"
_CLUSTER = f"""{_SNAPSHOT},
    cluster_id STRING NOT NULL COMMENT 'the name of the folder that the cluster was read from'"""
_TOPIC = f"""{_CLUSTER},
    topic STRING NOT NULL"""
_PARTITION = f"""{_TOPIC},
    partition INT NOT NULL"""


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table: `key` tells its rows apart, `slice` names the columns whose values a job replaces as a whole, its Delta partitions."""

    name: str
    comment: str
    key: tuple[str, ...]
    columns: str
    slice: tuple[str, ...] = ("snapshot_id",)

    @property
    def schema(self) -> pa.Schema:
        """The columns as Arrow has them, comments in their metadata. It needs no JVM, which Spark's parser of DDL does."""
        return _schema(self.columns)


_COLUMN = re.compile(
    r"(?P<name>\w+) +(?P<type>ARRAY<\w+>|MAP<\w+, \w+>|\w+)(?P<required> +NOT NULL)?(?: +COMMENT '(?P<comment>(?:[^']|'')*)')?,?"
)
_TYPES = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "BINARY": pa.binary(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}


@cache
def _schema(columns: str) -> pa.Schema:
    return pa.schema([_field(line.strip()) for line in columns.strip().splitlines()])


def _field(declared: str) -> pa.Field:
    column = _COLUMN.fullmatch(declared)
    if column is None:
        raise ValueError(f"no column, each on a line of its own: {declared}")
    outer, *inner = re.split("[<>, ]+", column["type"].rstrip(">"))
    known = [_TYPES[name] for name in inner or [outer]]
    type = {"ARRAY": pa.list_, "MAP": pa.map_}[outer](*known) if inner else known[0]
    comment = (column["comment"] or "").replace("''", "'")
    return pa.field(column["name"], type, nullable=column["required"] is None, metadata={"comment": comment} if comment else None)


# ---------------------------------------------------------------- what the dumps say (written by ingest)
PARAMETER = Table(
    "parameter",
    "what the run was asked",
    ("snapshot_id", "name"),
    f"""
    {_SNAPSHOT},
    name  STRING NOT NULL,
    value STRING          COMMENT 'null: left to its default'
""",
)
CLUSTER = Table(
    "cluster",
    "a cluster of the night",
    ("snapshot_id", "cluster_id"),
    f"""
    {_CLUSTER},
    controller  STRING        NOT NULL COMMENT 'zookeeper or kraft: whose rules elections follow',
    elr         BOOLEAN       NOT NULL COMMENT 'eligible leader replicas (KIP-966) are kept',
    sources     ARRAY<STRING> NOT NULL COMMENT 'the formats found, sorted: what is not here is unknown, not healthy',
    captured_at TIMESTAMP              COMMENT 'when the newest of its files was last written, or its capture taken',
    kafka_cluster_id STRING            COMMENT 'the id that Kafka itself knows it by; null: unknown',
    controller_id INT                  COMMENT 'the active controller: of KRaft the node that leads the quorum; null: unknown',
    voters      ARRAY<INT>             COMMENT 'the nodes of the KRaft quorum, sorted: an id that a broker has too is both in one process; null: unknown'
""",
)
INPUT_FILE = Table(
    "input_file",
    "a file that was read",
    ("snapshot_id", "cluster_id", "file"),
    f"""
    {_CLUSTER},
    file     STRING NOT NULL COMMENT 'path within the cluster folder',
    format   STRING          COMMENT 'recognised by content; null: not recognised',
    entries  BIGINT NOT NULL COMMENT 'things in it to read: lines that say something, elements of JSON lists; entries = accepted + rejected',
    accepted BIGINT NOT NULL,
    rejected BIGINT NOT NULL COMMENT 'rows of rejected_input',
    size_bytes BIGINT NOT NULL
""",
)
REJECTED_INPUT = Table(
    "rejected_input",
    "what could not be read",
    ("snapshot_id", "cluster_id", "file", "line", "entry"),
    f"""
    {_CLUSTER},
    file   STRING NOT NULL,
    line   BIGINT NOT NULL COMMENT 'from 1; of a JSON document, the line where the document starts; of Parquet the row, of a metadata log the record',
    entry  BIGINT NOT NULL COMMENT 'the how-manieth rejected entry of that line, from 0',
    text   STRING NOT NULL COMMENT 'the entry, its first 1000 characters',
    reason STRING NOT NULL
""",
)
BESIDE = "."  # the cluster id, in these two tables, of what is beside the folders of the clusters
FOLDER = "."  # the file, in these two tables, that stands for a cluster's folder itself
BROKER = Table(
    "broker",
    "a broker, known from a list, a capacity, a log dir or a replica",
    ("snapshot_id", "cluster_id", "broker_id"),
    f"""
    {_CLUSTER},
    broker_id INT NOT NULL,
    rack      STRING           COMMENT 'null: none, or unknown',
    live      BOOLEAN NOT NULL COMMENT 'in the broker list; without a list, answering kafka-log-dirs; without that, leading or in sync somewhere',
    disk_capacity_bytes             DOUBLE COMMENT 'from capacity.json, as are the next three; null: unknown',
    network_in_capacity_bytes_per_s  DOUBLE,
    network_out_capacity_bytes_per_s DOUBLE,
    cpu_capacity_percent            DOUBLE COMMENT '100 is one core',
    capacity_by_default BOOLEAN COMMENT 'its capacities are those of entry -1 of capacity.json, which stands for every broker not named; null: no capacity is told',
    network_in_bytes_per_s  DOUBLE COMMENT 'that it takes in from producers and leaders, as Cruise Control''s load measured; null: unknown',
    network_out_bytes_per_s DOUBLE COMMENT 'that it sends to consumers and followers, likewise'
""",
)
LOG_DIR = Table(
    "log_dir",
    "a log dir of a broker",
    ("snapshot_id", "cluster_id", "broker_id", "log_dir"),
    f"""
    {_CLUSTER},
    broker_id INT    NOT NULL,
    log_dir   STRING NOT NULL,
    error     STRING          COMMENT 'the exception that the broker told; null: none',
    capacity_bytes DOUBLE     COMMENT 'from capacity.json where it is told by log dir, else total_bytes',
    total_bytes    BIGINT     COMMENT 'of its volume, as the broker tells it; null: unknown',
    usable_bytes   BIGINT     COMMENT 'left on its volume, likewise'
""",
)
TOPIC = Table(
    "topic",
    "a topic",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {_TOPIC},
    topic_id           STRING,
    partitions         INT NOT NULL COMMENT 'partition count: as told, or counted where the topic line is missing',
    replication_factor INT NOT NULL COMMENT 'as told (that of partition 0), or of partition 0 where the topic line is missing',
    min_insync_replicas INT         COMMENT 'min.insync.replicas; null: unknown, and the default of 1 is taken',
    configs MAP<STRING, STRING> NOT NULL COMMENT 'what is set for it, or for all brokers; Kafka''s own defaults are unknown'
""",
)
PARTITION = Table(
    "partition",
    "a partition",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {_PARTITION},
    leader   INT                 COMMENT 'null: none',
    replicas ARRAY<INT> NOT NULL COMMENT 'broker ids, the preferred leader first',
    isr      ARRAY<INT> NOT NULL COMMENT 'broker ids, sorted',
    elr            ARRAY<INT>    COMMENT 'eligible leader replicas, sorted; null: unknown',
    last_known_elr ARRAY<INT>    COMMENT 'null: unknown',
    adding_replicas   ARRAY<INT> COMMENT 'of a reassignment under way; null: none',
    removing_replicas ARRAY<INT> COMMENT 'of a reassignment under way; null: none',
    log_end_offset BIGINT        COMMENT 'the leader''s; null: unknown',
    leader_recovering BOOLEAN    COMMENT 'the leader was elected uncleanly, and its ISR has not changed since (leader recovery state 1); null: unknown',
    log_start_offset BIGINT      COMMENT 'the leader''s; null: unknown',
    replica_size_bytes ARRAY<BIGINT> COMMENT 'of each of the replicas, in their order; null: unknown'
""",
)
REPLICA = Table(
    "replica",
    "a replica: assigned, or only found on disk",
    ("snapshot_id", "cluster_id", "topic", "partition", "broker_id"),
    f"""
    {_PARTITION},
    broker_id     INT     NOT NULL,
    replica_index INT              COMMENT 'place in the assignment, 0 the preferred leader; null: on disk, but not assigned',
    in_sync       BOOLEAN NOT NULL COMMENT 'in the ISR',
    log_dir       STRING           COMMENT 'null: unknown',
    size_bytes    BIGINT           COMMENT 'null: unknown',
    offset_lag    BIGINT           COMMENT 'records behind the leader''s high watermark or end; null: unknown',
    future_log_dir STRING          COMMENT 'where an intra-broker move is copying it; null: none under way',
    directory_id   STRING          COMMENT 'of its log dir, as the metadata log has it; null: unknown, or not assigned yet'
""",
)
CONSUMER_GROUP = Table(
    "consumer_group",
    "a consumer or share group",
    ("snapshot_id", "cluster_id", "group_id"),
    f"""
    {_CLUSTER},
    group_id STRING NOT NULL,
    protocol STRING         COMMENT 'classic, consumer (KIP-848) or share (KIP-932); null: unknown',
    assignor STRING         COMMENT 'as the group tells it (range, roundrobin, ...); null: unknown',
    state    STRING         COMMENT 'null: unknown',
    coordinator_id INT      COMMENT 'the broker that coordinates it; null: unknown',
    members  INT NOT NULL   COMMENT 'members seen'
""",
)
GROUP_MEMBER = Table(
    "group_member",
    "a member of a consumer or share group",
    ("snapshot_id", "cluster_id", "group_id", "member_id"),
    f"""
    {_CLUSTER},
    group_id  STRING NOT NULL,
    member_id STRING NOT NULL,
    group_instance_id STRING COMMENT 'of a static member; null: dynamic',
    client_id STRING,
    host      STRING,
    topics ARRAY<STRING> NOT NULL COMMENT 'subscribed, sorted: a capture tells them; dumps, and a regular expression, only by what is assigned, so the topics assigned to any member of the group',
    rack STRING COMMENT 'client.rack; null: none, or unknown',
    topic_regex STRING COMMENT 'by which it subscribes (KIP-848); null: by none, or unknown'
""",
)
OBSERVED_ASSIGNMENT = Table(
    "observed_assignment",
    "a partition that a member was seen to hold: of a share group, several members may",
    ("snapshot_id", "cluster_id", "group_id", "topic", "partition", "member_id"),
    f"""
    {_PARTITION},
    group_id  STRING NOT NULL,
    member_id STRING NOT NULL
""",
)
COMMITTED_OFFSET = Table(
    "committed_offset",
    "how far a group has read",
    ("snapshot_id", "cluster_id", "group_id", "topic", "partition"),
    f"""
    {_PARTITION},
    group_id       STRING NOT NULL,
    current_offset BIGINT COMMENT 'committed; null: none',
    log_end_offset BIGINT COMMENT 'null: unknown',
    lag            BIGINT COMMENT 'records; null: unknown'
""",
)
KEY_SAMPLE = Table(
    "key_sample",
    "what producers sent under a key",
    ("snapshot_id", "cluster_id", "topic", "key", "partition"),
    f"""
    {_TOPIC},
    key       BINARY          COMMENT 'null: sent without a key, which is not the empty key',
    partition INT             COMMENT 'named by the producer; null: left to the partitioner',
    records   BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    observed_partitions ARRAY<INT> COMMENT 'where its records were found, sorted; null: unknown',
    observed_records ARRAY<BIGINT> COMMENT 'how many in each of them; null: unknown'
""",
)
PARTITION_LOAD = Table(
    "partition_load",
    "what Cruise Control measured of a partition's leader",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {_PARTITION},
    cpu_percent DOUBLE NOT NULL COMMENT '100 is one core',
    disk_bytes  DOUBLE NOT NULL,
    network_in_bytes_per_s  DOUBLE NOT NULL,
    network_out_bytes_per_s DOUBLE NOT NULL COMMENT 'to consumers and followers'
""",
)

# ---------------------------------------------------------------- what changed
CHANGE = Table(
    "change",
    "what differs from the cluster's previous published snapshot, and what explains it",
    ("snapshot_id", "cluster_id", "kind", "broker_id", "topic", "partition", "group_id", "name"),
    f"""
    {_CLUSTER},
    previous_snapshot_id STRING NOT NULL COMMENT 'which it differs from',
    kind      STRING NOT NULL COMMENT 'such as broker lost, topic created, ISR shrank, leader moved, config changed, group gone',
    broker_id INT    COMMENT 'of what changed, as are the next four; null: it is not of one',
    topic     STRING,
    partition INT,
    group_id  STRING,
    name      STRING COMMENT 'of the config, log dir, source, member, or column of consumer_group',
    value_before STRING COMMENT 'as text, ids of brokers parted by commas; null: none',
    value_after  STRING COMMENT 'likewise',
    cause     STRING COMMENT 'the change that explains it, such as broker 3 was lost; null: nothing here does'
""",
)

# ---------------------------------------------------------------- where replicas would be
REPLICA_ASSIGNMENT = Table(
    "replica_assignment",
    "where Kafka would place a partition, and where it is",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {_PARTITION},
    replicas ARRAY<INT> NOT NULL COMMENT 'as AdminUtils places it from the topic''s start index and shift, the preferred leader first',
    observed ARRAY<INT> NOT NULL COMMENT 'as it is',
    drifted  BOOLEAN    NOT NULL COMMENT 'the two differ',
    misplaced_replicas INT NOT NULL COMMENT 'brokers that hold it and would not'
""",
)
TOPIC_PLACEMENT = Table(
    "topic_placement",
    "the start that explains a topic's placement best",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {_TOPIC},
    algorithm   STRING COMMENT 'rack-unaware or rack-aware (AdminUtils); null: not placeable',
    start_index INT    COMMENT 'asked, or recovered; null: not placeable',
    shift       INT    COMMENT 'modulo brokers - 1; asked, or recovered; null: not placeable',
    start_requested BOOLEAN NOT NULL COMMENT 'start index and shift are parameters of the run, not recovered',
    partitions  INT NOT NULL,
    matching_partitions INT NOT NULL COMMENT 'that are where start and shift put them, to the order of the replicas',
    explained   BOOLEAN NOT NULL COMMENT 'all are',
    refusal     STRING COMMENT 'why Kafka would refuse to place it; null: it would not'
""",
)

# ---------------------------------------------------------------- what producers write
PRODUCER_LOAD = Table(
    "producer_load",
    "what a partition gets of the producers' records: topics with a key sample, or with growth seen",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {_PARTITION},
    records BIGINT COMMENT 'predicted from the key sample: explicit partition, keyed (murmur2 over all), without a key (round robin over the available); null, as the next seven: the topic has no key sample',
    size_bytes BIGINT COMMENT 'predicted likewise',
    explicit_records BIGINT,
    keyed_records    BIGINT,
    unkeyed_records  BIGINT,
    keys             BIGINT COMMENT 'distinct keys of the sample that hash here',
    record_share DOUBLE COMMENT 'of the topic''s sampled records; sums to 1',
    byte_share   DOUBLE COMMENT 'of the topic''s sampled bytes; sums to 1 (0 where no bytes were sampled)',
    observed_records BIGINT COMMENT 'growth of the end offset since the previous published snapshot; null: unknown in both',
    observed_size_bytes BIGINT COMMENT 'growth of the leader''s size since the previous published snapshot; null: unknown in both',
    observed_record_share DOUBLE COMMENT 'of the topic''s growth; null: unknown of every partition, or nothing grew',
    observed_size_bytes_per_s DOUBLE COMMENT 'growth over the time between the two captures; null: unknown in both, or these are less than ten minutes apart'
""",
)
TOPIC_LOAD = Table(
    "topic_load",
    "how unevenly a topic's partitions are written",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {_TOPIC},
    partitions INT NOT NULL,
    available_partitions INT NOT NULL COMMENT 'with a leader',
    records    BIGINT COMMENT 'sampled; null, as the next seven: the topic has no key sample',
    size_bytes BIGINT,
    keys       BIGINT,
    hottest_partition INT COMMENT 'by records, the lowest of equals',
    skew        DOUBLE COMMENT 'records of the hottest partition over the mean; 1 is even',
    record_cv   DOUBLE COMMENT 'coefficient of variation of records over partitions',
    hottest_key_share DOUBLE COMMENT 'of all records; null also: no keyed record',
    skew_floor  DOUBLE COMMENT 'no partitioner can go below it while a key stays in one partition and named partitions stay named: by the hottest key, and by the two, three and four hottest that must share one, there being more such keys than partitions',
    observed_records BIGINT COMMENT 'growth of the end offsets since the previous published snapshot; null: unknown',
    observed_skew    DOUBLE COMMENT 'growth of the fastest partition over the mean; null: unknown, or nothing grew',
    librdkafka_moved_keys    BIGINT COMMENT 'keys that the default of librdkafka (consistent_random: CRC-32) puts elsewhere than the Java client does',
    librdkafka_moved_records BIGINT COMMENT 'their records: what a second client of that kind would send out of order with the first',
    hottest_share DOUBLE COMMENT 'of the records, those of the hottest partition; null: no key sample, or no record',
    record_gini   DOUBLE COMMENT 'Gini coefficient of records over partitions: 0 even, towards 1 all in one; null likewise'
""",
)
TOPIC_PARTITIONER = Table(
    "topic_partitioner",
    "which client's partitioner put a topic's keys where they were found: topics with more than one partition",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {_TOPIC},
    partitions INT NOT NULL,
    keys       BIGINT NOT NULL COMMENT 'found in some partition, and not empty',
    records    BIGINT NOT NULL COMMENT 'of these keys',
    partitioner STRING COMMENT 'that most records fit: murmur2 (Java), crc32 (librdkafka), fnv1a (Sarama), fnv1a_reference, fnv1a_unsigned; null: none does better than chance',
    explained_records BIGINT NOT NULL COMMENT 'that are where it puts them',
    unexplained_share DOUBLE NOT NULL COMMENT 'of the records: those that are elsewhere',
    second_partitioner STRING COMMENT 'that explains most of the rest; null: none does better than chance',
    second_records BIGINT NOT NULL COMMENT 'of the rest, those that are where it puts them',
    split_keys     BIGINT NOT NULL COMMENT 'found in more than one partition: their records are not in order',
    split_records  BIGINT NOT NULL COMMENT 'of these'
""",
)
HOT_KEY = Table(
    "hot_key",
    "the ten keys of a topic with the most records",
    ("snapshot_id", "cluster_id", "topic", "rank"),
    f"""
    {_TOPIC},
    rank      INT    NOT NULL COMMENT 'from 1',
    key       BINARY NOT NULL,
    key_text  STRING          COMMENT 'as UTF-8; null: it is not',
    partition INT    NOT NULL COMMENT 'where the partitioner puts it',
    records   BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    record_share DOUBLE NOT NULL COMMENT 'of the topic''s sampled records',
    librdkafka_partition INT     COMMENT 'where the default of librdkafka puts it; null: anywhere, the key being empty'
""",
)

# ---------------------------------------------------------------- what consumers read
_GROUP_CASE = f"""{_CLUSTER},
    group_id STRING NOT NULL,
    assignor STRING NOT NULL COMMENT 'range or roundrobin',
    members_change INT NOT NULL COMMENT '0: the group as it is; 1: one member more, -1: one fewer, the last in the order of ids each time'"""
CONSUMER_ASSIGNMENT = Table(
    "consumer_assignment",
    "who of a consumer group would read a partition",
    ("snapshot_id", "cluster_id", "group_id", "assignor", "members_change", "topic", "partition"),
    f"""
    {_GROUP_CASE},
    topic     STRING NOT NULL,
    partition INT    NOT NULL,
    member_id STRING NOT NULL
""",
)
GROUP_ASSIGNMENT = Table(
    "group_assignment",
    "how a group's partitions are spread, and moved by one member more or fewer",
    ("snapshot_id", "cluster_id", "group_id", "assignor", "members_change"),
    f"""
    {_GROUP_CASE},
    members      INT NOT NULL,
    partitions   INT NOT NULL,
    idle_members INT NOT NULL COMMENT 'given nothing',
    min_partitions INT NOT NULL COMMENT 'of any member',
    max_partitions   INT NOT NULL COMMENT 'of any member',
    spread       INT NOT NULL COMMENT 'most less fewest',
    moved_partitions INT NOT NULL COMMENT 'that have another member than with members_change 0',
    observed_differences INT COMMENT 'partitions that the dump shows at another member, where this is the assignor in force; null: not comparable'
""",
)

# ---------------------------------------------------------------- what lies on disk
LOG_STORAGE = Table(
    "log_storage",
    "the segments of a replica",
    ("snapshot_id", "cluster_id", "topic", "partition", "broker_id"),
    f"""
    {_PARTITION},
    broker_id     INT    NOT NULL,
    log_dir       STRING NOT NULL,
    size_bytes    BIGINT NOT NULL,
    segment_bytes BIGINT NOT NULL COMMENT 'segment.bytes in force',
    segments      BIGINT NOT NULL COMMENT 'least number that hold the size, the active one included',
    offset_index_bytes BIGINT NOT NULL COMMENT 'at most: 8 bytes an entry, one for each batch that finds more than index.interval.bytes behind the last',
    time_index_bytes   BIGINT NOT NULL COMMENT 'at most: 12 bytes an entry, as many, and one that closes each segment',
    retention_ms    BIGINT COMMENT 'retention.ms; null: for ever',
    retention_bytes BIGINT COMMENT 'retention.bytes; null: unlimited',
    deletable_bytes BIGINT NOT NULL COMMENT 'whole closed segments that retention by size would delete now'
""",
)
DISK_USAGE = Table(
    "disk_usage",
    "the bytes on a log dir",
    ("snapshot_id", "cluster_id", "broker_id", "log_dir"),
    f"""
    {_CLUSTER},
    broker_id  INT    NOT NULL,
    log_dir    STRING NOT NULL,
    replicas   BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL COMMENT 'log segments',
    index_bytes BIGINT NOT NULL COMMENT 'at most',
    segments   BIGINT NOT NULL,
    capacity_bytes DOUBLE COMMENT 'of the log dir, or of a broker with one; null: unknown',
    used_share     DOUBLE COMMENT 'size over capacity; null: capacity unknown'
""",
)

# ---------------------------------------------------------------- what breaks
_SCENARIO = f"""{_CLUSTER},
    scenario_set STRING NOT NULL COMMENT 'nightly, or the id of a what-if',
    scenario_id  STRING NOT NULL COMMENT 'such as broker 3, rack a, or the what-if''s own'"""
SCENARIO = Table(
    "scenario",
    "a failure and its outcome",
    ("snapshot_id", "cluster_id", "scenario_set", "scenario_id"),
    f"""
    {_SCENARIO},
    kind    STRING     NOT NULL COMMENT 'broker (killed), stop (a broker stopped in order), rack or what-if',
    brokers ARRAY<INT> NOT NULL COMMENT 'that fail, in this order',
    racks   ARRAY<STRING> NOT NULL COMMENT 'that were asked to fail',
    unclean BOOLEAN             COMMENT 'unclean election everywhere or nowhere; null: as each topic''s unclean.leader.election.enable says',
    controlled_shutdown BOOLEAN NOT NULL COMMENT 'stopped in order, not killed',
    partitions          BIGINT NOT NULL COMMENT 'with a replica on a failing broker',
    moved_leaders       BIGINT NOT NULL COMMENT 'that get another leader',
    leaderless          BIGINT NOT NULL COMMENT 'partitions without a leader after the failure, whether or not they had one before',
    newly_offline       BIGINT NOT NULL COMMENT 'partitions that have a leader before the failure and none after it',
    under_min_isr       BIGINT NOT NULL COMMENT 'partitions that do not accept acks=all after the failure, whether or not they did before; includes every leaderless partition',
    newly_refusing_acks_all BIGINT NOT NULL COMMENT 'partitions that have a leader after the failure, refuse acks=all, and accepted it before; never also counted in newly_offline',
    at_min_isr          BIGINT NOT NULL COMMENT 'led, with just min.insync.replicas in sync',
    unclean_leaders     BIGINT NOT NULL COMMENT 'led by a replica that was out of sync: records are lost',
    no_replica_left     BIGINT NOT NULL COMMENT 'all replicas are on failing or dead brokers',
    undeliverable_records    BIGINT COMMENT 'sampled records bound by key or by name to a partition without a leader, or of a topic that has no leader at all; null: no key sample',
    busiest_survivor    INT    COMMENT 'who gains the most leaders; null: nobody gains',
    busiest_gained_leaders BIGINT NOT NULL,
    newly_lost         BIGINT NOT NULL COMMENT 'partitions that had a live replica with every acknowledged record (in the ISR or ELR) before the failure and have none after it; can also be counted in newly_offline or newly_refusing_acks_all',
    changed_partitions BIGINT NOT NULL COMMENT 'whose leader, ISR or ELR changes: a PartitionChangeRecord each to KRaft, a state node written to ZooKeeper',
    undeliverable_size_bytes BIGINT COMMENT 'sampled bytes of the homeless records; null: no key sample',
    moved_coordinators BIGINT  COMMENT 'consumer groups whose coordinator moves; null: no group or no __consumer_offsets is told',
    lost_coordinators  BIGINT  COMMENT 'consumer groups that are left without a coordinator: their members stop; null likewise',
    log_dirs ARRAY<STRING>     COMMENT 'that were asked to fail, after brokers and racks: broker id, colon, path',
    controller_moves BOOLEAN   COMMENT 'the active controller is among those that fail; null: unknown which it is',
    quorum_lost BOOLEAN        COMMENT 'too few controllers are left to elect anybody: nothing moves from then on, and an ISR keeps its dead; null: voters unknown, or ZooKeeper',
    transitions BIGINT         COMMENT 'of partition states that the controller makes',
    metadata_records BIGINT    COMMENT 'that KRaft''s controller writes: a PartitionChangeRecord for each change of a partition, and those of the brokers'' registrations; null: ZooKeeper',
    leader_and_isr_requests BIGINT  COMMENT 'that the ZooKeeper controller sends; null, as the next two: KRaft, or not one broker, or the controller itself',
    update_metadata_requests BIGINT COMMENT 'that it sends',
    stop_replica_requests BIGINT    COMMENT 'that it sends',
    at_risk_size_bytes BIGINT  COMMENT 'of the partitions whose leader is lost, what it has and its successor has not, as far as told',
    at_risk_records    BIGINT  COMMENT 'likewise, as far as told',
    at_risk_unknown     BIGINT  COMMENT 'partitions whose leader is lost, of which these bytes are unknown',
    moved_transaction_coordinators BIGINT COMMENT 'partitions of __transaction_state, each the coordinator of its share of transactional ids, that move; null: there is no such topic',
    lost_transaction_coordinators  BIGINT COMMENT 'of them, those left without a leader: their producers can neither begin nor commit; null likewise',
    affected_groups    BIGINT  COMMENT 'consumer groups that read a partition which loses its leader; null: no group is told',
    stranded_members   BIGINT  COMMENT 'members all of whose partitions lose their leader: they read nothing; null: no member''s partitions are told',
    redirected_records BIGINT  COMMENT 'sampled records without a key of partitions that lose their leader, which producers send evenly to the topic''s others instead; null: no key sample',
    undeliverable_share     DOUBLE  COMMENT 'homeless records over all that are sampled of the cluster; null: no key sample',
    concentration      DOUBLE  COMMENT 'leaders that the busiest survivor gains over the mean of all survivors: 1 is even; null: none moves',
    fullest_survivor   INT     COMMENT 'who sends the greatest part of its network capacity then; null: unknown',
    fullest_survivor_share DOUBLE COMMENT 'that part'
""",
    slice=("snapshot_id", "scenario_set"),
)
FAILOVER = Table(
    "failover",
    "what a failure does to a partition: only the partitions that it touches",
    ("snapshot_id", "cluster_id", "scenario_set", "scenario_id", "topic", "partition"),
    f"""
    {_SCENARIO},
    topic     STRING NOT NULL,
    partition INT    NOT NULL,
    state_before STRING NOT NULL COMMENT 'OnlinePartition or OfflinePartition',
    state        STRING NOT NULL COMMENT 'after it',
    transitions  ARRAY<STRING> NOT NULL COMMENT 'of the partition state machine, in order',
    election     STRING NOT NULL COMMENT 'the election that was held last: none, offline, unclean, controlled-shutdown',
    leader_before INT COMMENT 'null: none',
    leader        INT COMMENT 'null: none',
    isr_before ARRAY<INT> NOT NULL,
    isr        ARRAY<INT> NOT NULL COMMENT 'sorted',
    elr        ARRAY<INT> COMMENT 'sorted; null: not kept by this cluster',
    last_known_elr ARRAY<INT> COMMENT 'null: not kept by this cluster',
    min_insync_replicas INT NOT NULL COMMENT 'in force: at most the number of replicas counts for the ELR, the raw number for acks=all',
    under_min_isr_before BOOLEAN NOT NULL,
    under_min_isr BOOLEAN NOT NULL,
    at_min_isr    BOOLEAN NOT NULL,
    unclean       BOOLEAN NOT NULL COMMENT 'the new leader was not in sync',
    live_replicas INT NOT NULL COMMENT 'replicas on brokers that still live',
    safe_replicas_before INT NOT NULL COMMENT 'replicas on live brokers, in the ISR or ELR: they have every acknowledged record',
    safe_replicas        INT NOT NULL COMMENT 'of them, those that still live',
    metadata_records INT   COMMENT 'PartitionChangeRecords that KRaft writes of it; null: ZooKeeper',
    at_risk_size_bytes BIGINT COMMENT 'what the lost leader has on disk and its successor (without one, the largest replica left) has not: gone if the leader does not come back; 0: the leader stays; null: sizes unknown',
    at_risk_records    BIGINT COMMENT 'likewise, by the bytes that a record of the partition took since the previous snapshot; null: unknown',
    leader_epochs      INT    COMMENT 'by how many the leader epoch rises (KRaft: with metadata version 3.6 or later): at each, clients look for the leader anew',
    assigned_replicas    INT NOT NULL COMMENT 'replicas that it has, on live brokers or dead',
    live_replicas_before INT NOT NULL COMMENT 'of them, on live brokers',
    survivors ARRAY<INT> NOT NULL COMMENT 'the brokers of those that still live, in the order of the assignment'
""",
    slice=("snapshot_id", "scenario_set"),
)
FAILOVER_LOAD = Table(
    "failover_load",
    "what a survivor takes over: only survivors that gain",
    ("snapshot_id", "cluster_id", "scenario_set", "scenario_id", "broker_id"),
    f"""
    {_SCENARIO},
    broker_id INT NOT NULL,
    leaders_before BIGINT NOT NULL,
    gained_leaders BIGINT NOT NULL,
    gained_records BIGINT COMMENT 'sampled records of the partitions gained; null: no key sample',
    gained_size_bytes BIGINT COMMENT 'sampled bytes of the partitions gained; null: no key sample',
    gained_share DOUBLE NOT NULL COMMENT 'of all leaders that move in the scenario',
    gained_size_bytes_per_s DOUBLE COMMENT 'that producers send to the partitions gained, as Cruise Control measured or as seen since the previous snapshot: the broker stored them before, as a follower; null: unknown',
    network_out_bytes_per_s DOUBLE COMMENT 'that it sends to followers and consumer groups of all that it leads then; null: unknown',
    network_out_share       DOUBLE COMMENT 'of its network capacity; null: either unknown'
""",
    slice=("snapshot_id", "scenario_set"),
)

BROKER_PAIR = Table(
    "broker_pair",
    "what two live brokers take with them if both are killed, the lower id first: pairs that share a partition",
    ("snapshot_id", "cluster_id", "broker_id", "other_broker_id"),
    f"""
    {_CLUSTER},
    broker_id       INT NOT NULL,
    other_broker_id INT NOT NULL COMMENT 'the greater',
    shared_partitions   BIGINT NOT NULL COMMENT 'with a replica on each',
    newly_offline       BIGINT NOT NULL COMMENT 'partitions of the cluster, shared or not, that have a leader before both brokers die and none after',
    newly_refusing_acks_all BIGINT NOT NULL COMMENT 'partitions of the cluster that have a leader after both brokers died, refuse acks=all, and accepted it before; never also counted in newly_offline',
    newly_lost          BIGINT NOT NULL COMMENT 'partitions of the cluster that had a live replica with every acknowledged record (in the ISR or ELR) and have none after both brokers died; can also be counted in newly_offline or newly_refusing_acks_all'
""",
)
JOINT_LOSS = Table(
    "joint_loss",
    "how many sets of live brokers are fatal if they die together",
    ("snapshot_id", "cluster_id", "deaths"),
    f"""
    {_CLUSTER},
    deaths       INT    NOT NULL COMMENT 'brokers that die: two, and each replication factor of the cluster up to five',
    live_brokers INT    NOT NULL,
    broker_sets  BIGINT NOT NULL COMMENT 'of so many brokers, in all',
    copysets     BIGINT NOT NULL COMMENT 'distinct replica sets of that size, all live, with a replica that has every acknowledged record',
    data_loss_sets    BIGINT COMMENT 'sets with all replicas that have every acknowledged record of some partition; null: too many to count',
    write_outage_sets BIGINT COMMENT 'sets that leave fewer than min.insync.replicas in sync of some partition that has enough now, or too few of the KRaft quorum''s controllers; null likewise',
    data_loss_probability    DOUBLE COMMENT 'that so many random deaths lose data',
    write_outage_probability DOUBLE COMMENT 'that so many random deaths stop acks=all somewhere'
""",
)

BROKER_RESTART = Table(
    "broker_restart",
    "when a broker can be restarted, and what its return after a kill brings back and costs",
    ("snapshot_id", "cluster_id", "broker_id"),
    f"""
    {_CLUSTER},
    broker_id INT     NOT NULL,
    live      BOOLEAN NOT NULL COMMENT 'false: it is gone already, and its return is that from where the snapshot stands',
    restart_order INT COMMENT 'its turn in a rolling restart, each broker back in sync before the next, in which no partition falls under min ISR that need not; null: there is no such turn, or it is not live',
    under_min_isr_partitions   BIGINT NOT NULL COMMENT 'that fall under min ISR whenever it stops: no more live replicas than min.insync.replicas',
    rejoining_partitions BIGINT NOT NULL COMMENT 'whose ISR it must come back to',
    revived_partitions   BIGINT NOT NULL COMMENT 'without a leader, that get one when it is back',
    revived_uncleanly    BIGINT NOT NULL COMMENT 'of them, those in which records may be missing: by unclean election, or as the last known leader after an unclean shutdown',
    preferred_partitions BIGINT NOT NULL COMMENT 'whose first replica it is',
    regained_leaders     BIGINT NOT NULL COMMENT 'of them, those that others lead until a preferred election gives them back',
    full_copy_bytes      BIGINT COMMENT 'to fetch from leaders if it comes back with empty disks; null: sizes unknown',
    catch_up_bytes_per_s DOUBLE COMMENT 'that each second of its absence adds to what it must fetch; null: unknown',
    truncated_size_bytes BIGINT COMMENT 'that it alone had where another was elected after its death: cut off when it follows; null: unknown'
""",
)

REMEDY = Table(
    "remedy",
    "the smallest change with which a partition lives through the loss of any one broker: only partitions that now do not",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {_PARTITION},
    scenario_ids ARRAY<STRING> NOT NULL COMMENT 'the losses that it does not live through',
    goes_offline BOOLEAN NOT NULL COMMENT 'in one of them it loses its leader; else it falls under min ISR',
    remedy   STRING     COMMENT 'played: with it, no single loss does so; null: none of those tried is enough',
    replicas ARRAY<INT> COMMENT 'after it; null: no remedy',
    added_replicas ARRAY<INT> COMMENT 'of these, the new ones; null: no remedy'
""",
)

# ---------------------------------------------------------------- what the balance rules read
BROKER_BALANCE = Table(
    "broker_balance",
    "what a broker carries, idle ones too",
    ("snapshot_id", "cluster_id", "broker_id"),
    f"""
    {_CLUSTER},
    broker_id INT NOT NULL,
    rack STRING,
    live BOOLEAN NOT NULL,
    replicas          BIGINT NOT NULL COMMENT 'assigned to it',
    in_sync_replicas  BIGINT NOT NULL,
    leaders           BIGINT NOT NULL,
    preferred_leaders BIGINT NOT NULL COMMENT 'partitions whose first replica it is',
    size_bytes        BIGINT COMMENT 'on its log dirs; null: unknown',
    produced_records  BIGINT COMMENT 'sampled records of the partitions that it leads; null: no key sample',
    produced_size_bytes BIGINT COMMENT 'sampled bytes likewise',
    disk_used_share   DOUBLE COMMENT 'null: size or capacity unknown',
    live_brokers      BIGINT NOT NULL COMMENT 'of the cluster',
    replica_ratio  DOUBLE COMMENT 'replicas over the mean of the live brokers; null: dead, or nothing to share',
    leader_ratio   DOUBLE COMMENT 'leaders likewise',
    byte_ratio     DOUBLE COMMENT 'bytes on disk likewise',
    produced_ratio DOUBLE COMMENT 'produced bytes likewise'
""",
)
PARTITION_HEALTH = Table(
    "partition_health",
    "the partitions with something amiss now",
    ("snapshot_id", "cluster_id", "topic", "partition"),
    f"""
    {_PARTITION},
    leaderless       BOOLEAN NOT NULL COMMENT 'no leader, or a leader that is not live',
    under_replicated BOOLEAN NOT NULL COMMENT 'ISR smaller than the replicas, those being added not counted',
    under_min_isr    BOOLEAN NOT NULL,
    at_min_isr       BOOLEAN NOT NULL COMMENT 'one more loss refuses acks=all (unknown of RF 1 with min 1, which is so by design)',
    not_preferred    BOOLEAN NOT NULL COMMENT 'led by another than the first replica',
    non_replica_in_isr      BOOLEAN NOT NULL COMMENT 'a broker of the ISR is no replica',
    unknown_broker   BOOLEAN NOT NULL COMMENT 'a replica is on a broker that no list names live',
    rack_unsafe      BOOLEAN COMMENT 'fewer racks than replicas and racks allow; null: racks unknown',
    no_tolerance     BOOLEAN NOT NULL COMMENT 'replicas <= min.insync.replicas: any loss refuses acks=all',
    replication_factor_mismatch BOOLEAN NOT NULL COMMENT 'not as many replicas as the topic tells',
    unwritable BOOLEAN COMMENT 'fewer replicas than min.insync.replicas: acks=all is refused whoever lives',
    preferred_leader INT     COMMENT 'its first replica',
    assigned_replicas INT    COMMENT 'in all',
    settled_replicas INT     COMMENT 'those being added not counted',
    in_sync_replicas INT     COMMENT 'in its ISR',
    min_insync_replicas INT  COMMENT 'in force',
    replication_factor INT   COMMENT 'as its topic tells',
    lagging_replicas ARRAY<INT> COMMENT 'not in its ISR'
""",
)
TOPIC_BALANCE = Table(
    "topic_balance",
    "what a topic stores, and how unevenly: what rules of thumb go by",
    ("snapshot_id", "cluster_id", "topic"),
    f"""
    {_TOPIC},
    partitions  BIGINT NOT NULL COMMENT 'described',
    records     BIGINT COMMENT 'from the log''s start to its end, compacted ones too; null: unknown of all partitions',
    record_skew DOUBLE COMMENT 'records of the fullest partition over the mean, less 1; null likewise, or none',
    size_bytes  BIGINT COMMENT 'of the leaders; null: unknown of all',
    fullest_partition  INT    COMMENT 'by the leader''s size; null: unknown of any',
    fullest_size_bytes BIGINT COMMENT 'its size',
    mean_record_bytes  DOUBLE COMMENT 'size over records, as they lie compressed in the log; null: unknown, or no record'
""",
)
GROUP_LOAD = Table(
    "group_load",
    "how a group's members, or the hosts of all groups, share what they were seen to hold",
    ("snapshot_id", "cluster_id", "group_id"),
    f"""
    {_CLUSTER},
    group_id STRING COMMENT 'null: all groups of the cluster, what is said of members being said of hosts',
    members      BIGINT NOT NULL,
    idle_members BIGINT NOT NULL COMMENT 'that hold nothing',
    topics       BIGINT NOT NULL COMMENT 'of which a partition is held',
    partitions   BIGINT NOT NULL COMMENT 'held, one of two groups twice',
    max_partitions   BIGINT NOT NULL COMMENT 'of any member',
    min_partitions BIGINT NOT NULL COMMENT 'of any member',
    partition_cv DOUBLE COMMENT 'coefficient of variation of partitions over members; null: nothing is held',
    busiest_member STRING NOT NULL COMMENT 'the member, or host, that has the most to read: bytes, else records, else partitions',
    records      BIGINT COMMENT 'that producers sent to what is held: grown since the night before, else sampled; null: unknown of all',
    record_ratio DOUBLE COMMENT 'of the busiest member over the mean; null likewise, or nothing to read',
    size_bytes   BIGINT COMMENT 'likewise',
    byte_ratio   DOUBLE COMMENT 'likewise',
    cross_rack_partitions BIGINT COMMENT 'held by a member on another rack than the leader; null: no member on a known rack, as in the next four',
    cross_rack_size_bytes BIGINT COMMENT 'of the bytes, those of these partitions; null also: unknown of all',
    local_replica_size_bytes BIGINT COMMENT 'of these, those with an in-sync replica on the member''s rack, which RackAwareReplicaSelector would let it read',
    cross_rack_share DOUBLE COMMENT 'cross-rack bytes over all bytes of members and leaders on known racks',
    avoidable_share  DOUBLE COMMENT 'likewise those with an in-sync replica on the member''s rack'
""",
)

# ---------------------------------------------------------------- what Cruise Control's goals say
GOAL_VERDICT = Table(
    "goal_verdict",
    "what a goal of Cruise Control says of a cluster as it is, alone and with nothing moved",
    ("snapshot_id", "cluster_id", "goal"),
    f"""
    {_CLUSTER},
    goal     STRING  NOT NULL COMMENT 'its class',
    priority INT              COMMENT 'place among the default goals, from 1; null: not one of them',
    hard     BOOLEAN NOT NULL COMMENT 'Cruise Control trades no hard goal for a soft one',
    weight   DOUBLE           COMMENT 'what it takes from the balancedness score if violated; null: not a default goal',
    verdict  STRING  NOT NULL COMMENT 'satisfied, violated, unfixable (no move can mend it), refused (Cruise Control throws) or unknown (input is missing)',
    breaches BIGINT  NOT NULL COMMENT 'rows of goal_breach',
    lower_limit DOUBLE COMMENT 'of counts, or of load over capacity; null: none, or one for each topic or broker',
    upper_limit DOUBLE COMMENT 'likewise',
    near_limit BOOLEAN NOT NULL COMMENT 'some value is so near to its limit that Cruise Control, which adds up in 32 bits, may say otherwise',
    missing_input STRING       COMMENT 'the input that is unknown; null: none',
    provision  STRING NOT NULL COMMENT 'what it says of the cluster''s size: UNDER_PROVISIONED, RIGHT_SIZED, OVER_PROVISIONED or UNDECIDED',
    brokers    INT             COMMENT 'to add or to drop; null: not said, as in the next two',
    racks      INT             COMMENT 'to add or to drop',
    partitions INT             COMMENT 'that a topic needs'
""",
)
GOAL_BREACH = Table(
    "goal_breach",
    "who is outside a goal's limits, and the smallest change that clears it",
    ("snapshot_id", "cluster_id", "goal", "broker_id", "topic", "partition"),
    f"""
    {_CLUSTER},
    goal      STRING NOT NULL,
    broker_id INT             COMMENT 'null: the partition, the topic or the cluster as a whole',
    topic     STRING          COMMENT 'null: the broker or the cluster as a whole',
    partition INT             COMMENT 'null: the topic, the broker or the cluster as a whole',
    measured    DOUBLE NOT NULL COMMENT 'replicas, leaders, racks, MiB, KiB/s or percent of a core, as the formula says',
    limit_value DOUBLE NOT NULL COMMENT 'in the same unit',
    formula   STRING NOT NULL COMMENT 'what must hold',
    smallest_change STRING NOT NULL COMMENT 'that clears this breach',
    near_limit BOOLEAN NOT NULL COMMENT 'within the rounding of 32 bits of its limit'
""",
)
CLUSTER_BALANCE = Table(
    "cluster_balance",
    "Cruise Control's score of a cluster, and whether it has the right size",
    ("snapshot_id", "cluster_id"),
    f"""
    {_CLUSTER},
    balancedness_score DOUBLE COMMENT '100 less the weights of the default goals violated, -1 with dead brokers or log dirs; null: some goal is unknown',
    lowest_score DOUBLE NOT NULL COMMENT 'if every goal that is unknown were violated',
    highest_score  DOUBLE NOT NULL COMMENT 'if none were',
    goals_violated BIGINT NOT NULL COMMENT 'default goals, unfixable ones too',
    goals_unknown BIGINT NOT NULL COMMENT 'default goals that lack input',
    provision   STRING NOT NULL COMMENT 'what the default goals say together: UNDER_PROVISIONED, RIGHT_SIZED, OVER_PROVISIONED or UNDECIDED',
    brokers_to_add  INT COMMENT 'null: none is asked for, as in the next four',
    brokers_to_drop INT,
    racks_to_add    INT,
    racks_to_drop   INT,
    partitions_needed INT COMMENT 'that the topic must have at least which has too few for its leaders'
""",
)
NET_IMBALANCE = Table(
    "net_imbalance",
    "what must move until any two places have as many, to within one, as Yelp's kafka-utils count it",
    ("snapshot_id", "cluster_id", "level"),
    f"""
    {_CLUSTER},
    level  STRING NOT NULL COMMENT 'replicas or leaders of live brokers; topic replicas: a topic''s replicas, added up; rack replicas: a partition''s on its racks, added up',
    items  BIGINT NOT NULL COMMENT 'that are shared out',
    net_imbalance BIGINT NOT NULL COMMENT 'that must move',
    coefficient_of_variation DOUBLE COMMENT 'of what live brokers have; null: of each topic or partition apart, or nothing to share',
    fullest_broker_items BIGINT COMMENT 'of them on one live broker; null: levels other than replicas and leaders',
    fullest_broker_id INT   COMMENT 'that has these, the lowest of equals; null likewise'
""",
)

# ---------------------------------------------------------------- the way out (written when a plan is asked for)
_PLAN = f"""{_CLUSTER},
    plan_id STRING NOT NULL"""
PLAN = Table(
    "plan",
    "a reassignment as it was asked for, and what it comes to",
    ("snapshot_id", "cluster_id", "plan_id"),
    f"""
    {_PLAN},
    request STRING NOT NULL COMMENT 'as JSON',
    unfulfilled STRING COMMENT 'what was asked for and cannot be done, with the reasons; null: the plan does all of it',
    worse       STRING COMMENT 'what is worse after the plan than it is now; null: nothing',
    left_out    STRING COMMENT 'the balancing that the plan leaves out, and what it would make worse; null: none',
    score_before DOUBLE NOT NULL COMMENT 'balancedness score now: 100 less the weights of the default goals that are violated; goals without input count as satisfied, and dead brokers do not change it',
    score        DOUBLE NOT NULL COMMENT 'balancedness score after the plan, computed as score_before',
    changed_partitions BIGINT NOT NULL,
    moved_replicas     BIGINT NOT NULL COMMENT 'copied to a broker that did not have them',
    moved_bytes        DOUBLE COMMENT 'null: sizes are unknown of all that move',
    leadership_changes BIGINT NOT NULL COMMENT 'partitions that get another preferred leader and no other replica',
    elections          BIGINT NOT NULL COMMENT 'partitions that a preferred election must hand to their first replica',
    waves              INT    NOT NULL COMMENT 'that move data',
    minimum_moves        BIGINT NOT NULL COMMENT 'that would make the counts of live brokers equal to within one (net imbalance)',
    stranded_replicas  BIGINT NOT NULL COMMENT 'left on dead or drained brokers, no broker being free to take them',
    blocked_replicas  BIGINT NOT NULL COMMENT 'replicas that should move, or be added, and cannot: the rows of plan_blocked, added up',
    disk_limit DOUBLE NOT NULL COMMENT 'the part of its disk capacity that a broker which gets replicas may use during a wave, old and new copies together',
    disk_unknown_brokers ARRAY<INT> NOT NULL COMMENT 'live brokers of unknown disk capacity, on which the disk limit is not checked',
    size_unknown_partitions BIGINT NOT NULL COMMENT 'partitions of unknown size, which the disk limit does not count',
    throttle_bytes_per_s DOUBLE COMMENT 'keeps each link that copying uses under the share asked for, with what the link carries now as far as it is known; 0: one link is over its share already; null: a network capacity is unknown',
    harmed_before BIGINT NOT NULL COMMENT 'partitions that the death of some broker takes offline or under min ISR',
    harmed        BIGINT NOT NULL COMMENT 'after it',
    throttle_broker_id INT COMMENT 'the broker whose link allows the least; null: a network capacity is unknown',
    throttle_load_source STRING COMMENT 'where the current load of that link comes from: broker (network_*_bytes_per_s of broker), partition_load (the sum over its partitions), partition_load, incomplete (some partitions have no row), or unknown (counted as 0); null: no throttle',
    load_unknown_brokers ARRAY<INT> NOT NULL COMMENT 'brokers that copy and whose current network load is unknown or incomplete'
""",
    slice=("snapshot_id", "plan_id"),
)
PLAN_MOVE = Table(
    "plan_move",
    "a partition that a plan changes",
    ("snapshot_id", "cluster_id", "plan_id", "topic", "partition"),
    f"""
    {_PLAN},
    topic     STRING NOT NULL,
    partition INT    NOT NULL,
    wave      INT    NOT NULL COMMENT '0: leadership alone, before any data moves',
    reason    STRING NOT NULL COMMENT 'the first step that changed it',
    replicas_before ARRAY<INT> NOT NULL,
    replicas        ARRAY<INT> NOT NULL COMMENT 'the new leader first',
    added_replicas   ARRAY<INT> NOT NULL,
    removed_replicas ARRAY<INT> NOT NULL,
    leader_before INT COMMENT 'null: none',
    moved_bytes   DOUBLE COMMENT 'null: its size is unknown'
""",
    slice=("snapshot_id", "plan_id"),
)
PLAN_WAVE = Table(
    "plan_wave",
    "a wave of a plan, and what a broker's death does after it",
    ("snapshot_id", "cluster_id", "plan_id", "wave"),
    f"""
    {_PLAN},
    wave INT NOT NULL COMMENT '0: leadership alone',
    partitions     BIGINT NOT NULL,
    moved_replicas BIGINT NOT NULL,
    moved_bytes    DOUBLE COMMENT 'null: unknown of all',
    moves_of_busiest_broker BIGINT NOT NULL COMMENT 'replicas to or from it',
    fullest_target_id    INT    COMMENT 'of the brokers that get a replica in this wave, the one with the fullest disk; null: none gets one, or no disk capacity is known',
    fullest_target_share DOUBLE COMMENT 'the part of its disk capacity that fullest_target_id uses at most during the wave, old and new copies together',
    harmed BIGINT NOT NULL COMMENT 'partitions that the death of some broker takes offline or under min ISR, once the wave is done'
""",
    slice=("snapshot_id", "plan_id"),
)
PLAN_BROKER = Table(
    "plan_broker",
    "what a broker carries before and after a plan",
    ("snapshot_id", "cluster_id", "plan_id", "broker_id"),
    f"""
    {_PLAN},
    broker_id INT NOT NULL,
    replicas_before BIGINT NOT NULL,
    replicas        BIGINT NOT NULL,
    leaders_before BIGINT NOT NULL COMMENT 'who leads now',
    leaders        BIGINT NOT NULL COMMENT 'once the preferred election is held',
    size_bytes_before DOUBLE COMMENT 'each replica with its partition''s size; null: unknown of all',
    size_bytes        DOUBLE COMMENT 'likewise'
""",
    slice=("snapshot_id", "plan_id"),
)
PLAN_SCENARIO = Table(
    "plan_scenario",
    "what a failure does before and after a plan",
    ("snapshot_id", "cluster_id", "plan_id", "scenario_id"),
    f"""
    {_PLAN},
    scenario_id STRING NOT NULL COMMENT 'as in scenario, and brokers 1+2 of a pair that shares a partition, before or after',
    kind        STRING NOT NULL COMMENT 'broker (killed), stop (in order), rack or pair',
    brokers     ARRAY<INT> NOT NULL,
    partitions_before BIGINT NOT NULL COMMENT 'with a replica on a failing broker; these columns are as those of scenario',
    partitions        BIGINT NOT NULL,
    moved_leaders_before BIGINT NOT NULL,
    moved_leaders        BIGINT NOT NULL,
    newly_offline_before BIGINT NOT NULL COMMENT 'before the plan: partitions that have a leader before the failure and none after it',
    newly_offline        BIGINT NOT NULL COMMENT 'after the plan: partitions that have a leader before the failure and none after it',
    newly_refusing_acks_all_before BIGINT NOT NULL COMMENT 'before the plan: partitions that have a leader after the failure, refuse acks=all, and accepted it before; never also counted in newly_offline_before',
    newly_refusing_acks_all        BIGINT NOT NULL COMMENT 'after the plan: partitions that have a leader after the failure, refuse acks=all, and accepted it before; never also counted in newly_offline',
    at_min_isr_before BIGINT NOT NULL,
    at_min_isr        BIGINT NOT NULL,
    newly_lost_before BIGINT NOT NULL COMMENT 'before the plan: partitions that had a live replica with every acknowledged record before the failure and have none after it; can overlap the other two counts',
    newly_lost        BIGINT NOT NULL COMMENT 'after the plan: partitions that had a live replica with every acknowledged record before the failure and have none after it; can overlap the other two counts'
""",
    slice=("snapshot_id", "plan_id"),
)
PLAN_GOAL = Table(
    "plan_goal",
    "a goal of Cruise Control before and after a plan",
    ("snapshot_id", "cluster_id", "plan_id", "goal"),
    f"""
    {_PLAN},
    goal STRING NOT NULL,
    hard BOOLEAN NOT NULL,
    verdict_before STRING NOT NULL,
    verdict        STRING NOT NULL,
    breaches_before BIGINT NOT NULL,
    breaches        BIGINT NOT NULL
""",
    slice=("snapshot_id", "plan_id"),
)
PLAN_BLOCKED = Table(
    "plan_blocked",
    "replicas of a partition that a plan should move, or add, and cannot",
    ("snapshot_id", "cluster_id", "plan_id", "topic", "partition", "reason", "obstacle"),
    f"""
    {_PLAN},
    topic     STRING NOT NULL,
    partition INT    NOT NULL,
    reason    STRING NOT NULL COMMENT 'the step that asks for the change, as in plan_move',
    blocked_replicas BIGINT NOT NULL COMMENT 'replicas that should move, or be added',
    replicas  ARRAY<INT> NOT NULL COMMENT 'the replicas of the partition now',
    obstacle  STRING NOT NULL COMMENT 'why they cannot: no live leader, no free broker, too few racks, or the disk limit'
""",
    slice=("snapshot_id", "plan_id"),
)
PLAN_RULE = Table(
    "plan_rule",
    "a rule before and after a plan: the night after it, judged as every night is",
    ("snapshot_id", "cluster_id", "plan_id", "suite", "rule"),
    f"""
    {_PLAN},
    suite    STRING  NOT NULL COMMENT 'as in validation, as are the other columns',
    rule     STRING  NOT NULL,
    severity STRING  NOT NULL COMMENT 'hard or soft',
    success_before BOOLEAN    COMMENT 'null: its input is unknown',
    success        BOOLEAN    COMMENT 'likewise',
    broken_rows_before BIGINT NOT NULL,
    broken_rows        BIGINT NOT NULL,
    example  STRING           COMMENT 'a row that breaks it after the plan, as JSON; null: none',
    sentence STRING  NOT NULL COMMENT 'what must hold'
""",
    slice=("snapshot_id", "plan_id"),
)

# ---------------------------------------------------------------- what was judged, and what is published
VALIDATION = Table(
    "validation",
    "a rule's result on a cluster",
    ("snapshot_id", "cluster_id", "suite", "rule"),
    f"""
    {_CLUSTER},
    gate     STRING           COMMENT 'the check that judged it',
    suite    STRING  NOT NULL COMMENT 'the table that the rule reads',
    rule     STRING  NOT NULL,
    severity STRING  NOT NULL COMMENT 'hard: the dumps (gate ingest) or a computed table contradict themselves, the cluster is withheld; soft: a finding about the cluster',
    success  BOOLEAN          COMMENT 'null: its input is unknown, so neither passed nor failed',
    broken_rows BIGINT NOT NULL,
    example  STRING           COMMENT 'one broken row as JSON; null: none',
    sentence STRING  NOT NULL COMMENT 'what must hold'
""",
    slice=("snapshot_id", "gate"),
)
# Every query and every step reads all of it: in slices it would be a file a night, for good.
SNAPSHOT = Table(
    "snapshot",
    "the clusters of a night that are published: readers see what stands here",
    ("snapshot_id", "cluster_id"),
    f"""
    {_CLUSTER},
    previous_snapshot_id STRING COMMENT 'the published snapshot before it, which growth is measured from; null: none',
    published_at TIMESTAMP NOT NULL
""",
    slice=(),
)
# Every query reads all of it too: it counts the nights in which nothing was published.
ABSENT_CLUSTER = Table(
    "absent_cluster",
    "a cluster that a night does not publish, although it was read in that night or published shortly before",
    ("snapshot_id", "cluster_id"),
    f"""
    {_CLUSTER},
    last_snapshot_id STRING COMMENT 'the newest published snapshot of the cluster before this night, which readers still see; null: it was never published',
    reason STRING NOT NULL  COMMENT 'no folder: the source has none of its name; nothing readable: no file in its folder can be read; withheld: it breaks a hard rule, or a check has not run',
    detail STRING NOT NULL  COMMENT 'the first cause, in a sentence'
""",
    slice=(),
)

TABLES: tuple[Table, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Table))
BY_NAME: dict[str, Table] = {table.name: table for table in TABLES}
