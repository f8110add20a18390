"""producer_load: the records and bytes that each partition gets from producers, predicted from sampled keys and observed as growth.

Reproduces DefaultPartitioner (2.0): a named partition wins; a key goes to partition toPositive(murmur2(key)) mod all partitions; a record
without a key goes to the next available partition (one with a leader), by a counter. The closed form of the counter is the columnar form
of kafka_model.partitioner.java_client. kafka_model.partitioner.key_attribution infers from the partitions of keys which client wrote them.

What was written since the previous snapshot is the growth of the end offset times the mean bytes of a record: retention and compaction delete
bytes, but never lower an end offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from jobs.engine import Engine, sql_text
from jobs.failure.sizes import LEADER_SIZE
from jobs.schema import CLUSTER, HOT_KEY, KEY_SAMPLE, PARTITION, PRODUCER_LOAD, TOPIC, TOPIC_LOAD, TOPIC_PARTITIONER, Table
from jobs.spark.worker_rows import Batches, WorkerRows
from jobs.steps.captures import seconds_between
from jobs.steps.key_hashes import add_key_hashes
from jobs.steps.stage import Stage, Stages
from kafka_model.partitioner.key_attribution import Matches, attribute

READS = (CLUSTER, TOPIC, PARTITION, KEY_SAMPLE)
READS_PREVIOUS = (CLUSTER, TOPIC, PARTITION)
WRITES = (PRODUCER_LOAD, TOPIC_LOAD, HOT_KEY, TOPIC_PARTITIONER)

_TEXTS = {
    name: sql_text(__file__, f"producer_load{name}", LEADER_SIZE=LEADER_SIZE, HOT_KEYS="10")
    for name in ("", "_topic", "_placed", "_hottest", "_partition", "_total", "_topic_load", "_hot_key", "_key_matches")
}


def transform(
    cluster: pa.Table,
    topic: Any,
    partition: Any,
    key_sample: Any,
    previous_cluster: pa.Table,
    previous_topic: Any,
    previous_partition: Any,
    *,
    engine: Engine,
    parameters: Mapping[str, str],
) -> Stages[tuple[Any, ...]]:
    def run(name: str, **relations: Any) -> Any:
        return engine.sql(_TEXTS[name], **relations)

    add_key_hashes(engine)
    counter = pa.table({"start": pa.array([int(parameters.get("counter_start", "0")) & 0x7FFFFFFF], pa.int64())})
    topics = yield Stage(run("_topic", topic=topic, partition=partition, previous_topic=previous_topic, counter=counter))
    placed = yield Stage(run("_placed", key_sample=key_sample, topic=topics))
    hottest = yield Stage(run("_hottest", key_sample=key_sample, topic=topics))
    load = yield Stage(run("_partition", topic=topics, placed=placed, partition=partition, previous_partition=previous_partition))
    total = yield Stage(run("_total", load=load))
    matches = run("_key_matches", key_sample=key_sample, topic=topic)
    (topic_partitioner,) = yield WorkerRows(matches, _topic_partitioners, (TOPIC_PARTITIONER,))
    return (
        run("", load=load, total=total, topic=topics, capture=seconds_between(cluster, previous_cluster)),
        run("_topic_load", total=total, topic=topics, hottest=hottest),
        run("_hot_key", key_sample=key_sample, topic=topics, hottest=hottest, total=total),
        topic_partitioner,
    )


def _topic_partitioners(batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
    for batch in batches:
        yield TOPIC_PARTITIONER, pa.Table.from_pylist([_topic_partitioner(**row) for row in batch.to_pylist()], TOPIC_PARTITIONER.schema)


def _topic_partitioner(
    partitions: int, explained_by: list[int], locations: list[int], records: list[int], **columns: Any
) -> dict[str, Any]:
    """Return the partitioner that explains best in which partitions the keys of a topic were found."""
    attribution = attribute([*map(Matches, explained_by, locations, records)], partitions)
    all_records = sum(records)
    return {
        **columns,
        "partitions": partitions,
        "records": all_records,
        "partitioner": attribution.partitioner,
        "explained_records": attribution.explained_records,
        "unexplained_share": 1 - attribution.explained_records / all_records if all_records else 0.0,
        "second_partitioner": attribution.second_partitioner,
        "second_records": attribution.second_records,
    }
