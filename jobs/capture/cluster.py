"""The requests to a live cluster, and the lines of a capture that the answers become (format: jobs/ingest/formats/topology_capture.py).

    describeTopics       -> {"topic":"orders","topic_id":"LSo95-b9RSiAdRcs-lS0vg","configs":{},"partitions":[...]}
    no answer            -> {"missing":"log dirs of broker 2","why":"TimeoutException: ...","unsupported":false}

All requests only read. There is one request at a time, in batches, and at most `_BROKERS` brokers are asked at once for what only each of them
knows. A request without an answer becomes a line (`missing`), and the others go on: a broker that is down reports no log dirs, a broker of
Kafka 2.1 no eligible leader replicas. Only a cluster that does not return its brokers cannot be captured.
"""

from __future__ import annotations

import base64
import re
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.capture.java_client import KAFKA_CLIENTS, Connection, NotAnswered

FORMAT = "kafka-topology-audit"
VERSION = 1
_TOPICS = 500  # in a request
_GROUPS = 100
_BROKERS = 16
_PARTITIONS = 5_000
_SAMPLED = 100  # partitions whose keys are read at the same time
_POLL_S = 1
_PATIENCE_S = 15  # without any record, although there are some
_DEFAULT = "DEFAULT_CONFIG"
_RESOURCE = re.compile(r"ConfigResource\(type=\w+, name='(.*)'\)")
_OPTIONAL = re.compile(r"Optional(?:Long|Int)?\[(.*)\]", re.DOTALL)
_CONSUMERS = ("consumer", "")  # protocol types of a classic group: with members, and of one that only commits offsets

Line = dict[str, Any]
Offsets = dict[tuple[str, int], int]
Subscription = tuple[list[str] | None, str | None]


def read_cluster(connection: Connection, captured_at: str, key_records: int = 0) -> Iterator[Line]:
    """Yield the lines of a capture except the end line; raises NotAnswered if the cluster cannot be read at all.

    `key_records`: how many of the last records of each partition are read for their keys.
    """
    return _Reader(connection).lines(captured_at, key_records)


class _Reader:
    def __init__(self, connection: Connection):
        self.get, self.admin, self.client = connection.get, connection.admin, connection.client
        self.connection = connection
        self.jvm, self.admin_classes = connection.client.jvm, connection.client.kafka.clients.admin
        self.nodes: dict[int, Any] = {}
        self.missing: list[Line] = []
        self.silent: dict[int, NotAnswered] = {}  # brokers that did not answer their first request

    def lines(self, captured_at: str, key_records: int) -> Iterator[Line]:
        cluster_id, brokers = self._brokers()
        yield {
            "capture": FORMAT,
            "version": VERSION,
            "captured_at": captured_at,
            "client": KAFKA_CLIENTS.partition(":")[2],
            "kafka_cluster_id": cluster_id,
        }
        yield from brokers
        live = [broker["broker"] for broker in brokers if not broker["fenced"]]
        yield from self._quorum()
        yield from self._features()
        yield from self._broker_configs(live)
        topics = self._topics()
        end_offsets = self._offsets(topics, "endOffsets", "end_offset")
        self._offsets(topics, "beginningOffsets", "start_offset")
        yield from topics
        yield from self._log_dirs(live)
        yield from self._groups(end_offsets)
        if key_records:
            yield from self._keys(topics, key_records)
        yield from self.missing

    def _brokers(self) -> tuple[str | None, list[Line]]:
        options = self.admin_classes.DescribeClusterOptions().includeFencedBrokers(True)
        result = self.admin.describeCluster(options)
        try:
            nodes = self.get(result.nodes())
        except NotAnswered as e:
            if not e.unsupported:  # brokers before 4.0, and listeners of controllers
                raise
            self._report_missing("fenced brokers", e)
            result = self.admin.describeCluster()
            nodes = self.get(result.nodes())
        self.nodes = {node.id(): node for node in nodes.toArray()}
        brokers = [{"broker": id, "rack": node.rack(), "fenced": node.isFenced()} for id, node in self.nodes.items()]
        return self.get(result.clusterId()), sorted(brokers, key=lambda broker: broker["broker"])

    def _quorum(self) -> Iterator[Line]:
        info = self._ask("the controller quorum", lambda: self.client.json(self.get(self.admin.describeMetadataQuorum().quorumInfo())))
        if info is not None:
            voters, observers = ([self._follower(node) for node in info[kind]] for kind in ("voters", "observers"))
            yield {
                "controller": "kraft",
                "leader_id": info["leaderId"],
                "leader_epoch": info["leaderEpoch"],
                "high_watermark": info["highWatermark"],
                "voters": voters,
                "observers": observers,
            }

    @staticmethod
    def _follower(node: Line) -> Line:
        caught_up = _optional(node["lastCaughtUpTimestamp"])
        return {"id": node["replicaId"], "log_end_offset": node["logEndOffset"], "last_caught_up_ms": caught_up and int(caught_up)}

    def _features(self) -> Iterator[Line]:
        features = self._ask("features", lambda: self.client.json(self.get(self.admin.describeFeatures().featureMetadata())))
        for name, level in sorted((features or {"finalizedFeatures": {}})["finalizedFeatures"].items()):
            yield {"feature": name, "level": level["maxVersionLevel"]}

    def _broker_configs(self, live: Sequence[int]) -> Iterator[Line]:
        for batch in _batches(["", *map(str, live)], _BROKERS):
            configs = self._configs("BROKER", batch, "the configs of broker", silent=self.silent)
            for name in batch:
                if name in configs:
                    yield {"configs_of": "broker", "name": name, "configs": configs[name]}

    def _configs(
        self, kind: str, names: Iterable[str], what: str, *, silent: dict[int, NotAnswered] | None = None
    ) -> dict[str, dict[str, str]]:
        """Return the configs that are set on each resource, except Kafka's own defaults and sensitive ones."""
        configs = {}
        type = self.client.constant("org.apache.kafka.common.config.ConfigResource$Type", kind)
        resource = self.client.kafka.common.config.ConfigResource
        result = self.admin.describeConfigs([resource(type, name) for name in names])
        for name, config in self._each(result.all(), result.values(), what, silent):
            configs[name] = {
                entry["name"]: entry["value"]
                for _, entry in sorted(config["entries"].items())
                if entry["source"] != _DEFAULT and not entry["isSensitive"] and entry["value"] is not None
            }
        return configs

    def _topics(self) -> list[Line]:
        options = self.admin_classes.ListTopicsOptions().listInternal(True)
        names = self._ask("the topics", lambda: sorted(self.client.json(self.get(self.admin.listTopics(options).names()))), default=[])
        moving = self._reassignments()
        topics = []
        for batch in _batches(names, _TOPICS):
            result = self.admin.describeTopics(batch)
            described = dict(self._each(result.allTopicNames(), result.topicNameValues(), "topic"))
            configs = self._configs("TOPIC", described, "the configs of topic")
            topics += [self._topic(topic, configs.get(name), moving) for name, topic in sorted(described.items())]
        return topics

    def _reassignments(self) -> dict[str, Line]:
        return self._ask(
            "reassignments", lambda: self.client.json(self.get(self.admin.listPartitionReassignments().reassignments())), default={}
        )

    @staticmethod
    def _topic(described: Line, configs: dict[str, str] | None, moving: Mapping[str, Line]) -> Line:
        def ids(nodes: Sequence[Line] | None) -> list[int] | None:
            return None if nodes is None else [node["id"] for node in nodes]

        partitions = []
        for one in described["partitions"]:
            leader = one["leader"]["id"] if one["leader"] is not None else -1
            line = {"partition": one["partition"], "leader": None if leader < 0 else leader}
            line |= {"replicas": ids(one["replicas"]), "isr": ids(one["isr"])}
            line |= {"elr": ids(one["elr"]), "last_known_elr": ids(one["lastKnownElr"])}
            if move := moving.get(f"{described['name']}-{one['partition']}"):
                line |= {"adding_replicas": move["addingReplicas"], "removing_replicas": move["removingReplicas"]}
            partitions.append(line)
        topic_id = None if described["topicId"] == "AAAAAAAAAAAAAAAAAAAAAA" else described["topicId"]
        partitions.sort(key=lambda one: one["partition"])
        return {"topic": described["name"], "topic_id": topic_id, "configs": configs, "partitions": partitions}

    def _offsets(self, topics: Sequence[Line], method: str, name: str) -> Offsets:
        """Return the offset of each partition with a leader, and add it to the partition's line; no answer of a leader affects only its own."""
        led: dict[int, list[tuple[str, int]]] = defaultdict(list)
        lines = {}
        for topic in topics:
            for partition in topic["partitions"]:
                if partition["leader"] is not None:
                    led[partition["leader"]].append((topic["topic"], partition["partition"]))
                    lines[topic["topic"], partition["partition"]] = partition
        offsets: Offsets = {}
        for leader, partitions in sorted(led.items()):
            if leader in self.silent:
                self._report_missing(f"{name} of the partitions led by broker {leader}", self.silent[leader])
                continue
            for batch in _batches(partitions, _PARTITIONS):
                by_topic: dict[str, list[int]] = defaultdict(list)
                for topic, partition in batch:
                    by_topic[topic].append(partition)
                try:
                    with self.connection.answering():
                        answer = self.client.json(getattr(self.connection.consumer, method)(self.client.partitions(by_topic)))
                except NotAnswered as e:
                    self._report_missing(f"{name} of the partitions led by broker {leader}", e)
                    break
                for key, offset in answer.items():
                    offsets[_partition(key)] = lines[_partition(key)][name] = offset
        return offsets

    def _log_dirs(self, live: Sequence[int]) -> Iterator[Line]:
        for broker in self.silent:
            self._report_missing(f"log dirs of broker {broker}", self.silent[broker])
        for batch in _batches([broker for broker in live if broker not in self.silent], _BROKERS):
            result = self.admin.describeLogDirs(batch)
            described = dict(self._each(result.allDescriptions(), result.descriptions(), "log dirs of broker"))
            for broker in batch:
                if str(broker) in described:
                    log_dirs = [self._log_dir(path, one) for path, one in sorted(described[str(broker)].items())]
                    yield {"log_dirs_of": broker, "log_dirs": log_dirs}

    @staticmethod
    def _log_dir(path: str, described: Line) -> Line:
        replicas = [
            {"topic": topic, "partition": partition, "size_bytes": log["size"], "offset_lag": log["offsetLag"], "future": log["isFuture"]}
            for (topic, partition), log in sorted((_partition(key), log) for key, log in described["replicaInfos"].items())
        ]
        total, usable = (_optional(described[name]) for name in ("totalBytes", "usableBytes"))
        return {
            "log_dir": path,
            "error": described["error"] and described["error"].partition(":")[0],
            "total_bytes": total and int(total),
            "usable_bytes": usable and int(usable),
            "replicas": replicas,
        }

    def _groups(self, end_offsets: Offsets) -> Iterator[Line]:
        result = self.admin.listGroups()
        listed = self._ask("the groups", lambda: self.client.json(self.get(result.valid())), default=[])
        for error in self._ask("the groups", lambda: self.client.json(self.get(result.errors())), default=[]):
            self._report_missing("groups", NotAnswered(*_error(error)))
        kinds: dict[str, list[str]] = defaultdict(list)
        for group in sorted(listed, key=lambda group: group["groupId"]):
            kind = (_optional(group["type"]) or "Classic").lower()
            if kind == "consumer" or (kind == "classic" and group["protocol"] in _CONSUMERS):
                kinds["consumer"].append(group["groupId"])
            elif kind == "share":
                kinds["share"].append(group["groupId"])
        for batch in _batches(kinds["consumer"], _GROUPS):
            result, spec = self.admin.describeConsumerGroups(batch), self.admin_classes.ListConsumerGroupOffsetsSpec()
            described = dict(self._each(result.all(), result.describedGroups(), "group"))
            asked = self.admin.listConsumerGroupOffsets(dict.fromkeys(described, spec))
            futures = {group: asked.partitionsToOffsetAndMetadata(group) for group in described}
            offsets = dict(self._each(asked.all(), futures, "the offsets of group"))
            subscribed = self._subscriptions(described)
            for name, one in sorted(described.items()):
                group = self._group(one, one["type"].lower(), subscribed.get(name, {}))
                yield group | {"offsets": _committed(group, offsets.get(name, {}), end_offsets)}
        for batch in _batches(kinds["share"], _GROUPS):
            result, spec = self.admin.describeShareGroups(batch), self.admin_classes.ListShareGroupOffsetsSpec()
            described = dict(self._each(result.all(), result.describedGroups(), "group"))
            asked = self.admin.listShareGroupOffsets(dict.fromkeys(described, spec))
            futures = {group: asked.partitionsToOffsetInfo(group) for group in described}
            offsets = dict(self._each(asked.all(), futures, "the offsets of group"))
            subscribed = self._subscriptions(described)
            for name, one in sorted(described.items()):
                group = self._group(one, "share", subscribed.get(name, {}))
                yield group | {"offsets": _started(group, offsets.get(name, {}))}

    def _keys(self, topics: Sequence[Line], last: int) -> Iterator[Line]:
        """Yield the keys of the last records of each partition, except of Kafka's own topics."""
        asked = [
            (topic["topic"], one["partition"], max(one["start_offset"], one["end_offset"] - last), one["end_offset"])
            for topic in topics
            if not topic["topic"].startswith("__")
            for one in topic["partitions"]
            if {"start_offset", "end_offset"} <= one.keys() and one["start_offset"] < one["end_offset"]
        ]
        for batch in _batches(asked, _SAMPLED):
            try:
                with self.connection.answering():
                    yield from self._sampled(batch)
            except NotAnswered as e:
                self._report_missing(f"the keys of {len(batch)} partitions from {batch[0][0]}-{batch[0][1]} on", e)

    def _sampled(self, asked: Sequence[tuple[str, int, int, int]]) -> list[Line]:
        consumer, partition_of = self.connection.consumer, self.client.kafka.common.TopicPartition
        left = {(topic, partition): (partition_of(topic, partition), end) for topic, partition, _, end in asked}
        consumer.assign([partition for partition, _ in left.values()])
        for topic, partition, start, _ in asked:
            consumer.seek(left[topic, partition][0], start)
        keys: dict[tuple[str, int], dict[str | None, list[int]]] = {key: {} for key in left}
        second, waited_until = self.jvm.java.time.Duration.ofSeconds(_POLL_S), time.monotonic() + _PATIENCE_S
        while left and time.monotonic() < waited_until:
            for key, records in self.client.json(consumer.poll(second))["records"].items():
                sampled = _partition(key)
                waited_until = time.monotonic() + _PATIENCE_S
                for record in records:
                    if sampled in left and record["offset"] < left[sampled][1]:
                        count = keys[sampled].setdefault(record["key"], [0, 0])
                        count[0] += 1
                        count[1] += max(0, record["serializedKeySize"]) + max(0, record["serializedValueSize"])
            for sampled, (partition, end) in [*left.items()]:
                if consumer.position(partition) >= end:
                    del left[sampled]
                    consumer.pause([partition])
        for topic, partition in left:
            self._report_missing(f"the keys of {topic}-{partition}", NotAnswered("TimeoutException", f"no record within {_PATIENCE_S} s"))
        return [
            {
                "keys_of": topic,
                "partition": partition,
                "from_offset": start,
                "to_offset": end,
                "keys": [
                    {"key": key, "records": count, "size_bytes": size}
                    for key, (count, size) in sorted(keys[topic, partition].items(), key=lambda one: (one[0] is not None, one[0]))
                ],
            }
            for topic, partition, start, end in asked
            if (topic, partition) not in left
        ]

    def _subscriptions(self, described: Mapping[str, Line]) -> dict[str, dict[str, Subscription]]:
        """Return the subscribed topics and regular expression by group and member, which the Admin's answers lack."""
        asked: dict[tuple[int, str], list[str]] = defaultdict(list)
        for name, group in described.items():
            if group["members"] and group["coordinator"] and group["coordinator"]["id"] in self.nodes:
                asked[group["coordinator"]["id"], group.get("type", "Share")].append(name)
        data, requests = self.client.kafka.common.message, self.client.kafka.common.requests
        subscriptions: dict[str, dict[str, Subscription]] = {}
        for (broker, type), names in sorted(asked.items()):
            if type == "Classic":
                request = requests.DescribeGroupsRequest.Builder(data.DescribeGroupsRequestData().setGroups(names))
            elif type == "Consumer":
                request = requests.ConsumerGroupDescribeRequest.Builder(data.ConsumerGroupDescribeRequestData().setGroupIds(names))
            else:
                request = requests.ShareGroupDescribeRequest.Builder(data.ShareGroupDescribeRequestData().setGroupIds(names))
            answer = self._ask(
                f"subscriptions of the groups that broker {broker} coordinates",
                lambda broker=broker, request=request: self.connection.ask(self.nodes[broker], request), default={"groups": []},
            )  # fmt: skip
            for group in answer["groups"]:
                subscriptions[group["groupId"]] = {member["memberId"]: _subscription(member) for member in group["members"]}
        return subscriptions

    @staticmethod
    def _group(described: Line, protocol: str, subscribed: Mapping[str, Subscription]) -> Line:
        members = []
        for member in sorted(described["members"], key=lambda member: member["memberId"]):
            assignment: dict[str, list[int]] = defaultdict(list)
            for topic, partition in sorted(_partition(key) for key in member["assignment"]["topicPartitions"]):
                assignment[topic].append(partition)
            members.append(
                {
                    "member_id": member["memberId"],
                    "group_instance_id": _optional(member.get("groupInstanceId")),
                    "client_id": member["clientId"],
                    "host": member["host"],
                    "rack": _optional(member["rackId"]),
                    "assignment": assignment,
                    **dict(zip(("topics", "topic_regex"), subscribed.get(member["memberId"], (None, None)), strict=True)),
                }
            )
        coordinator = described["coordinator"] and described["coordinator"]["id"]
        assignor = described.get("partitionAssignor") or None
        return {
            "group": described["groupId"],
            "protocol": protocol,
            "assignor": assignor,
            "state": described["groupState"],
            "coordinator_id": coordinator,
            "members": members,
        }

    def _ask(self, what: str, request: Any, *, default: Any = None) -> Any:
        """Return the answer to a request; without one, report it missing and return the default."""
        try:
            return request()
        except NotAnswered as e:
            self._report_missing(what, e)
            return default

    def _each(
        self, whole: Any, futures: Mapping[Any, Any], what: str, silent: dict[int, NotAnswered] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Yield the answers of a map by the names in its keys; a failure of one does not affect the others."""
        try:
            for key, answer in self.client.json(self.get(whole)).items():
                yield _name(key), answer
            return
        except NotAnswered:
            pass  # at least one failed: get each by itself, which takes a call or two for each
        for key in futures:
            name = _name(str(key))
            try:
                yield name, self.client.json(self.get(futures[key]))
            except NotAnswered as e:
                if not e.gone:
                    self._report_missing(f"{what} {name}", e)
                if e.timed_out and silent is not None and name:
                    silent[int(name)] = e

    def _report_missing(self, what: str, why: NotAnswered) -> None:
        self.missing.append({"missing": what, "why": str(why), "unsupported": why.unsupported})


def _subscription(member: Line) -> Subscription:
    """Return a member's topics and regular expression; a classic member has them in the metadata that it joined with."""
    if "memberMetadata" not in member:
        return sorted(member["subscribedTopicNames"] or []), member.get("subscribedTopicRegex") or None
    metadata, topics, at = base64.b64decode(member["memberMetadata"]), [], 6
    if len(metadata) < at:
        return None, None
    for _ in range(struct.unpack_from(">i", metadata, 2)[0]):
        (length,) = struct.unpack_from(">h", metadata, at)
        topics.append(metadata[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return sorted(topics), None


def _batches(these: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(these), size):
        yield [*these[start : start + size]]


def _optional(text: str | None) -> str | None:
    """Return the value in the text of a Java Optional; None: empty, or the field is null."""
    match = _OPTIONAL.fullmatch(text or "")
    return match[1] if match else None


def _name(key: str) -> str:
    """Return the name in a key: of a ConfigResource from its text, otherwise the text itself."""
    match = _RESOURCE.fullmatch(key)
    return match[1] if match else key


def _partition(text: str) -> tuple[str, int]:
    """Parse the text of a TopicPartition: the last dash separates topic and partition."""
    topic, _, partition = text.rpartition("-")
    return topic, int(partition)


def _error(text: str) -> tuple[str, str]:
    """Parse the text of an exception: its class and its message."""
    kind, _, message = text.partition(": ")
    return kind.rpartition(".")[2], message


def _committed(group: Line, offsets: Mapping[str, Line | None], end_offsets: Offsets) -> list[Line]:
    """Return the offsets of a group: every partition with a committed offset, and every assigned partition."""
    committed = {_partition(key): offset["offset"] for key, offset in offsets.items() if offset is not None}
    lines = []
    for topic, partition in sorted(committed.keys() | _assigned(group)):
        offset, end = committed.get((topic, partition)), end_offsets.get((topic, partition))
        lag = None if offset is None or end is None else end - offset
        lines.append({"topic": topic, "partition": partition, "offset": offset, "log_end_offset": end, "lag": lag})
    return lines


def _started(group: Line, offsets: Mapping[str, Line | None]) -> list[Line]:
    """Return the start offsets of a share group: every partition that has one, and every assigned partition."""
    started = {_partition(key): offset for key, offset in offsets.items() if offset is not None}
    lines = []
    for topic, partition in sorted(started.keys() | _assigned(group)):
        start = started.get((topic, partition), {"startOffset": None, "lag": None})
        lag = _optional(start["lag"])
        numbers = {"offset": start["startOffset"], "log_end_offset": None, "lag": lag and int(lag)}
        lines.append({"topic": topic, "partition": partition, **numbers})
    return lines


def _assigned(group: Line) -> set[tuple[str, int]]:
    assignments = [pair for member in group["members"] for pair in member["assignment"].items()]
    return {(topic, partition) for topic, partitions in assignments for partition in partitions}
