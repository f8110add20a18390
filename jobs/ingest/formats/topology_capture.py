"""Captures of a live cluster, written by jobs/capture: JSON lines with a head line, and an end line that counts the others.

    {"capture":"kafka-topology-audit","version":1,"captured_at":"2026-11-21T02:00:00Z","kafka_cluster_id":"YXVkaXQtdGVzdC1jbHVzdA"}
    {"broker":1,"rack":"rack-a","fenced":false,"host":"10.0.0.1"}
    {"controller":"kraft","leader_id":9,"voters":[{"id":9,"log_end_offset":77}],"observers":[]}
    {"feature":"metadata.version","level":30}
    {"configs_of":"broker","name":"","configs":{"min.insync.replicas":"1"}}              an empty name: of all brokers
    {"quotas_of":{"user":"alice","client-id":null},"quotas":{"consumer_byte_rate":1024.0}}                               null: the default
    {"acl_of":"TOPIC","name":"orders","pattern_type":"LITERAL","principal":"User:alice","host":"*","operation":"READ","permission":"ALLOW"}
    {"topic":"orders","topic_id":"LSo95-b9RSiAdRcs-lS0vg","configs":{},"partitions":[{"partition":0,"leader":1,"replicas":[1,2],"isr":[1,2],
     "elr":[],"last_known_elr":[],"start_offset":0,"end_offset":10}]}
    {"log_dirs_of":1,"log_dirs":[{"log_dir":"/data","error":null,"total_bytes":9,"usable_bytes":5,"cordoned":false,"replicas":[{"topic":"orders",
     "partition":0,"size_bytes":4,"offset_lag":0,"future":false}]}]}
    {"group":"g","protocol":"consumer","assignor":"uniform","state":"Stable","coordinator_id":1,"members":[{"member_id":"m",
     "group_instance_id":null,"client_id":"c","host":"/10.0.0.1","rack":null,"assignment":{"orders":[0]},"topics":["orders"],"topic_regex":null}],
     "offsets":[{"topic":"orders","partition":0,"offset":7,"log_end_offset":10,"lag":3}]}
    {"keys_of":"orders","partition":0,"from_offset":0,"to_offset":10,"keys":[{"key":"azE=","records":10,"size_bytes":990}]}   in base64
    {"missing":"log dirs of broker 2","why":"TimeoutException: ...","unsupported":false}
    {"end":9}

An entry is a line, and within it a partition, a log dir, a replica, a member, an offset or a key. A request that the cluster did not answer is
a rejected entry, unless its brokers are too old to know the request. A capture without its end line is cut off, and rejected as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from jobs.ingest.dump import (
    Dump,
    Parsed,
    Rejected,
    Unreadable,
    broker_ids,
    config_value,
    identifier,
    plain_text,
    quota_value,
    topic_name,
    whole_number,
)
from jobs.ingest.facts import (
    AccessControl,
    ActiveController,
    BrokerHost,
    CaptureTime,
    ClientQuota,
    ConfigValue,
    ControllerKind,
    EndOffset,
    Fact,
    FeatureLevel,
    GroupOffset,
    GroupState,
    KafkaClusterId,
    LogDirLine,
    LogDirsAnswer,
    MemberLine,
    PartitionLine,
    QuorumVoters,
    RegisteredBroker,
    ReplicaOnDisk,
    StartOffset,
    TopicLine,
)
from jobs.ingest.formats import key_sample
from jobs.ingest.precedence import Precedence

NAME = "topology-capture"
PRECEDENCE = Precedence.KAFKA_TOOL

_KNOWN_BY = re.compile(r'\s{0,99}\{"capture":"kafka-topology-audit"')
_VERSION = 1
_DEFAULT = "<default>"  # the name of a default quota, as Kafka's tools print it
_ACL_FIELDS = ("acl_of", "name", "pattern_type", "principal", "host", "operation", "permission")
_OFFSETS = {"start_offset": StartOffset, "end_offset": EndOffset}
Entries = Iterator[Parsed | Rejected]


def recognises(dump: Dump) -> bool:
    """Return whether the first line is the head of a capture."""
    return _KNOWN_BY.match(dump.head) is not None


def parse(dump: Dump) -> Entries:
    """Yield a fact for each part of the cluster's answers."""
    lines = [*dump.lines()]
    if _field_of_line(lines[-1][1], "end") != len(lines) - 1:
        raise Unreadable("the capture is cut off: it has no end line")
    if (version := _field_of_line(lines[0][1], "version")) != _VERSION:
        raise Unreadable(f"version {version} of a capture is unknown: only {_VERSION} is supported")
    for number, line in lines:
        try:
            document = _object(json.loads(line))
            kind = next((kind for kind in _KINDS if kind in document), None)
            if kind is None:
                raise Unreadable("not a known kind of line")
            yield from _KINDS[kind](document, number)
        except (ValueError, RecursionError) as e:
            yield Rejected(number, line, str(e) if isinstance(e, Unreadable) else f"not JSON: {e}")


def _field_of_line(line: str, name: str) -> Any:
    """Return a field of a line that may be cut off."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document.get(name) if isinstance(document, dict) else None


def _capture(answer: dict[str, Any], line: int) -> Entries:
    try:
        captured_at = datetime.strptime(_text(answer, "captured_at"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as e:
        raise Unreadable("captured_at is not a time") from e
    cluster_id = _optional_text(answer, "kafka_cluster_id")
    yield Parsed(line, answer, CaptureTime(captured_at))
    if cluster_id is not None:
        yield Parsed(line, answer, KafkaClusterId(cluster_id), entries=0)


def _broker(answer: dict[str, Any], line: int) -> Entries:
    broker_id, host = _id(answer, "broker"), _optional_text(answer, "host")
    yield Parsed(line, answer, RegisteredBroker(broker_id, _optional_text(answer, "rack"), _flag(answer, "fenced")))
    if host is not None:
        yield Parsed(line, answer, BrokerHost(broker_id, host), entries=0)


def _controller(answer: dict[str, Any], line: int) -> Entries:
    if answer["controller"] not in ("kraft", "zookeeper"):
        raise Unreadable("controller is neither kraft nor zookeeper")
    yield Parsed(line, answer, ControllerKind(answer["controller"]))
    if answer.get("leader_id", -1) != -1:
        yield Parsed(line, answer, ActiveController(_id(answer, "leader_id")), entries=0)
    if answer.get("voters"):
        yield Parsed(line, answer, QuorumVoters(tuple(sorted(_id(voter, "id") for voter in answer["voters"]))), entries=0)


def _feature(answer: dict[str, Any], line: int) -> Entries:
    yield Parsed(line, answer, FeatureLevel(_text(answer, "feature"), str(identifier(answer.get("level"), "level"))))


def _configs_of(answer: dict[str, Any], line: int) -> Entries:
    kind, name, configs = _text(answer, "configs_of"), _text(answer, "name"), _object(answer.get("configs"))
    if kind != "broker":
        raise Unreadable("configs of another than a broker")
    if name:
        whole_number(name, "name")
    yield Parsed(line, {"configs_of": kind, "name": name}, None)
    for config, value in configs.items():
        yield _entry(line, {config: value}, _config, kind, name, config, value)


def _config(kind: str, name: str, config: str, value: Any) -> ConfigValue:
    return ConfigValue(kind, name, config, config_value(config, value))


def _quotas_of(answer: dict[str, Any], line: int) -> Entries:
    entity, quotas = _object(answer["quotas_of"]), _object(answer.get("quotas"))
    if not entity or entity.keys() - {"user", "client-id", "ip"}:
        raise Unreadable("quotas of another entity than users, client ids and ips")
    names = (None if kind not in entity else _optional_text(entity, kind) or _DEFAULT for kind in ("user", "client-id", "ip"))
    user, client_id, ip = names
    for quota, value in quotas.items():
        yield _entry(line, {"quotas_of": entity, quota: value}, _quota, user, client_id, ip, quota, value)


def _quota(user: str | None, client_id: str | None, ip: str | None, quota: str, value: Any) -> ClientQuota:
    return ClientQuota(user, client_id, ip, plain_text(quota, "a quota"), quota_value(value, quota))


def _acl_of(answer: dict[str, Any], line: int) -> Entries:
    yield Parsed(line, answer, AccessControl(*(_text(answer, name) for name in _ACL_FIELDS)))


def _topic(answer: dict[str, Any], line: int) -> Entries:
    topic, partitions = topic_name(_text(answer, "topic")), _list(answer, "partitions")
    first_partition = next((partition for partition in partitions if isinstance(partition, dict) and partition.get("partition") == 0), None)
    configs = {name: config_value(name, value) for name, value in _object(answer.get("configs") or {}).items()}
    replicas = len(_list(first_partition, "replicas")) if first_partition else 0
    fact = TopicLine(topic, _optional_text(answer, "topic_id"), len(partitions), replicas, configs)
    yield Parsed(line, {"topic": topic, "configs": configs}, fact)
    for partition in partitions:
        entry = {"topic": topic, **partition} if isinstance(partition, dict) else partition
        yield _entry(line, entry, _partition, topic, partition)
        for name, fact_type in _OFFSETS.items() if isinstance(partition, dict) else ():
            if partition.get(name) is not None:
                yield _entry(line, entry, _partition_offset, fact_type, topic, partition, name)


def _partition_offset(
    fact_type: type[StartOffset] | type[EndOffset], topic: str, answer: dict[str, Any], name: str
) -> StartOffset | EndOffset:
    return fact_type(topic, _id(answer, "partition"), whole_number(answer[name], name))


def _partition(topic: str, partition: Any) -> PartitionLine:
    answer = _object(partition)
    replicas = broker_ids(answer.get("replicas"), "replicas")
    if not replicas:
        raise Unreadable("replicas is empty")
    lists = (
        None if answer.get(name) is None else broker_ids(answer[name], name)
        for name in ("elr", "last_known_elr", "adding_replicas", "removing_replicas")
    )
    leader = answer.get("leader")
    return PartitionLine(
        topic,
        _id(answer, "partition"),
        None if leader is None else identifier(leader, "leader"),
        replicas,
        broker_ids(answer.get("isr"), "isr"),
        *lists,
    )


def _log_dirs_of(answer: dict[str, Any], line: int) -> Entries:
    broker_id, log_dirs = _id(answer, "log_dirs_of"), _list(answer, "log_dirs")
    yield Parsed(line, {"log_dirs_of": broker_id}, LogDirsAnswer(broker_id))
    for log_dir in log_dirs:
        try:
            name = _text(_object(log_dir), "log_dir")
            volume = (_optional_number(log_dir, field) for field in ("total_bytes", "usable_bytes"))
            cordoned = None if log_dir.get("cordoned") is None else _flag(log_dir, "cordoned")
            fact = LogDirLine(broker_id, name, _optional_text(log_dir, "error"), *volume, cordoned)
            replicas = _list(log_dir, "replicas")
        except Unreadable as e:
            yield Rejected(line, log_dir, str(e))
            continue
        yield Parsed(line, {"log_dirs_of": broker_id, "log_dir": name}, fact)
        for replica in replicas:
            yield _entry(line, replica, _replica, broker_id, name, replica)


def _replica(broker_id: int, log_dir: str, replica: Any) -> ReplicaOnDisk:
    answer = _object(replica)
    lag = whole_number(answer.get("offset_lag"), "offset_lag", least=-(2**63))
    return ReplicaOnDisk(
        broker_id,
        topic_name(_text(answer, "topic")),
        _id(answer, "partition"),
        _flag(answer, "future"),
        log_dir,
        whole_number(answer.get("size_bytes"), "size_bytes"),
        None if lag == -1 else lag,
    )


def _group(answer: dict[str, Any], line: int) -> Entries:
    group_id, protocol, members, offsets = (
        _text(answer, "group"),
        _text(answer, "protocol"),
        _list(answer, "members"),
        _list(answer, "offsets"),
    )
    coordinator = answer.get("coordinator_id")
    state = GroupState(
        group_id,
        protocol,
        _optional_text(answer, "assignor"),
        _optional_text(answer, "state"),
        None if coordinator is None else identifier(coordinator, "coordinator_id"),
        len(members),
    )
    yield Parsed(line, {"group": group_id}, state)
    member_of_partition: dict[tuple[str, int], MemberLine] = {}
    for member in members:
        entry = {"group": group_id, **member} if isinstance(member, dict) else member
        parsed = _entry(line, entry, _member, group_id, protocol, member)
        if isinstance(parsed, Parsed) and protocol != "share":  # a partition of a share group may have several members
            member_of_partition |= dict.fromkeys(parsed.fact.assignment, parsed.fact)
        yield parsed
    for offset in offsets:
        entry = {"group": group_id, **offset} if isinstance(offset, dict) else offset
        yield _entry(line, entry, _offset, group_id, offset, member_of_partition)


def _member(group_id: str, protocol: str, member: Any) -> MemberLine:
    answer = _object(member)
    partitions = _object(answer.get("assignment"))
    pairs = [(topic, partition) for topic in partitions for partition in _list(partitions, topic)]
    assignment = tuple((topic_name(topic), identifier(partition, "a partition of the assignment")) for topic, partition in pairs)
    if len(set(assignment)) < len(assignment):
        raise Unreadable("a partition is assigned twice")
    return MemberLine(
        group_id,
        _text(answer, "member_id"),
        _optional_text(answer, "group_instance_id"),
        _optional_text(answer, "host"),
        _optional_text(answer, "client_id"),
        protocol,
        len(assignment),
        assignment,
        _optional_text(answer, "rack"),
        tuple(topic_name(topic) for topic in _list(answer, "topics")) if answer.get("topics") is not None else None,
        _optional_text(answer, "topic_regex"),
    )


def _offset(group_id: str, offset: Any, member_of_partition: dict[tuple[str, int], MemberLine]) -> GroupOffset:
    answer = _object(offset)
    current, end, lag = (_optional_number(answer, name, least=-(2**63)) for name in ("offset", "log_end_offset", "lag"))
    topic, partition = topic_name(_text(answer, "topic")), _id(answer, "partition")
    member = member_of_partition.get((topic, partition))
    member_fields = (member.member_id, member.host, member.client_id) if member else (None, None, None)
    return GroupOffset(group_id, topic, partition, current, end, lag, *member_fields)


def _keys_of(answer: dict[str, Any], line: int) -> Entries:
    topic, partition, keys = topic_name(_text(answer, "keys_of")), _id(answer, "partition"), _list(answer, "keys")
    yield Parsed(line, {"keys_of": topic, "partition": partition}, None)
    rows = []
    for key in keys:
        try:
            records, size_bytes = (_object(key).get(name) for name in ("records", "size_bytes"))
            rows.append(key_sample.row_of(topic, _optional_text(key, "key"), None, records, size_bytes, partition, "key_base64"))
        except Unreadable as e:
            yield Rejected(line, key, str(e))
    yield from key_sample.sample_of(rows, line)


def _missing(answer: dict[str, Any], line: int) -> Entries:
    if _flag(answer, "unsupported"):
        no_quorum = answer["missing"] == "the controller quorum"  # brokers of KRaft clusters answer this request since Kafka 3.3
        yield Parsed(line, answer, ControllerKind("zookeeper") if no_quorum else None)
    else:
        yield Rejected(line, answer, f"not answered by the cluster: {_text(answer, 'why')}")


def _no_fact(answer: dict[str, Any], line: int) -> Entries:
    yield Parsed(line, answer, None)


_KINDS: dict[str, Callable[[dict[str, Any], int], Entries]] = {
    "capture": _capture,
    "broker": _broker,
    "controller": _controller,
    "feature": _feature,
    "configs_of": _configs_of,
    "quotas_of": _quotas_of,
    "acl_of": _acl_of,
    "topic": _topic,
    "log_dirs_of": _log_dirs_of,
    "group": _group,
    "keys_of": _keys_of,
    "missing": _missing,
    "end": _no_fact,
}


def _entry(line: int, entry: Any, parse_fact: Callable[..., Fact], *arguments: Any) -> Parsed | Rejected:
    try:
        return Parsed(line, entry, parse_fact(*arguments))
    except Unreadable as e:
        return Rejected(line, entry, str(e))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable("not a JSON object")
    return value


def _list(answer: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(answer.get(name), list):
        raise Unreadable(f"{name} is not a list")
    return answer[name]


def _id(answer: dict[str, Any], name: str) -> int:
    return identifier(answer.get(name), name)


def _text(answer: dict[str, Any], name: str) -> str:
    return plain_text(answer.get(name), name)


def _optional_text(answer: dict[str, Any], name: str) -> str | None:
    return None if answer.get(name) is None else plain_text(answer[name], name)


def _optional_number(answer: dict[str, Any], name: str, *, least: int = 0) -> int | None:
    return None if answer.get(name) is None else whole_number(answer[name], name, least=least)


def _flag(answer: dict[str, Any], name: str) -> bool:
    if not isinstance(answer.get(name), bool):
        raise Unreadable(f"{name} is neither true nor false")
    return answer[name]
