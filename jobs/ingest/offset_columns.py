"""Offsets of a large kafka-get-offsets text, parsed into columns.

orders:0:500     topic orders   partition 0   offset 500
orders:1:        no offset: formats/kafka_get_offsets.py parses the line
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from jobs.ingest.facts import EndOffset, StartOffset

_LINE = r"^(?P<topic>[a-zA-Z0-9._-]{1,249}):(?P<partition>[0-9]{1,9}):(?P<offset>[0-9]{1,18})\s{0,16}$"


@dataclass(frozen=True, slots=True)
class OffsetColumns:
    """A row of each array is a partition."""

    data: bytes  # of the file, to read it again line by line
    topic: pa.StringArray
    partition: NDArray[np.int64]
    offset: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.partition)


def read(data: bytes) -> tuple[OffsetColumns, list[tuple[int, str]]] | None:
    """Return the offsets, and the other lines with their numbers; None if a partition occurs twice or the text is not ASCII."""
    if not data.isascii():
        return None
    lines = data.decode("ascii").split("\n")
    matches = pc.extract_regex(pa.array(lines), _LINE)
    other_lines = [(int(row) + 1, lines[row]) for row in np.flatnonzero(matches.is_null().to_numpy(zero_copy_only=False))]
    matched = matches.drop_null()
    topic, partition, offset = (matched.field(name) for name in ("topic", "partition", "offset"))
    numbers = [pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False) for column in (partition, offset)]
    encoded = topic.dictionary_encode()
    keys = encoded.indices.to_numpy().astype(np.int64) << 32 | numbers[0]
    if len(np.unique(keys)) < len(keys) or {".", ".."} & set(encoded.dictionary.to_pylist()):
        return None
    return OffsetColumns(data, topic, *numbers), other_lines


def from_facts(facts: Sequence[EndOffset | StartOffset]) -> OffsetColumns:
    """Convert facts to columns."""
    topic = pa.array([fact.topic for fact in facts], pa.string())
    partition, offset = (np.array([getattr(fact, name) for fact in facts], np.int64) for name in ("partition", "offset"))
    return OffsetColumns(b"", topic, partition, offset)
