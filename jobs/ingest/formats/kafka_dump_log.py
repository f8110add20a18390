"""kafka-dump-log --cluster-metadata-decoder: KRaft's metadata log as text.

Printed by kafka.tools.DumpLogSegments (3.0 to 3.9) and org.apache.kafka.tools.DumpLogSegments (4.0 on).

    Dumping /var/lib/kafka/__cluster_metadata-0/00000000000000000351-0000000001.checkpoint
    Snapshot end offset: 351, epoch: 1
    baseOffset: 0 lastOffset: 0 count: 1 ... isControl: true ... isvalid: true
    | offset: 0 CreateTime: 1795276077376 keySize: 4 ... SnapshotHeader {"version":0,"lastContainedLogTimestamp":1795276077342}
    baseOffset: 1 lastOffset: 111 count: 111 ... isControl: false ... isvalid: true
    | offset: 1 CreateTime: 1795276077377 keySize: -1 ... payload: {"type":"FEATURE_LEVEL_RECORD","version":0,"data":{...}}

With --skip-record-metadata a record's line is `| payload: ...`, and its offset follows from the batch above it. A dump may contain several
files; each one starts with `Dumping`. Rejected records are stored without their payload, which may contain a credential.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from jobs.ingest.dump import Dump, Parsed, Rejected, Unreadable, whole_number
from jobs.ingest.facts import MetadataFile, MetadataRecord
from jobs.ingest.metadata_record import control_from_json, from_json
from jobs.ingest.precedence import Precedence

NAME = "kafka-dump-log"
PRECEDENCE = Precedence.METADATA_LOG

_KNOWN_BY = re.compile(
    r'^\| .{0,200}(?:payload: \{"type":"[A-Z_]{1,64}_RECORD"|SnapshotHeader \{"version":|LeaderChange: \{"version":)', re.MULTILINE
)
_DUMPING = re.compile(r"Dumping (\S.*)")
_START = re.compile(r"Log starting offset: ([0-9]{1,19})")
_SNAPSHOT = re.compile(r"Snapshot end offset: ([0-9]{1,19}), epoch: [0-9]{1,10}|KRaft bootstrap snapshot")
_BATCH = re.compile(r"baseOffset: ([0-9]{1,19}) lastOffset: ([0-9]{1,19}) count: ([0-9]{1,10}) .{1,1000} isvalid: (true|false)")
_RECORD = re.compile(
    r"\| (?:offset: ([0-9]{1,19}) \w+: (-?[0-9]{1,19}) .*?\] )?"
    r"(?:payload: (.*)|(LeaderChange|Snapshot(?:Header|Footer)|KRaft(?:Version|Voters)):? (.*)|controlType: (LEADER_CHANGE)\(2\))"
)


def recognises(dump: Dump) -> bool:
    """Return whether the dump contains a metadata record or a control record of the quorum."""
    return _KNOWN_BY.search(dump.head) is not None


class _File:
    """The state while one file of a dump is parsed."""

    def __init__(self) -> None:
        self.end_offset: int | None = None  # of a snapshot
        self.last_contained_ms: int | None = None
        self.start_offset: int | None = None
        self.next_batch_offset: int | None = None
        self.next_offset: int | None = None  # of the next record in the current batch
        self.is_snapshot = self.has_footer = False

    def parse_line(self, number: int, line: str) -> Parsed | Rejected:
        if match := _START.fullmatch(line):
            self.start_offset = self.next_batch_offset = whole_number(match[1], "offset")
        elif match := _SNAPSHOT.fullmatch(line):
            self.is_snapshot, self.end_offset = True, whole_number(match[1] or "0", "offset")
        elif match := _BATCH.fullmatch(line):
            self._batch(*match.groups())
        elif match := _RECORD.fullmatch(line):
            return Parsed(number, _without_payload(line), self._record(*match.groups()))
        else:
            raise Unreadable("not a file, batch or record line of a metadata log")
        return Parsed(number, line, None)

    def _batch(self, base: str, last: str, _: str, valid: str) -> None:
        if valid != "true":
            raise Unreadable("the batch is damaged")
        base_offset = whole_number(base, "baseOffset")
        if self.next_batch_offset not in (None, base_offset):
            raise Unreadable(f"the batch starts at offset {base_offset}, not at {self.next_batch_offset}")
        self.start_offset = base_offset if self.start_offset is None else self.start_offset
        self.next_offset, self.next_batch_offset = base_offset, whole_number(last, "lastOffset") + 1

    def _record(
        self,
        printed_offset: str | None,
        printed_time: str | None,
        payload: str | None,
        control: str | None,
        control_value: str | None,
        old_control: str | None,
    ) -> MetadataRecord | None:
        offset = self.next_offset if printed_offset is None else whole_number(printed_offset, "offset")
        if offset is None:
            raise Unreadable("no batch line above it")
        self.next_offset = offset + 1
        time_ms = None if printed_time is None else int(printed_time)
        if old_control:  # up to 3.9 a LeaderChange is printed without its value
            return None
        document = _json(payload if payload is not None else control_value)
        if control is None:
            if document.keys() != {"type", "version", "data"}:
                raise Unreadable("type, version or data is missing")
            record_type, fields = from_json(document["type"], document["version"], document["data"])
        else:
            record_type, fields = control, control_from_json(control, document)
            if control == "SnapshotHeader":
                self.is_snapshot, self.last_contained_ms = True, fields["lastContainedLogTimestamp"]
            self.has_footer = self.has_footer or control == "SnapshotFooter"
        return MetadataRecord(offset, time_ms, record_type, fields)


def parse(dump: Dump) -> Iterator[Parsed | Rejected]:
    """Yield a fact for each record, and one for each file in the dump."""
    file, entries = _File(), []
    for number, line in dump.lines():
        line = line.strip()
        if _DUMPING.fullmatch(line):
            yield from _finished(file, entries)
            file, entries = _File(), []
            entries.append(Parsed(number, line, None))
            continue
        try:
            entries.append(file.parse_line(number, line))
        except Unreadable as e:
            entries.append(Rejected(number, _without_payload(line), str(e)))
    yield from _finished(file, entries)


def _finished(file: _File, entries: list[Parsed | Rejected]) -> Iterator[Parsed | Rejected]:
    if file.is_snapshot and not file.has_footer:
        for entry in entries:
            yield Rejected(entry.line, entry.entry, "the snapshot has no footer: it was cut off")
        return
    yield from entries
    if file.start_offset is not None:
        end_offset = file.end_offset if file.is_snapshot else file.next_batch_offset
        fact = MetadataFile(file.is_snapshot, file.last_contained_ms, file.start_offset, end_offset)
        yield Parsed(entries[-1].line, None, fact, entries=0)


def _json(text: str | None) -> dict[str, Any]:
    try:
        document = json.loads(text or "")
    except (ValueError, RecursionError) as e:
        raise Unreadable("not JSON") from e
    if not isinstance(document, dict):
        raise Unreadable("not a JSON object")
    return document


def _without_payload(line: str) -> str:
    return re.sub(r'("data":)\{.*', r"\1{...}", line, count=1)
