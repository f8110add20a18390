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
from jobs.ingest.partition_lines import ParsedChunk, PartitionLines, Text
from jobs.ingest.precedence import Precedence

NAME = "kafka-topics"
PRECEDENCE = Precedence.KAFKA_TOOL

# Text copied from a terminal has spaces instead of tabs. Repeats are bounded: unbounded ones make the match of a blank line very slow.
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
    """Return whether the dump contains a topic line or partition line."""
    return _KNOWN_BY.search(dump.head) is not None


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each topic line and partition line; every other line is rejected."""
    previous = ""  # the last partition line
    for number, line in dump.lines():
        entry, is_partition_line = _line(dump.last_line, number, line, lambda: previous)  # noqa: B023  # called at once
        if is_partition_line:
            previous = line
        yield entry


def parse_columns(dump: Dump) -> tuple[list[Parsed | Rejected], dict[str, PartitionLines]] | None:
    """Parse the partition lines of a large text into columns; None if the text is UTF-16."""
    if dump.is_utf16:
        return None
    text = dump.data.removeprefix(codecs.BOM_UTF8)
    return parse_chunks([partition_lines.read(text)], text)


def parse_chunks(chunks: Sequence[ParsedChunk], text: Text) -> tuple[list[Parsed | Rejected], dict[str, PartitionLines]]:
    """Join the chunks of a large text, and parse every line that is not in columns."""
    lines, other_lines, last_line = partition_lines.join_chunks(chunks, text)
    if not lines.has_elr_columns.all() and any(chunk.mentions_elr for chunk in chunks):  # a line without ELR columns may be cut off
        without_elr = lines.take(~lines.has_elr_columns)
        other_lines = sorted([*other_lines, *((int(number), without_elr.text_of(row)) for row, number in enumerate(without_elr.line))])
        lines = lines.take(lines.has_elr_columns)
    entries: list[Parsed | Rejected] = []
    previous = 0, ""  # number and text of the last partition line among the other lines
    for number, line in other_lines:
        if not line.isspace():
            entry, is_partition_line = _line(last_line, number, line, lambda: max(previous, lines.last_before(number))[1])  # noqa: B023  # called at once
            if is_partition_line:
                previous = number, line
            entries.append(entry)
    return entries, {"lines": lines}


def _line(last_line: str, number: int, line: str, previous: Callable[[], str]) -> tuple[Parsed | Rejected, bool]:
    """Parse a line. Return its entry, and whether it is a complete partition line. `previous` returns the last partition line before it."""
    match = _PARTITION.fullmatch(line)
    try:
        if match:
            if "LastKnownElr:" not in line and last_line.endswith(line) and "LastKnownElr:" in previous():
                return Rejected(number, line, "the dump is cut off in this line"), False
            return Parsed(number, line, _partition(match)), True
        if topic_match := _TOPIC.fullmatch(line):
            return Parsed(number, line, _topic(topic_match)), False
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
    ids = tuple(identifier(broker_id.strip(), "a broker id") for broker_id in text.split(",")) if text else ()
    if len(set(ids)) < len(ids):
        raise Unreadable("a broker occurs twice in one list")
    return ids
