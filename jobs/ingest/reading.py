"""What a file tells, whatever it is: entries = accepted + rejected, and nothing is lost on the way.

An empty file has no entries. One that no format recognises is one entry, rejected.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, json_document
from jobs.ingest.formats import FORMATS, kafka_topics
from jobs.ingest.partition_lines import PartitionLines

MANY_BYTES = 1 << 20  # below, to load the compiled loops costs more than they spare
_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's entries; format None: not recognised. Of a large text of partitions, most are columns and not among those told."""

    format: str | None
    told: list[Told]
    rejected: list[Rejected]
    lines: PartitionLines | None = None


def read_dump(data: bytes, *, many_bytes: int = MANY_BYTES) -> Reading:
    """Every entry of a file's bytes, told or rejected; a text of partitions that has `many_bytes` is read as columns."""
    dump = Dump(data)
    for format in FORMATS:
        if format.recognises(dump):
            entries: list[Told | Rejected] = []
            lines = None
            try:
                if format is kafka_topics and len(data) >= many_bytes and not dump.utf16:
                    entries, lines = kafka_topics.parse_columns(dump)
                else:
                    for entry in format.parse(dump):
                        entries.append(entry)  # one by one: what was told before it breaks off stands
            except Unreadable as e:
                entries.append(Rejected(1, dump.head, str(e)))
            return Reading(
                format.NAME,
                [entry for entry in entries if isinstance(entry, Told)],
                [entry for entry in entries if isinstance(entry, Rejected)],
                lines,
            )
    if not dump.text.strip():
        return Reading(None, [], [])
    return Reading(None, [], [Rejected(1, dump.head, _why_unknown(dump))])


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
