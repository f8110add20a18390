"""Sampled keys in runs of batches: what they bring partitions, how many records each has, and the hottest of them.

A key goes to toPositive(murmur2(key)) mod all partitions. What is said of a run is to be added up, or ranked, with what is said of others: a
sample mostly has a topic's keys one after the other, so that most topics lie in one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.arrays import Ints, list_positions, to_ints
from kafka_model.partitioner.key_hash import murmur2_batch

HOT_KEYS = 10
KEYED = ("explicit_records", "keyed_records", "keyed_bytes", "keys", "librdkafka_moved_keys", "librdkafka_moved_records")
# Rows of three kinds, in which the others' columns are null: of a topic's partition (topics are numbered), what it gets; of a topic, its
# records and bytes without a key (n, b), and the records of each of its keys, the most first; of a hot key, where it goes and what it has.
SAID = pa.schema(
    [
        ("number", pa.int32()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in (*KEYED, "n", "b")),
        ("counts", pa.list_(pa.int64())),
        ("key", pa.binary()),
        *((name, pa.int64()) for name in ("records", "size_bytes")),
        ("librdkafka_partition", pa.int32()),
    ]
)
_ROWS, _BYTES = 1 << 17, 32 << 20  # of a run
_NONE = -1


def said(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """SAID of keys, whose columns are number, told_partitions (null: unknown), key, partition (null: left to the partitioner), records,
    size_bytes and librdkafka_partition (where that client would bring it; null: anywhere).
    """
    for keys in _runs(batches):
        run = _Run({name: keys[name].combine_chunks() for name in keys.column_names})
        yield from (run.partitions(), run.topics(), run.hot_keys())


def _runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches together: what is done of each takes as long to begin for few rows as for many."""
    run: list[pa.RecordBatch] = []
    for batch in batches:
        run.append(batch)
        if sum(each.num_rows for each in run) >= _ROWS or sum(each.nbytes for each in run) >= _BYTES:
            yield pa.Table.from_batches(run)
            run = []
    if run:
        yield pa.Table.from_batches(run)


class _Run:
    """Its columns, and its rows by topic, in each the keys with the most records first."""

    def __init__(self, of: dict[str, pa.Array]) -> None:
        self.key = of["key"]
        self.number, self.records, self.size_bytes = (to_ints(of[name], 0) for name in ("number", "records", "size_bytes"))
        told_partitions, named, self.other = (to_ints(of[name], _NONE) for name in ("told_partitions", "partition", "librdkafka_partition"))
        self.told, self.explicit = told_partitions != _NONE, named != _NONE
        self.keyed = self.key.is_valid().to_numpy(zero_copy_only=False) & ~self.explicit
        self.partition = np.where(self.explicit, named, (_hashes(self.key) & 0x7FFFFFFF) % np.maximum(told_partitions, 1))
        self.order = np.lexsort((-self.records, self.number))
        self.first = np.flatnonzero(np.diff(self.number[self.order], prepend=_NONE))  # of each topic

    def partitions(self) -> pa.RecordBatch:
        """What the keys and the named partitions bring each partition, and what of it another partitioner would bring elsewhere."""
        elsewhere = self.keyed & (self.other != self.partition)
        brought = (
            self.records * self.explicit,
            self.records * self.keyed,
            self.size_bytes,
            self.keyed,
            elsewhere,
            self.records * elsewhere,
        )
        placed = np.flatnonzero(self.told & (self.explicit | self.keyed))
        place = (self.number[placed] << 32) + self.partition[placed]
        order = np.argsort(place, kind="stable")
        first = np.flatnonzero(np.diff(place[order], prepend=_NONE))
        sums = {name: _sums(values[placed][order], first) for name, values in zip(KEYED, brought, strict=True)}
        of = placed[order][first]
        return _rows(number=self.number[of], partition=self.partition[of], **sums)

    def topics(self) -> pa.RecordBatch:
        """What has neither a key nor a partition, and the records of each key."""
        neither = (~self.explicit & ~self.keyed)[self.order]
        n, b = (_sums(values[self.order] * neither, self.first) for values in (self.records, self.size_bytes))
        keyed = self.keyed[self.order]
        ends = np.append(0, np.cumsum(_sums(keyed, self.first)))
        counts = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(self.records[self.order[keyed]]))
        return _rows(number=self.number[self.order[self.first]], n=n, b=b, counts=counts)

    def hot_keys(self) -> pa.RecordBatch:
        """Each topic's ten keys with the most records; of as many, the first in the order of their bytes."""
        ranked = self.order[(self.keyed & self.told)[self.order]]
        _, lengths = np.unique(self.number[ranked], return_counts=True)
        topic, nth = list_positions(lengths)
        least = self.records[ranked[np.cumsum(lengths) - lengths + np.minimum(lengths, HOT_KEYS) - 1]]
        hot = ranked[(nth < HOT_KEYS) | (self.records[ranked] == least[topic])]
        keys = pa.table({"row": hot, "number": self.number[hot], "records": self.records[hot], "key": self.key.take(pa.array(hot))})
        keys = keys.sort_by([("number", "ascending"), ("records", "descending"), ("key", "ascending")])
        _, nth = list_positions(np.unique(keys["number"].to_numpy(), return_counts=True)[1])
        row = keys["row"].to_numpy()[nth < HOT_KEYS]
        return _rows(
            number=self.number[row],
            partition=self.partition[row],
            key=self.key.take(pa.array(row)),
            records=self.records[row],
            size_bytes=self.size_bytes[row],
            librdkafka_partition=pa.array(self.other[row], pa.int32(), mask=self.other[row] == _NONE),
        )


def _hashes(key: pa.Array) -> Ints:
    """murmur2 of each key, of none of no bytes."""
    key = key.fill_null(b"")
    _, offsets, data = key.buffers()
    first = np.frombuffer(offsets, dtype=np.int32, count=key.offset + len(key) + 1)[key.offset :]
    return murmur2_batch(np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8), first).astype(np.int64)


def _sums(values: npt.NDArray[np.generic], first: Ints) -> Ints:
    """Of runs of values that begin there."""
    return np.add.reduceat(values.astype(np.int64), first) if len(first) else np.empty(0, np.int64)


def _rows(**columns: Ints | pa.Array) -> pa.RecordBatch:
    length = len(columns["number"])
    arrays = (columns.get(field.name, pa.nulls(length, field.type)) for field in SAID)
    return pa.record_batch(
        [each if isinstance(each, pa.Array) else pa.array(each, field.type) for each, field in zip(arrays, SAID, strict=True)], schema=SAID
    )
