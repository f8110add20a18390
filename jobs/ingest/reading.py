"""What a file tells, whatever it is: entries = accepted + rejected, and nothing is lost on the way.

An empty file has no entries. One that no format recognises is one entry, rejected.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from jobs.ingest.dump import Dump, Rejected, Told, Unreadable, json_document
from jobs.ingest.formats import FORMATS

_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's entries; format None: not recognised."""

    format: str | None
    told: list[Told]
    rejected: list[Rejected]


def read_dump(data: bytes) -> Reading:
    """Every entry of a file's bytes, told or rejected."""
    dump = Dump(data)
    for format in FORMATS:
        if format.recognises(dump):
            entries: list[Told | Rejected] = []
            try:
                for entry in format.parse(dump):
                    entries.append(entry)  # one by one: what was told before it breaks off stands
            except Unreadable as e:
                entries.append(Rejected(1, dump.head, str(e)))
            return Reading(
                format.NAME,
                [entry for entry in entries if isinstance(entry, Told)],
                [entry for entry in entries if isinstance(entry, Rejected)],
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
