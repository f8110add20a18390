"""The state of a cluster by its metadata log: the newest snapshot, and the records of the log after it.

Records are applied as MetadataImage and MetadataDelta of Kafka 4.4 do (TopicsDelta, ClusterDelta, ConfigurationsDelta, FeaturesDelta). The
log continues at the snapshot's end offset, which is in its name (`00000000000000000123-0000000001.checkpoint`: 123) or in kafka-dump-log's
first line. After a snapshot with another name, records later than its last one are applied. A log that starts at 0 needs no snapshot.

    snapshot 0 to 122   log from 0     0 to 122 are in the snapshot, 123 and later are applied
    snapshot 0 to 122   log from 200   123 to 199 are missing: the log is rejected
    transactions        applied at EndTransaction; dropped if aborted or not ended

Records that the quorum had not committed when the file was copied look like any other, and are applied.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.ingest.dump import Unreadable, config_value, identifier, topic_name
from jobs.ingest.facts import BrokerSeen, ConfigSet, ControllerSign, FeatureLevel, MetadataFile, MetadataRecord, PartitionLine, TopicLine
from jobs.ingest.resolve.origin import Origin

_SNAPSHOT_NAME = re.compile(r"(?:^|/)([0-9]{20})-[0-9]{10}\.checkpoint")
_TOPIC, _BROKER = 2, 4  # ConfigResource.Type
_NO_LEADER, _SAME_LEADER = -1, -2
_PARTITION_LISTS = {
    "replicas": "replicas",
    "isr": "isr",
    "eligibleLeaderReplicas": "elr",
    "lastKnownElr": "last_known_elr",
    "addingReplicas": "adding",
    "removingReplicas": "removing",
}


@dataclass(frozen=True, slots=True)
class MetadataSource:
    """A file of the metadata log and its records in order."""

    name: str
    file: MetadataFile
    records: Sequence[Origin]

    @property
    def end_offset(self) -> int | None:
        """Return the offset at which the log continues after a snapshot; None: unknown."""
        named = _SNAPSHOT_NAME.search(self.name)
        return int(named[1]) if named and self.file.end_offset is None else self.file.end_offset


@dataclass(slots=True)
class _Partition:
    leader: int
    replicas: list[int]
    isr: list[int]
    adding: list[int]
    removing: list[int]
    elr: list[int] | None
    last_known_elr: list[int] | None
    recovering: int
    directories: list[str] | None
    at: Origin


@dataclass(slots=True)
class _Broker:
    rack: str | None
    fenced: bool  # or in controlled shutdown: neither can be elected (ClusterControlManager.isActive)
    at: Origin


@dataclass(slots=True)
class Image:
    """The state after some records, with the origin of each part; `rejected` has the records that cannot be applied."""

    topics: dict[str, tuple[str, Origin]] = field(default_factory=dict)  # by id
    partitions: dict[str, dict[int, _Partition]] = field(default_factory=lambda: defaultdict(dict))
    brokers: dict[int, _Broker] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, tuple[str, Origin]]] = field(default_factory=lambda: defaultdict(dict))
    features: dict[str, tuple[int, Origin]] = field(default_factory=dict)
    rejected: list[tuple[Origin, str]] = field(default_factory=list)
    latest: Origin | None = None

    def apply(self, origin: Origin) -> None:
        """Apply a record."""
        record: MetadataRecord = origin.fact
        self.latest = origin
        if effect := _EFFECTS.get(record.type):
            try:
                effect(self, record.fields, origin)
            except Unreadable as e:
                self.rejected.append((origin, str(e)))

    def facts(self) -> Iterator[tuple[Origin, Any]]:
        """Return the facts that Kafka's tools would print of this state."""
        if self.latest:
            yield self.latest, ControllerSign("kraft")
        for name, (level, origin) in sorted(self.features.items()):
            yield origin, FeatureLevel(name, str(level))
        for broker_id, broker in sorted(self.brokers.items()):
            yield broker.at, BrokerSeen(broker_id, broker.rack, broker.fenced)
        for (kind, name), configs in sorted(self.configs.items()):
            for config, (value, origin) in sorted(configs.items()):
                if kind in (_TOPIC, _BROKER):
                    yield origin, ConfigSet("topic" if kind == _TOPIC else "broker", name, config, value)
        for topic_id, (topic, origin) in sorted(self.topics.items(), key=lambda item: item[1][0]):
            of_topic = self.partitions[topic_id]
            if of_topic:
                configs = {config: value for config, (value, _) in self.configs[_TOPIC, topic].items()}
                yield origin, TopicLine(topic, topic_id, len(of_topic), len(of_topic[min(of_topic)].replicas), configs)
            for number, partition in sorted(of_topic.items()):
                yield partition.at, _line(topic, number, partition, with_elr=self.with_elr)

    @property
    def with_elr(self) -> bool:
        """Return whether the cluster keeps eligible leader replicas."""
        return self.features.get("eligible.leader.replicas.version", (0, None))[0] > 0


def _line(topic: str, number: int, partition: _Partition, *, with_elr: bool) -> PartitionLine:
    leader = None if partition.leader == _NO_LEADER else partition.leader
    elr, known = (tuple(of) if of is not None else () if with_elr else None for of in (partition.elr, partition.last_known_elr))
    replicas, isr, adding, removing = map(tuple, (partition.replicas, partition.isr, partition.adding, partition.removing))
    directories = None if partition.directories is None else tuple(partition.directories)
    return PartitionLine(topic, number, leader, replicas, isr, elr, known, adding, removing, partition.recovering == 1, directories)


def replay(sources: Sequence[MetadataSource]) -> tuple[Image, list[tuple[Origin, str]]]:
    """Return the state by a cluster's files, and the records that could not be used, with the reason."""
    image, unused = Image(), []
    base = max((source for source in sources if source.file.snapshot), key=_recency, default=None)
    at: int | None = 0
    if base is not None:
        at = base.end_offset
        for origin in base.records:
            image.apply(origin)
    transaction: list[Origin] | None = None
    logs = [source for source in sources if source.records and not source.file.snapshot]
    for log in sorted(logs, key=lambda log: (log.file.start_offset, log.name)):
        if at is not None and log.file.start_offset > at:
            missing = f"records {at} to {log.file.start_offset - 1} are missing"
            unused.append((log.records[0], f"{missing}: add the snapshot or segment that has them; no later record is applied"))
            break
        for origin in log.records:
            record: MetadataRecord = origin.fact
            if record.offset < at if at is not None else base is not None and _contained(record, base.file):
                continue
            if record.type == "BEGIN_TRANSACTION_RECORD":
                transaction = []
            elif record.type in ("END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"):
                for record_origin in transaction or () if record.type == "END_TRANSACTION_RECORD" else ():
                    image.apply(record_origin)
                transaction = None
            elif transaction is None:
                image.apply(origin)
            else:
                transaction.append(origin)
        at = max(at or 0, log.file.end_offset or 0)
    return image, unused + image.rejected


def _recency(snapshot: MetadataSource) -> tuple[int, int, str]:
    return snapshot.end_offset or 0, snapshot.file.last_contained_ms or 0, snapshot.name


def _contained(record: MetadataRecord, snapshot: MetadataFile) -> bool:
    return record.time_ms is not None and snapshot.last_contained_ms is not None and record.time_ms <= snapshot.last_contained_ms


def _register_broker(image: Image, fields: dict[str, Any], at: Origin) -> None:
    image.brokers[identifier(fields["brokerId"], "brokerId")] = _Broker(
        fields["rack"], fields["fenced"] or fields.get("inControlledShutdown", False), at
    )


def _unregister_broker(image: Image, fields: dict[str, Any], at: Origin) -> None:
    if image.brokers.pop(fields["brokerId"], None) is None:
        raise Unreadable("the broker to unregister is not registered")


def _fence(key: str, fenced: Callable[[dict[str, Any]], bool | None]) -> Callable[[Image, dict[str, Any], Origin], None]:
    def effect(image: Image, fields: dict[str, Any], at: Origin) -> None:
        broker = image.brokers.get(fields[key])
        if broker is None:
            raise Unreadable("the broker to change is not registered")
        if (now := fenced(fields)) is not None:
            broker.fenced, broker.at = now, at

    return effect


def _topic(image: Image, fields: dict[str, Any], at: Origin) -> None:
    image.topics[fields["topicId"]] = (topic_name(fields["name"]), at)


def _remove_topic(image: Image, fields: dict[str, Any], at: Origin) -> None:
    removed = image.topics.pop(fields["topicId"], None)
    if removed is None:
        raise Unreadable("the topic to remove does not exist")
    image.partitions.pop(fields["topicId"], None)
    image.configs.pop((_TOPIC, removed[0]), None)


def _partition(image: Image, fields: dict[str, Any], at: Origin) -> None:
    number = identifier(fields["partitionId"], "partitionId")
    if fields["topicId"] not in image.topics:
        raise Unreadable("the topic of the partition does not exist")
    lists = {name: fields[key] for key, name in _PARTITION_LISTS.items()}
    _check(lists, fields["leader"])
    image.partitions[fields["topicId"]][number] = _Partition(
        leader=fields["leader"], recovering=fields["leaderRecoveryState"], directories=fields["directories"], at=at, **lists
    )


def _partition_change(image: Image, fields: dict[str, Any], at: Origin) -> None:
    partition = image.partitions.get(fields["topicId"], {}).get(fields["partitionId"])
    if partition is None:
        raise Unreadable("the partition to change does not exist")
    lists = {name: fields[key] for key, name in _PARTITION_LISTS.items() if fields[key] is not None}
    leader = partition.leader if fields["leader"] == _SAME_LEADER else fields["leader"]
    _check(lists, leader)
    for name, value in lists.items():
        setattr(partition, name, value)
    partition.leader, partition.at = leader, at
    if fields["leaderRecoveryState"] != -1:
        partition.recovering = fields["leaderRecoveryState"]
    if fields["directories"] is not None:
        partition.directories = fields["directories"]


def _check(lists: dict[str, list[int] | None], leader: int) -> None:
    if leader != _NO_LEADER:
        identifier(leader, "leader")
    for name, ids in lists.items():
        for broker_id in ids or ():
            identifier(broker_id, f"a broker id of {name}")
        if ids and len(set(ids)) < len(ids):
            raise Unreadable(f"a broker occurs twice in {name}")
    if lists.get("replicas") == []:
        raise Unreadable("replicas is empty")


def _clear_elr(image: Image, fields: dict[str, Any], at: Origin) -> None:
    for topic_id, (topic, _) in image.topics.items():
        if fields["topicName"] in ("", topic):
            for partition in image.partitions[topic_id].values():
                if partition.elr or partition.last_known_elr:
                    partition.elr, partition.last_known_elr, partition.at = [], [], at


def _config(image: Image, fields: dict[str, Any], at: Origin) -> None:
    configs = image.configs[fields["resourceType"], fields["resourceName"]]
    if fields["value"] is None:
        configs.pop(fields["name"], None)
    else:
        configs[fields["name"]] = (config_value(fields["name"], fields["value"]), at)


def _feature(image: Image, fields: dict[str, Any], at: Origin) -> None:
    image.features[fields["name"]] = (fields["featureLevel"], at)


_CHANGES = {-1: False, 0: None, 1: True}  # BrokerRegistrationFencingChange
_EFFECTS: dict[str, Callable[[Image, dict[str, Any], Origin], None]] = {
    "REGISTER_BROKER_RECORD": _register_broker,
    "UNREGISTER_BROKER_RECORD": _unregister_broker,
    "FENCE_BROKER_RECORD": _fence("id", lambda fields: True),
    "UNFENCE_BROKER_RECORD": _fence("id", lambda fields: False),
    "BROKER_REGISTRATION_CHANGE_RECORD": _fence(
        "brokerId", lambda fields: True if fields.get("inControlledShutdown") == 1 else _CHANGES.get(fields["fenced"])
    ),
    "TOPIC_RECORD": _topic,
    "REMOVE_TOPIC_RECORD": _remove_topic,
    "PARTITION_RECORD": _partition,
    "PARTITION_CHANGE_RECORD": _partition_change,
    "CLEAR_ELR_RECORD": _clear_elr,
    "CONFIG_RECORD": _config,
    "FEATURE_LEVEL_RECORD": _feature,
}
