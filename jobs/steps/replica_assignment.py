"""replica_assignment: where Kafka would place each partition, and what explains best where it is.

In a cluster with a ZooKeeper controller, a start index and a shift of AdminUtils explain a topic (start_index_placement.py), in a KRaft
cluster the random draws of StripedReplicaPlacer (striped_placement.py). Where the kind of controller or the racks are unknown, so is the
placement.

Spark's workers compute both tables cluster by cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import Ints, run_starts, to_ints
from jobs.engine import Engine, sql_text
from jobs.schema import BROKER, CLUSTER, PARTITION, REPLICA_ASSIGNMENT, TOPIC, TOPIC_PLACEMENT, Table
from jobs.spark.worker_rows import Batches, WorkerRows, rows_of_each
from jobs.steps.broker_racks import clusters_with_known_racks
from jobs.steps.observed_topic import ExplainedTopic, ObservedTopic, Placer
from jobs.steps.stage import Stages
from jobs.steps.start_index_placement import Start, StartIndexPlacer
from jobs.steps.striped_placement import COMPILED_FROM, StripedPlacer

READS = (CLUSTER, BROKER, TOPIC, PARTITION)
WRITES = (REPLICA_ASSIGNMENT, TOPIC_PLACEMENT)

_TOPICS = sql_text(__file__, "replica_assignment")
_TOPIC = ["snapshot_id", "cluster_id", "topic"]
_TOPIC_ROW = -1  # sorts the row of a topic before its partitions
_NO_BROKER = -1


def transform(
    cluster: pa.Table, broker: pa.Table, topic: Any, partition: Any, *, engine: Engine, parameters: Mapping[str, str]
) -> Stages[tuple[Any, ...]]:
    rows = engine.sql(_TOPICS, topic=topic, partition=partition)
    # By cluster, so that the rows of a cluster are in one file, for readers of one cluster.
    return tuple((yield WorkerRows(rows, partial(_place, placers(cluster, broker, parameters)), WRITES, together="cluster_id")))


def placers(cluster: pa.Table, broker: pa.Table, parameters: Mapping[str, str]) -> dict[str, Placer | None]:
    """Return the placer of each cluster with brokers; None: the kind of controller or the racks are unknown.

    The placement on a single broker does not depend on racks.
    """
    brokers: dict[str, list[Mapping[str, Any]]] = {}
    for row in broker.select(["cluster_id", "broker_id", "rack", "live", "cordoned"]).to_pylist():
        brokers.setdefault(row["cluster_id"], []).append(row)
    known_racks = clusters_with_known_racks(cluster, broker)
    requested = None
    if "start_index" in parameters:  # AdminUtils uses a given start index as the shift, too
        requested = Start(int(parameters["start_index"]), int(parameters.get("shift", parameters["start_index"])))

    def placer(row: Mapping[str, Any]) -> Placer | None:
        rows = brokers[row["cluster_id"]]
        racks = {each["broker_id"]: each["rack"] for each in rows}
        if row["controller_assumed"] or (len(racks) > 1 and row["cluster_id"] not in known_racks):
            return None
        if row["controller"] == "zookeeper":
            return StartIndexPlacer(racks, requested)
        not_live = [each["broker_id"] for each in rows if not each["live"]]
        return StripedPlacer(racks, not_live, [each["broker_id"] for each in rows if each["cordoned"]])

    return {row["cluster_id"]: placer(row) for row in cluster.to_pylist() if row["cluster_id"] in brokers}


class _ClusterTopics(NamedTuple):
    """The rows of the topics of a cluster and of their partitions, sorted by topic and partition, each topic's own row first."""

    rows: pa.Table
    first: Sequence[int]  # index of the first row of each topic, then the number of rows
    numbers: Ints  # of the partitions
    factors: Ints  # replication factor, in the topic's own row
    lengths: Ints  # of the replica lists
    ends: Ints  # of each replica list in `broker_ids`
    broker_ids: Ints


def _cluster_topics(rows: pa.Table) -> _ClusterTopics:
    ordered = rows.sort_by([("topic", "ascending"), ("partition", "ascending")])
    replicas = ordered["replicas"].combine_chunks()
    lengths = to_ints(pc.list_value_length(replicas), 0)
    return _ClusterTopics(
        ordered,
        run_starts(ordered["topic"]).tolist(),
        to_ints(ordered["partition"], 0),
        to_ints(ordered["replication_factor"], 0),
        lengths,
        np.cumsum(lengths),
        to_ints(replicas.flatten(), _NO_BROKER),
    )


class _Placed(NamedTuple):
    """A topic that Kafka can place: the rows of its partitions, from `start` to the one before `end`, and what explains them."""

    start: int
    end: int
    explained: ExplainedTopic


def _place(placers: Mapping[str, Placer | None], batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
    """Yield rows of both tables for topics with their partitions."""
    for rows in rows_of_each(batches, "cluster_id"):
        cluster_id = rows["cluster_id"][0].as_py()
        if cluster_id in placers:
            compiled = rows["all_partitions"][0].as_py() >= COMPILED_FROM
            yield from _place_cluster(_cluster_topics(rows), placers[cluster_id], compiled=compiled)


def _place_cluster(topics: _ClusterTopics, placer: Placer | None, *, compiled: bool) -> Iterator[tuple[Table, pa.Table]]:
    placements: list[dict[str, Any]] = []
    placed: list[_Placed] = []
    names = topics.rows.select(_TOPIC).take(pa.array(topics.first[:-1])).to_pylist()
    for name, (first, end) in zip(names, pairwise(topics.first), strict=True):
        if topics.numbers[first] != _TOPIC_ROW:
            continue  # partitions of a topic without a row
        factor, start = int(topics.factors[first]), first + 1
        explained = None
        if placer is not None and 1 <= factor <= placer.brokers and start < end:
            broker_ids = topics.broker_ids[topics.ends[first] : topics.ends[end - 1]]
            observed = ObservedTopic(factor, topics.numbers[start:end], topics.lengths[start:end], broker_ids)
            explained = placer.explain(observed, compiled=compiled)
            placed.append(_Placed(start, end, explained))
        placements.append(name | _placement(placer, factor, end - start, explained))
    if placed:
        yield REPLICA_ASSIGNMENT, _assignment(topics, placed)
    yield TOPIC_PLACEMENT, pa.Table.from_pylist(placements, TOPIC_PLACEMENT.schema)


def _placement(placer: Placer | None, factor: int, partitions: int, explained: ExplainedTopic | None) -> dict[str, Any]:
    """Return a row of `topic_placement` without the names; `explained` is None without partitions, or if the topic cannot be placed."""
    if placer is None:
        return {"start_requested": False, "partitions": partitions}
    found = explained or ExplainedTopic(False)
    return {
        "algorithm": placer.algorithm if 1 <= factor <= placer.brokers else None,
        "start_index": found.start_index,
        "shift": found.shift,
        "start_requested": placer.start_requested,
        "draws": found.draws,
        "partitions": partitions,
        "matching_partitions": partitions - len(found.moved) if found.explains else None,
        "explained": partitions == 0 or (found.explains and found.first_unexplained is None),
        "first_unexplained_partition": found.first_unexplained,
        "refusal": _refusal(placer, factor),
    }


def _refusal(placer: Placer, factor: int) -> str | None:
    """Return why Kafka would refuse to place a topic with this replication factor."""
    if factor < 1:
        return "replication factor below 1"
    if factor > placer.brokers:
        return f"replication factor {factor} larger than the {placer.brokers} brokers"
    return placer.refusal


def _assignment(topics: _ClusterTopics, placed: Sequence[_Placed]) -> pa.Table:
    """Return the rows of `replica_assignment` of these topics."""
    lengths = [topic.end - topic.start for topic in placed]
    rows = topics.rows.take(pa.array(np.concatenate([np.arange(topic.start, topic.end) for topic in placed])))
    observed = rows["replicas"].combine_chunks()
    explained = np.repeat([topic.explained.explains for topic in placed], lengths)
    moved_rows, moved = _moved(topics, placed)
    source = np.arange(len(rows))
    source[moved_rows] = len(rows) + np.arange(len(moved))
    drifted, misplaced = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.int32)
    drifted[moved_rows] = True
    now = observed.take(pa.array(moved_rows, pa.int64())).to_pylist()
    misplaced[moved_rows] = [len({*have}.difference(computed or ())) for have, computed in zip(now, moved, strict=True)]
    replicas = pa.concat_arrays([observed, pa.array(moved, observed.type)]).take(pa.array(source, mask=~explained))
    columns = {
        **{name: rows[name] for name in (*_TOPIC, "partition")},
        "replicas": replicas,
        "observed": observed,
        "drifted": pa.array(drifted, mask=~explained),
        "misplaced_replicas": pc.if_else(replicas.is_valid(), pa.array(misplaced), None),
    }
    return pa.table(columns)


def _moved(topics: _ClusterTopics, placed: Sequence[_Placed]) -> tuple[list[int], list[Sequence[int] | None]]:
    """Return the moved partitions, counted from the first one of these topics, and their computed replicas."""
    rows: list[int] = []
    replicas: list[Sequence[int] | None] = []
    before = 0
    for start, end, explained in placed:
        rows += (before + np.searchsorted(topics.numbers[start:end], list(explained.moved))).tolist()
        replicas += explained.moved.values()
        before += end - start
    return rows, replicas
