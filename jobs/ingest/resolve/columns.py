"""Large dumps that stay columns: entries that no other dump contradicts need no resolving.

    kafka-topics        a partition line stays a column if no other entry is about that partition
    kafka-log-dirs      the whole file, if no other file has log dirs
    kafka-get-offsets   the whole file, if no other file has end offsets

Everything else is read again entry by entry, and resolved as facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from jobs.ingest import partition_lines
from jobs.ingest.end_offsets import EndOffsets
from jobs.ingest.facts import Assigned, EndOffset, LogDirLine, LogDirsAnswer, MetadataRecord, PartitionLine, Reassigning, ReplicaOnDisk
from jobs.ingest.partition_lines import PartitionLines
from jobs.ingest.reading import read_entries
from jobs.ingest.replica_logs import ReplicaLogs
from jobs.ingest.resolve.origin import Origin, ParsedFile


@dataclass(frozen=True, slots=True)
class ColumnarDumps:
    """What stays columns: partition lines in the order of topic and partition, replicas on disk, and end offsets."""

    lines: PartitionLines
    of_file: NDArray[np.int32]  # by line, an index of the files
    logs: ReplicaLogs | None
    ends: EndOffsets | None

    def source_of(self, topic: str, partition: int, files: Sequence[ParsedFile]) -> Origin:
        """Return the origin of a partition line."""
        partitions = self.lines.partitions
        [row] = np.flatnonzero((partitions.topic == partitions.topics.index(topic)) & (partitions.partition == partition))
        file = files[self.of_file[row]]
        return Origin(file, file.reading.lines.parsed_at_line(int(self.lines.line[row])))


def split_columnar(files: Sequence[ParsedFile]) -> tuple[list[ParsedFile], ColumnarDumps]:
    """Split what stays columns from the entries to resolve, which are the facts of the returned files."""
    files, logs = _only_one(files, "logs", LogDirLine, LogDirsAnswer, ReplicaOnDisk)
    files, ends = _only_one(files, "ends", EndOffset)
    files, lines, of_file = _unique_lines(files)
    return files, ColumnarDumps(lines, of_file, logs, ends)


def _only_one(files: Sequence[ParsedFile], columns: str, *kinds: type) -> tuple[list[ParsedFile], ReplicaLogs | EndOffsets | None]:
    """Return the columns of the only file with such facts; if several files have them, read each of these entry by entry."""
    having = [
        file
        for file in files
        if getattr(file.reading, columns) is not None or any(isinstance(parsed.fact, kinds) for parsed in file.reading.parsed)
    ]
    if len(having) == 1 and (found := getattr(having[0].reading, columns)) is not None:
        return list(files), found
    return [
        file if (found := getattr(file.reading, columns)) is None else replace(file, reading=read_entries(found.data)) for file in files
    ], None


def _unique_lines(files: Sequence[ParsedFile]) -> tuple[list[ParsedFile], PartitionLines, NDArray[np.int32]]:
    """Return the partition lines that are the only entry about their partition; the others become facts of their files."""
    with_lines = [(number, file.reading.lines) for number, file in enumerate(files) if file.reading.lines is not None]
    if not with_lines:
        return list(files), partition_lines.concat([]), np.empty(0, np.int32)
    joined = partition_lines.concat([lines for _, lines in with_lines])
    of_file = np.repeat(np.array([number for number, _ in with_lines], np.int32), [len(lines) for _, lines in with_lines])
    facts = [parsed.fact for file in files for parsed in file.reading.parsed]
    elsewhere = [fact[:2] for fact in facts if isinstance(fact, (PartitionLine, Assigned, Reassigning))]
    in_metadata_log = any(isinstance(fact, MetadataRecord) for fact in facts)  # which has every partition
    unique = np.zeros(len(joined), np.bool_) if in_metadata_log else joined.partitions.unique(elsewhere)
    split = []
    first = 0
    for file in files:
        reading = file.reading
        if reading.lines is not None:
            others = np.flatnonzero(~unique[first : first + len(reading.lines)]).tolist()
            first += len(reading.lines)
            parsed = sorted([*reading.parsed, *map(reading.lines.parsed_row, others)], key=attrgetter("line"))
            file = replace(file, reading=replace(reading, parsed=parsed))
        split.append(file)
    rows = np.flatnonzero(unique)
    rows = rows[joined.partitions.take(rows).order()]
    return split, joined.take(rows), of_file[rows]
