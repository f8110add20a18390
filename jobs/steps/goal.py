"""goal: the verdicts of Cruise Control's goals on each cluster, the brokers and topics that breach them, the score and the provisioning.

The partitions and brokers of a cluster become arrays, and kafka_model.cruise_control.columnar computes all verdicts in one Python call.
jobs.steps.cluster_array defines each partition's load. Brokers with the same `host` share it, and the goals on network and CPU add up their
loads and capacities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine import Engine, sql_text
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
from jobs.spark.worker_rows import Batches, WorkerRows, rows_of_each
from jobs.steps.cluster_array import cluster_arrays
from jobs.steps.stage import Stages
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

_PARTITIONS = sql_text(__file__, "goal")


def transform(
    cluster: pa.Table, broker: pa.Table, log_dir: Any, partition: Any, partition_load: Any, *, engine: Engine, thresholds: Thresholds
) -> Stages[tuple[Any, ...]]:
    """Return the tables of WRITES."""
    partitions = engine.sql(_PARTITIONS, cluster=cluster, log_dir=log_dir, partition=partition, partition_load=partition_load)
    return tuple((yield WorkerRows(partitions, partial(_evaluate, broker, thresholds), WRITES, together="cluster_id")))


def _evaluate(broker: pa.Table, thresholds: Thresholds, batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
    """Yield the rows of WRITES of each cluster in the batches."""
    for rows in rows_of_each(batches, "cluster_id"):
        cluster = {name: rows[name][0].as_py() for name in ("snapshot_id", "cluster_id")}
        brokers = broker.filter(pc.field("cluster_id") == cluster["cluster_id"]).to_pylist()
        for table, computed in _cluster_rows(brokers, rows, thresholds).items():
            yield table, pa.Table.from_pylist([cluster | row for row in computed], table.schema)


def _cluster_rows(brokers: Sequence[Mapping[str, Any]], rows: pa.Table, thresholds: Thresholds) -> dict[Table, Iterable[dict[str, Any]]]:
    """Return one cluster's rows of each table of WRITES, without the snapshot and the cluster. `rows` are those of goal.sql."""
    cluster, *_ = cluster_arrays(brokers, rows.filter(pc.field("topic").is_valid()))
    # Cruise Control knows a dead broker only by its replicas, and leaves out partitions without a leader.
    has_dead_replicas = bool((~cluster.live[cluster.replicas[cluster.replicas >= 0]]).any())
    has_dead_brokers = has_dead_replicas or bool(pc.any(rows["has_failed_log_dir"]).as_py())
    verdicts = columnar.evaluate(cluster, cluster.replicas, cluster.leader, thresholds)
    breaches = [(goal, breach) for goal, verdict in verdicts.items() for breach in verdict.breaches]
    placement_breaches = columnar.placement_breaches(cluster, cluster.replicas, cluster.leader, thresholds)
    breaches += [(goal, breach) for goal, breach in placement_breaches if verdicts[goal].verdict != UNKNOWN]
    has_leader = cluster.leader >= 0
    replication_factor = int((cluster.replicas[has_leader] >= 0).sum(axis=1).max(initial=1))
    live_brokers = int(cluster.live.sum())
    return {
        GOAL_VERDICT: _verdict_rows(verdicts, thresholds),
        GOAL_BREACH: ({"goal": goal, **breach._asdict(), "limit_value": breach.limit} for goal, breach in breaches),
        CLUSTER_BALANCE: [_balance_row(verdicts, live_brokers, replication_factor, thresholds, has_dead_brokers=has_dead_brokers)],
        NET_IMBALANCE: _net_imbalance_rows(cluster, has_leader),
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
