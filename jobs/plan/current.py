"""A cluster before a plan, built from its rows, and the limits that the plan respects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from expectations.limits import Limits, limits_of_cluster
from jobs.arrays import one_batch, to_ints
from jobs.engine import DuckdbEngine
from jobs.failure.cluster_state import ClusterState, cluster_state
from jobs.failure.counts import FailureCounts, count_refusing
from jobs.failure.election_inputs import distinct_election_inputs, election_inputs
from jobs.plan.assessment import Assessment, assess
from jobs.plan.disk_space import disk_space
from jobs.plan.question import PlanQuestion, Row, brokers_of_plan, check_possible
from jobs.schema import BROKER, CLUSTER, LOG_DIR, PARTITION, PARTITION_LOAD, POLICY, REPLICA, TOPIC, Table
from jobs.steps.cluster_array import ClusterArrays, cluster_arrays
from kafka_model.cruise_control import columnar
from kafka_model.cruise_control.columnar import Cluster
from kafka_model.cruise_control.limits import Thresholds
from kafka_model.cruise_control.plan_state import DiskSpace

READS = (CLUSTER, BROKER, LOG_DIR, TOPIC, PARTITION, REPLICA, PARTITION_LOAD, POLICY)


class CurrentCluster(NamedTuple):
    """A cluster before the plan, new brokers included."""

    brokers: list[Row]
    cluster: Cluster
    thresholds: Thresholds
    disk_limit: float  # share of each disk's capacity
    disk_space: DiskSpace
    cluster_state: ClusterState
    partitions: pa.RecordBatch  # with their election inputs, in the order of the cluster's partitions
    assessment: Assessment


def current_cluster(rows: Mapping[Table, pa.Table], question: PlanQuestion, limits: Limits) -> CurrentCluster:
    """Return the cluster with these rows of READS; raise AuditError if it cannot have the plan."""
    brokers = brokers_of_plan(rows[BROKER].to_pylist(), question)
    arrays = _arrays(rows, brokers)
    cluster = arrays.cluster
    check_possible(question, brokers, cluster.topics, rows[PARTITION])
    (cluster_row,) = rows[CLUSTER].to_pylist()
    racks = {row["broker_id"]: row["rack"] for row in brokers if row["live"]}
    # A broker that is drained may still die.
    state = cluster_state(cluster_row, racks, [row["broker_id"] for row in brokers if not row["live"]])
    engine = DuckdbEngine()
    inputs = election_inputs(engine, rows[PARTITION], rows[TOPIC], [state]).materialized()
    partitions = one_batch(inputs.toArrow().sort_by([("topic", "ascending"), ("partition", "ascending")]))
    distinct = one_batch(distinct_election_inputs(engine, inputs).toArrow())
    failures = FailureCounts(state)
    failures.add(distinct, to_ints(distinct["partitions"], 0))
    thresholds = limits.cruise_control
    verdicts = columnar.evaluate(cluster, cluster.replicas, cluster.leader, thresholds)
    own_limits = limits_of_cluster(limits, rows[POLICY].to_pylist())
    disk_limit = own_limits.plan_disk_share_most if question.disk_limit is None else question.disk_limit
    return CurrentCluster(
        brokers=brokers,
        cluster=cluster,
        thresholds=thresholds,
        disk_limit=disk_limit,
        disk_space=disk_space(rows, brokers, arrays, disk_limit),
        cluster_state=state,
        partitions=partitions,
        assessment=assess(verdicts, thresholds, failures, count_refusing(partitions), math.inf),
    )


def _arrays(rows: Mapping[Table, pa.Table], brokers: Sequence[Row]) -> ClusterArrays:
    """Return the arrays of these brokers and of the partitions with their loads."""
    partitions = rows[PARTITION].select(["topic", "partition", "leader", "replicas", "replica_size_bytes"])
    key = ["topic", "partition"]
    # Arrow cannot join tables with list columns, so join the keys and their row numbers.
    numbered = partitions.select(key).append_column("row", pa.array(range(len(partitions)), pa.int64()))
    loads = numbered.join(rows[PARTITION_LOAD].drop_columns(["snapshot_id", "cluster_id"]), key, join_type="left outer").sort_by("row")
    for name in ("disk_bytes", "network_in_bytes_per_s", "network_out_bytes_per_s", "cpu_percent"):
        partitions = partitions.append_column(name, loads[name])
    return cluster_arrays(brokers, partitions)
