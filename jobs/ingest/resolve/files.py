"""The files of a cluster with their counts of entries, and every rejected entry."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from jobs.ingest.reading import text_of
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.rows import table_of
from jobs.schema import INPUT_FILE, REJECTED_INPUT


class RejectedInputRow(NamedTuple):
    """A row of `rejected_input`."""

    file: str
    line: int
    entry: int
    text: str
    reason: str


class InputFileRow(NamedTuple):
    """A row of `input_file`."""

    file: str
    format: str | None
    entries: int
    accepted: int
    rejected: int
    size_bytes: int


def rejected_input_table(evidence: Evidence) -> pa.Table:
    """Return every rejected entry by file and line."""
    rows = []
    for file, rejected in sorted(evidence.rejected.items()):
        entry: dict[int, int] = defaultdict(int)
        for one in sorted(rejected, key=lambda one: one.line):
            rows.append(RejectedInputRow(file, one.line, entry[one.line], text_of(one.entry), text_of(one.reason)))
            entry[one.line] += 1
    return table_of(REJECTED_INPUT, rows)


def input_file_table(evidence: Evidence) -> pa.Table:
    """Return every file; its entries are those that were parsed or rejected, and those that are missing."""
    rows = []
    lines = np.bincount(evidence.columns.of_file, minlength=len(evidence.files)).tolist()
    for file, of_lines in sorted(zip(evidence.files, lines, strict=True), key=lambda pair: pair[0].name):
        reading = file.reading
        of_columns = [len(columns) for columns in (reading.logs, reading.ends) if columns is not None]
        read = sum(parsed.entries for parsed in reading.parsed) + len(reading.rejected) + of_lines + sum(of_columns)
        entries, rejected = read + evidence.missing[file.name], len(evidence.rejected[file.name])
        rows.append(InputFileRow(file.name, reading.format, entries, entries - rejected, rejected, file.size_bytes))
    return table_of(INPUT_FILE, rows)
