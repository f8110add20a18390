"""ZooKeeper's znodes of a cluster (kafka.zk.ZkData, up to 3.9): JSON lines with a path and its data.

    {"path": "/brokers/ids/1", "data": "{\\"rack\\":\\"a\\",\\"version\\":5,...}"}
    {"path": "/brokers/topics/t", "data": {"partitions": {"0": [1, 2]}, "adding_replicas": {}, "removing_replicas": {}, "topic_id": "..."}}
    {"path": "/brokers/topics/t/partitions/0/state", "data": {"leader": 1, "isr": [1, 2], "leader_epoch": 0, "version": 1}}
    {"path": "/config/topics/t", "data": {"version": 1, "config": {"retention.ms": "1000"}}}           /config/brokers/<default>

The data is JSON, or JSON as text. A broker is live as long as its znode exists. A partition needs its topic's znode and its own, in any order;
a partition without a state has no leader yet, and is left out. Quotas are configs of users, clients and ips; credentials of users are not
read. Other znodes are skipped. Leader -1 means no leader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote

from jobs.ingest.dump import (
    QUOTAS,
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
)
from jobs.ingest.facts import (
    ActiveController,
    BrokerHost,
    ClientQuota,
    ConfigValue,
    ControllerKind,
    Fact,
    KafkaClusterId,
    PartitionLine,
    RegisteredBroker,
    TopicLine,
)
from jobs.ingest.precedence import Precedence

NAME = "zookeeper"
PRECEDENCE = Precedence.ZOOKEEPER

_ROOTS = "brokers|controller|controller_epoch|config|cluster|admin"
_KNOWN_BY = re.compile(rf'^\s{{0,9}}\{{.{{0,200}}"path"\s{{0,9}}:\s{{0,9}}"/(?:[^"]{{1,200}}/)?(?:{_ROOTS})["/]', re.MULTILINE)
_ROOT = re.compile(rf"/(?:{_ROOTS})(?:/|$)")
_BROKER = re.compile(r"/brokers/ids/([0-9]+)")
_TOPIC = re.compile(r"/brokers/topics/([^/]+)")
_STATE = re.compile(r"/brokers/topics/([^/]+)/partitions/([0-9]+)/state")
_CONFIG = re.compile(r"/config/(topic|broker)s/([^/]+)")
_QUOTA = re.compile(r"/config/(?:users/([^/]+)(?:/clients/([^/]+))?|clients/([^/]+)|ips/([^/]+))")
_DEFAULT = "<default>"


class _Znode(NamedTuple):
    """A line of the dump; `path` is without a chroot."""

    number: int
    line: str
    path: str
    data: Any


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a line with a path of Kafka."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each broker, topic, config, and each partition that has a state."""
    znodes = [_znode(number, line) for number, line in dump.lines()]
    topics = {}
    for znode in znodes:
        if isinstance(znode, _Znode) and (match := _TOPIC.fullmatch(znode.path)) and isinstance(znode.data, dict):
            topics[match[1]] = znode.data
    has_controller_kind = False
    for znode in znodes:
        if isinstance(znode, Rejected):
            yield znode
            continue
        number, line, path, data = znode
        entry = _shown(line, path)
        try:
            facts = list(_facts(path, data, topics))
        except Unreadable as e:
            yield Rejected(number, entry, str(e))
            continue
        yield Parsed(number, entry, facts[0] if facts else None)
        for fact in facts[1:]:
            yield Parsed(number, entry, fact, entries=0)
        if not has_controller_kind:
            yield Parsed(number, line, ControllerKind("zookeeper"), entries=0)
            has_controller_kind = True


def _znode(number: int, line: str) -> _Znode | Rejected:
    try:
        znode = json.loads(line)
        path = plain_text(znode["path"], "path")
        data = znode.get("data")
        if isinstance(data, str) and data.lstrip().startswith("{"):
            data = json.loads(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        return Rejected(number, re.sub('"config.*', "...", line), str(e) if isinstance(e, Unreadable) else "not a JSON object with a path")
    start = _ROOT.search(path)  # a chroot is before it
    return _Znode(number, line, path[start.start() :] if start else path, data)


def _shown(line: str, path: str) -> str:
    return path if path.startswith("/config") else line  # configs may contain passwords


def _facts(path: str, data: Any, topics: dict[str, Any]) -> Iterator[Fact]:
    if match := _BROKER.fullmatch(path):
        rack, host = (None if _object(data).get(name) is None else plain_text(data[name], name) for name in ("rack", "host"))
        broker_id = identifier(match[1], "the broker's id")
        yield RegisteredBroker(broker_id, rack, False)
        if host is not None:
            yield BrokerHost(broker_id, host)
    elif match := _STATE.fullmatch(path):
        yield _partition(match[1], match[2], _object(data), topics)
    elif match := _TOPIC.fullmatch(path):
        partitions = _field(_object(data), "partitions")
        if not isinstance(partitions, dict) or not partitions:
            raise Unreadable("partitions is empty")
        topic_id = data.get("topic_id")
        lowest = min(partitions, key=lambda partition: identifier(partition, "a partition"))
        yield TopicLine(
            topic_name(match[1]),
            None if topic_id is None else plain_text(topic_id, "topic_id"),
            len(partitions),
            len(broker_ids(partitions[lowest], "replicas")),
            {},
        )
    elif path == "/cluster/id":
        yield KafkaClusterId(plain_text(_field(_object(data), "id"), "id"))
    elif path == "/controller":
        yield ActiveController(identifier(_field(_object(data), "brokerid"), "the controller's id"))
    elif match := _QUOTA.fullmatch(path):
        user, client_of_user, client, ip = (None if name is None else unquote(name) for name in match.groups())
        config = _config(data)
        for quota in (name for name in QUOTAS if name in config):
            yield ClientQuota(user, client_of_user or client, ip, quota, quota_value(config[quota], quota))
    elif match := _CONFIG.fullmatch(path):
        name = unquote(match[2])
        for key, value in _config(data).items():
            yield ConfigValue(match[1], "" if name == _DEFAULT else name, plain_text(key, "a config's name"), config_value(key, value))


def _partition(topic: str, partition: str, state: dict[str, Any], topics: dict[str, Any]) -> PartitionLine:
    znode = topics.get(topic)
    if znode is None or not isinstance(znode.get("partitions"), dict) or partition not in znode["partitions"]:
        raise Unreadable("the topic's znode does not have the partition")
    adding, removing = (_moving(znode.get(name), partition, name) for name in ("adding_replicas", "removing_replicas"))
    leader = _field(state, "leader")
    replicas = broker_ids(znode["partitions"][partition], "replicas")
    if not replicas:
        raise Unreadable("replicas is empty")
    return PartitionLine(
        topic_name(topic),
        identifier(partition, "the partition"),
        None if leader == -1 else identifier(leader, "leader"),
        replicas,
        broker_ids(_field(state, "isr"), "isr"),
        None,
        None,
        adding,
        removing,
    )


def _config(data: Any) -> dict[str, Any]:
    config = _field(_object(data), "config")
    if not isinstance(config, dict):
        raise Unreadable("config is not a JSON object")
    return config


def _moving(replicas: Any, partition: str, name: str) -> tuple[int, ...]:
    return broker_ids(replicas[partition], name) if isinstance(replicas, dict) and partition in replicas else ()


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Unreadable("the data is not a JSON object")
    return data


def _field(data: dict[str, Any], name: str) -> Any:
    if name not in data:
        raise Unreadable(f"{name} is missing")
    return data[name]
