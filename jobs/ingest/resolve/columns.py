"""Entries of large dumps that stay in columns, because no other entry can contradict them.

    kafka-topics        a partition line, if no other entry is about its partition
    kafka-log-dirs      all entries of the file, if no other file has log dirs
    kafka-get-offsets   all entries of the file, if no other file has end offsets; or start offsets, if that is what the file has

All other entries are read one by one, and resolved as facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from jobs.ingest import partition_lines
from jobs.ingest.facts import (
    AssignedReplicas,
    EndOffset,
    LogDirLine,
    LogDirsAnswer,
    MetadataRecord,
    OngoingReassignment,
    PartitionLine,
    ReplicaOnDisk,
    StartOffset,
)
from jobs.ingest.offset_columns import OffsetColumns
from jobs.ingest.partition_lines import PartitionLines
from jobs.ingest.replica_logs import ReplicaLogs
from jobs.ingest.resolve.offsets import line_by_line
from jobs.ingest.resolve.origin import Origin, ParsedFile


@dataclass(frozen=True, slots=True)
class ColumnarDumps:
    """The entries in columns: partition lines by topic and partition, replicas on disk, end offsets, and start offsets."""

    lines: PartitionLines
    file_index: NDArray[np.int32]  # per line, an index of the files
    logs: ReplicaLogs | None
    ends: OffsetColumns | None
    starts: OffsetColumns | None

    def source_of(self, topic: str, partition: int, files: Sequence[ParsedFile]) -> Origin:
        """Return the origin of a partition line."""
        partitions = self.lines.partitions
        [row] = np.flatnonzero((partitions.topic == partitions.topics.index(topic)) & (partitions.partition == partition))
        file = files[self.file_index[row]]
        return Origin(file, file.reading.lines.parsed_at_line(int(self.lines.line[row])))


def split_columnar(files: Sequence[ParsedFile]) -> tuple[list[ParsedFile], ColumnarDumps]:
    """Split the entries that stay in columns from those to resolve, which are the facts of the returned files."""
    files, logs = _columns_of_only_file(files, "logs", LogDirLine, LogDirsAnswer, ReplicaOnDisk)
    files, ends = _columns_of_only_file(files, "ends", EndOffset)
    files, starts = _columns_of_only_file(files, "starts", StartOffset)
    files, lines, file_index = _unique_lines(files)
    return files, ColumnarDumps(lines, file_index, logs, ends, starts)


def _columns_of_only_file(
    files: Sequence[ParsedFile], name: str, *kinds: type
) -> tuple[list[ParsedFile], ReplicaLogs | OffsetColumns | None]:
    """Return these columns if one file has all facts of these kinds; otherwise return the files with the columns read entry by entry."""
    sources = [
        file
        for file in files
        if getattr(file.reading, name) is not None or any(isinstance(parsed.fact, kinds) for parsed in file.reading.parsed)
    ]
    if len(sources) == 1 and (columns := getattr(sources[0].reading, name)) is not None:
        return list(files), columns
    return [file if (columns := getattr(file.reading, name)) is None else line_by_line(file, columns) for file in files], None


def _unique_lines(files: Sequence[ParsedFile]) -> tuple[list[ParsedFile], PartitionLines, NDArray[np.int32]]:
    """Return the partition lines that are the only entry about their partition; the other lines become facts of their files."""
    columnar = [(number, file.reading.lines) for number, file in enumerate(files) if file.reading.lines is not None]
    if not columnar:
        return list(files), partition_lines.concat([]), np.empty(0, np.int32)
    all_lines = partition_lines.concat([lines for _, lines in columnar])
    file_index = np.repeat(np.array([number for number, _ in columnar], np.int32), [len(lines) for _, lines in columnar])
    is_unique = _is_unique(files, all_lines)
    split_files = []
    first_row = 0
    for file in files:
        reading = file.reading
        if reading.lines is not None:
            repeated_rows = np.flatnonzero(~is_unique[first_row : first_row + len(reading.lines)]).tolist()
            first_row += len(reading.lines)
            parsed = sorted([*reading.parsed, *map(reading.lines.parsed_row, repeated_rows)], key=attrgetter("line"))
            file = replace(file, reading=replace(reading, parsed=parsed))
        split_files.append(file)
    rows = np.flatnonzero(is_unique)
    rows = rows[all_lines.partitions.take(rows).sorted_rows()]
    return split_files, all_lines.take(rows), file_index[rows]


def _is_unique(files: Sequence[ParsedFile], lines: PartitionLines) -> NDArray[np.bool_]:
    """Return for each line whether no other entry is about its partition."""
    facts = [parsed.fact for file in files for parsed in file.reading.parsed]
    if any(isinstance(fact, MetadataRecord) for fact in facts):  # the metadata log has every partition
        return np.zeros(len(lines), np.bool_)
    return lines.partitions.unique_rows(
        fact[:2] for fact in facts if isinstance(fact, (PartitionLine, AssignedReplicas, OngoingReassignment))
    )
