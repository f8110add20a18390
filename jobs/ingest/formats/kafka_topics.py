"""kafka-topics --describe (kafka.admin.TopicCommand 0.10 to 3.4, org.apache.kafka.tools.TopicCommand since).

    Topic: orders   TopicId: jgmHsgngRdOpX8NLV1MQDg PartitionCount: 2       ReplicationFactor: 3    Configs: min.insync.replicas=2
            Topic: orders   Partition: 0    Leader: 3       Replicas: 3,1,2 Isr: 3,1,2      Elr:    LastKnownElr:
            Topic: orders   Partition: 1    Leader: none    Replicas: 1,2,3 Isr:    Elr: 1  LastKnownElr: 1

Tabs part the columns. Up to 2.3 no space follows the colons of a topic's line; TopicId came with 2.8, the columns of a reassignment
with 2.4, Elr and LastKnownElr with 3.8 (N/A where the cluster does not tell them). No leader is `none`, or -1 where ZooKeeper said so.
Values of configs may hold commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from jobs.ingest import partition_lines
from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, config_value, identifier, plain_text, topic_name
from jobs.ingest.facts import PartitionLine, TopicLine
from jobs.ingest.partition_lines import Part, PartitionLines, Text

NAME = "kafka-topics"

# Tabs part the columns; a terminal's copy has spaces in their place. Bounded, or a line of blanks would be tried in every division.
_GAP = r"[ \t]{1,16}"
_IDS = r"[ \t]{0,16}((?:[0-9]+(?:,[ ]?[0-9]+)*)?)"
_TOPIC = re.compile(
    rf"[ \t]*Topic: ?(\S+){_GAP}(?:TopicId: ?(\S+){_GAP})?PartitionCount: ?(\S+){_GAP}ReplicationFactor: ?(\S+)"
    rf"{_GAP}Configs:[ \t]{{0,16}}(.*?)[ \t]{{0,16}}(?:MarkedForDeletion: ?true[ \t]{{0,16}})?"
)
_PARTITION = re.compile(
    rf"[ \t]*Topic: ?(\S+){_GAP}Partition: ?([0-9]+){_GAP}Leader: ?(none|-?[0-9]+){_GAP}Replicas:{_IDS}{_GAP}Isr:{_IDS}"
    rf"(?:{_GAP}Adding Replicas:{_IDS}{_GAP}Removing Replicas:{_IDS})?"
    rf"(?:{_GAP}Elr:(?: N/A|{_IDS}){_GAP}LastKnownElr:(?: N/A|{_IDS}))?"
    r"(?:[ \t]{0,16}MarkedForDeletion: ?true)?[ \t]{0,16}"
)
_KNOWN_BY = re.compile(r"^[ \t]*Topic: ?\S+[ \t]+(?:TopicId:|PartitionCount:|Partition:)", re.MULTILINE)
_NEXT_CONFIG = re.compile(r",(?=[A-Za-z][A-Za-z0-9._-]*=)")


def recognises(dump: Dump) -> bool:
    """Whether a line of a topic or a partition is there."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Told | Rejected]:
    """A fact for each line of a topic or partition; every other line is refused."""
    before = ""
    for number, line in dump.lines():
        told, of_partition = _line(dump.last_line, number, line, lambda: before)  # noqa: B023  # asked at once
        if of_partition:
            before = line
        yield told


def parse_columns(parts: Sequence[Part], text: Text) -> tuple[list[Told | Rejected], PartitionLines]:
    """The same of a large text in UTF-8, read in parts: lines of partitions as columns, and what every other line tells."""
    lines, others, last_line = partition_lines.whole(parts, text)
    if not lines.with_elr.all() and any(part.names_elr for part in parts):  # one without may be cut off, which the line before it tells
        without = lines.take(~lines.with_elr)
        others = sorted([*others, *((int(number), without.text_of(row)) for row, number in enumerate(without.line))])
        lines = lines.take(lines.with_elr)
    entries: list[Told | Rejected] = []
    before = 0, ""
    for number, line in others:
        if not line.isspace():
            entry, of_partition = _line(last_line, number, line, lambda: max(before, lines.last_before(number))[1])  # noqa: B023  # likewise
            if of_partition:
                before = number, line
            entries.append(entry)
    return entries, lines


def _line(last_line: str, number: int, line: str, before: Callable[[], str]) -> tuple[Told | Rejected, bool]:
    """What a line tells, and whether it is a whole one of a partition; `before` gives the last such line before it."""
    match = _PARTITION.fullmatch(line)
    try:
        if match:
            if "LastKnownElr:" not in line and last_line.endswith(line) and "LastKnownElr:" in before():
                return Rejected(number, line, "the dump is cut off in this line"), False
            return Told(number, line, _partition(match)), True
        if of_topic := _TOPIC.fullmatch(line):
            return Told(number, line, _topic(of_topic)), False
        return Rejected(number, line, "neither the line of a topic nor that of a partition"), False
    except Unreadable as e:
        return Rejected(number, line, str(e)), match is not None


def _topic(match: re.Match[str]) -> TopicLine:
    topic, topic_id, partitions, replication_factor, configs = match.groups()
    return TopicLine(
        topic_name(topic),
        topic_id and plain_text(topic_id, "TopicId"),
        identifier(partitions, "PartitionCount"),
        identifier(replication_factor, "ReplicationFactor"),
        configs_of(configs),
    )


def configs_of(text: str) -> dict[str, str]:
    """The configs of a topic as `name=value,name=value`, whose values may hold commas."""
    configs = {}
    for pair in _NEXT_CONFIG.split(plain_text(text, "Configs")) if text else ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise Unreadable("Configs has a name without a value")
        configs[name] = config_value(name, value)
    return configs


def _partition(match: re.Match[str]) -> PartitionLine:
    topic, partition, leader, replicas, isr, adding, removing, elr, last_known_elr = match.groups()
    told = PartitionLine(
        topic_name(topic),
        _id(partition, "Partition"),
        None if leader in ("none", "-1") else _id(leader, "Leader"),
        _broker_ids(replicas),
        _broker_ids(isr),
        _broker_ids(elr),
        _broker_ids(last_known_elr),
        _broker_ids(adding),
        _broker_ids(removing),
    )
    if not told.replicas:
        raise Unreadable("Replicas names no broker")
    return told


# A dump names the same ids, and lists of them, over and over.
_id = lru_cache(1 << 12)(identifier)


@lru_cache(1 << 16)
def _broker_ids(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    ids = tuple(identifier(id.strip(), "a broker id") for id in text.split(",")) if text else ()
    if len(set(ids)) < len(ids):
        raise Unreadable("a broker is named twice in one list")
    return ids
