"""What one entry of a dump tells, before dumps are merged: each mirrors a line, or an element of a JSON list.

Named tuples, since a fleet has tens of millions of them. The first `KEYED_BY` fields say what a fact is about: a fact told later
about the same thing takes the place of the earlier.
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
    KEYED_BY = 1


class PartitionLine(NamedTuple):
    """The line of a partition in kafka-topics --describe; None in all after the ISR: the column is not there, or says N/A."""

    topic: str
    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    last_known_elr: tuple[int, ...] | None
    adding_replicas: tuple[int, ...] | None
    removing_replicas: tuple[int, ...] | None
    leader_recovering: bool | None = None  # this and the next only the metadata log tells
    directories: tuple[str, ...] | None = None  # of the replicas, in their order
    KEYED_BY = 2


class LogDirLine(NamedTuple):
    """A log dir in kafka-log-dirs --describe; the bytes of its volume only a capture tells."""

    broker_id: int
    log_dir: str
    error: str | None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    KEYED_BY = 2


class ReplicaOnDisk(NamedTuple):
    """A partition's log in kafka-log-dirs --describe; a future one is what an intra-broker move is copying."""

    broker_id: int
    topic: str
    partition: int
    future: bool
    log_dir: str
    size_bytes: int
    offset_lag: int | None
    KEYED_BY = 4


class LogDirsAnswer(NamedTuple):
    """A broker answered kafka-log-dirs."""

    broker_id: int
    KEYED_BY = 1


class BrokerSeen(NamedTuple):
    """A broker that the cluster itself listed (kafka-cluster, kafka-broker-api-versions)."""

    broker_id: int
    rack: str | None
    fenced: bool
    KEYED_BY = 1


class BrokerListed(NamedTuple):
    """A broker in a list that an operator keeps."""

    broker_id: int
    rack: str | None
    KEYED_BY = 1


class ControllerSign(NamedTuple):
    """A sign of what the cluster's controller is: zookeeper or kraft."""

    controller: str
    KEYED_BY = 1


class ActiveController(NamedTuple):
    """Who is the controller: the leader of KRaft's quorum, or the broker that ZooKeeper names."""

    node_id: int
    KEYED_BY = 0


class QuorumVoters(NamedTuple):
    """The controllers of a KRaft quorum that vote, sorted."""

    node_ids: tuple[int, ...]
    KEYED_BY = 0


class FeatureLevel(NamedTuple):
    """A finalized feature of kafka-features describe; its level as printed."""

    feature: str
    level: str
    KEYED_BY = 1


class BrokerCapacity(NamedTuple):
    """An entry of Cruise Control's capacity.json, in bytes and percent; broker -1 stands for every broker not named."""

    broker_id: int
    disk_bytes: float | None
    disk_bytes_by_log_dir: dict[str, float] | None
    network_in_bytes_per_s: float | None
    network_out_bytes_per_s: float | None
    cpu_percent: float | None
    KEYED_BY = 1


class BrokerRates(NamedTuple):
    """What Cruise Control's load says that goes over a broker's network."""

    broker_id: int
    network_in_bytes_per_s: float
    network_out_bytes_per_s: float
    KEYED_BY = 1


class PartitionRates(NamedTuple):
    """What Cruise Control's partition_load says that a partition's leader carries."""

    topic: str
    partition: int
    cpu_percent: float
    disk_bytes: float
    network_in_bytes_per_s: float
    network_out_bytes_per_s: float
    KEYED_BY = 2


class EndOffset(NamedTuple):
    """A line of GetOffsetShell."""

    topic: str
    partition: int
    offset: int
    KEYED_BY = 2


class StartOffset(NamedTuple):
    """The first offset of a partition that its leader still has."""

    topic: str
    partition: int
    offset: int
    KEYED_BY = 2


class Captured(NamedTuple):
    """When a capture of a live cluster was taken."""

    at: datetime
    KEYED_BY = 0


class KafkaClusterId(NamedTuple):
    """The id that Kafka itself knows the cluster by."""

    kafka_cluster_id: str
    KEYED_BY = 0


class GroupOffset(NamedTuple):
    """A partition in kafka-consumer-groups --describe; member None: nobody holds it."""

    group_id: str
    topic: str
    partition: int
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    member_id: str | None
    host: str | None
    client_id: str | None
    KEYED_BY = 3


class IdleMember(NamedTuple):
    """A member without a partition in kafka-consumer-groups --describe."""

    group_id: str
    member_id: str
    host: str | None
    client_id: str | None
    KEYED_BY = 2


class MemberLine(NamedTuple):
    """A member in kafka-consumer-groups or kafka-share-groups --describe --members; assignment None: its topics are not told."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    host: str | None
    client_id: str | None
    protocol: str | None
    partitions: int
    assignment: tuple[tuple[str, int], ...] | None
    rack: str | None = None  # client.rack, which only a capture tells, as are the next two
    topics: tuple[str, ...] | None = None  # that it subscribes to by name
    topic_regex: str | None = None  # by which it subscribes to others
    KEYED_BY = 2


class GroupState(NamedTuple):
    """A group in kafka-consumer-groups --describe --state."""

    group_id: str
    protocol: str | None
    assignor: str | None
    state: str | None
    coordinator_id: int | None
    members: int | None
    KEYED_BY = 1


class GroupListed(NamedTuple):
    """A group in kafka-consumer-groups --list with --state or --type."""

    group_id: str
    protocol: str | None
    state: str | None
    KEYED_BY = 1


class GroupRemark(NamedTuple):
    """What kafka-consumer-groups says on stderr of a group that has nothing to list."""

    group_id: str
    state: str | None
    KEYED_BY = 1


class ConfigTold(NamedTuple):
    """A config that is set: of a topic, of a broker, or with an empty name of all brokers; value None: it is set no more."""

    kind: str  # topic or broker
    name: str
    config: str
    value: str | None
    KEYED_BY = 3


class Assigned(NamedTuple):
    """The replicas of a partition, without its leader and ISR."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    KEYED_BY = 2


class Reassigning(NamedTuple):
    """A partition that is being reassigned: its replicas of now, with those that are added and those that will be removed."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    KEYED_BY = 2


class MetadataRecord(NamedTuple):
    """A record of KRaft's metadata log: its offset there, or within its snapshot, and its fields as kafka-dump-log names them."""

    offset: int
    time_ms: int | None
    type: str
    fields: dict[str, Any]


class MetadataFile(NamedTuple):
    """A file of KRaft's metadata log: a snapshot, with the time of the last record in it, or a stretch of the log."""

    snapshot: bool
    last_contained_ms: int | None
    start_offset: int
    end_offset: int | None  # behind the last; of a snapshot: where the log goes on, None if only the file's name tells


class KeySample(NamedTuple):
    """The sound rows of a key sample, as columns (key_sample.SCHEMA): the one input that may be as large as the traffic."""

    rows: pa.Table


Fact = (
    TopicLine
    | PartitionLine
    | LogDirLine
    | ReplicaOnDisk
    | LogDirsAnswer
    | BrokerSeen
    | BrokerListed
    | ControllerSign
    | ActiveController
    | QuorumVoters
    | FeatureLevel
    | BrokerCapacity
    | BrokerRates
    | PartitionRates
    | EndOffset
    | GroupOffset
    | IdleMember
    | MemberLine
    | GroupState
    | GroupListed
    | GroupRemark
    | ConfigTold
    | Assigned
    | Reassigning
    | StartOffset
    | Captured
    | KafkaClusterId
    | MetadataRecord
    | MetadataFile
    | KeySample
)
