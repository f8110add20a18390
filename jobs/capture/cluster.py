"""The requests to a live cluster, and the lines of a capture (format: jobs/ingest/formats/topology_capture.py).

    describeTopics       -> {"topic":"orders","topic_id":"LSo95-b9RSiAdRcs-lS0vg","configs":{},"partitions":[...]}
    a failed request     -> {"missing":"log dirs of broker 2","why":"TimeoutException: ...","unsupported":false}

All requests are read-only. They are sent one after another, in batches. A request that every broker must answer for itself goes to at most
`_BROKERS` brokers at once. A failed request becomes a line `missing`, and the capture continues: a broker that is down reports no log dirs,
and a broker of Kafka 2.1 no eligible leader replicas. Only without its list of brokers, a cluster cannot be captured.
"""

from __future__ import annotations

import base64
import io
import re
import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jobs.capture.java_client import KAFKA_CLIENTS, Connection, RequestFailed

FORMAT = "kafka-topology-audit"
VERSION = 1
# Batch sizes.
_TOPICS = 500
_GROUPS = 100
_BROKERS = 16
_PARTITIONS = 5_000
_SAMPLED_PARTITIONS = 100  # partitions whose keys are read at the same time
_POLL_S = 1
_MAX_SILENCE_S = 15  # give up if no record arrives for so long, although the end offset is not reached
_DEFAULT = "DEFAULT_CONFIG"
_RESOURCE = re.compile(r"ConfigResource\(type=\w+, name='(.*)'\)")
_OPTIONAL = re.compile(r"Optional(?:Long|Int)?\[(.*)\]", re.DOTALL)
_CONSUMERS = ("consumer", "")  # protocol types of classic groups; "" if the group has no members and only commits offsets

Line = dict[str, Any]
Offsets = dict[tuple[str, int], int]


class Subscription(NamedTuple):
    """The topics and the regular expression that a member subscribes to, and its client.rack; None: unknown, or the member has none."""

    topics: list[str] | None
    topic_regex: str | None
    rack: str | None


class OffsetRange(NamedTuple):
    """The records of a partition whose keys are read; `end` is exclusive."""

    topic: str
    partition: int
    start: int
    end: int


def read_cluster(connection: Connection, captured_at: str, key_records: int = 0) -> Iterator[Line]:
    """Yield the lines of a capture except the end line, or raise RequestFailed if the cluster cannot be read at all.

    `key_records` is the number of last records of each partition whose keys are read.
    """
    return _Reader(connection).lines(captured_at, key_records)


class _Reader:
    """Sends the requests of one capture, and collects those that fail in `missing`."""

    def __init__(self, connection: Connection):
        self.get, self.admin, self.client = connection.get, connection.admin, connection.client
        self.connection = connection
        self.jvm, self.admin_classes = connection.client.jvm, connection.client.kafka.clients.admin
        self.nodes: dict[int, Any] = {}
        self.missing: list[Line] = []
        self.unresponsive: dict[int, RequestFailed] = {}  # brokers whose first request timed out

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
        yield from self._quotas()
        yield from self._acls()
        topics = self._topics()
        end_offsets = self._offsets(topics, "endOffsets", "end_offset")
        self._offsets(topics, "beginningOffsets", "start_offset")
        yield from topics
        yield from self._log_dirs(live)
        yield from self._groups(end_offsets, {topic["topic"]: len(topic["partitions"]) for topic in topics})
        if key_records:
            yield from self._keys(topics, key_records)
        yield from self.missing

    def _brokers(self) -> tuple[str | None, list[Line]]:
        options = self.admin_classes.DescribeClusterOptions().includeFencedBrokers(True)
        result = self.admin.describeCluster(options)
        try:
            nodes = self.get(result.nodes())
        except RequestFailed as e:
            if not e.unsupported:  # brokers before 4.0, and listeners of controllers
                raise
            self._report_missing("fenced brokers", e)
            result = self.admin.describeCluster()
            nodes = self.get(result.nodes())
        self.nodes = {node.id(): node for node in nodes.toArray()}
        brokers = [{"broker": id, "rack": node.rack(), "fenced": node.isFenced(), "host": node.host()} for id, node in self.nodes.items()]
        return self.get(result.clusterId()), sorted(brokers, key=lambda broker: broker["broker"])

    def _quorum(self) -> Iterator[Line]:
        info = self._result_or_default(
            "the controller quorum", lambda: self.client.json(self.get(self.admin.describeMetadataQuorum().quorumInfo()))
        )
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
        features = self._result_or_default("features", lambda: self.client.json(self.get(self.admin.describeFeatures().featureMetadata())))
        for name, level in sorted((features or {"finalizedFeatures": {}})["finalizedFeatures"].items()):
            yield {"feature": name, "level": level["maxVersionLevel"]}

    def _broker_configs(self, live: Sequence[int]) -> Iterator[Line]:
        for batch in _batches(["", *map(str, live)], _BROKERS):
            configs = self._configs("BROKER", batch, "the configs of broker", unresponsive=self.unresponsive)
            for name in batch:
                if name in configs:
                    yield {"configs_of": "broker", "name": name, "configs": configs[name]}

    def _configs(
        self, kind: str, names: Iterable[str], missing: str, *, unresponsive: dict[int, RequestFailed] | None = None
    ) -> dict[str, dict[str, str]]:
        """Return the configs that are set on each resource, except Kafka's own defaults and sensitive ones."""
        configs = {}
        type = self.client.constant("org.apache.kafka.common.config.ConfigResource$Type", kind)
        resource = self.client.kafka.common.config.ConfigResource
        result = self.admin.describeConfigs([resource(type, name) for name in names])
        for name, config in self._each(result.all(), result.values(), missing, unresponsive):
            configs[name] = {
                entry["name"]: entry["value"]
                for _, entry in sorted(config["entries"].items())
                if entry["source"] != _DEFAULT and not entry["isSensitive"] and entry["value"] is not None
            }
        return configs

    def _quotas(self) -> Iterator[Line]:
        """Yield a line for each entity with quotas: its user, client-id and ip; a null name is that of the default."""
        everything = self.client.kafka.common.quota.ClientQuotaFilter.all()
        entities = self._result_or_default("client quotas", lambda: self.get(self.admin.describeClientQuotas(everything).entities()))
        if entities is not None:
            pairs = zip(self.client.json(entities.keySet()), self.client.json(entities.values()), strict=True)
            yield from sorted(({"quotas_of": key["entries"], "quotas": quotas} for key, quotas in pairs), key=str)

    def _acls(self) -> Iterator[Line]:
        everything = self.client.kafka.common.acl.AclBindingFilter.ANY
        try:
            bindings = self.client.json(self.get(self.admin.describeAcls(everything).values()))
        except RequestFailed as e:
            if e.kind != "SecurityDisabledException":  # a cluster without an authorizer has no access control entries
                self._report_missing("access control entries", e)
            return
        for binding in bindings:
            pattern, entry = binding["pattern"], binding["entry"]["data"]
            yield {
                "acl_of": pattern["resourceType"],
                "name": pattern["name"],
                "pattern_type": pattern["patternType"],
                "principal": entry["principal"],
                "host": entry["host"],
                "operation": entry["operation"],
                "permission": entry["permissionType"],
            }

    def _topics(self) -> list[Line]:
        options = self.admin_classes.ListTopicsOptions().listInternal(True)
        names = self._result_or_default(
            "the topics", lambda: sorted(self.client.json(self.get(self.admin.listTopics(options).names()))), default=[]
        )
        reassignments = self._reassignments()
        topics = []
        for batch in _batches(names, _TOPICS):
            result = self.admin.describeTopics(batch)
            described = dict(self._each(result.allTopicNames(), result.topicNameValues(), "topic"))
            configs = self._configs("TOPIC", described, "the configs of topic")
            topics += [self._topic(topic, configs.get(name), reassignments) for name, topic in sorted(described.items())]
        return topics

    def _reassignments(self) -> dict[str, Line]:
        return self._result_or_default(
            "reassignments", lambda: self.client.json(self.get(self.admin.listPartitionReassignments().reassignments())), default={}
        )

    @staticmethod
    def _topic(described: Line, configs: dict[str, str] | None, reassignments: Mapping[str, Line]) -> Line:
        def ids(nodes: Sequence[Line] | None) -> list[int] | None:
            return None if nodes is None else [node["id"] for node in nodes]

        partitions = []
        for partition in described["partitions"]:
            leader = partition["leader"]["id"] if partition["leader"] is not None else -1
            line = {"partition": partition["partition"], "leader": None if leader < 0 else leader}
            line |= {"replicas": ids(partition["replicas"]), "isr": ids(partition["isr"])}
            line |= {"elr": ids(partition["elr"]), "last_known_elr": ids(partition["lastKnownElr"])}
            if reassignment := reassignments.get(f"{described['name']}-{partition['partition']}"):
                line |= {"adding_replicas": reassignment["addingReplicas"], "removing_replicas": reassignment["removingReplicas"]}
            partitions.append(line)
        topic_id = None if described["topicId"] == "AAAAAAAAAAAAAAAAAAAAAA" else described["topicId"]
        partitions.sort(key=lambda line: line["partition"])
        return {"topic": described["name"], "topic_id": topic_id, "configs": configs, "partitions": partitions}

    def _offsets(self, topics: Sequence[Line], method: str, name: str) -> Offsets:
        """Return the offset of each partition with a leader, and add it to the partition's line. A leader that fails affects only its own."""
        partitions_by_leader: dict[int, list[tuple[str, int]]] = defaultdict(list)
        lines = {}
        for topic in topics:
            for partition in topic["partitions"]:
                if partition["leader"] is not None:
                    partitions_by_leader[partition["leader"]].append((topic["topic"], partition["partition"]))
                    lines[topic["topic"], partition["partition"]] = partition
        offsets: Offsets = {}
        for leader, partitions in sorted(partitions_by_leader.items()):
            if leader in self.unresponsive:
                self._report_missing(f"{name} of the partitions led by broker {leader}", self.unresponsive[leader])
                continue
            for batch in _batches(partitions, _PARTITIONS):
                by_topic: dict[str, list[int]] = defaultdict(list)
                for topic, partition in batch:
                    by_topic[topic].append(partition)
                try:
                    with self.connection.translated_errors():
                        offsets_by_partition = self.client.json(getattr(self.connection.consumer, method)(self.client.partitions(by_topic)))
                except RequestFailed as e:
                    self._report_missing(f"{name} of the partitions led by broker {leader}", e)
                    break
                for key, offset in offsets_by_partition.items():
                    offsets[_partition(key)] = lines[_partition(key)][name] = offset
        return offsets

    def _log_dirs(self, live: Sequence[int]) -> Iterator[Line]:
        for broker in self.unresponsive:
            self._report_missing(f"log dirs of broker {broker}", self.unresponsive[broker])
        for batch in _batches([broker for broker in live if broker not in self.unresponsive], _BROKERS):
            result = self.admin.describeLogDirs(batch)
            described = dict(self._each(result.allDescriptions(), result.descriptions(), "log dirs of broker"))
            for broker in batch:
                if str(broker) in described:
                    log_dirs = [self._log_dir(path, description) for path, description in sorted(described[str(broker)].items())]
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
            "cordoned": described["isCordoned"],
            "replicas": replicas,
        }

    def _groups(self, end_offsets: Offsets, partition_counts: Mapping[str, int]) -> Iterator[Line]:
        result = self.admin.listGroups()
        listed = self._result_or_default("the groups", lambda: self.client.json(self.get(result.valid())), default=[])
        for error in self._result_or_default("the groups", lambda: self.client.json(self.get(result.errors())), default=[]):
            self._report_missing("groups", RequestFailed(*_error(error)))
        group_ids: dict[str, list[str]] = defaultdict(list)
        for group in sorted(listed, key=lambda group: group["groupId"]):
            kind = (_optional(group["type"]) or "Classic").lower()
            if kind == "consumer" or (kind == "classic" and group["protocol"] in _CONSUMERS):
                group_ids["consumer"].append(group["groupId"])
            elif kind in ("share", "streams"):
                group_ids[kind].append(group["groupId"])
        for batch in _batches(group_ids["consumer"], _GROUPS):
            result, spec = self.admin.describeConsumerGroups(batch), self.admin_classes.ListConsumerGroupOffsetsSpec()
            described = dict(self._each(result.all(), result.describedGroups(), "group"))
            result = self.admin.listConsumerGroupOffsets(dict.fromkeys(described, spec))
            futures = {group: result.partitionsToOffsetAndMetadata(group) for group in described}
            offsets = dict(self._each(result.all(), futures, "the offsets of group"))
            subscriptions = self._subscriptions(described)
            for name, description in sorted(described.items()):
                group = self._group(description, description["type"].lower(), subscriptions.get(name, {}))
                yield group | {"offsets": _committed(group, offsets.get(name, {}), end_offsets)}
        for batch in _batches(group_ids["share"], _GROUPS):
            result, spec = self.admin.describeShareGroups(batch), self.admin_classes.ListShareGroupOffsetsSpec()
            described = dict(self._each(result.all(), result.describedGroups(), "group"))
            result = self.admin.listShareGroupOffsets(dict.fromkeys(described, spec))
            futures = {group: result.partitionsToOffsetInfo(group) for group in described}
            offsets = dict(self._each(result.all(), futures, "the offsets of group"))
            subscriptions = self._subscriptions(described)
            for name, description in sorted(described.items()):
                group = self._group(description, "share", subscriptions.get(name, {}))
                yield group | {"offsets": _started(group, offsets.get(name, {}))}
        for batch in _batches(group_ids["streams"], _GROUPS):
            result, spec = self.admin.describeStreamsGroups(batch), self.admin_classes.ListStreamsGroupOffsetsSpec()
            described = dict(self._each(result.all(), result.describedGroups(), "group"))
            result = self.admin.listStreamsGroupOffsets(dict.fromkeys(described, spec))
            futures = {group: result.partitionsToOffsetAndMetadata(group) for group in described}
            offsets = dict(self._each(result.all(), futures, "the offsets of group"))
            for name, description in sorted(described.items()):
                group = _streams_group(description, partition_counts)
                yield group | {"offsets": _committed(group, offsets.get(name, {}), end_offsets)}

    def _keys(self, topics: Sequence[Line], last: int) -> Iterator[Line]:
        """Yield the keys of the last records of each partition, except of Kafka's own topics."""
        ranges = [
            OffsetRange(topic["topic"], line["partition"], max(line["start_offset"], line["end_offset"] - last), line["end_offset"])
            for topic in topics
            if not topic["topic"].startswith("__")
            for line in topic["partitions"]
            if {"start_offset", "end_offset"} <= line.keys() and line["start_offset"] < line["end_offset"]
        ]
        for batch in _batches(ranges, _SAMPLED_PARTITIONS):
            try:
                with self.connection.translated_errors():
                    yield from self._sample_keys(batch)
            except RequestFailed as e:
                self._report_missing(f"the keys of {len(batch)} partitions from {batch[0].topic}-{batch[0].partition} on", e)

    def _sample_keys(self, ranges: Sequence[OffsetRange]) -> list[Line]:
        """Read the records of these ranges, and return the keys of each partition that was read to its end."""
        consumer, topic_partition = self.connection.consumer, self.client.kafka.common.TopicPartition
        unfinished = {(span.topic, span.partition): (topic_partition(span.topic, span.partition), span.end) for span in ranges}
        consumer.assign([partition for partition, _ in unfinished.values()])
        for span in ranges:
            consumer.seek(unfinished[span.topic, span.partition][0], span.start)
        keys: dict[tuple[str, int], dict[str | None, list[int]]] = {key: {} for key in unfinished}
        poll_time, deadline = self.jvm.java.time.Duration.ofSeconds(_POLL_S), time.monotonic() + _MAX_SILENCE_S
        while unfinished and time.monotonic() < deadline:
            for name, records in self.client.json(consumer.poll(poll_time))["records"].items():
                deadline = time.monotonic() + _MAX_SILENCE_S
                key = _partition(name)
                if key in unfinished:
                    _count_keys(keys[key], (record for record in records if record["offset"] < unfinished[key][1]))
            for key, (partition, end) in [*unfinished.items()]:
                if consumer.position(partition) >= end:
                    del unfinished[key]
                    consumer.pause([partition])
        for topic, partition in unfinished:
            self._report_missing(
                f"the keys of {topic}-{partition}", RequestFailed("TimeoutException", f"no record within {_MAX_SILENCE_S} s")
            )
        return [
            {
                "keys_of": span.topic,
                "partition": span.partition,
                "from_offset": span.start,
                "to_offset": span.end,
                "keys": _key_lines(keys[span.topic, span.partition]),
            }
            for span in ranges
            if (span.topic, span.partition) not in unfinished
        ]

    def _subscriptions(self, described: Mapping[str, Line]) -> dict[str, dict[str, Subscription]]:
        """Return the subscriptions by group and member, which the Admin's results lack, or have in part."""
        groups: dict[tuple[int, str], list[str]] = defaultdict(list)
        for name, group in described.items():
            if group["members"] and group["coordinator"] and group["coordinator"]["id"] in self.nodes:
                groups[group["coordinator"]["id"], group.get("type", "Share")].append(name)
        data, requests = self.client.kafka.common.message, self.client.kafka.common.requests
        subscriptions: dict[str, dict[str, Subscription]] = {}
        for (broker, type), names in sorted(groups.items()):
            if type == "Classic":
                request = requests.DescribeGroupsRequest.Builder(data.DescribeGroupsRequestData().setGroups(names))
            elif type == "Consumer":
                request = requests.ConsumerGroupDescribeRequest.Builder(data.ConsumerGroupDescribeRequestData().setGroupIds(names))
            else:
                request = requests.ShareGroupDescribeRequest.Builder(data.ShareGroupDescribeRequestData().setGroupIds(names))
            response = self._result_or_default(
                f"subscriptions of the groups that broker {broker} coordinates",
                lambda broker=broker, request=request: self.connection.send(self.nodes[broker], request), default={"groups": []},
            )  # fmt: skip
            for group in response["groups"]:
                subscriptions[group["groupId"]] = {member["memberId"]: _subscription(member) for member in group["members"]}
        return subscriptions

    @staticmethod
    def _group(described: Line, protocol: str, subscriptions: Mapping[str, Subscription]) -> Line:
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
                    "assignment": assignment,
                    **subscriptions.get(member["memberId"], Subscription(None, None, _optional(member["rackId"])))._asdict(),
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

    def _result_or_default(self, missing: str, request: Any, *, default: Any = None) -> Any:
        """Return the result of a request. If it fails, report `missing` and return the default."""
        try:
            return request()
        except RequestFailed as e:
            self._report_missing(missing, e)
            return default

    def _each(
        self, all_results: Any, futures: Mapping[Any, Any], missing: str, unresponsive: dict[int, RequestFailed] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Yield the names in the keys of a map and their results. A failure of one does not affect the others."""
        try:
            for key, result in self.client.json(self.get(all_results)).items():
                yield _name(key), result
            return
        except RequestFailed:
            pass  # at least one failed: get each result separately, with one or two calls each
        for key in futures:
            name = _name(str(key))
            try:
                yield name, self.client.json(self.get(futures[key]))
            except RequestFailed as e:
                if not e.resource_deleted:
                    self._report_missing(f"{missing} {name}", e)
                if e.timed_out and unresponsive is not None and name:
                    unresponsive[int(name)] = e

    def _report_missing(self, missing: str, error: RequestFailed) -> None:
        self.missing.append({"missing": missing, "why": str(error), "unsupported": error.unsupported})


def _streams_group(described: Line, partition_counts: Mapping[str, int]) -> Line:
    """Return a streams group (KIP-1071). An active task reads its partition of each source topic of its subtopology that has it."""
    sources = {
        subtopology["subtopologyId"]: sorted({*subtopology["sourceTopics"], *subtopology["repartitionSourceTopics"]})
        for subtopology in described["subtopologies"]
    }
    members = []
    for member in sorted(described["members"], key=lambda member: member["memberId"]):
        assignment: dict[str, list[int]] = defaultdict(list)
        for task in member["assignment"]["activeTasks"]:
            for topic in sources.get(task["subtopologyId"], ()):
                assignment[topic] += [partition for partition in sorted(task["partitions"]) if partition < partition_counts.get(topic, 0)]
        members.append(
            {
                "member_id": member["memberId"],
                "group_instance_id": _optional(member["instanceId"]),
                "client_id": member["clientId"],
                "host": member["clientHost"],
                "rack": _optional(member["rackId"]),
                "assignment": {topic: partitions for topic, partitions in sorted(assignment.items()) if partitions},
                "topics": sorted({topic for topics in sources.values() for topic in topics}),
                "topic_regex": None,
            }
        )
    return {
        "group": described["groupId"],
        "protocol": "streams",
        "assignor": _optional(described["assignorName"]),
        "state": described["groupState"],
        "coordinator_id": described["coordinator"] and described["coordinator"]["id"],
        "members": members,
    }


def _subscription(member: Line) -> Subscription:
    """Return the subscription of a member. That of a classic member is in the metadata of its JoinGroup request."""
    if "memberMetadata" in member:
        return _classic_subscription(base64.b64decode(member["memberMetadata"]))
    return Subscription(sorted(member["subscribedTopicNames"] or []), member.get("subscribedTopicRegex") or None, member["rackId"] or None)


def _classic_subscription(metadata: bytes) -> Subscription:
    """Parse ConsumerProtocolSubscription: version, topics, user data; since version 1 owned partitions, 2 generation, 3 client.rack."""
    if len(metadata) < 6:  # the group is rebalancing
        return Subscription(None, None, None)
    reader = io.BytesIO(metadata)

    def number(code: str) -> int:
        value: int = struct.unpack(code, reader.read(struct.calcsize(code)))[0]
        return value

    def text() -> str | None:
        length = number(">h")
        return None if length < 0 else reader.read(length).decode()

    version = number(">h")
    topics = [text() or "" for _ in range(number(">i"))]
    rack = None
    if version >= 3:
        reader.seek(max(0, number(">i")), io.SEEK_CUR)  # user data, -1: none
        for _ in range(number(">i")):  # owned partitions of a topic
            text()
            reader.seek(4 * number(">i"), io.SEEK_CUR)
        number(">i")  # generation
        rack = text()
    return Subscription(sorted(topics), None, rack or None)


def _batches(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield [*items[start : start + size]]


def _count_keys(counts: dict[str | None, list[int]], records: Iterable[Line]) -> None:
    """Add the number and the bytes of the records of each key."""
    for record in records:
        count = counts.setdefault(record["key"], [0, 0])
        count[0] += 1
        count[1] += max(0, record["serializedKeySize"]) + max(0, record["serializedValueSize"])


def _key_lines(counts: Mapping[str | None, Sequence[int]]) -> list[Line]:
    """Return the counts sorted by key, with records without a key first."""
    in_order = sorted(counts.items(), key=lambda item: (item[0] is not None, item[0]))
    return [{"key": key, "records": count, "size_bytes": size} for key, (count, size) in in_order]


def _optional(text: str | None) -> str | None:
    """Return the value in the text of a Java Optional, or None if it is empty or the field is null."""
    match = _OPTIONAL.fullmatch(text or "")
    return match[1] if match else None


def _name(key: str) -> str:
    """Return the name in the text of a ConfigResource; any other text is the name itself."""
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
