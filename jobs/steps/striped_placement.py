"""The draws of StripedReplicaPlacer that explain each topic of a KRaft cluster, recovered by kafka_model.placement.striped_draws.

A dump shows which brokers are fenced now, not at the time when a topic was created or grew: each broker that is not live may have been
fenced then, or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.arrays import Ints, Matrix, list_positions, to_ints
from jobs.schema import TOPIC_PLACEMENT
from kafka_model.placement.kraft import UsableBroker
from kafka_model.placement.striped_draws import Placement, Recovered, StripedCluster, recover_rows

COMPILED_FROM = 20_000  # partitions of a task; with fewer, plain Python takes less time than to load the compiled search
_MAX_UNCERTAIN = 3  # brokers that are not live: every subset of so many may have been fenced; of more, all or none
_MAX_GAP_FACTOR = 2  # a topic with more missing partitions than known ones has no placement
_NO_BROKER = -1
_TOPIC = ["snapshot_id", "cluster_id", "topic"]

RECOVERED_SCHEMA = pa.schema(
    [
        *(TOPIC_PLACEMENT.schema.field(name) for name in (*_TOPIC, "draws", "first_unexplained_partition")),
        pa.field("partitions", pa.int32(), nullable=False),  # number of observed partitions
        pa.field("moved", pa.map_(pa.int32(), pa.list_(pa.int32())), nullable=False),  # by partition, the replicas that the draws give it
    ]
)


def recovered_draws(partition: DataFrame, broker: pa.Table) -> DataFrame:
    """Return a row of RECOVERED_SCHEMA for each topic: its draws, null if none explain it, and what is in another place than they give."""
    topics = partition.select(*_TOPIC, "partition", "replicas").repartition("cluster_id", "topic")
    return topics.mapInArrow(_recover_topics(possible_states(broker)), from_arrow_schema(RECOVERED_SCHEMA))


def possible_states(broker: pa.Table) -> dict[str, list[StripedCluster]]:
    """List the possible states of each cluster's brokers when a topic was placed, beginning with the present one."""
    by_cluster: dict[str, list[Mapping[str, Any]]] = {}
    for row in broker.select(["cluster_id", "broker_id", "rack", "live"]).to_pylist():
        by_cluster.setdefault(row["cluster_id"], []).append(row)
    return {
        cluster_id: [
            StripedCluster([UsableBroker(id, rack, id in fenced) for id, rack in racks.items()])
            for racks in _possible_racks(rows)
            for fenced in _possible_fenced([row["broker_id"] for row in rows if not row["live"]])
            if len(fenced) < len(rows)
        ]
        for cluster_id, rows in by_cluster.items()
    }


def _possible_racks(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[int, str | None]]:
    """Yield the racks of all brokers. Many dumps do not report the rack of a broker that is not live: it may be any rack, or one of its own."""
    racks = {row["broker_id"]: row["rack"] for row in rows}
    known = sorted({rack for rack in racks.values() if rack is not None})
    unknown = [row["broker_id"] for row in rows if not row["live"] and row["rack"] is None]
    if known and len(unknown) == 1:
        yield from ({**racks, unknown[0]: rack} for rack in known)
    yield racks


def _possible_fenced(not_live: Sequence[int]) -> list[set[int]]:
    """List the sets of brokers that may have been fenced: first those that are not live now, then none, then their other subsets."""
    subsets = [set(subset) for size in range(1, len(not_live)) for subset in combinations(not_live, size)]
    first = [set(not_live), set()] if not_live else [set()]
    return [*first, *subsets] if len(not_live) <= _MAX_UNCERTAIN else first


def _recover_topics(states: Mapping[str, Sequence[StripedCluster]]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def recover(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces = list(batches)
        if pieces:
            rows = pa.Table.from_batches(pieces).combine_chunks()
            compiled = len(rows) >= COMPILED_FROM
            recovered = [_row(topic, states[topic.names["cluster_id"]], compiled) for topic in _topics(rows)]
            yield from pa.Table.from_pylist(recovered, RECOVERED_SCHEMA).to_batches()

    return recover


class _Topic(NamedTuple):
    """A topic with its partitions in order: their numbers, the length of each replica list, and the broker ids of all lists."""

    names: Mapping[str, str]  # of the snapshot, cluster and topic
    numbers: Ints
    lengths: Ints
    broker_ids: Ints


def _topics(rows: pa.Table) -> Iterator[_Topic]:
    cluster, topic = (rows[name].combine_chunks().dictionary_encode() for name in ("cluster_id", "topic"))
    clusters, topics, partitions = to_ints(cluster.indices, 0), to_ints(topic.indices, 0), to_ints(rows["partition"].combine_chunks(), 0)
    order = np.lexsort((partitions, topics, clusters))
    is_new = (np.diff(clusters[order]) != 0) | (np.diff(topics[order]) != 0)
    firsts = [0, *(np.flatnonzero(is_new) + 1).tolist()]
    replicas = rows["replicas"].combine_chunks().take(pa.array(order))
    numbers, lengths, broker_ids = partitions[order], to_ints(pc.list_value_length(replicas), 0), to_ints(replicas.flatten(), _NO_BROKER)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    names = rows.select(_TOPIC).take(pa.array(order[firsts])).to_pylist()
    for topic_names, first, end in zip(names, firsts, [*firsts[1:], len(order)], strict=True):
        yield _Topic(topic_names, numbers[first:end], lengths[first:end], broker_ids[ends[first] : ends[end]])


def _row(topic: _Topic, states: Sequence[StripedCluster], compiled: bool) -> dict[str, Any]:
    """Return the row of a topic."""
    if states and topic.numbers[-1] < _MAX_GAP_FACTOR * len(topic.numbers):
        recovered = recover_rows(states, *_replica_matrix(topic), compiled=compiled)
    else:
        recovered = Recovered((), {}, int(topic.numbers[0]))
    return {
        **topic.names,
        "draws": [_draws(placement) for placement in recovered.placements] or None,
        "first_unexplained_partition": recovered.first_unexplained,
        "partitions": len(topic.numbers),
        "moved": [(partition, None if None in replicas else replicas) for partition, replicas in recovered.moved.items()],
    }


def _replica_matrix(topic: _Topic) -> tuple[Matrix, Any]:
    """Return the replicas of each partition by its number, and which partitions have no row.

    The replication factor is that of the first partition. Partitions with another one have no known broker.
    """
    factor, partitions = max(topic.lengths[0], 1), topic.numbers[-1] + 1
    if partitions == len(topic.numbers) and (topic.lengths == factor).all():
        return topic.broker_ids.reshape(partitions, factor), np.zeros(partitions, dtype=np.bool_)
    matrix = np.full((partitions, factor), _NO_BROKER)
    row, replica = list_positions(topic.lengths)
    placed = (topic.lengths == factor)[row]
    matrix[topic.numbers[row[placed]], replica[placed]] = topic.broker_ids[placed]
    missing = np.ones(partitions, dtype=np.bool_)
    missing[topic.numbers] = False
    return matrix, missing


def _draws(placement: Placement) -> dict[str, Any]:
    return {**placement._asdict(), "shuffles": [shuffle._asdict() for shuffle in placement.shuffles]}
