"""What a cluster's metadata log comes to: its newest snapshot, and the records of the log after it, as one cut.

As MetadataImage and MetadataDelta of Kafka 4.4 apply them (TopicsDelta, ClusterDelta, ConfigurationsDelta, FeaturesDelta). The log goes on
where the snapshot ends, which the snapshot's name tells (`00000000000000000123-0000000001.checkpoint`: at 123), or kafka-dump-log's first
line; of a snapshot under another name, records not older than its last one come after it. A log that starts at 0 needs no snapshot.

    snapshot 0 to 122   log from 0   0 to 122 are in the snapshot, 123 and later are applied
    snapshot 0 to 122   log from 200 nothing after 122 is known: the log is not taken, and that is told
    transactions        BeginTransaction ... EndTransaction are applied at the end, and dropped if aborted or not ended

Records that the quorum had not committed when the file was copied cannot be told from others, and are applied.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobs.ingest.dump import Told, Unreadable, config_value, identifier, topic_name
from jobs.ingest.facts import BrokerSeen, ConfigTold, ControllerSign, FeatureLevel, MetadataFile, MetadataRecord, PartitionLine, TopicLine

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


class Place(NamedTuple):
    """A file, and an entry of it."""

    file: Any
    told: Told


@dataclass(frozen=True, slots=True)
class MetadataSource:
    """A file of the metadata log: its name, what it is, and its records in order."""

    name: str
    file: MetadataFile
    records: Sequence[Place]

    @property
    def end_offset(self) -> int | None:
        """Where a snapshot says that the log goes on."""
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
    at: Place


@dataclass(slots=True)
class _Broker:
    rack: str | None
    fenced: bool  # or shutting down in order: no leader to elect either way (ClusterControlManager.isActive)
    at: Place


@dataclass(slots=True)
class Image:
    """The state that records come to, and the last record that told each part of it; `refused` has those that cannot be applied."""

    topics: dict[str, tuple[str, Place]] = field(default_factory=dict)  # by id
    partitions: dict[str, dict[int, _Partition]] = field(default_factory=lambda: defaultdict(dict))
    brokers: dict[int, _Broker] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, tuple[str, Place]]] = field(default_factory=lambda: defaultdict(dict))
    features: dict[str, tuple[int, Place]] = field(default_factory=dict)
    refused: list[tuple[Place, str]] = field(default_factory=list)
    latest: Place | None = None

    def apply(self, place: Place) -> None:
        """Let a record have its effect."""
        record: MetadataRecord = place.told.fact
        self.latest = place
        if effect := _EFFECTS.get(record.type):
            try:
                effect(self, record.fields, place)
            except Unreadable as e:
                self.refused.append((place, str(e)))

    def facts(self) -> Iterator[tuple[Place, Any]]:
        """The facts that the tools would tell of this state."""
        if self.latest:
            yield self.latest, ControllerSign("kraft")
        for name, (level, place) in sorted(self.features.items()):
            yield place, FeatureLevel(name, str(level))
        for broker_id, broker in sorted(self.brokers.items()):
            yield broker.at, BrokerSeen(broker_id, broker.rack, broker.fenced)
        for (kind, name), configs in sorted(self.configs.items()):
            for config, (value, place) in sorted(configs.items()):
                if kind in (_TOPIC, _BROKER):
                    yield place, ConfigTold("topic" if kind == _TOPIC else "broker", name, config, value)
        for topic_id, (topic, place) in sorted(self.topics.items(), key=lambda item: item[1][0]):
            of_topic = self.partitions[topic_id]
            if of_topic:
                configs = {config: value for config, (value, _) in self.configs[_TOPIC, topic].items()}
                yield place, TopicLine(topic, topic_id, len(of_topic), len(of_topic[min(of_topic)].replicas), configs)
            for number, partition in sorted(of_topic.items()):
                yield partition.at, _line(topic, number, partition, kept=self.keeps_elr)

    @property
    def keeps_elr(self) -> bool:
        """Whether eligible leader replicas are on."""
        return self.features.get("eligible.leader.replicas.version", (0, None))[0] > 0


def _line(topic: str, number: int, partition: _Partition, *, kept: bool) -> PartitionLine:
    leader = None if partition.leader == _NO_LEADER else partition.leader
    elr, known = (tuple(of) if of is not None else () if kept else None for of in (partition.elr, partition.last_known_elr))
    replicas, isr, adding, removing = map(tuple, (partition.replicas, partition.isr, partition.adding, partition.removing))
    directories = None if partition.directories is None else tuple(partition.directories)
    return PartitionLine(topic, number, leader, replicas, isr, elr, known, adding, removing, partition.recovering == 1, directories)


def replay(sources: Sequence[MetadataSource]) -> tuple[Image, list[tuple[Place, str]]]:
    """The image of a cluster's files, and what of them could not be used, with why."""
    image, unused = Image(), []
    base = max((source for source in sources if source.file.snapshot), key=_recency, default=None)
    at: int | None = 0
    if base is not None:
        at = base.end_offset
        for place in base.records:
            image.apply(place)
    transaction: list[Place] | None = None
    logs = [source for source in sources if source.records and not source.file.snapshot]
    for log in sorted(logs, key=lambda log: (log.file.start_offset, log.name)):
        if at is not None and log.file.start_offset > at:
            missing = f"records {at} to {log.file.start_offset - 1} are missing"
            unused.append((log.records[0], f"{missing}: without the snapshot or segment that has them, no later one is taken"))
            break
        for place in log.records:
            record: MetadataRecord = place.told.fact
            if record.offset < at if at is not None else base is not None and _contained(record, base.file):
                continue
            if record.type == "BEGIN_TRANSACTION_RECORD":
                transaction = []
            elif record.type in ("END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"):
                for held in transaction or () if record.type == "END_TRANSACTION_RECORD" else ():
                    image.apply(held)
                transaction = None
            elif transaction is None:
                image.apply(place)
            else:
                transaction.append(place)
        at = max(at or 0, log.file.end_offset or 0)
    return image, unused + image.refused


def _recency(snapshot: MetadataSource) -> tuple[int, int, str]:
    return snapshot.end_offset or 0, snapshot.file.last_contained_ms or 0, snapshot.name


def _contained(record: MetadataRecord, snapshot: MetadataFile) -> bool:
    return record.time_ms is not None and snapshot.last_contained_ms is not None and record.time_ms <= snapshot.last_contained_ms


def _register_broker(image: Image, fields: dict[str, Any], at: Place) -> None:
    image.brokers[identifier(fields["brokerId"], "brokerId")] = _Broker(
        fields["rack"], fields["fenced"] or fields.get("inControlledShutdown", False), at
    )


def _unregister_broker(image: Image, fields: dict[str, Any], at: Place) -> None:
    if image.brokers.pop(fields["brokerId"], None) is None:
        raise Unreadable("it unregisters a broker that is not registered")


def _fence(key: str, fenced: Callable[[dict[str, Any]], bool | None]) -> Callable[[Image, dict[str, Any], Place], None]:
    def effect(image: Image, fields: dict[str, Any], at: Place) -> None:
        broker = image.brokers.get(fields[key])
        if broker is None:
            raise Unreadable("it changes a broker that is not registered")
        if (now := fenced(fields)) is not None:
            broker.fenced, broker.at = now, at

    return effect


def _topic(image: Image, fields: dict[str, Any], at: Place) -> None:
    image.topics[fields["topicId"]] = (topic_name(fields["name"]), at)


def _remove_topic(image: Image, fields: dict[str, Any], at: Place) -> None:
    removed = image.topics.pop(fields["topicId"], None)
    if removed is None:
        raise Unreadable("it removes a topic that does not exist")
    image.partitions.pop(fields["topicId"], None)
    image.configs.pop((_TOPIC, removed[0]), None)


def _partition(image: Image, fields: dict[str, Any], at: Place) -> None:
    number = identifier(fields["partitionId"], "partitionId")
    if fields["topicId"] not in image.topics:
        raise Unreadable("it is a partition of a topic that does not exist")
    lists = {name: fields[key] for key, name in _PARTITION_LISTS.items()}
    _check(lists, fields["leader"])
    image.partitions[fields["topicId"]][number] = _Partition(
        leader=fields["leader"], recovering=fields["leaderRecoveryState"], directories=fields["directories"], at=at, **lists
    )


def _partition_change(image: Image, fields: dict[str, Any], at: Place) -> None:
    partition = image.partitions.get(fields["topicId"], {}).get(fields["partitionId"])
    if partition is None:
        raise Unreadable("it changes a partition that does not exist")
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
            raise Unreadable(f"a broker is named twice in {name}")
    if lists.get("replicas") == []:
        raise Unreadable("replicas names no broker")


def _clear_elr(image: Image, fields: dict[str, Any], at: Place) -> None:
    for topic_id, (topic, _) in image.topics.items():
        if fields["topicName"] in ("", topic):
            for partition in image.partitions[topic_id].values():
                if partition.elr or partition.last_known_elr:
                    partition.elr, partition.last_known_elr, partition.at = [], [], at


def _config(image: Image, fields: dict[str, Any], at: Place) -> None:
    configs = image.configs[fields["resourceType"], fields["resourceName"]]
    if fields["value"] is None:
        configs.pop(fields["name"], None)
    else:
        configs[fields["name"]] = (config_value(fields["name"], fields["value"]), at)


def _feature(image: Image, fields: dict[str, Any], at: Place) -> None:
    image.features[fields["name"]] = (fields["featureLevel"], at)


_CHANGES = {-1: False, 0: None, 1: True}  # BrokerRegistrationFencingChange
_EFFECTS: dict[str, Callable[[Image, dict[str, Any], Place], None]] = {
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
