"""Facts: what one entry of a dump states, before the files of a cluster are resolved. Most mirror a line, or an element of a JSON list.

    \tTopic: orders\tPartition: 0\tLeader: 3 ...           PartitionLine("orders", 0, 3, ...)
    orders:0:500                                          EndOffset("orders", 0, 500)

They are named tuples, because a fleet has tens of millions of them. Each declares how resolve/evidence.py compares two facts:

    KEY_FIELDS       the number of leading fields that are the key: two facts with the same key are about the same thing
    MAY_BE_UNKNOWN   fields that a dump may lack: None is unknown and contradicts nothing; a dict may lack keys
    UNORDERED        fields whose order has no meaning
    LARGEST_WINS     the field whose larger value is right, even in an older file
    comparable_with  whether two facts with the same key can be compared at all
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class TopicLine(NamedTuple):
    """The line of a topic in kafka-topics --describe."""

    topic: str
    topic_id: str | None
    partitions: int
    replication_factor: int
    configs: dict[str, str]
    KEY_FIELDS = 1
    MAY_BE_UNKNOWN = frozenset({"topic_id", "configs"})


class PartitionLine(NamedTuple):
    """The line of a partition in kafka-topics --describe; a field after `isr` is None if its column is missing or N/A."""

    topic: str
    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    adding_replicas: tuple[int, ...] | None
    removing_replicas: tuple[int, ...] | None
    leader_recovering: bool | None = None  # only the metadata log has this and the next field
    directories: tuple[str, ...] | None = None  # one per replica
    KEY_FIELDS = 2
    MAY_BE_UNKNOWN = frozenset({"elr", "last_known_elr", "adding_replicas", "removing_replicas", "leader_recovering", "directories"})
    UNORDERED = frozenset({"isr", "elr", "last_known_elr"})


class LogDirLine(NamedTuple):
    """A log dir in kafka-log-dirs --describe; only a capture has the bytes of its volume, and whether it is cordoned (KIP-1066)."""

    broker_id: int
    log_dir: str
    error: str | None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    cordoned: bool | None = None
    KEY_FIELDS = 2
    MAY_BE_UNKNOWN = frozenset({"total_bytes", "usable_bytes", "cordoned"})


class ReplicaOnDisk(NamedTuple):
    """A partition's log in kafka-log-dirs --describe; a future one is the copy that an intra-broker move is writing."""

    broker_id: int
    topic: str
    partition: int
    future: bool
    log_dir: str
    size_bytes: int
    offset_lag: int | None
    KEY_FIELDS = 4


class CordonedLogDirs(NamedTuple):
    """The log dirs of a broker that take no new replicas (KIP-1066), as directory ids; `all_cordoned`: no log dir takes one."""

    broker_id: int
    directory_ids: tuple[str, ...]
    all_cordoned: bool
    KEY_FIELDS = 1
    UNORDERED = frozenset({"directory_ids"})


class LogDirsAnswer(NamedTuple):
    """A broker answered kafka-log-dirs."""

    broker_id: int
    KEY_FIELDS = 1


class RegisteredBroker(NamedTuple):
    """A broker that the cluster itself lists (kafka-cluster, kafka-broker-api-versions)."""

    broker_id: int
    rack: str | None
    fenced: bool
    KEY_FIELDS = 1


class ListedBroker(NamedTuple):
    """A broker in a list that an operator maintains, or in the output of another tool."""

    broker_id: int
    rack: str | None
    fenced: bool | None = None
    KEY_FIELDS = 1
    MAY_BE_UNKNOWN = frozenset({"rack", "fenced"})


class BrokerHost(NamedTuple):
    """A host of a broker: the one that Cruise Control reports, or that of a listener."""

    broker_id: int
    host: str
    KEY_FIELDS = 2


class RegisteredController(NamedTuple):
    """A controller that is registered with the KRaft quorum, as a voter or an observer."""

    node_id: int
    KEY_FIELDS = 1


class ControllerKind(NamedTuple):
    """The kind of controller that an entry implies: zookeeper or kraft."""

    controller: str
    KEY_FIELDS = 1


class ActiveController(NamedTuple):
    """The active controller: the leader of KRaft's quorum, or the broker that ZooKeeper names."""

    node_id: int
    KEY_FIELDS = 0


class QuorumVoters(NamedTuple):
    """The voters of a KRaft quorum, sorted."""

    node_ids: tuple[int, ...]
    KEY_FIELDS = 0


class FeatureLevel(NamedTuple):
    """A finalized feature and its level: a number, or the release that kafka-features prints for it, or `-` if it is not finalized."""

    feature: str
    level: str
    KEY_FIELDS = 1

    @property
    def finalized(self) -> bool:
        """Return whether the level is above 0."""
        return self.level not in ("0", "-")

    def comparable_with(self, other: FeatureLevel) -> bool:
        """Return whether both levels are numbers or both are releases."""
        return self.level.isdigit() == other.level.isdigit()


class BrokerCapacity(NamedTuple):
    """An entry of Cruise Control's capacity.json, in bytes and percent; broker -1 stands for every broker not named."""

    broker_id: int
    disk_bytes: float | None
    disk_bytes_by_log_dir: dict[str, float] | None
    network_in_bytes_per_s: float | None
    network_out_bytes_per_s: float | None
    cpu_percent: float | None
    KEY_FIELDS = 1


class BrokerRates(NamedTuple):
    """The network rates of a broker in Cruise Control's load."""

    broker_id: int
    network_in_bytes_per_s: float
    network_out_bytes_per_s: float
    KEY_FIELDS = 1


class PartitionRates(NamedTuple):
    """The load of a partition's leader in Cruise Control's partition_load."""

    topic: str
    partition: int
    cpu_percent: float
    disk_bytes: float
    network_in_bytes_per_s: float
    network_out_bytes_per_s: float
    KEY_FIELDS = 2


class EndOffset(NamedTuple):
    """A line of kafka-get-offsets."""

    topic: str
    partition: int
    offset: int
    KEY_FIELDS = 2
    LARGEST_WINS = "offset"


class StartOffset(NamedTuple):
    """The first offset of a partition that its leader still stores."""

    topic: str
    partition: int
    offset: int
    KEY_FIELDS = 2


class CaptureTime(NamedTuple):
    """The time when a live cluster was captured."""

    captured_at: datetime
    KEY_FIELDS = 0


class KafkaClusterId(NamedTuple):
    """The cluster id that Kafka itself generated."""

    kafka_cluster_id: str
    KEY_FIELDS = 0


class GroupOffset(NamedTuple):
    """A partition in kafka-consumer-groups --describe; member_id None: it is assigned to no member."""

    group_id: str
    topic: str
    partition: int
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    member_id: str | None
    host: str | None
    client_id: str | None
    KEY_FIELDS = 3


class IdleMember(NamedTuple):
    """A member without a partition in kafka-consumer-groups --describe."""

    group_id: str
    member_id: str
    host: str | None
    client_id: str | None
    KEY_FIELDS = 2


class MemberLine(NamedTuple):
    """A member in kafka-consumer-groups or kafka-share-groups --describe --members; assignment None: unknown."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    host: str | None
    client_id: str | None
    protocol: str | None
    partitions: int
    assignment: tuple[tuple[str, int], ...] | None
    rack: str | None = None  # client.rack; only a capture has this and the next two fields
    topics: tuple[str, ...] | None = None  # subscribed by name
    topic_regex: str | None = None  # subscribed by regular expression
    KEY_FIELDS = 2
    MAY_BE_UNKNOWN = frozenset({"protocol", "rack", "topics", "topic_regex"})


class GroupState(NamedTuple):
    """A group in kafka-consumer-groups --describe --state."""

    group_id: str
    protocol: str | None
    assignor: str | None
    state: str | None
    coordinator_id: int | None
    members: int | None
    KEY_FIELDS = 1
    MAY_BE_UNKNOWN = frozenset({"protocol"})


class ListedGroup(NamedTuple):
    """A group in kafka-consumer-groups --list with --state or --type."""

    group_id: str
    protocol: str | None
    state: str | None
    KEY_FIELDS = 1
    MAY_BE_UNKNOWN = frozenset({"protocol"})


class GroupNotice(NamedTuple):
    """A message of kafka-consumer-groups on stderr about a group without rows."""

    group_id: str
    state: str | None
    KEY_FIELDS = 1


class ConfigValue(NamedTuple):
    """A config of a topic, broker, group or client-metrics subscription or, with an empty name, of all brokers; value None: no longer set."""

    kind: str  # topic, broker, group or client-metrics
    name: str
    config: str
    value: str | None
    KEY_FIELDS = 3


class ClientQuota(NamedTuple):
    """A quota of clients; user, client_id and ip are None if the quota does not depend on them, and `<default>` for the default quota."""

    user: str | None
    client_id: str | None
    ip: str | None
    quota: str
    value: float
    KEY_FIELDS = 4


class AccessControl(NamedTuple):
    """An access control entry, in the words of kafka-acls."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str
    KEY_FIELDS = 7


class AssignedReplicas(NamedTuple):
    """The replicas of a partition, without its leader and ISR; `log_dirs` has a path or None (unknown) for each replica."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    log_dirs: tuple[str | None, ...] | None = None
    KEY_FIELDS = 2
    MAY_BE_UNKNOWN = frozenset({"log_dirs"})


class ProposedReplicas(NamedTuple):
    """A partition in a plan for kafka-reassign-partitions; partition None: the whole topic; replicas None: to be chosen by the tool."""

    topic: str
    partition: int | None
    replicas: tuple[int, ...] | None
    log_dirs: tuple[str | None, ...] | None
    KEY_FIELDS = 2


class OngoingReassignment(NamedTuple):
    """A partition that is being reassigned: its current replicas, those being added and those to be removed."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    KEY_FIELDS = 2
    MAY_BE_UNKNOWN = frozenset({"adding_replicas", "removing_replicas"})


class MetadataRecord(NamedTuple):
    """A record of KRaft's metadata log: its offset in the log or in its snapshot, and its fields under kafka-dump-log's names."""

    offset: int
    time_ms: int | None
    type: str
    fields: dict[str, Any]


class MetadataFile(NamedTuple):
    """A file of KRaft's metadata log: a snapshot with the time of its last record, or a segment of the log."""

    snapshot: bool
    last_contained_ms: int | None
    start_offset: int
    end_offset: int | None  # the offset after the last record; None: only the file name of a snapshot has it


class KeySample(NamedTuple):
    """The valid rows of a key sample as columns (key_sample.SCHEMA): a sample may have a row for each record of a topic."""

    rows: pa.Table


Fact = tuple[Any, ...]  # one of the named tuples above
