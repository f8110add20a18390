"""The hashes of keys as functions of SQL, compared with those of single keys."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from zlib import crc32

import pyarrow as pa
import pytest

from jobs.engine import DuckdbEngine, sql_text
from jobs.schema import KEY_SAMPLE, TOPIC
from jobs.steps import key_hashes, producer_load
from jobs.steps.key_hashes import add_key_hashes, key_hash
from kafka_model.partitioner.key_attribution import PARTITIONERS
from kafka_model.partitioner.key_hash import fnv1a, murmur2
from tests.jobs.rows import rows


@pytest.mark.parametrize("hash_of", [murmur2, fnv1a, crc32])
@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("compiled_from", [0, 1_500, 10_000])
def test_a_column_is_hashed_like_each_key(
    hash_of: Callable[[bytes], int], type_: pa.DataType, compiled_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_hashes, "COMPILED_FROM", compiled_from)
    hashes = key_hash(hash_of, pa.int64())
    draw = random.Random(1)
    keys = [draw.choice([None, draw.randbytes(draw.randint(0, 40))]) for _ in range(1000)]
    column = pa.array(keys, type_)
    expected = [None if key is None else hash_of(key) for key in keys]
    assert hashes(column).to_pylist() == expected
    assert hashes(column.slice(17, 500)).to_pylist() == expected[17:517]
    assert hashes(column.slice(0, 0)).to_pylist() == []
    assert hashes(pa.nulls(2, type_)).to_pylist() == [None, None]


def test_keys_match_the_partitioners_that_choose_their_partitions() -> None:
    draw, partitions = random.Random(2), 3
    sample = [(draw.randbytes(draw.randint(1, 20)), draw.randrange(partitions), draw.randint(1, 9)) for _ in range(600)]
    engine = DuckdbEngine()
    add_key_hashes(engine)
    keys = [
        {"topic": "t", "key": key, "records": records, "observed_partitions": [partition], "observed_records": [records]}
        for key, partition, records in sample
    ]
    text = sql_text(producer_load.__file__, "producer_load_key_matches")
    (found,) = (
        engine.sql(text, key_sample=rows(KEY_SAMPLE, *keys), topic=rows(TOPIC, {"topic": "t", "partitions": partitions}))
        .toArrow()
        .to_pylist()
    )
    locations, records = Counter[int](), Counter[int]()
    for key, partition, count in sample:
        explained_by = sum(1 << bit for bit, chosen in enumerate(PARTITIONERS.values()) if chosen(key, partitions) == partition)
        locations[explained_by] += 1
        records[explained_by] += count
    assert dict(zip(found["explained_by"], found["locations"], strict=True)) == locations
    assert dict(zip(found["explained_by"], found["records"], strict=True)) == records
    assert len(locations) > 16
