"""The summaries of runs of sampled keys add up to those of all keys, wherever a run ends."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator

import pyarrow as pa
import pytest

from jobs.steps import sampled_keys
from jobs.steps.sampled_keys import HOT_KEYS, KEYED, MAX_SHARED_KEYS
from kafka_model.partitioner.key_hash import murmur2

COLUMNS = pa.schema(
    [("number", pa.int32()), ("partition_count", pa.int32()), ("key", pa.binary()), ("partition", pa.int32()), ("records", pa.int64()),
     ("size_bytes", pa.int64()), ("librdkafka_partition", pa.int32())]
)  # fmt: skip


def sample() -> list[tuple[object, ...]]:
    """Rows of several topics, each topic's together: one with unknown partitions, one with few keys, one where all keys tie, one without keys."""
    draw = random.Random(8)
    rows: list[tuple[object, ...]] = []
    for number, partitions, keys, max_records in ((1, 7, 60, 9), (2, None, 30, 9), (3, 3, 4, 50), (4, 5, 40, 1), (5, 6, 0, 1)):
        for key in [draw.randbytes(draw.randint(0, 12)) for _ in range(keys)]:
            librdkafka = None if not key or partitions is None else draw.randrange(partitions)
            rows.append((number, partitions, key, None, draw.randint(1, max_records), draw.randint(1, 999), librdkafka))
        rows.append((number, partitions, None, None, draw.randint(1, 99), draw.randint(1, 999), None))
        rows += [(number, partitions, key, 1, draw.randint(1, 99), draw.randint(1, 999), None) for key in (b"named", None)]
    return rows


@pytest.mark.parametrize("run_rows", [1, 13, 1 << 17])
def test_summaries_of_runs_add_up(monkeypatch: pytest.MonkeyPatch, run_rows: int) -> None:
    monkeypatch.setattr(sampled_keys, "_RUN_ROWS", run_rows)
    rows = sample()

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, len(rows), 11):
            part = [dict(zip(COLUMNS.names, row, strict=True)) for row in rows[first : first + 11]]
            yield pa.RecordBatch.from_pylist(part, COLUMNS)

    found = [row for batch in sampled_keys.summarize_keys(batches()) for row in batch.to_pylist()]
    brought: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    unkeyed, counts, hot = Counter[int](), defaultdict(list), defaultdict(list)
    for row in found:
        if row["records_of_keys"] is not None:
            assert row["records_of_keys"] == sorted(row["records_of_keys"], reverse=True)
            counts[row["number"]] += row["records_of_keys"]
            unkeyed[row["number"]] += 1000 * row["sampled_unkeyed_records"] + row["sampled_unkeyed_bytes"]
        elif row["key"] is not None:
            hot[row["number"]].append((-row["records"], row["key"], row["size_bytes"], row["partition"], row["librdkafka_partition"]))
        else:
            brought[row["number"], row["partition"]] += Counter({name: row[name] for name in KEYED})

    expected: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    expected_unkeyed, records_of_keys, hottest = Counter[int](), defaultdict(list), defaultdict(list)
    for number, partitions, key, named, records, size_bytes, librdkafka in rows:
        if named is None and key is None:
            expected_unkeyed[number] += 1000 * records + size_bytes
        elif named is None:
            records_of_keys[number].append(records)
        if partitions is None or (named is None and key is None):
            continue
        if named is not None:
            expected[number, named] += Counter({"explicit_records": records, "keyed_bytes": size_bytes})
            continue
        partition = (murmur2(key) & 0x7FFFFFFF) % partitions
        elsewhere = librdkafka != partition
        values = (0, records, size_bytes, 1, elsewhere, records * elsewhere)
        expected[number, partition] += Counter(dict(zip(KEYED, values, strict=True)))
        hottest[number].append((-records, key, size_bytes, partition, librdkafka))

    assert brought == expected
    assert unkeyed == expected_unkeyed
    # The floor of the skew reads at most so many keys of a topic.
    needed = {number: (MAX_SHARED_KEYS - 1) * (partitions or 1) + 1 for number, partitions, *_ in rows}
    assert {number: sorted(each)[-needed[number] :] for number, each in counts.items()} == {
        number: sorted(records_of_keys[number])[-needed[number] :] for number in range(1, 6)
    }
    assert all(len(row["records_of_keys"] or ()) <= needed[row["number"]] for row in found)
    assert {number: sorted(each)[:HOT_KEYS] for number, each in hot.items()} == {
        number: sorted(each)[:HOT_KEYS] for number, each in hottest.items()
    }
