"""kafka-topics --describe: topics with their configs, partitions with leader, replicas, ISR and ELR.

Printed by kafka.admin.TopicCommand (0.10 to 3.4) and org.apache.kafka.tools.TopicCommand (3.5 on).

    Topic: orders   TopicId: jgmHsgngRdOpX8NLV1MQDg PartitionCount: 2       ReplicationFactor: 3    Configs: min.insync.replicas=2
            Topic: orders   Partition: 0    Leader: 3       Replicas: 3,1,2 Isr: 3,1,2      Elr:    LastKnownElr:
            Topic: orders   Partition: 1    Leader: none    Replicas: 1,2,3 Isr:    Elr: 1  LastKnownElr: 1

Tabs separate the columns. Up to 2.3 no space follows the colons of a topic's line. TopicId came with 2.8, the columns of a reassignment with
2.4, Elr and LastKnownElr with 3.8 (N/A where the cluster does not report them). No leader is `none`, or -1 from a ZooKeeper cluster. Config
values may contain commas.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from jobs.ingest import partition_lines
from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, config_value, identifier, plain_text, topic_name
from jobs.ingest.facts import PartitionLine, TopicLine
from jobs.ingest.partition_lines import Part, PartitionLines, Text
from jobs.ingest.precedence import Precedence

NAME = "kafka-topics"
PRECEDENCE = Precedence.KAFKA_TOOL

# A copy from a terminal has spaces instead of tabs. Repeats are bounded, because a line of blanks could be divided in very many ways.
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
    """Return whether a topic line or partition line is there."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each topic line and partition line; every other line is rejected."""
    before = ""
    for number, line in dump.lines():
        entry, of_partition = _line(dump.last_line, number, line, lambda: before)  # noqa: B023  # called at once
        if of_partition:
            before = line
        yield entry


def parse_columns(dump: Dump) -> tuple[list[Parsed | Rejected], dict[str, PartitionLines]] | None:
    """Parse the partition lines of a large text as columns; None if it is not UTF-8."""
    if dump.utf16:
        return None
    text = dump.data.removeprefix(codecs.BOM_UTF8)
    return parse_parts([partition_lines.read(text)], text)


def parse_parts(parts: Sequence[Part], text: Text) -> tuple[list[Parsed | Rejected], dict[str, PartitionLines]]:
    """Join the parts of a large text, and parse every line that is not a column."""
    lines, others, last_line = partition_lines.join_parts(parts, text)
    if not lines.with_elr.all() and any(part.names_elr for part in parts):  # a line without ELR columns may be cut off
        without = lines.take(~lines.with_elr)
        others = sorted([*others, *((int(number), without.text_of(row)) for row, number in enumerate(without.line))])
        lines = lines.take(lines.with_elr)
    entries: list[Parsed | Rejected] = []
    before = 0, ""
    for number, line in others:
        if not line.isspace():
            entry, of_partition = _line(last_line, number, line, lambda: max(before, lines.last_before(number))[1])  # noqa: B023  # called at once
            if of_partition:
                before = number, line
            entries.append(entry)
    return entries, {"lines": lines}


def _line(last_line: str, number: int, line: str, before: Callable[[], str]) -> tuple[Parsed | Rejected, bool]:
    """Parse a line; returns also whether it is a whole partition line. `before` returns the last partition line before it."""
    match = _PARTITION.fullmatch(line)
    try:
        if match:
            if "LastKnownElr:" not in line and last_line.endswith(line) and "LastKnownElr:" in before():
                return Rejected(number, line, "the dump is cut off in this line"), False
            return Parsed(number, line, _partition(match)), True
        if of_topic := _TOPIC.fullmatch(line):
            return Parsed(number, line, _topic(of_topic)), False
        return Rejected(number, line, "neither a topic line nor a partition line"), False
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
    """Parse the configs of a topic, `name=value,name=value`; values may contain commas."""
    configs = {}
    for pair in _NEXT_CONFIG.split(plain_text(text, "Configs")) if text else ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise Unreadable("Configs has a name without a value")
        configs[name] = config_value(name, value)
    return configs


def _partition(match: re.Match[str]) -> PartitionLine:
    topic, partition, leader, replicas, isr, adding, removing, elr, last_known_elr = match.groups()
    line = PartitionLine(
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
    if not line.replicas:
        raise Unreadable("Replicas is empty")
    return line


# A dump contains the same ids and lists many times.
_id = lru_cache(1 << 12)(identifier)


@lru_cache(1 << 16)
def _broker_ids(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    ids = tuple(identifier(id.strip(), "a broker id") for id in text.split(",")) if text else ()
    if len(set(ids)) < len(ids):
        raise Unreadable("a broker occurs twice in one list")
    return ids
