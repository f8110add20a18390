"""goal: the verdicts of Cruise Control's goals on each cluster, the brokers and topics that breach them, the score and the provisioning.

The partitions and brokers of a cluster become arrays, and kafka_model.cruise_control.columnar computes all verdicts in one Python call.
jobs.steps.cluster_array defines each partition's load. Brokers with the same `host` share it, and the goals on network and CPU add up their
loads and capacities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

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
from jobs.spark.session import dataframe_from_arrow
from jobs.steps.cluster_array import cluster_arrays
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
    Breach,
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
    cluster: pa.Table,
    broker: pa.Table,
    log_dir: DataFrame,
    partition: DataFrame,
    partition_load: DataFrame,
    *,
    thresholds: Thresholds,
) -> Stages[tuple[DataFrame, ...]]:
    """Return the tables of WRITES."""
    # No null list is sent to Python: Spark's Arrow writer takes n * n steps for n null lists.
    sizes = F.coalesce("replica_size_bytes", F.array()).alias("replica_size_bytes")
    partitions = partition.select(*_PARTITION, "leader", "replicas", sizes).join(partition_load, on=_PARTITION, how="left")
    failed_log_dirs = log_dir.where("error IS NOT NULL").select(*_CLUSTER).distinct().withColumn("has_failed_log_dir", F.lit(True))
    clusters, all_brokers = (dataframe_from_arrow(partition.sparkSession, rows) for rows in (cluster, broker))
    brokers = (
        clusters.select(*_CLUSTER)
        .join(all_brokers.select(*_CLUSTER, "broker_id", "rack", "live", "host", *_CAPACITIES), on=_CLUSTER, how="left")
        .join(failed_log_dirs, on=_CLUSTER, how="left")
    )
    grouped = brokers.groupBy(*_CLUSTER).cogroup(partitions.groupBy(*_CLUSTER))
    results = yield Stage(grouped.applyInArrow(_evaluate_cluster(thresholds), from_arrow_schema(_RESULT_SCHEMA)))
    return tuple(results.where(F.col(table.name).isNotNull()).select(*_CLUSTER, f"{table.name}.*") for table in WRITES)


def _nullable_columns(table: Table) -> list[pa.Field]:
    """Return the columns of a table after the snapshot and the cluster, all nullable."""
    return [field.remove_metadata().with_nullable(True) for field in list(table.schema)[len(_CLUSTER) :]]


# A row contains a row of one table, in the column with the table's name; the other tables' columns are null.
_RESULT_SCHEMA = pa.schema(
    [*(pa.field(name, pa.string()) for name in _CLUSTER), *(pa.field(table.name, pa.struct(_nullable_columns(table))) for table in WRITES)]
)


def _evaluate_cluster(thresholds: Thresholds) -> Callable[[tuple[pa.Scalar, ...], pa.Table, pa.Table], pa.Table]:
    """Return the function that computes all result rows of one cluster from its brokers and partitions."""

    def evaluate(key: tuple[pa.Scalar, ...], brokers: pa.Table, partitions: pa.Table) -> pa.Table:
        rows = _cluster_rows(brokers, partitions, thresholds)
        parts = []
        for table in WRITES:
            structs = pa.array(rows[table], pa.struct(_nullable_columns(table)))
            columns = [pa.array([value.as_py()] * len(structs), pa.string()) for value in key]
            columns += [structs if other is table else pa.nulls(len(structs), pa.struct(_nullable_columns(other))) for other in WRITES]
            parts.append(pa.Table.from_arrays(columns, schema=_RESULT_SCHEMA))
        return pa.concat_tables(parts)

    return evaluate


def _cluster_rows(brokers: pa.Table, partitions: pa.Table, thresholds: Thresholds) -> dict[Table, list[dict[str, Any]]]:
    """Return one cluster's rows of each table of WRITES."""
    cluster, *_ = cluster_arrays([row for row in brokers.to_pylist() if row["broker_id"] is not None], partitions)
    # Cruise Control knows a dead broker only by its replicas, and leaves out partitions without a leader.
    has_dead_replicas = bool((~cluster.live[cluster.replicas[cluster.replicas >= 0]]).any())
    has_dead_brokers = has_dead_replicas or any(brokers["has_failed_log_dir"].to_pylist())
    verdicts = columnar.evaluate(cluster, cluster.replicas, cluster.leader, thresholds)
    breaches = [(goal, breach) for goal, verdict in verdicts.items() for breach in verdict.breaches]
    placement_breaches = columnar.placement_breaches(cluster, cluster.replicas, cluster.leader, thresholds)
    breaches += [(goal, breach) for goal, breach in placement_breaches if verdicts[goal].verdict != UNKNOWN]
    has_leader = cluster.leader >= 0
    replication_factor = int((cluster.replicas[has_leader] >= 0).sum(axis=1).max(initial=1))
    live_brokers = int(cluster.live.sum())
    return {
        GOAL_VERDICT: list(_verdict_rows(verdicts, thresholds)),
        GOAL_BREACH: [_breach_row(goal, breach) for goal, breach in breaches],
        CLUSTER_BALANCE: [_balance_row(verdicts, live_brokers, replication_factor, thresholds, has_dead_brokers=has_dead_brokers)],
        NET_IMBALANCE: list(_net_imbalance_rows(cluster, has_leader)),
    }


def _verdict_rows(verdicts: Mapping[str, Verdict], thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    weights = balancedness_cost_by_goal(thresholds)
    priorities = {goal: priority for priority, goal in enumerate(DEFAULT_GOALS, 1)}
    for goal, hard in GOALS.items():
        verdict = verdicts[goal]
        yield {
            "goal": goal,
            "priority": priorities.get(goal),
            "hard": hard,
            "weight": weights.get(goal),
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


def _breach_row(goal: str, breach: Breach) -> dict[str, Any]:
    return {
        "goal": goal,
        "broker_id": breach.broker_id,
        "topic": breach.topic,
        "partition": breach.partition,
        "measured": float(breach.measured),
        "limit_value": float(breach.limit),
        "formula": breach.formula,
        "smallest_change": breach.smallest_change,
        "near_limit": breach.near_limit,
    }


def _balance_row(
    verdicts: Mapping[str, Verdict], live_brokers: int, replication_factor: int, thresholds: Thresholds, *, has_dead_brokers: bool
) -> dict[str, Any]:
    lowest, highest = balancedness_score_range(verdicts, thresholds, has_dead_brokers=has_dead_brokers)
    provision = (
        ProvisionRecommendation(UNDECIDED)
        if has_dead_brokers
        else aggregate_provision(verdicts, live_brokers, replication_factor, thresholds)
    )
    default_verdicts = [verdicts[goal].verdict for goal in DEFAULT_GOALS]
    return {
        "balancedness_score": highest if math.isclose(lowest, highest) else None,
        "lowest_score": lowest,
        "highest_score": highest,
        "goals_violated": sum(verdict in (VIOLATED, UNFIXABLE) for verdict in default_verdicts),
        "goals_unknown": sum(verdict in (UNKNOWN, REFUSED) for verdict in default_verdicts),
        "provision": provision.status,
        "brokers_to_add": provision.brokers if provision.status == UNDER_PROVISIONED else None,
        "brokers_to_drop": provision.brokers if provision.status == OVER_PROVISIONED else None,
        "racks_to_add": provision.racks if provision.status == UNDER_PROVISIONED else None,
        "racks_to_drop": provision.racks if provision.status == OVER_PROVISIONED else None,
        "partitions_needed": provision.partitions,
    }


def _net_imbalance_rows(cluster: Cluster, has_leader: columnar.Bools) -> Iterator[dict[str, Any]]:
    """Yield Yelp's net imbalance of replicas, leaders, each topic's replicas and each rack's replicas, on live brokers only."""
    live = np.flatnonzero(cluster.live)
    if not len(live):
        return
    replicas = np.where(cluster.live[cluster.replicas], cluster.replicas, -1)[has_leader]
    for level, brokers in (("replicas", replicas[replicas >= 0]), ("leaders", cluster.leader[has_leader])):
        counts = np.bincount(brokers, minlength=len(cluster.broker_ids))[live][None, :]
        fullest = int(counts.argmax())
        yield _net_imbalance_row(level, counts, len(live)) | {
            "coefficient_of_variation": _coefficient_of_variation(counts[0]),
            "fullest_broker_items": int(counts.max()),
            "fullest_broker_id": int(cluster.broker_ids[live[fullest]]),
        }
    topic_counts = columnar.topic_replica_counts(cluster, replicas, cluster.topic[has_leader])[:, live]
    if len(topic_counts := topic_counts[topic_counts.any(axis=1)]):
        yield _net_imbalance_row("topic replicas", topic_counts, len(live))
    rack_counts = _replicas_by_rack(cluster, replicas)
    if len(rack_counts := rack_counts[rack_counts.any(axis=1)]):
        yield _net_imbalance_row("rack replicas", rack_counts, len(np.unique(cluster.racks[live])))


def _replicas_by_rack(cluster: Cluster, replicas: Ints) -> Ints:
    """Return for each partition the number of replicas on each of its racks; 0 pads the rows.

    The count of a rack is in the column of the partition's first replica on that rack.
    """
    racks = np.where(replicas >= 0, cluster.racks[replicas], -1)
    earlier = np.tril(np.ones((replicas.shape[1], replicas.shape[1]), dtype=np.bool_), -1)
    is_repeated = ((racks[:, :, None] == racks[:, None, :]) & earlier).any(axis=2)
    return np.where(is_repeated, 0, columnar.replicas_on_same_rack(cluster, replicas))


def _net_imbalance_row(level: str, counts: Ints, groups: int) -> dict[str, Any]:
    return {"level": level, "items": int(counts.sum()), "net_imbalance": int(net_imbalance(counts, groups).sum())}


def _coefficient_of_variation(counts: Floats) -> float | None:
    """Return the standard deviation of the counts over their mean; None if all counts are 0."""
    return float(counts.std() / counts.mean()) if counts.sum() else None


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
