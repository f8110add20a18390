"""The state of a cluster after its metadata log: the newest snapshot, and the records of the log after it.

Records are applied as MetadataImage and MetadataDelta of Kafka 4.4 do (TopicsDelta, ClusterDelta, ConfigurationsDelta, FeaturesDelta,
ClientQuotasDelta, AclsDelta), and the quorum's control records as KRaftControlRecordStateMachine does. The log continues at the snapshot's end offset, which is in its name (`00000000000000000123-0000000001.checkpoint`: 123) or in kafka-dump-log's
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
from jobs.ingest.facts import (
    AccessControl,
    ActiveController,
    BrokerHost,
    ClientQuota,
    ConfigValue,
    ControllerKind,
    CordonedLogDirs,
    FeatureLevel,
    MetadataFile,
    MetadataRecord,
    PartitionLine,
    QuorumVoters,
    RegisteredBroker,
    RegisteredController,
    TopicLine,
)
from jobs.ingest.resolve.origin import Origin

_SNAPSHOT_NAME = re.compile(r"(?:^|/)([0-9]{20})-[0-9]{10}\.checkpoint")
_TOPIC, _BROKER = 2, 4  # ConfigResource.Type
_CONFIG_KINDS = {_TOPIC: "topic", _BROKER: "broker", 16: "client-metrics", 32: "group"}
_DEFAULT = "<default>"  # the name of a default quota, as Kafka's tools print it
# By code: ResourceType, PatternType, AclOperation and AclPermissionType.
_RESOURCES = {2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN", 7: "USER"}
_PATTERNS = {3: "LITERAL", 4: "PREFIXED"}
_OPERATIONS = dict(
    enumerate(
        (
            *("ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
            *("IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"),
        ),
        2,
    )
)
_PERMISSIONS = {2: "DENY", 3: "ALLOW"}
_NO_LEADER, _SAME_LEADER = -1, -2
_PARTITION_LISTS = {
    "replicas": "replicas",
    "isr": "isr",
    "eligibleLeaderReplicas": "elr",
    "lastKnownElr": "last_known_elr",
    "addingReplicas": "adding_replicas",
    "removingReplicas": "removing_replicas",
}


@dataclass(frozen=True, slots=True)
class MetadataSource:
    """A file of the metadata log and its records in order."""

    name: str
    file: MetadataFile
    records: Sequence[Origin]

    @property
    def end_offset(self) -> int | None:
        """Return the offset at which the log continues after this file; None: unknown."""
        match = _SNAPSHOT_NAME.search(self.name)
        return int(match[1]) if match and self.file.end_offset is None else self.file.end_offset


@dataclass(slots=True)
class _Topic:
    name: str
    origin: Origin


@dataclass(slots=True)
class _Partition:
    leader: int
    replicas: list[int]
    isr: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    elr: list[int] | None
    last_known_elr: list[int] | None
    leader_recovery_state: int
    directories: list[str] | None
    origin: Origin


@dataclass(slots=True)
class _Broker:
    rack: str | None
    fenced: bool  # or in controlled shutdown: in both cases it cannot be elected (ClusterControlManager.isActive)
    hosts: list[str]
    directories: list[str]
    cordoned: list[str] | None  # directories that take no new replica; None: not reported
    origin: Origin


@dataclass(slots=True)
class _Value:
    value: Any
    origin: Origin


@dataclass(slots=True)
class Image:
    """The state after some records, with the origin of each part; `rejected` has the records that cannot be applied."""

    topics: dict[str, _Topic] = field(default_factory=dict)  # by id
    partitions: dict[str, dict[int, _Partition]] = field(default_factory=lambda: defaultdict(dict))  # by topic id and partition
    brokers: dict[int, _Broker] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, _Value]] = field(default_factory=lambda: defaultdict(dict))  # by resource and config
    features: dict[str, _Value] = field(default_factory=dict)  # levels
    quotas: dict[tuple[str | None, ...], _Value] = field(default_factory=dict)  # by user, client id, ip and quota
    acls: dict[str, _Value] = field(default_factory=dict)  # by id
    controllers: dict[int, Origin] = field(default_factory=dict)
    voters: _Value | None = None
    leader: _Value | None = None
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
        """Yield the facts that Kafka's tools would print of this state."""
        if self.latest:
            yield self.latest, ControllerKind("kraft")
        for name, feature in sorted(self.features.items()):
            yield feature.origin, FeatureLevel(name, str(feature.value))
        yield from self._quorum_facts()
        for broker_id, broker in sorted(self.brokers.items()):
            yield from _broker_facts(broker_id, broker)
        for (kind, name), configs in sorted(self.configs.items()):
            for config_name, config in sorted(configs.items()):
                yield config.origin, ConfigValue(_CONFIG_KINDS[kind], name, config_name, config.value)
        for key, quota in self.quotas.items():
            yield quota.origin, ClientQuota(*key, quota.value)
        for acl in self.acls.values():
            yield acl.origin, acl.value
        for topic_id, topic in sorted(self.topics.items(), key=lambda item: item[1].name):
            yield from self._topic_facts(topic_id, topic)

    def _quorum_facts(self) -> Iterator[tuple[Origin, Any]]:
        if self.voters:
            yield self.voters.origin, QuorumVoters(self.voters.value)
        if self.leader:
            yield self.leader.origin, ActiveController(self.leader.value)
        for node_id, origin in sorted(self.controllers.items()):
            yield origin, RegisteredController(node_id)

    def _topic_facts(self, topic_id: str, topic: _Topic) -> Iterator[tuple[Origin, Any]]:
        partitions = self.partitions[topic_id]
        if not partitions:
            return
        configs = {name: config.value for name, config in self.configs[_TOPIC, topic.name].items()}
        yield topic.origin, TopicLine(topic.name, topic_id, len(partitions), len(partitions[min(partitions)].replicas), configs)
        for number, partition in sorted(partitions.items()):
            yield partition.origin, _line(topic.name, number, partition, has_elr=self._has_elr)

    @property
    def _has_elr(self) -> bool:
        """Return whether the cluster maintains eligible leader replicas."""
        feature = self.features.get("eligible.leader.replicas.version")
        return feature is not None and feature.value > 0


def _broker_facts(broker_id: int, broker: _Broker) -> Iterator[tuple[Origin, Any]]:
    yield broker.origin, RegisteredBroker(broker_id, broker.rack, broker.fenced)
    if len(set(broker.hosts)) == 1:  # listeners with different hosts do not show on which of them the broker runs
        yield broker.origin, BrokerHost(broker_id, broker.hosts[0])
    if broker.cordoned is not None:
        # BrokerRegistration.hasUncordonedDirs
        all_cordoned = bool(broker.directories) and set(broker.directories) <= set(broker.cordoned)
        yield broker.origin, CordonedLogDirs(broker_id, tuple(broker.cordoned), all_cordoned)


def _line(topic: str, number: int, partition: _Partition, *, has_elr: bool) -> PartitionLine:
    elr, last_known_elr = (tuple(ids) if ids is not None else () if has_elr else None for ids in (partition.elr, partition.last_known_elr))
    return PartitionLine(
        topic=topic,
        partition=number,
        leader=None if partition.leader == _NO_LEADER else partition.leader,
        replicas=tuple(partition.replicas),
        isr=tuple(partition.isr),
        elr=elr,
        last_known_elr=last_known_elr,
        adding_replicas=tuple(partition.adding_replicas),
        removing_replicas=tuple(partition.removing_replicas),
        leader_recovering=partition.leader_recovery_state == 1,
        directories=None if partition.directories is None else tuple(partition.directories),
    )


def replay(sources: Sequence[MetadataSource]) -> tuple[Image, list[tuple[Origin, str]]]:
    """Return the state after the files of a cluster, and the records that could not be used, with the reason."""
    image, rejected = Image(), []
    snapshot = max((source for source in sources if source.file.snapshot), key=_recency, default=None)
    next_offset: int | None = 0
    if snapshot is not None:
        next_offset = snapshot.end_offset
        for origin in snapshot.records:
            image.apply(origin)
    transaction: list[Origin] | None = None
    logs = [source for source in sources if source.records and not source.file.snapshot]
    for log in sorted(logs, key=lambda log: (log.file.start_offset, log.name)):
        if next_offset is not None and log.file.start_offset > next_offset:
            missing = f"records {next_offset} to {log.file.start_offset - 1} are missing"
            rejected.append((log.records[0], f"{missing}: add the snapshot or segment that has them; no later record is applied"))
            break
        for origin in log.records:
            if _is_applied(origin.fact, next_offset, snapshot):
                continue
            kind = origin.fact.type
            if kind == "BEGIN_TRANSACTION_RECORD":
                transaction = []
            elif kind in ("END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"):
                for ended in transaction or () if kind == "END_TRANSACTION_RECORD" else ():
                    image.apply(ended)
                transaction = None
            elif transaction is None:
                image.apply(origin)
            else:
                transaction.append(origin)
        next_offset = max(next_offset or 0, log.file.end_offset or 0)
    return image, rejected + image.rejected


def _is_applied(record: MetadataRecord, next_offset: int | None, snapshot: MetadataSource | None) -> bool:
    """Return whether the snapshot or an earlier segment contains the record."""
    if next_offset is not None:
        return record.offset < next_offset
    return snapshot is not None and _contained(record, snapshot.file)


def _recency(snapshot: MetadataSource) -> tuple[int, int, str]:
    return snapshot.end_offset or 0, snapshot.file.last_contained_ms or 0, snapshot.name


def _contained(record: MetadataRecord, snapshot: MetadataFile) -> bool:
    return record.time_ms is not None and snapshot.last_contained_ms is not None and record.time_ms <= snapshot.last_contained_ms


def _register_broker(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    image.brokers[identifier(fields["brokerId"], "brokerId")] = _Broker(
        rack=fields["rack"],
        fenced=fields["fenced"] or fields["inControlledShutdown"],
        hosts=[endpoint["host"] for endpoint in fields["endPoints"]],
        directories=fields["logDirs"],
        cordoned=fields["cordonedLogDirs"],
        origin=origin,
    )


def _unregister_broker(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    if image.brokers.pop(fields["brokerId"], None) is None:
        raise Unreadable("the broker to unregister is not registered")


def _fence(*, fenced: bool) -> Callable[[Image, dict[str, Any], Origin], None]:
    def effect(image: Image, fields: dict[str, Any], origin: Origin) -> None:
        broker = _registered(image, fields["id"])
        broker.fenced, broker.origin = fenced, origin

    return effect


def _change_registration(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    broker = _registered(image, fields["brokerId"])
    fenced = True if fields["inControlledShutdown"] == 1 else _FENCING_CHANGES.get(fields["fenced"])
    broker.fenced = broker.fenced if fenced is None else fenced
    broker.directories = fields["logDirs"] or broker.directories
    broker.cordoned = broker.cordoned if fields["cordonedLogDirs"] is None else fields["cordonedLogDirs"]
    broker.origin = origin


def _registered(image: Image, broker_id: int) -> _Broker:
    if broker_id not in image.brokers:
        raise Unreadable("the broker to change is not registered")
    return image.brokers[broker_id]


def _topic(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    image.topics[fields["topicId"]] = _Topic(topic_name(fields["name"]), origin)


def _remove_topic(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    removed = image.topics.pop(fields["topicId"], None)
    if removed is None:
        raise Unreadable("the topic to remove does not exist")
    image.partitions.pop(fields["topicId"], None)
    image.configs.pop((_TOPIC, removed.name), None)


def _partition(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    number = identifier(fields["partitionId"], "partitionId")
    if fields["topicId"] not in image.topics:
        raise Unreadable("the topic of the partition does not exist")
    lists = {name: fields[key] for key, name in _PARTITION_LISTS.items()}
    _check(lists, fields["leader"])
    image.partitions[fields["topicId"]][number] = _Partition(
        leader=fields["leader"],
        leader_recovery_state=fields["leaderRecoveryState"],
        directories=fields["directories"],
        origin=origin,
        **lists,
    )


def _partition_change(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    partition = image.partitions.get(fields["topicId"], {}).get(fields["partitionId"])
    if partition is None:
        raise Unreadable("the partition to change does not exist")
    lists = {name: fields[key] for key, name in _PARTITION_LISTS.items() if fields[key] is not None}
    leader = partition.leader if fields["leader"] == _SAME_LEADER else fields["leader"]
    _check(lists, leader)
    for name, value in lists.items():
        setattr(partition, name, value)
    partition.leader, partition.origin = leader, origin
    if fields["leaderRecoveryState"] != -1:
        partition.leader_recovery_state = fields["leaderRecoveryState"]
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


def _clear_elr(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    for topic_id, topic in image.topics.items():
        if fields["topicName"] in ("", topic.name):
            for partition in image.partitions[topic_id].values():
                if partition.elr or partition.last_known_elr:
                    partition.elr, partition.last_known_elr, partition.origin = [], [], origin


def _config(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    if fields["resourceType"] not in _CONFIG_KINDS:
        raise Unreadable(f"configs of a resource of type {fields['resourceType']} are unknown")
    configs = image.configs[fields["resourceType"], fields["resourceName"]]
    if fields["value"] is None:
        configs.pop(fields["name"], None)
    else:
        configs[fields["name"]] = _Value(config_value(fields["name"], fields["value"]), origin)


def _feature(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    image.features[fields["name"]] = _Value(fields["featureLevel"], origin)


def _quota(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    entity = {part["entityType"]: _DEFAULT if part["entityName"] is None else part["entityName"] for part in fields["entity"]}
    if not entity or entity.keys() - {"user", "client-id", "ip"}:
        raise Unreadable(f"a quota of {', '.join(sorted(entity)) or 'no entity'} is unknown")
    key = (entity.get("user"), entity.get("client-id"), entity.get("ip"), fields["key"])
    if fields["remove"]:
        image.quotas.pop(key, None)
    else:
        image.quotas[key] = _Value(fields["value"], origin)


def _acl(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    entry = AccessControl(
        _word(_RESOURCES, fields, "resourceType"),
        fields["resourceName"],
        _word(_PATTERNS, fields, "patternType"),
        fields["principal"],
        fields["host"],
        _word(_OPERATIONS, fields, "operation"),
        _word(_PERMISSIONS, fields, "permissionType"),
    )
    image.acls[fields["id"]] = _Value(entry, origin)


def _word(words: dict[int, str], fields: dict[str, Any], name: str) -> str:
    if fields[name] not in words:
        raise Unreadable(f"{name} {fields[name]} is unknown")
    return words[fields[name]]


def _remove_acl(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    if image.acls.pop(fields["id"], None) is None:
        raise Unreadable("the access control entry to remove does not exist")


def _register_controller(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    image.controllers[identifier(fields["controllerId"], "controllerId")] = origin


def _unregister_controller(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    if image.controllers.pop(fields["controllerId"], None) is None:
        raise Unreadable("the controller to unregister is not registered")


def _quorum_voters(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    image.voters = _Value(tuple(sorted(identifier(voter["voterId"], "voterId") for voter in fields["voters"])), origin)


def _leader_change(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    image.leader = _Value(identifier(fields["leaderId"], "leaderId"), origin)
    _quorum_voters(image, fields, origin)


def _kraft_version(image: Image, fields: dict[str, Any], origin: Origin) -> None:
    image.features["kraft.version"] = _Value(fields["kRaftVersion"], origin)


_FENCING_CHANGES = {-1: False, 1: True}  # BrokerRegistrationFencingChange
_EFFECTS: dict[str, Callable[[Image, dict[str, Any], Origin], None]] = {
    "REGISTER_BROKER_RECORD": _register_broker,
    "UNREGISTER_BROKER_RECORD": _unregister_broker,
    "FENCE_BROKER_RECORD": _fence(fenced=True),
    "UNFENCE_BROKER_RECORD": _fence(fenced=False),
    "BROKER_REGISTRATION_CHANGE_RECORD": _change_registration,
    "TOPIC_RECORD": _topic,
    "REMOVE_TOPIC_RECORD": _remove_topic,
    "PARTITION_RECORD": _partition,
    "PARTITION_CHANGE_RECORD": _partition_change,
    "CLEAR_ELR_RECORD": _clear_elr,
    "CONFIG_RECORD": _config,
    "FEATURE_LEVEL_RECORD": _feature,
    "CLIENT_QUOTA_RECORD": _quota,
    "ACCESS_CONTROL_ENTRY_RECORD": _acl,
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": _remove_acl,
    "REGISTER_CONTROLLER_RECORD": _register_controller,
    "UNREGISTER_CONTROLLER_RECORD": _unregister_controller,
    "KRaftVoters": _quorum_voters,
    "KRaftVersion": _kraft_version,
    "LeaderChange": _leader_change,
}
# Records that state nothing about the cluster that a table has. Credentials are never stored.
WITHOUT_FACT = frozenset(
    {
        *("SnapshotHeader", "SnapshotFooter", "NO_OP_RECORD", "PRODUCER_IDS_RECORD", "ZK_MIGRATION_STATE_RECORD"),
        *("BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"),
        *(
            "DELEGATION_TOKEN_RECORD",
            "REMOVE_DELEGATION_TOKEN_RECORD",
            "USER_SCRAM_CREDENTIAL_RECORD",
            "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
        ),
    }
)
