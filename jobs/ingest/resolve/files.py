"""The files of a cluster with the number of their entries, and every rejected entry."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from jobs.ingest.facts import Fact, MetadataRecord
from jobs.ingest.reading import text_of
from jobs.ingest.resolve.evidence import Evidence
from jobs.ingest.resolve.metadata_image import WITHOUT_FACT
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
    skipped: int


def rejected_input_table(evidence: Evidence) -> pa.Table:
    """Return every rejected entry by file and line."""
    rows = []
    for file, entries in sorted(evidence.rejected.items()):
        next_index: dict[int, int] = defaultdict(int)  # by line, the index of the next rejected entry
        for rejected in sorted(entries, key=lambda rejected: rejected.line):
            index = next_index[rejected.line]
            next_index[rejected.line] += 1
            rows.append(RejectedInputRow(file, rejected.line, index, text_of(rejected.entry), text_of(rejected.reason)))
    return table_of(REJECTED_INPUT, rows)


def input_file_table(evidence: Evidence) -> pa.Table:
    """Return every file; its entries are the parsed ones with a fact, the rejected and the missing ones."""
    rows = []
    line_counts = np.bincount(evidence.columns.file_index, minlength=len(evidence.files)).tolist()
    for file, lines in sorted(zip(evidence.files, line_counts, strict=True), key=lambda pair: pair[0].name):
        reading = file.reading
        columnar = lines + sum(len(columns) for columns in (reading.logs, reading.ends, reading.starts) if columns is not None)
        parsed = sum(parsed.entries for parsed in reading.parsed)
        skipped = sum(parsed.entries for parsed in reading.parsed if _states_nothing(parsed.fact))
        entries = parsed - skipped + len(reading.rejected) + columnar + evidence.missing[file.name]
        rejected = len(evidence.rejected[file.name])
        rows.append(InputFileRow(file.name, reading.format, entries, entries - rejected, rejected, file.size_bytes, skipped))
    return table_of(INPUT_FILE, rows)


def _states_nothing(fact: Fact | None) -> bool:
    """Return whether no table has what the entry states."""
    return fact is None or (isinstance(fact, MetadataRecord) and fact.type in WITHOUT_FACT)
