"""goal: the verdicts of Cruise Control's goals on each cluster, who is outside their limits, the score and the size.

The partitions and brokers of a cluster become arrays, and kafka_model.cruise_control.columnar computes all verdicts in one call of
Python. Loads are Cruise Control's own (`partition_load`). If they have no disk load, each replica counts with its leader's size, as in
Cruise Control. Each broker counts as a host of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.failure.partition_state import size_on
from jobs.schema import (
    BROKER,
    CLUSTER,
    CLUSTER_BALANCE,
    GOAL_BREACH,
    GOAL_VERDICT,
    LOG_DIR,
    NET_IMBALANCE,
    PARTITION,
    PARTITION_LOAD,
    Table,
)
from jobs.steps.cluster_array import cluster_of
from jobs.steps.stage import Stage, Stages
from kafka_model.cruise_control import columnar
from kafka_model.cruise_control.columnar import Cluster, Floats, Ints, net_imbalance
from kafka_model.cruise_control.limits import DEFAULT_GOALS, GOALS, Thresholds, balancedness_cost_by_goal
from kafka_model.cruise_control.verdicts import (
    OVER_PROVISIONED,
    REFUSED,
    UNDECIDED,
    UNDER_PROVISIONED,
    UNFIXABLE,
    UNKNOWN,
    VIOLATED,
    ProvisionRecommendation,
    Verdict,
    aggregate_provision,
    balancedness_score_range,
)

READS = (CLUSTER, BROKER, LOG_DIR, PARTITION, PARTITION_LOAD)
WRITES = (GOAL_VERDICT, GOAL_BREACH, CLUSTER_BALANCE, NET_IMBALANCE)

_CLUSTER = ["snapshot_id", "cluster_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]
_CAPACITIES = [name for name in BROKER.schema.names if "_capacity_" in name]


def transform(
    cluster: DataFrame,
    broker: DataFrame,
    log_dir: DataFrame,
    partition: DataFrame,
    partition_load: DataFrame,
    *,
    thresholds: Thresholds,
) -> Stages[tuple[DataFrame, ...]]:
    loaded = (
        partition.select(*_PARTITION, "leader", "replicas", size_on(F.col("leader")).cast("double").alias("size_bytes"))
        .join(partition_load.drop("leader"), on=_PARTITION, how="left")
        .withColumn("disk_bytes", F.coalesce("disk_bytes", "size_bytes"))
        .drop("size_bytes")
    )
    dead_disks = log_dir.where("error IS NOT NULL").select(*_CLUSTER).distinct().withColumn("dead_disk", F.lit(True))
    brokers = (
        cluster.select(*_CLUSTER)
        .join(broker.select(*_CLUSTER, "broker_id", "rack", "live", *_CAPACITIES), on=_CLUSTER, how="left")
        .join(dead_disks, on=_CLUSTER, how="left")
    )
    together = brokers.groupBy(*_CLUSTER).cogroup(loaded.groupBy(*_CLUSTER))
    said = yield Stage(together.applyInArrow(_judging(thresholds), from_arrow_schema(_SAID)))
    return tuple(said.where(F.col(of.name).isNotNull()).select(*_CLUSTER, f"{of.name}.*") for of in WRITES)


def _nested(table: Table) -> list[pa.Field]:
    """The columns of a table after the snapshot and the cluster; each may be null, where the row is of another table."""
    return [field.remove_metadata().with_nullable(True) for field in list(table.schema)[len(_CLUSTER) :]]


# A row of one of the tables, which its column names; the others are null.
_SAID = pa.schema([*(pa.field(name, pa.string()) for name in _CLUSTER), *(pa.field(of.name, pa.struct(_nested(of))) for of in WRITES)])


def _judging(thresholds: Thresholds) -> Any:
    def judge(key: tuple[pa.Scalar, ...], brokers: pa.Table, partitions: pa.Table) -> pa.Table:
        rows = [row for row in brokers.to_pylist() if row["broker_id"] is not None]
        found = _judged(rows, partitions, thresholds, dead_disk=any(brokers["dead_disk"].to_pylist()))
        parts = []
        for of in WRITES:
            given = pa.array(found[of], pa.struct(_nested(of)))
            columns = [pa.array([value.as_py()] * len(given), pa.string()) for value in key]
            columns += [given if other is of else pa.nulls(len(given), pa.struct(_nested(other))) for other in WRITES]
            parts.append(pa.Table.from_arrays(columns, schema=_SAID))
        return pa.concat_tables(parts)

    return judge


def _judged(
    rows: list[dict[str, Any]], partitions: pa.Table, thresholds: Thresholds, *, dead_disk: bool
) -> dict[Table, list[dict[str, Any]]]:
    """What is said of a cluster."""
    whole = cluster_of(rows, partitions)
    # Cruise Control knows a dead broker by its replicas alone, and leaves out partitions without a leader.
    dead = dead_disk or bool((~whole.live[whole.replicas[whole.replicas >= 0]]).any())
    verdicts = columnar.evaluate(whole, whole.replicas, whole.leader, thresholds)
    known = {name for name, verdict in verdicts.items() if verdict.verdict != UNKNOWN}
    breaches = [(name, breach) for name, verdict in verdicts.items() for breach in verdict.breaches]
    placement_breaches = columnar.placement_breaches(whole, whole.replicas, whole.leader, thresholds)
    breaches += [(name, breach) for name, breach in placement_breaches if name in known]
    led = whole.leader >= 0
    factor = int((whole.replicas[led] >= 0).sum(axis=1).max(initial=1))
    return {
        GOAL_VERDICT: list(_verdicts(verdicts, thresholds)),
        GOAL_BREACH: [
            {
                "goal": name,
                "broker_id": breach.broker_id,
                "topic": breach.topic,
                "partition": breach.partition,
                "measured": float(breach.measured),
                "limit_value": float(breach.limit),
                "formula": breach.formula,
                "smallest_change": breach.smallest_change,
                "near_limit": breach.near_limit,
            }
            for name, breach in breaches
        ],
        CLUSTER_BALANCE: [_balance(verdicts, int(whole.live.sum()), factor, thresholds, dead=dead)],
        NET_IMBALANCE: list(_net_imbalance(whole, led)),
    }


def _verdicts(verdicts: Mapping[str, Verdict], thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    costs = balancedness_cost_by_goal(thresholds)
    order = {name: place for place, name in enumerate(DEFAULT_GOALS, 1)}
    for name, hard in GOALS.items():
        verdict = verdicts[name]
        yield {
            "goal": name,
            "priority": order.get(name),
            "hard": hard,
            "weight": costs.get(name),
            "verdict": verdict.verdict,
            "breaches": verdict.breach_count,
            "lower_limit": _finite(verdict.lower),
            "upper_limit": _finite(verdict.upper),
            "near_limit": verdict.near_limit,
            "missing_input": verdict.missing_input,
            "provision": verdict.provision.status,
            "brokers": verdict.provision.brokers,
            "racks": verdict.provision.racks,
            "partitions": verdict.provision.partitions,
        }


def _balance(verdicts: Mapping[str, Verdict], live_brokers: int, factor: int, thresholds: Thresholds, *, dead: bool) -> dict[str, Any]:
    least, most = balancedness_score_range(verdicts, thresholds, has_dead_brokers=dead)
    size = aggregate_provision(verdicts, live_brokers, factor, thresholds) if not dead else ProvisionRecommendation(UNDECIDED)
    said = [verdicts[name].verdict for name in DEFAULT_GOALS]
    return {
        "balancedness_score": most if math.isclose(least, most) else None,
        "lowest_score": least,
        "highest_score": most,
        "goals_violated": sum(verdict in (VIOLATED, UNFIXABLE) for verdict in said),
        "goals_unknown": sum(verdict in (UNKNOWN, REFUSED) for verdict in said),
        "provision": size.status,
        "brokers_to_add": size.brokers if size.status == UNDER_PROVISIONED else None,
        "brokers_to_drop": size.brokers if size.status == OVER_PROVISIONED else None,
        "racks_to_add": size.racks if size.status == UNDER_PROVISIONED else None,
        "racks_to_drop": size.racks if size.status == OVER_PROVISIONED else None,
        "partitions_needed": size.partitions,
    }


def _net_imbalance(cluster: Cluster, led: Ints) -> Iterator[dict[str, Any]]:
    """At Yelp's four levels: of live brokers, and of the racks that these have."""
    live = np.flatnonzero(cluster.live)
    if not len(live):
        return
    rows = np.where(cluster.live[cluster.replicas], cluster.replicas, -1)[led]
    leader = cluster.leader[led]
    brokers = len(cluster.broker_ids)
    for level, of in (("replicas", rows[rows >= 0]), ("leaders", leader)):
        counts = np.bincount(of, minlength=brokers)[live][None, :]
        fullest = int(counts.argmax())
        yield _level(level, counts, len(live)) | {
            "coefficient_of_variation": _variation(counts[0]),
            "fullest_broker_items": int(counts.max()),
            "fullest_broker_id": int(cluster.broker_ids[live[fullest]]),
        }
    topics = columnar.topic_replica_counts(cluster, rows, cluster.topic[led])[:, live]
    if len(topics := topics[topics.any(axis=1)]):
        yield _level("topic replicas", topics, len(live))
    # Each rack once: by the first of a partition's replicas that is on it.
    racks, on_rack = np.where(rows >= 0, cluster.racks[rows], -1), columnar.replicas_on_same_rack(cluster, rows)
    earlier = np.tril(np.ones((rows.shape[1], rows.shape[1]), dtype=np.bool_), -1)
    again = ((racks[:, :, None] == racks[:, None, :]) & earlier).any(axis=2)
    counts = np.where(again, 0, on_rack)
    if len(counts := counts[counts.any(axis=1)]):
        yield _level("rack replicas", counts, len(np.unique(cluster.racks[live])))


def _level(level: str, counts: Ints, places: int) -> dict[str, Any]:
    moves = int(net_imbalance(counts, places).sum())
    return {"level": level, "items": int(counts.sum()), "net_imbalance": moves}


def _variation(counts: Floats) -> float | None:
    """The standard deviation of the counts over their mean."""
    return float(counts.std() / counts.mean()) if counts.sum() else None


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
