"""The dumps of a cluster, merged into the rows of its tables.

Of two that tell otherwise about a thing, the better source stands, and of equals the one that was written later (to the second, then by
name). The other becomes a rejected entry that tells both values and when each was written; so does one that the same file tells again. What
the better source leaves out, the other adds. Of end offsets the greatest stands. What a dump shows to be missing (partitions of a topic,
those that a member holds) is an entry that could not be read.

    sources        the metadata log of KRaft, in one cut; what lies in ZooKeeper; Kafka's own tools; kcat; Cruise Control
    who controls   kafka-features; failing that kafka-metadata-quorum or the APIs that brokers serve; failing that the Elr column: only
                   KRaft fills it, and where eligible leader replicas are kept every topic shows min.insync.replicas; else ZooKeeper
    who is live    who kafka-cluster or kafka-broker-api-versions list unfenced; without them, who a broker list names; without it, who
                   answered kafka-log-dirs; without it, who leads or is in sync somewhere
    who holds what --members, where it tells; else the offsets' CONSUMER-ID
    configs        a topic's own; else what all brokers have, or the cluster's default, under the brokers' name for it
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.ingest import partition_lines, replica_logs
from jobs.ingest.dump import Rejected
from jobs.ingest.end_offsets import EndOffsets
from jobs.ingest.facts import (
    ActiveController,
    Assigned,
    BrokerCapacity,
    BrokerListed,
    BrokerRates,
    BrokerSeen,
    Captured,
    ConfigTold,
    ControllerSign,
    EndOffset,
    FeatureLevel,
    GroupListed,
    GroupOffset,
    GroupRemark,
    GroupState,
    IdleMember,
    KafkaClusterId,
    KeySample,
    LogDirLine,
    LogDirsAnswer,
    MemberLine,
    MetadataFile,
    MetadataRecord,
    PartitionLine,
    PartitionRates,
    QuorumVoters,
    Reassigning,
    ReplicaOnDisk,
    StartOffset,
    TopicLine,
)
from jobs.ingest.formats import cruise_control, kafka_dump_log, kcat, key_sample, metadata_log, zookeeper
from jobs.ingest.metadata_image import MetadataSource, Place, replay
from jobs.ingest.partition_lines import PartitionLines
from jobs.ingest.reading import Reading, read_entries, text_of
from jobs.ingest.replica_logs import ReplicaLogs
from jobs.schema import PARTITION, REPLICA, Table

Rows = list[tuple[Any, ...]]
_NOT_FINALIZED = ("0", "-")
# The lower, the better; Kafka's own tools are between.
_TOOLS = 2
_RANK = {metadata_log.NAME: 0, kafka_dump_log.NAME: 0, zookeeper.NAME: 1, kcat.NAME: 3, cruise_control.NAME: 4}
_MAY_BE_UNTOLD = {
    "topic_id",
    "elr",
    "last_known_elr",
    "adding_replicas",
    "removing_replicas",
    "leader_recovering",
    "directories",
    "protocol",
    "total_bytes",
    "usable_bytes",
    "topics",
    "topic_regex",
}
_NO_DIRECTORY = {f"AAAAAAAAAAAAAAAAAAAAA{last}" for last in "AQg"}  # DirectoryId: migrating, unassigned, lost
_MOST_PARTITIONS = 2**31 - 1
_KEY_ORDER = [("topic", "ascending"), ("partition", "ascending"), ("key", "ascending")]
_SETS = {"isr", "elr", "last_known_elr"}


# Under which names brokers have a topic's config, the first that is set in force, and the factor of its unit (ServerTopicConfigSynonyms).
_BROKERS_NAME = {
    "min.insync.replicas": [("min.insync.replicas", 1)],
    "unclean.leader.election.enable": [("unclean.leader.election.enable", 1)],
    "cleanup.policy": [("log.cleanup.policy", 1)],
    "segment.bytes": [("log.segment.bytes", 1)],
    "segment.ms": [("log.roll.ms", 1), ("log.roll.hours", 3_600_000)],
    "retention.bytes": [("log.retention.bytes", 1)],
    "retention.ms": [("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)],
    "index.interval.bytes": [("log.index.interval.bytes", 1)],
    "max.message.bytes": [("message.max.bytes", 1)],
}


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file of a cluster, and what it tells."""

    name: str
    size_bytes: int
    written_at: datetime
    reading: Reading


@dataclass(frozen=True, slots=True)
class Merged:
    """A cluster's rows, each table's by its name and sorted by its key, without snapshot_id and cluster_id; of large tables, columns."""

    rows: dict[str, Rows]
    columns: dict[str, pa.Table]


@dataclass(slots=True)
class _Evidence:
    """What stands about each thing, and where it was told; what was rejected of each file.

    Not weighed are `lines`, partitions of which nothing but one line tells, and `logs` and `ends`, if one file tells of all.
    """

    lines: PartitionLines
    of_file: NDArray[np.int32]  # by line: which of the files
    logs: ReplicaLogs | None
    ends: EndOffsets | None
    files: Sequence[ReadFile]
    standing: dict[type, dict[Any, Place]] = field(default_factory=lambda: defaultdict(dict))
    samples: list[pa.Table] = field(default_factory=list)
    rejected: dict[str, list[Rejected]] = field(default_factory=lambda: defaultdict(list))
    missing: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def of(self, kind: type) -> list[Any]:
        """The facts of a kind that stand."""
        return [place.told.fact for place in self.standing[kind].values()]

    def place(self, topic: str, partition: int) -> Place:
        """Where what stands about a partition was told."""
        if place := self.standing[PartitionLine].get((topic, partition)):
            return place
        row = self.lines.row_of(topic, partition)
        file = self.files[self.of_file[row]]
        return Place(file, file.reading.lines.told_at(int(self.lines.line[row])))

    def tell(self, place: Place) -> None:
        """Let a fact stand, or settle which of two does."""
        fact = place.told.fact
        standing, key = self.standing[type(fact)], fact[: fact.KEYED_BY]
        before = standing.get(key)
        standing[key] = place if before is None else _settle(before, place, self)

    def reject(self, place: Place, reason: str) -> None:
        """Count an entry as rejected that was accepted when it was read."""
        self.rejected[place.file.name].append(Rejected(place.told.line, place.told.entry, reason))

    def miss(self, place: Place, reason: str) -> None:
        """Count an entry that should be there beside this one, and could not be read."""
        self.missing[place.file.name] += 1
        self.reject(place, reason)


def merge_files(files: Iterable[ReadFile]) -> Merged:
    """The rows of a cluster's tables."""
    files = sorted(map(_as_captured, files), key=lambda file: (file.written_at.replace(microsecond=0), file.name))
    files, logs = _apart(files, "logs", LogDirLine, LogDirsAnswer, ReplicaOnDisk)
    files, ends = _apart(files, "ends", EndOffset)
    files, lines, of_file = _lines_apart(files)
    evidence = _weigh(_Evidence(lines, of_file, logs, ends, files))
    _assignments(evidence)
    rows = {
        "broker": _brokers(evidence),
        "log_dir": _log_dirs(evidence),
        "topic": _topics(evidence),
        **_groups(evidence),
        "committed_offset": sorted(
            (o.topic, o.partition, o.group_id, o.current_offset, o.log_end_offset, o.lag) for o in evidence.of(GroupOffset)
        ),
        "partition_load": sorted(evidence.of(PartitionRates)),
        "rejected_input": _rejected(evidence),
    }
    rows["input_file"] = _input_files(evidence)
    captured_at = max((file.written_at for file in files), default=None)
    sources = _sources(rows["input_file"])
    # Without one readable file there is nothing to compute: input_file and rejected_input state why.
    rows["cluster"] = [(*_controller(evidence), sources, captured_at, _cluster_id(evidence), *_quorum(evidence))] if sources else []
    columns = {"key_sample": _key_sample(evidence.samples)}
    partition, replica = _partitions(evidence), _replicas(evidence)
    if isinstance(partition, pa.Table) and isinstance(replica, pa.Table):
        columns |= {"partition": _sized_columns(partition, replica), "replica": replica}
    else:
        rows |= {"partition": _sized(partition, replica), "replica": replica}
    return Merged(rows, columns)


def _as_captured(file: ReadFile) -> ReadFile:
    """A capture knows when it was taken, wherever it has been copied since."""
    first = next(iter(file.reading.told), None)
    return replace(file, written_at=first.fact.at) if first and isinstance(first.fact, Captured) else file


def _cluster_id(evidence: _Evidence) -> str | None:
    return next((fact.kafka_cluster_id for fact in evidence.of(KafkaClusterId)), None)


def _apart(files: Sequence[ReadFile], columns: str, *kinds: type) -> tuple[list[ReadFile], Any]:
    """The files, and the columns that one of them tells; if another tells of such things too, every entry is to be weighed."""
    telling = [
        file
        for file in files
        if getattr(file.reading, columns) is not None or any(isinstance(told.fact, kinds) for told in file.reading.told)
    ]
    if len(telling) == 1 and (told := getattr(telling[0].reading, columns)) is not None:
        return list(files), told
    return [
        file if (told := getattr(file.reading, columns)) is None else replace(file, reading=read_entries(told.data)) for file in files
    ], None


def _lines_apart(files: Sequence[ReadFile]) -> tuple[list[ReadFile], PartitionLines, NDArray[np.int32]]:
    """The files, with what is to be weighed as facts; and of all of them the lines of partitions of which nothing else tells, in order."""
    with_lines = [(number, file.reading.lines) for number, file in enumerate(files) if file.reading.lines is not None]
    if not with_lines:
        return list(files), partition_lines.joined([]), np.empty(0, np.int32)
    whole = partition_lines.joined([lines for _, lines in with_lines])
    of_file = np.repeat(np.array([number for number, _ in with_lines], np.int32), [len(lines) for _, lines in with_lines])
    facts = [told.fact for file in files for told in file.reading.told]
    told_elsewhere = [fact[:2] for fact in facts if isinstance(fact, (PartitionLine, Assigned, Reassigning))]
    in_one_cut = any(isinstance(fact, MetadataRecord) for fact in facts)  # which tells of every partition
    alone = np.zeros(len(whole), np.bool_) if in_one_cut else whole.alone(told_elsewhere)
    apart = []
    first = 0
    for file in files:
        reading = file.reading
        if reading.lines is not None:
            weighed = np.flatnonzero(~alone[first : first + len(reading.lines)]).tolist()
            first += len(reading.lines)
            told = sorted([*reading.told, *map(reading.lines.told_alone, weighed)], key=attrgetter("line"))
            file = replace(file, reading=replace(reading, told=told))
        apart.append(file)
    order = whole.in_order(alone)
    return apart, whole.take(order), of_file[order]


def _weigh(evidence: _Evidence) -> _Evidence:
    sources: list[MetadataSource] = []
    for file in evidence.files:
        evidence.rejected[file.name] += file.reading.rejected
        records: list[Place] = []
        for told in file.reading.told:
            fact = told.fact
            if isinstance(fact, KeySample):
                evidence.samples.append(fact.rows)
            elif isinstance(fact, MetadataRecord):
                records.append(Place(file, told))
            elif isinstance(fact, MetadataFile):
                sources.append(MetadataSource(file.name, fact, records))
                records = []
            elif fact is not None and not isinstance(fact, Captured):
                evidence.tell(Place(file, told))
    if sources:
        image, unused = replay(sources)
        for place, reason in unused:
            evidence.reject(place, reason)
        for place, fact in image.facts():
            evidence.tell(Place(place.file, place.told._replace(fact=fact)))
    return evidence


def _settle(before: Place, after: Place, evidence: _Evidence) -> Place:
    """Which of two that tell about the same thing stands."""
    stands, falls = after, before
    worse = _RANK.get(before.file.reading.format, _TOOLS), _RANK.get(after.file.reading.format, _TOOLS)
    if worse[0] < worse[1] or (isinstance(after.told.fact, EndOffset) and before.told.fact.offset > after.told.fact.offset):
        stands, falls = before, after
    if before.file is after.file:
        evidence.reject(falls, f"told again in line {stands.told.line}")
    elif before.told.fact != after.told.fact:
        if otherwise := _otherwise(stands.told.fact, falls.told.fact):
            evidence.reject(falls, f"{stands.file.name}, line {stands.told.line}, tells otherwise: {otherwise} ({_written(stands, falls)})")
        if worse[0] != worse[1]:
            return stands._replace(told=stands.told._replace(fact=_filled(stands.told.fact, falls.told.fact)))
    return stands


def _otherwise(stands: Any, falls: Any) -> str:
    """Where a fact contradicts another, with both values: `leader 2, not 1`."""
    if isinstance(stands, FeatureLevel) and stands.level.isdigit() != falls.level.isdigit():
        return ""  # the metadata log has a number where kafka-features prints a release
    differences = []
    for name, ours, theirs in zip(stands._fields, stands, falls, strict=True):
        untold = name in _MAY_BE_UNTOLD or (name == "rack" and isinstance(stands, (BrokerListed, MemberLine)))
        if untold and None in (ours, theirs):
            continue
        if name == "configs":
            pairs = [(key, ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys())]
        else:
            pairs = [(name, ours, theirs)]
        for told, one, other in pairs:
            if (set(one) != set(other)) if name in _SETS and one and other else one != other:
                differences.append(f"{told} {_plain(one)}, not {_plain(other)}")
    return "; ".join(differences)


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(str(one) for one in value) or "none"
    return "none" if value is None else str(value)


def _written(*places: Place) -> str:
    first, second = (place.file.written_at.strftime("%Y-%m-%d %H:%M:%S") for place in places)
    return f"written {first}, this {second}"


def _filled(stands: Any, falls: Any) -> Any:
    """The better source's fact, with what only the other told."""
    if isinstance(stands, TopicLine):
        return stands._replace(topic_id=stands.topic_id or falls.topic_id, configs=falls.configs | stands.configs)
    if isinstance(stands, BrokerListed):
        return stands._replace(rack=stands.rack or falls.rack)
    if isinstance(stands, PartitionLine):
        untold = {name: getattr(falls, name) for name in _MAY_BE_UNTOLD & set(stands._fields) if getattr(stands, name) is None}
        return stands._replace(**untold)
    return stands


def _controller(evidence: _Evidence) -> tuple[str, bool]:
    level = {fact.feature: fact.level for fact in evidence.of(FeatureLevel) if fact.level not in _NOT_FINALIZED}
    if evidence.standing[FeatureLevel]:
        return "kraft" if "metadata.version" in level else "zookeeper", "eligible.leader.replicas.version" in level
    signs = {fact.controller for fact in evidence.of(ControllerSign)}
    partitions, topics = evidence.of(PartitionLine), evidence.of(TopicLine)
    lines = evidence.lines
    told = lines.told_any("elr") or any(partition.elr is not None for partition in partitions)
    kept = told and (
        lines.some("elr")
        or lines.some("last_known_elr")
        or any(partition.elr or partition.last_known_elr for partition in partitions)
        or (bool(topics) and all("min.insync.replicas" in topic.configs for topic in topics))
    )
    return "kraft" if "kraft" in signs or (told and not signs) else "zookeeper", kept


def _quorum(evidence: _Evidence) -> tuple[int | None, list[int] | None]:
    """The active controller and the quorum's voters, as far as told."""
    active, voters = evidence.of(ActiveController), evidence.of(QuorumVoters)
    return active[0].node_id if active else None, list(voters[0].node_ids) if voters else None


def _sources(input_files: Rows) -> list[str]:
    return sorted({format for _, format, entries, accepted, *_ in input_files if format and (accepted or not entries)})


def _brokers(evidence: _Evidence) -> Rows:
    seen, listed = ({fact.broker_id: fact for fact in evidence.of(kind)} for kind in (BrokerSeen, BrokerListed))
    answering = {fact.broker_id for fact in evidence.of(LogDirsAnswer)}
    partitions = evidence.of(PartitionLine)
    capacity = {fact.broker_id: fact for fact in evidence.of(BrokerCapacity)}
    default = capacity.pop(-1, None)
    rates = {fact.broker_id: fact for fact in evidence.of(BrokerRates)}
    for broker_id in seen.keys() & listed.keys():
        if seen[broker_id].rack is not None and listed[broker_id].rack not in (None, seen[broker_id].rack):
            evidence.reject(evidence.standing[BrokerListed][(broker_id,)], f"the cluster itself tells rack {seen[broker_id].rack}")
    if seen:
        live = {broker_id for broker_id, fact in seen.items() if not fact.fenced}
    else:
        live = (
            set(listed)
            or answering
            or {
                *evidence.lines.leaders(),
                *evidence.lines.brokers("isr"),
                *(p.leader for p in partitions if p.leader is not None),
                *(broker_id for p in partitions for broker_id in p.isr),
            }
        )
    in_use = {*evidence.lines.brokers("replicas"), *(broker_id for p in partitions for broker_id in p.replicas)}
    known = {*seen, *listed, *capacity, *answering, *in_use}
    rows = []
    for broker_id in sorted(known):
        racks = [brokers[broker_id].rack for brokers in (seen, listed) if broker_id in brokers]
        told = capacity.get(broker_id, default)
        limits = (told.disk_bytes, told.network_in_bytes_per_s, told.network_out_bytes_per_s, told.cpu_percent) if told else (None,) * 4
        by_default = broker_id not in capacity if told else None
        carried = rates[broker_id][1:] if broker_id in rates else (None, None)
        rows.append((broker_id, next((rack for rack in racks if rack is not None), None), broker_id in live, *limits, by_default, *carried))
    return rows


def _log_dirs(evidence: _Evidence) -> Rows:
    capacity = {fact.broker_id: fact.disk_bytes_by_log_dir or {} for fact in evidence.of(BrokerCapacity)}
    default = capacity.pop(-1, {})
    told = {(fact.broker_id, fact.log_dir): fact for fact in evidence.of(LogDirLine)}
    only_sized = {(broker_id, log_dir): LogDirLine(broker_id, log_dir, None) for broker_id, sizes in capacity.items() for log_dir in sizes}
    return [
        (
            broker_id,
            log_dir,
            fact.error,
            capacity.get(broker_id, default).get(log_dir, fact.total_bytes),
            fact.total_bytes,
            fact.usable_bytes,
        )
        for (broker_id, log_dir), fact in sorted((only_sized | told).items())
    ]


def _inherited(evidence: _Evidence) -> dict[str, str]:
    """What topics have that do not say otherwise: as all brokers are configured, where each is told, else as the cluster is by default."""
    brokers = {str(fact.broker_id) for kind in (BrokerSeen, BrokerListed) for fact in evidence.of(kind)}
    by_config: dict[str, dict[str, str]] = defaultdict(dict)
    for fact in evidence.of(ConfigTold):
        if fact.kind == "broker" and fact.value is not None:
            by_config[fact.config][fact.name] = fact.value
    inherited = {}
    for config, synonyms in _BROKERS_NAME.items():
        for synonym, factor in synonyms:
            told = by_config.get(synonym, {})
            everywhere = {told.get(broker, told.get("")) for broker in brokers or {""}}
            if len(everywhere) == 1 and (value := everywhere.pop()) is not None:
                inherited[config] = value if factor == 1 or not value.isdigit() else str(int(value) * factor)
                break
    return inherited


def _configs(topic: str, line: TopicLine | None, own: dict[str, Place], inherited: dict[str, str], evidence: _Evidence) -> dict[str, str]:
    """The configs of a topic, where they are set anywhere."""
    configs = dict(line.configs) if line else {}
    for config, place in own.items():
        value = place.told.fact.value
        if config in configs and configs[config] != value:
            lines = evidence.standing[TopicLine][(topic,)]
            evidence.reject(
                place,
                f"{lines.file.name}, line {lines.told.line}, tells otherwise: {config} {configs[config]}, not {value} "
                f"({_written(lines, place)})",
            )
        else:
            configs[config] = value
    return inherited | configs


def _topics(evidence: _Evidence) -> Rows:
    inherited = _inherited(evidence)
    own: dict[str, dict[str, Place]] = defaultdict(dict)
    for place in evidence.standing[ConfigTold].values():
        if place.told.fact.kind == "topic":
            own[place.told.fact.name][place.told.fact.config] = place
    lines = {fact.topic: fact for fact in evidence.of(TopicLine)}
    described = _described(evidence)
    rows = []
    for topic in sorted({*lines, *described}):
        line, (told, lowest, highest) = lines.get(topic), described.get(topic, (0, -1, -1))
        count = min(max(line.partitions if line else 0, highest + 1), _MOST_PARTITIONS)
        if told < count or (line and line.partitions < count):
            first = evidence.standing[TopicLine][(topic,)] if line else evidence.place(topic, lowest)
            evidence.miss(first, f"{told} partitions are told" + (f", not {line.partitions}" if line else f" of at least {count}"))
        replication_factor = line.replication_factor if line else len(evidence.place(topic, lowest).told.fact.replicas)
        configs = _configs(topic, line, own[topic], inherited, evidence)
        min_isr = configs.get("min.insync.replicas")
        rows.append(
            (
                topic,
                line.topic_id if line else None,
                count,
                replication_factor,
                None if min_isr is None else int(min_isr),
                sorted(configs.items()),
            )
        )
    return rows


def _described(evidence: _Evidence) -> dict[str, tuple[int, int, int]]:
    """Of each topic, how many partitions are told, the lowest and the highest."""
    described = evidence.lines.by_topic()
    for fact in evidence.of(PartitionLine):
        told, lowest, highest = described.get(fact.topic, (0, fact.partition, fact.partition))
        described[fact.topic] = told + 1, min(lowest, fact.partition), max(highest, fact.partition)
    return described


def _assignments(evidence: _Evidence) -> None:
    """Hold what kafka-reassign-partitions says of replicas against what else is told, and take from it what is not."""
    for kind in (Assigned, Reassigning):
        for place in evidence.standing[kind].values():
            told = place.told.fact
            partition = evidence.standing[PartitionLine].get((told.topic, told.partition))
            if partition is None:
                evidence.reject(place, "no dump tells the partition's leader and ISR")
                continue
            known = type(told)(*(getattr(partition.told.fact, name) for name in told._fields))
            if otherwise := _otherwise(known, told):
                where = f"{partition.file.name}, line {partition.told.line}"
                evidence.reject(place, f"{where}, tells otherwise: {otherwise} ({_written(partition, place)})")
            elif isinstance(told, Reassigning):
                fact = _filled(partition.told.fact, partition.told.fact._replace(adding_replicas=told[3], removing_replicas=told[4]))
                evidence.standing[PartitionLine][told[:2]] = partition._replace(told=partition.told._replace(fact=fact))


def _partitions(evidence: _Evidence) -> Rows | pa.Table:
    end_offset: dict[tuple[str, int], int] = {}
    for fact in evidence.of(GroupOffset):
        if fact.log_end_offset is not None:
            key = (fact.topic, fact.partition)
            end_offset[key] = max(fact.log_end_offset, end_offset.get(key, 0))
    end_offset |= {(fact.topic, fact.partition): fact.offset for fact in evidence.of(EndOffset)}
    lines, ends = evidence.lines, evidence.ends
    told_ends = np.full(len(lines), -1)
    if ends is not None:
        of_row = lines.rows_of(ends.topic, ends.partition)
        told_ends[of_row[of_row >= 0]] = ends.offset[of_row >= 0]
        strays = np.flatnonzero(of_row < 0)
        keys = zip(ends.topic.take(pa.array(strays)).to_pylist(), ends.partition[strays].tolist(), strict=True)
        end_offset |= dict(zip(keys, ends.offset[strays].tolist(), strict=True))
    start_offset = {(fact.topic, fact.partition): fact.offset for fact in evidence.of(StartOffset)}
    rows = [
        (
            p.topic,
            p.partition,
            p.leader,
            p.replicas,
            sorted(p.isr),
            None if p.elr is None else sorted(p.elr),
            p.last_known_elr,
            p.adding_replicas or None,
            p.removing_replicas or None,
            end_offset.get((p.topic, p.partition)),
            p.leader_recovering,
            start_offset.get((p.topic, p.partition)),
            None,
        )
        for p in sorted(evidence.of(PartitionLine))
    ]
    if not len(lines):
        return rows
    of_lines = pa.array(told_ends, mask=told_ends < 0)
    if end_offset:
        keys = zip(lines.topics().to_pylist(), lines.partition.tolist(), strict=True)
        of_lines = pc.coalesce(of_lines, pa.array(map(end_offset.get, keys), pa.int64()))
    starts = pa.nulls(len(lines), pa.int64())
    if start_offset:
        keys = zip(lines.topics().to_pylist(), lines.partition.tolist(), strict=True)
        starts = pa.array(map(start_offset.get, keys), pa.int64())
    columns = [
        lines.topics(),
        pa.array(lines.partition),
        pa.array(lines.leader, mask=lines.leader == partition_lines.NONE),
        lines.lists("replicas"),
        lines.lists("isr", in_order=True),
        lines.lists("elr", in_order=True),
        lines.lists("last_known_elr"),
        lines.lists("adding_replicas", empty=False),
        lines.lists("removing_replicas", empty=False),
        of_lines,
        pa.nulls(len(lines), pa.bool_()),
        starts,
        pa.nulls(len(lines), pa.list_(pa.int64())),
    ]
    return _with(PARTITION, columns, rows, "topic", "partition")


def _sized(partition: Rows, replica: Rows) -> Rows:
    """Partitions with what each of their replicas stores."""
    sizes = {(topic, number, index): size for topic, number, _, index, _, _, size, *_ in replica}
    return [(*told[:-1], [sizes[*told[:2], index] for index in range(len(told[3]))]) for told in partition]


def _sized_columns(partition: pa.Table, replica: pa.Table) -> pa.Table:
    """The same in columns, both in the order of topic and partition."""
    replicas = partition["replicas"].combine_chunks()
    assigned = replica.filter(pc.is_valid(replica["replica_index"]))
    starts, lengths = np.array(replicas.offsets)[:-1], np.array(replicas.value_lengths())
    place = np.empty(len(assigned), np.int64)
    place[np.repeat(starts - starts[:1], lengths) + assigned["replica_index"].to_numpy()] = np.arange(len(assigned))
    sizes = pa.ListArray.from_arrays(
        pa.array(np.append(0, np.cumsum(lengths)), pa.int32()), assigned["size_bytes"].take(pa.array(place)).combine_chunks()
    )
    return partition.set_column(partition.num_columns - 1, partition.schema.field(partition.num_columns - 1), sizes)


def _replicas(evidence: _Evidence) -> Rows | pa.Table:
    lines, logs = evidence.lines, evidence.logs
    facts = evidence.of(ReplicaOnDisk)
    columns: list[pa.Array] = []
    if len(lines):
        columns, strays = _replicas_of_lines(lines, replica_logs.of_facts(facts) if logs is None else logs)
        facts = list(strays.facts())
    elif logs is not None:
        facts = list(logs.facts())
    on_disk: dict[tuple[str, int, int], ReplicaOnDisk] = {}
    moving_to: dict[tuple[str, int, int], str] = {}
    for fact in facts:
        key = (fact.topic, fact.partition, fact.broker_id)
        if fact.future:
            moving_to[key] = fact.log_dir
        else:
            on_disk[key] = fact
    rows = []

    def add(key: tuple[str, int, int], index: int | None, directory: str | None, *, in_sync: bool) -> None:
        disk = on_disk.pop(key, None)
        told = (disk.log_dir, disk.size_bytes, disk.offset_lag) if disk else (None, None, None)
        rows.append((*key, index, in_sync, *told, moving_to.pop(key, None), None if directory in _NO_DIRECTORY else directory))

    for p in evidence.of(PartitionLine):
        for index, (broker_id, directory) in enumerate(zip_longest(p.replicas, (p.directories or ())[: len(p.replicas)])):
            add((p.topic, p.partition, broker_id), index, directory, in_sync=broker_id in p.isr)
    for key in {*on_disk, *moving_to}:  # found on disk only
        add(key, None, None, in_sync=False)
    rows.sort(key=itemgetter(0, 1, 2))
    return _with(REPLICA, columns, rows, "topic", "partition", "broker_id") if columns else rows


def _replicas_of_lines(lines: PartitionLines, logs: ReplicaLogs) -> tuple[list[pa.Array], ReplicaLogs]:
    """The replicas of lines in order, as columns, with what lies on disk of them; and the logs of no replica of theirs."""
    row, broker_id, index, in_sync = lines.replicas()
    of_row = lines.rows_of(logs.topic, logs.partition)
    keys, wanted = row.astype(np.int64) << 32 | broker_id, of_row << 32 | logs.broker_id
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    known = (of_row >= 0) & (keys[place] == wanted)
    held = np.full((2, len(keys)), -1)  # which log lies there, and which a move is copying
    held[logs.future[known].astype(int), place[known]] = np.flatnonzero(known)
    at, moving = held
    told = at >= 0
    lag = logs.offset_lag[at] if len(logs) else at
    columns = [
        lines.topics().take(pa.array(row)), *map(pa.array, (lines.partition[row], broker_id, index, in_sync)),
        logs.names(at), pa.array(logs.size_bytes[at] if len(logs) else at, mask=~told), pa.array(lag, mask=~told | (lag == -1)),
        logs.names(moving), pa.nulls(len(keys), pa.string()),
    ]  # fmt: skip
    return columns, logs.take(np.flatnonzero(~known))


def _table(table: Table, rows: Rows) -> pa.Table:
    """Rows as columns."""
    fields = list(table.schema)[2:]  # after snapshot and cluster
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)], schema=pa.schema(fields))


def _with(table: Table, columns: Sequence[pa.Array], rows: Rows, *key: str) -> pa.Table:
    """Columns in the order of the key, with rows among them."""
    whole = pa.table(columns, schema=pa.schema(list(table.schema)[2:]))
    if not rows:
        return whole
    return pa.concat_tables([whole, _table(table, rows)]).sort_by([(name, "ascending") for name in key])


def _groups(evidence: _Evidence) -> dict[str, Rows]:
    """The groups, their members, and what these hold."""
    states, listed, remarks = ({fact.group_id: fact for fact in evidence.of(kind)} for kind in (GroupState, GroupListed, GroupRemark))
    told: dict[str, dict[str, MemberLine]] = defaultdict(dict)
    for fact in evidence.of(MemberLine):
        told[fact.group_id][fact.member_id] = fact
    offered: dict[str, dict[str, tuple[str | None, str | None]]] = defaultdict(dict)  # by the offsets: host and client id
    held: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)  # by the offsets
    for fact in evidence.of(IdleMember):
        offered[fact.group_id][fact.member_id] = (fact.host, fact.client_id)
    for fact in evidence.of(GroupOffset):
        offered.setdefault(fact.group_id, {})  # a group, if nobody reads in it
        if fact.member_id is not None:
            offered[fact.group_id][fact.member_id] = (fact.host, fact.client_id)
            held[fact.group_id, fact.member_id].add((fact.topic, fact.partition))
    _contradictions(evidence, told, held)

    rows: dict[str, Rows] = {"consumer_group": [], "group_member": [], "observed_assignment": []}
    for group_id in sorted({*states, *listed, *remarks, *told, *offered}):
        members: dict[str, tuple[Any, ...]] = {
            member_id: (None, client_id, host, None, None, None) for member_id, (host, client_id) in offered.get(group_id, {}).items()
        }
        holds = {member_id: held[group_id, member_id] for member_id in members}
        if lines := told.get(group_id):
            members = {
                line.member_id: (line.group_instance_id, line.client_id, line.host, line.rack, line.topics, line.topic_regex)
                for line in lines.values()
            }
            holds = {
                line.member_id: held[group_id, line.member_id] if line.assignment is None else set(line.assignment)
                for line in lines.values()
            }
        held_topics = {topic for partitions in holds.values() for topic, _ in partitions}
        for member_id, (*who, rack, told_topics, regex) in sorted(members.items()):
            # What a regular expression comes to, only what is held tells.
            topics = {*(told_topics or ()), *(held_topics if told_topics is None or regex else ())}
            rows["group_member"].append((group_id, member_id, *who, sorted(topics), rack, regex))
        rows["observed_assignment"] += [
            (topic, partition, group_id, member_id) for member_id in holds for topic, partition in holds[member_id]
        ]
        state, in_list, remark = states.get(group_id), listed.get(group_id), remarks.get(group_id)
        protocols = [fact.protocol for fact in (state, in_list, *(lines or {}).values()) if fact and fact.protocol]
        known = [fact.state for fact in (state, in_list, remark) if fact and fact.state]
        rows["consumer_group"].append(
            (
                group_id,
                next(iter(protocols), None),
                state.assignor if state else None,
                next(iter(known), None),
                state.coordinator_id if state else None,
                len(members) or ((state.members if state else None) or 0),
            )
        )
    rows["observed_assignment"].sort()
    return rows


def _contradictions(evidence: _Evidence, told: dict[str, dict[str, MemberLine]], held: dict[tuple[str, str], set[tuple[str, int]]]) -> None:
    """Where --members and the offsets tell different holders, or neither tells what a member holds."""
    for place in evidence.standing[GroupOffset].values():
        fact = place.told.fact
        if fact.member_id is not None and fact.group_id in told:
            line = told[fact.group_id].get(fact.member_id)
            if line is None or (line.assignment is not None and (fact.topic, fact.partition) not in line.assignment):
                evidence.miss(place, f"--members tells otherwise than that {fact.member_id} holds it")
    for place in evidence.standing[MemberLine].values():
        line = place.told.fact
        if line.assignment is None and line.partitions != (count := len(held[line.group_id, line.member_id])):
            evidence.miss(place, f"of its partitions {count} are told by topic: add what --describe prints without --members")


def _rejected(evidence: _Evidence) -> Rows:
    rows = []
    for file, rejected in sorted(evidence.rejected.items()):
        entry: dict[int, int] = defaultdict(int)
        for refused in sorted(rejected, key=lambda refused: refused.line):
            rows.append((file, refused.line, entry[refused.line], text_of(refused.entry), text_of(refused.reason)))
            entry[refused.line] += 1
    return rows


def _input_files(evidence: _Evidence) -> Rows:
    rows = []
    lines = np.bincount(evidence.of_file, minlength=len(evidence.files)).tolist()
    for file, of_lines in sorted(zip(evidence.files, lines, strict=True), key=lambda pair: pair[0].name):
        of_columns = [len(columns) for columns in (file.reading.logs, file.reading.ends) if columns is not None]
        read = sum(told.entries for told in file.reading.told) + len(file.reading.rejected) + of_lines + sum(of_columns)
        entries, rejected = read + evidence.missing[file.name], len(evidence.rejected[file.name])
        rows.append((file.name, file.reading.format, entries, entries - rejected, rejected, file.size_bytes))
    return rows


def _key_sample(samples: list[pa.Table]) -> pa.Table:
    """The samples added up, and beside each key where it was found."""
    by = ["topic", "key", "partition"]
    sample = pa.concat_tables([key_sample.SCHEMA.empty_table(), *samples])
    seen = sample["observed_partition"].null_count < len(sample)
    found = _summed(sample, [*by, "observed_partition"]) if seen else sample
    summed = _summed(found, by)
    if not seen:
        nowhere = [pa.nulls(len(summed), pa.list_(type)) for type in (pa.int32(), pa.int64())]
        return summed.append_column("observed_partitions", nowhere[0]).append_column("observed_records", nowhere[1])
    # One thread, so that the lists are in the order of the rows; both are sorted alike, so that the lists stand in the order of their keys.
    told = found.filter(pc.is_valid(found["observed_partition"])).sort_by("observed_partition").group_by(by, use_threads=False)
    lists = told.aggregate([("observed_partition", "list"), ("records", "list")]).rename_columns(
        [*by, "observed_partitions", "observed_records"]
    )
    lists = lists.sort_by(_KEY_ORDER)
    has = pc.greater(found.group_by(by).aggregate([("observed_partition", "count")]).sort_by(_KEY_ORDER)["observed_partition_count"], 0)
    at = pc.if_else(has, pc.subtract(pc.cumulative_sum(has.cast(pa.int64())), 1), None)
    for name in ("observed_partitions", "observed_records"):
        summed = summed.append_column(name, lists[name].take(at))
    return summed


def _summed(sample: pa.Table, by: list[str]) -> pa.Table:
    """The rows of a sample with the same of these added up, in the order of topic, partition and key."""
    summed = sample.group_by(by).aggregate([("records", "sum"), ("size_bytes", "sum")])
    named = summed.rename_columns([name.removesuffix("_sum") for name in summed.column_names])
    order = ["topic", "key", "partition", "records", "size_bytes", *by[3:]]
    return named.select(order).sort_by(_KEY_ORDER)
