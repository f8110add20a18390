"""Summaries of sampled keys: what they bring to partitions, how many records each key has, and the hottest keys.

A key goes to partition toPositive(murmur2(key)) mod the number of partitions. Keys are summarized in runs of rows. The summaries of one
topic are to be added up or ranked over all runs. Most topics are in a single run, because a sample usually lists a topic's keys together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.arrays import Ints, list_positions, to_ints
from kafka_model.partitioner.key_hash import murmur2_batch

HOT_KEYS = 10
MAX_SHARED_KEYS = 4  # the floor of the skew considers up to so many hot keys in one partition
# The sums of a topic's partition. `librdkafka_moved_...` count what librdkafka would bring to another partition.
KEYED = ("explicit_records", "keyed_records", "keyed_bytes", "keys", "librdkafka_moved_keys", "librdkafka_moved_records")
# Rows of three kinds, each with null in the columns of the others. Topics are numbered.
#   partition   what keys and named partitions bring to a partition of a topic
#   topic       the sampled records and bytes without a key, the records of the keys that the floor of the skew needs, in descending order,
#               and the number of rows whose size is unknown
#   hot key     the partition, records and bytes of one of the hottest keys of a topic
SUMMARY_SCHEMA = pa.schema(
    [
        ("number", pa.int32()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in (*KEYED, "sampled_unkeyed_records", "sampled_unkeyed_bytes", "rows_without_size")),
        ("records_of_keys", pa.list_(pa.int64())),
        ("key", pa.binary()),
        *((name, pa.int64()) for name in ("records", "size_bytes")),
        ("librdkafka_partition", pa.int32()),
    ]
)
_RUN_ROWS, _RUN_BYTES = 1 << 17, 32 << 20
_NONE = -1


def summarize_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows of SUMMARY_SCHEMA for batches of sampled keys.

    Their columns are number, partition_count (null: unknown), key, partition (null: chosen by the partitioner), records, size_bytes and
    librdkafka_partition (where librdkafka would bring the key; null: any partition).
    """
    for keys in _runs(batches):
        run = _Run({name: keys[name].combine_chunks() for name in keys.column_names})
        yield from (run.partitions(), run.topics(), run.hot_keys())


def _runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches: each numpy call has a fixed cost, which few rows do not repay."""
    run: list[pa.RecordBatch] = []
    for batch in batches:
        run.append(batch)
        if sum(each.num_rows for each in run) >= _RUN_ROWS or sum(each.nbytes for each in run) >= _RUN_BYTES:
            yield pa.Table.from_batches(run)
            run = []
    if run:
        yield pa.Table.from_batches(run)


class _Run:
    """The columns of a run, and the order of its rows by topic, each topic's keys with the most records first."""

    def __init__(self, columns: dict[str, pa.Array]) -> None:
        self.key = columns["key"]
        self.number, self.records, self.size_bytes = (to_ints(columns[name], 0) for name in ("number", "records", "size_bytes"))
        partition_count, named_partition, self.librdkafka_partition = (
            to_ints(columns[name], _NONE) for name in ("partition_count", "partition", "librdkafka_partition")
        )
        self.size_known = columns["size_bytes"].is_valid().to_numpy(zero_copy_only=False)
        self.partition_count = np.maximum(partition_count, 1)
        self.count_known, self.explicit = partition_count != _NONE, named_partition != _NONE
        self.keyed = self.key.is_valid().to_numpy(zero_copy_only=False) & ~self.explicit
        hashed = (_hashes(self.key) & 0x7FFFFFFF) % self.partition_count
        self.partition = np.where(self.explicit, named_partition, hashed)
        self.order = np.lexsort((-self.records, self.number))
        self.topic_starts = np.flatnonzero(np.diff(self.number[self.order], prepend=_NONE))

    def partitions(self) -> pa.RecordBatch:
        """Sum up what the keys and the named partitions bring to each partition."""
        moved = self.keyed & (self.librdkafka_partition != self.partition)
        summands = {
            "explicit_records": self.records * self.explicit,
            "keyed_records": self.records * self.keyed,
            "keyed_bytes": self.size_bytes,
            "keys": self.keyed,
            "librdkafka_moved_keys": moved,
            "librdkafka_moved_records": self.records * moved,
        }
        placed = np.flatnonzero(self.count_known & (self.explicit | self.keyed))
        topic_partition = (self.number[placed] << 32) + self.partition[placed]
        order = np.argsort(topic_partition, kind="stable")
        starts = np.flatnonzero(np.diff(topic_partition[order], prepend=_NONE))
        sums = {name: _sums(values[placed][order], starts) for name, values in summands.items()}
        first_rows = placed[order][starts]
        return _summaries(number=self.number[first_rows], partition=self.partition[first_rows], **sums)

    def topics(self) -> pa.RecordBatch:
        """Sum up the records with neither a key nor a named partition, and list the records of the hottest keys.

        The floor of the skew needs one key more than MAX_SHARED_KEYS - 1 in each partition.
        """
        unkeyed = (~self.explicit & ~self.keyed)[self.order]
        records, size_bytes = (_sums(values[self.order] * unkeyed, self.topic_starts) for values in (self.records, self.size_bytes))
        keyed = self.order[self.keyed[self.order]]
        key_counts = _sums(self.keyed[self.order], self.topic_starts)
        needed = np.minimum(key_counts, (MAX_SHARED_KEYS - 1) * self.partition_count[self.order[self.topic_starts]] + 1)
        topic, rank = list_positions(key_counts)
        hottest = keyed[rank < needed[topic]]
        offsets = np.append(0, np.cumsum(needed))
        return _summaries(
            number=self.number[self.order[self.topic_starts]],
            sampled_unkeyed_records=records,
            sampled_unkeyed_bytes=size_bytes,
            rows_without_size=_sums(~self.size_known[self.order], self.topic_starts),
            records_of_keys=pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(self.records[hottest])),
        )

    def hot_keys(self) -> pa.RecordBatch:
        """List the HOT_KEYS keys of each topic with the most records; ties go to the lower key in byte order."""
        ranked = self.order[(self.keyed & self.count_known)[self.order]]
        _, lengths = np.unique(self.number[ranked], return_counts=True)
        topic, rank = list_positions(lengths)
        # The rows of the first ten and all that tie with the tenth, whose keys decide.
        records_of_last = self.records[ranked[np.cumsum(lengths) - lengths + np.minimum(lengths, HOT_KEYS) - 1]]
        hot = ranked[(rank < HOT_KEYS) | (self.records[ranked] == records_of_last[topic])]
        keys = pa.table({"row": hot, "number": self.number[hot], "records": self.records[hot], "key": self.key.take(pa.array(hot))})
        keys = keys.sort_by([("number", "ascending"), ("records", "descending"), ("key", "ascending")])
        _, rank = list_positions(np.unique(keys["number"].to_numpy(), return_counts=True)[1])
        rows = keys["row"].to_numpy()[rank < HOT_KEYS]
        return _summaries(
            number=self.number[rows],
            partition=self.partition[rows],
            key=self.key.take(pa.array(rows)),
            records=self.records[rows],
            size_bytes=pa.array(self.size_bytes[rows], pa.int64(), mask=~self.size_known[rows]),
            librdkafka_partition=pa.array(self.librdkafka_partition[rows], pa.int32(), mask=self.librdkafka_partition[rows] == _NONE),
        )


def _hashes(keys: pa.Array) -> Ints:
    """The murmur2 hash of each key; a missing key counts as an empty one."""
    keys = keys.fill_null(b"")
    _, offsets, data = keys.buffers()
    starts = np.frombuffer(offsets, dtype=np.int32, count=keys.offset + len(keys) + 1)[keys.offset :]
    return murmur2_batch(np.frombuffer(data, dtype=np.uint8) if data else np.empty(0, dtype=np.uint8), starts).astype(np.int64)


def _sums(values: npt.NDArray[np.generic], starts: Ints) -> Ints:
    """The sum of each stretch of values, from one start to the next."""
    return np.add.reduceat(values.astype(np.int64), starts) if len(starts) else np.empty(0, np.int64)


def _summaries(**columns: Ints | pa.Array) -> pa.RecordBatch:
    """Rows of SUMMARY_SCHEMA with these columns, and null in the others."""
    length = len(columns["number"])
    arrays = [
        array if isinstance(array, pa.Array) else pa.array(array, field.type)
        for field in SUMMARY_SCHEMA
        for array in [columns.get(field.name, pa.nulls(length, field.type))]
    ]
    return pa.record_batch(arrays, schema=SUMMARY_SCHEMA)
