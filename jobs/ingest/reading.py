"""Reading a file of any format: every entry is parsed or rejected, so that entries = accepted + rejected.

    orders:0:500     parsed by kafka-get-offsets: EndOffset("orders", 0, 500)
    orders:1:        rejected: line 2, "the offset is missing"

An empty file has no entries. A file that no format recognises is one rejected entry.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, json_document
from jobs.ingest.formats import FORMATS, kafka_topics
from jobs.ingest.offset_columns import OffsetColumns
from jobs.ingest.partition_lines import ParsedChunk, PartitionLines, Text
from jobs.ingest.precedence import Precedence
from jobs.ingest.replica_logs import ReplicaLogs

COLUMNAR_BYTES = 1 << 20  # below this size, loading the compiled loops takes longer than they save
_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """The entries of a file; of a large file, most entries are in columns. Format None: not recognised."""

    format: str | None
    parsed: list[Parsed]
    rejected: list[Rejected]
    lines: PartitionLines | None = None  # of kafka-topics
    logs: ReplicaLogs | None = None  # of kafka-log-dirs
    ends: OffsetColumns | None = None  # of kafka-get-offsets
    starts: OffsetColumns | None = None  # of kafka-get-offsets --time earliest
    precedence: Precedence = Precedence.KAFKA_TOOL


def read_dump(data: bytes, *, columnar_bytes: int = COLUMNAR_BYTES) -> Reading:
    """Read every entry of a file; from `columnar_bytes` on, formats that can be large are parsed into columns."""
    dump = Dump(data)
    module = _format_of(dump)
    if module is None:
        return Reading(None, [], [Rejected(1, dump.head, _why_unknown(dump))] if dump.text.strip() else [])
    if len(data) >= columnar_bytes and hasattr(module, "parse_columns") and (parsed := module.parse_columns(dump)):
        entries, columns = parsed
        return _reading(module, entries, **columns)
    entries = []
    try:
        for entry in module.parse(dump):
            entries.append(entry)  # one by one, to keep the entries before a failure
    except Unreadable as e:
        entries.append(Rejected(1, dump.head, str(e)))
    return _reading(module, entries)


def read_entries(data: bytes) -> Reading:
    """Read every entry of a file by itself, however large the file is."""
    return read_dump(data, columnar_bytes=len(data) + 1)


def read_chunks(chunks: Sequence[ParsedChunk], text: Text) -> Reading:
    """Read a large kafka-topics text whose chunks are already parsed."""
    entries, columns = kafka_topics.parse_chunks(chunks, text)
    return _reading(kafka_topics, entries, **columns)


def is_partition_text(head: bytes) -> bool:
    """Return whether a file that starts with these bytes is a kafka-topics text that can be read in chunks."""
    dump = Dump(head)
    if dump.is_utf16 or head.startswith(codecs.BOM_UTF8) or b"\0" in head:
        return False
    return _format_of(dump) is kafka_topics


def _format_of(dump: Dump) -> ModuleType | None:
    return next((module for module in FORMATS if module.recognises(dump)), None)


def _reading(module: ModuleType, entries: Sequence[Parsed | Rejected], **columns: Any) -> Reading:
    parsed = [entry for entry in entries if isinstance(entry, Parsed)]
    rejected = [entry for entry in entries if isinstance(entry, Rejected)]
    return Reading(module.NAME, parsed, rejected, precedence=module.PRECEDENCE, **columns)


def _why_unknown(dump: Dump) -> str:
    if dump.text.lstrip().startswith(("{", "[")):
        try:
            json_document(dump)
        except Unreadable as e:
            return f"unknown format: {e}"
    return "unknown format"


def text_of(entry: Any) -> str:
    """Return the first 1000 characters of an entry, in a form that can be stored."""
    text = entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False, default=str)
    return text[:_LONGEST_TEXT].encode("utf-8", "backslashreplace").decode()[:_LONGEST_TEXT]
