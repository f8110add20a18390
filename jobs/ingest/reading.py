"""What a file tells, whatever it is: entries = accepted + rejected, and nothing is lost on the way.

An empty file has no entries. One that no format recognises is one entry, rejected.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.ingest import partition_lines
from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, json_document
from jobs.ingest.end_offsets import EndOffsets
from jobs.ingest.formats import FORMATS, kafka_get_offsets, kafka_log_dirs, kafka_topics
from jobs.ingest.partition_lines import Part, PartitionLines, Text
from jobs.ingest.replica_logs import ReplicaLogs

MANY_BYTES = 1 << 20  # below, to load the compiled loops costs more than they spare
_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's entries; format None: not recognised. Of a large text of kafka-topics, most are columns and not among those told."""

    format: str | None
    told: list[Told]
    rejected: list[Rejected]
    lines: PartitionLines | None = None
    logs: ReplicaLogs | None = None  # likewise of a large kafka-log-dirs
    ends: EndOffsets | None = None  # and of a large kafka-get-offsets


def read_dump(data: bytes, *, many_bytes: int = MANY_BYTES) -> Reading:
    """Every entry of a file's bytes, told or rejected; what has `many_bytes`, and is of a kind that can be large, is read as columns."""
    dump = Dump(data)
    for format in FORMATS:
        if format.recognises(dump):
            if format is kafka_log_dirs and len(data) >= many_bytes and (of_logs := kafka_log_dirs.parse_columns(data)):
                told, logs = of_logs
                return Reading(format.NAME, told, [], logs=logs)
            if format is kafka_get_offsets and len(data) >= many_bytes and (of_ends := kafka_get_offsets.parse_columns(data)):
                rejected, ends = of_ends
                return Reading(format.NAME, [], rejected, ends=ends)
            entries: list[Told | Rejected] = []
            lines = None
            try:
                if format is kafka_topics and len(data) >= many_bytes and not dump.utf16:
                    text = data.removeprefix(codecs.BOM_UTF8)
                    entries, lines = kafka_topics.parse_columns([partition_lines.read(text)], text)
                else:
                    for entry in format.parse(dump):
                        entries.append(entry)  # one by one: what was told before it breaks off stands
            except Unreadable as e:
                entries.append(Rejected(1, dump.head, str(e)))
            return _sorted_out(format.NAME, entries, lines)
    if not dump.text.strip():
        return Reading(None, [], [])
    return Reading(None, [], [Rejected(1, dump.head, _why_unknown(dump))])


def read_entries(data: bytes) -> Reading:
    """The same, each entry by itself however large the file."""
    return read_dump(data, many_bytes=len(data) + 1)


def read_parts(parts: Sequence[Part], text: Text) -> Reading:
    """The same of a large text of kafka-topics that was read in parts."""
    return _sorted_out(kafka_topics.NAME, *kafka_topics.parse_columns(parts, text))


def is_of_partitions(head: bytes) -> bool:
    """Whether a file that starts so is a text of kafka-topics, and can be read in parts."""
    dump = Dump(head)
    if dump.utf16 or head.startswith(codecs.BOM_UTF8) or b"\0" in head:
        return False
    return next((format for format in FORMATS if format.recognises(dump)), None) is kafka_topics


def _sorted_out(format: str, entries: Sequence[Told | Rejected], lines: PartitionLines | None) -> Reading:
    told = [entry for entry in entries if isinstance(entry, Told)]
    return Reading(format, told, [entry for entry in entries if isinstance(entry, Rejected)], lines)


def _why_unknown(dump: Dump) -> str:
    if dump.text.lstrip().startswith(("{", "[")):
        try:
            json_document(dump)
        except Unreadable as e:
            return f"no known format: {e}"
    return "no known format"


def text_of(entry: Any) -> str:
    """The first 1000 characters of an entry, fit to be stored."""
    text = entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False, default=str)
    return text[:_LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()[:_LONGEST_TEXT]
