"""failover: partitions, their clients and the brokers' load after the loss of each broker and of each rack.

A scenario is a list of brokers that fail in order (jobs/failure/scenarios.py). It changes only partitions with a replica on one of them, and
each partition goes through the failures one after the other (jobs/failure/simulate.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.failure.cluster_state import ClusterState, cluster_election_rules, cluster_states
from jobs.failure.election_inputs import empty_for_null, with_election_inputs
from jobs.failure.scenarios import Scenario, nightly_scenarios, scenario_table
from jobs.failure.simulate import Failures
from jobs.schema import (
    BROKER,
    CLUSTER,
    COMMITTED_OFFSET,
    CONSUMER_GROUP,
    FAILOVER,
    FAILOVER_LOAD,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_LOAD,
    PRODUCER_LOAD,
    SCENARIO,
    TOPIC,
    Table,
)
from jobs.schema.failure import HARMS, LEADER_LOST, LEADER_MOVED
from jobs.spark.session import cluster_files_by_id, dataframe_from_arrow
from jobs.steps.controller_work import controller_work, request_batches
from jobs.steps.failover_clients import consumers, coordinators, undeliverable_records
from jobs.steps.failover_load import failover_load, partition_rates
from jobs.steps.stage import Stage, Stages

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD, PARTITION_LOAD, CONSUMER_GROUP, OBSERVED_ASSIGNMENT, COMMITTED_OFFSET)
WRITES = (SCENARIO, FAILOVER, FAILOVER_LOAD)

_CLUSTER = ["snapshot_id", "cluster_id"]
_SCENARIO = [*_CLUSTER, "scenario_set", "scenario_id"]
_PARTITION = [*_CLUSTER, "topic", "partition"]


def transform(*tables: Any) -> Stages[tuple[DataFrame, ...]]:
    inputs = dict(zip(READS, tables, strict=True))
    states = cluster_states(inputs[CLUSTER].to_pylist(), inputs[BROKER].to_pylist())
    return simulate([scenario for state in states.values() for scenario in nightly_scenarios(state)], states, inputs)


def simulate(
    scenarios: Iterable[Scenario], states: Mapping[str, ClusterState], inputs: Mapping[Table, Any], *, replica: DataFrame | None = None
) -> Stages[tuple[DataFrame, ...]]:
    """Compute WRITES for these scenarios, from the tables READS; `replica` is needed if log dirs fail."""
    spark = inputs[PARTITION].sparkSession
    failures = scenario_table(scenarios, states)
    election_rules = dataframe_from_arrow(spark, cluster_election_rules(states.values()))
    partitions = with_election_inputs(inputs[PARTITION], inputs[TOPIC], election_rules, "replica_size_bytes")
    records_per_byte = (
        inputs[PRODUCER_LOAD]
        .where("observed_size_bytes > 0")
        .select(*_PARTITION, (F.col("observed_records") / F.col("observed_size_bytes")).alias("records_per_byte"))
    )
    with_records = partitions.join(records_per_byte, on=_PARTITION, how="left")
    if replica is not None:
        with_records = with_records.join(_log_dirs(replica), on=_PARTITION, how="left").withColumn("log_dirs", empty_for_null("log_dirs"))
    outcomes = yield Stage(with_records.mapInArrow(_simulation(failures), FAILOVER.columns), FAILOVER)
    sample = (
        inputs[PRODUCER_LOAD]
        .where("records IS NOT NULL")
        .select(*_PARTITION, "records", "size_bytes", "keyed_records", "explicit_records", "unkeyed_records")
    )
    rates = partition_rates(inputs[PRODUCER_LOAD], inputs[PARTITION_LOAD], inputs[OBSERVED_ASSIGNMENT])
    load = yield Stage(failover_load(outcomes, partitions, sample, rates, dataframe_from_arrow(spark, inputs[BROKER])))
    client_counts = (
        coordinators(outcomes, inputs[PARTITION], inputs[CONSUMER_GROUP]),
        consumers(outcomes, inputs[OBSERVED_ASSIGNMENT], inputs[COMMITTED_OFFSET]),
        undeliverable_records(outcomes, inputs[TOPIC], sample),
    )
    summary = _with_partition_counts(dataframe_from_arrow(spark, failures), outcomes, load)
    for add_counts in client_counts:
        summary = add_counts(summary)
    return _scenario_rows(summary), outcomes, cluster_files_by_id(load.select(*FAILOVER_LOAD.schema.names))


def _simulation(rows: pa.Table) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def simulate_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        failures = Failures(rows)
        for batch in batches:
            yield failures.simulate(batch)

    return simulate_batches


def _log_dirs(replica: DataFrame) -> DataFrame:
    """Return the log dirs of each partition's replicas, each as broker id, colon and path."""
    log_dir = F.concat("broker_id", F.lit(":"), "log_dir")
    assigned = replica.where("log_dir IS NOT NULL AND replica_index IS NOT NULL")
    return assigned.groupBy(_PARTITION).agg(F.collect_list(log_dir).alias("log_dirs"))


def _with_partition_counts(scenarios: DataFrame, outcomes: DataFrame, load: DataFrame) -> DataFrame:
    """Add to each scenario the counts of its partitions, its request batches, and the survivors with the largest gain and share."""
    leaderless = F.col("leader").isNull()
    counts = {
        "partitions": F.count("*"),
        "moved_leaders": F.count_if(F.expr(LEADER_MOVED)),
        "leaderless": F.count_if(leaderless),
        "under_min_isr": F.count_if("under_min_isr"),
        "at_min_isr": F.count_if("at_min_isr"),
        "unclean_leaders": F.count_if(F.col("unclean") & ~leaderless),
        "no_replica_left": F.count_if(F.col("live_replicas") == 0),
        **{name: F.count_if(F.expr(harm)) for name, harm in HARMS.items()},
        "changed_partitions": F.count_if(F.expr("leader IS DISTINCT FROM leader_before OR isr <> sort_array(isr_before)")),
        "transitions": F.sum(F.size("transitions")),
        "at_risk_size_bytes": F.sum("at_risk_size_bytes"),
        "at_risk_records": F.sum("at_risk_records"),
        "at_risk_unknown": F.count_if(F.expr(LEADER_LOST) & F.col("at_risk_size_bytes").isNull()),
        "partition_records": F.sum("metadata_records"),
    }
    counted = outcomes.groupBy(_SCENARIO).agg(*(count.alias(name) for name, count in counts.items()))
    batches = request_batches(scenarios, outcomes)
    lowest_id_first = (-F.col("broker_id")).alias("negative_id")
    share_known = F.col("network_out_share").isNotNull()
    survivors = load.groupBy(_SCENARIO).agg(
        F.max(F.struct("gained_leaders", lowest_id_first)).alias("busiest"),
        F.max(F.when(share_known, F.struct("network_out_share", lowest_id_first))).alias("fullest"),
    )
    return (
        scenarios.join(counted, on=_SCENARIO, how="left")
        .join(batches, on=_SCENARIO, how="left")
        .fillna(0, [name for name in (*counted.columns, *batches.columns) if name not in _SCENARIO])
        .join(survivors, on=_SCENARIO, how="left")
    )


def _scenario_rows(summary: DataFrame) -> DataFrame:
    """Return the rows of `scenario` from scenarios with all counts."""
    gained = F.coalesce("busiest.gained_leaders", F.lit(0))
    computed = {
        "busiest_survivor": -F.col("busiest.negative_id"),
        "busiest_gained_leaders": gained,
        "concentration": F.when(F.col("moved_leaders") > 0, gained * F.col("surviving_brokers") / F.col("moved_leaders")),
        "fullest_survivor": -F.col("fullest.negative_id"),
        "fullest_survivor_share": F.col("fullest.network_out_share"),
        "undeliverable_share": F.when(F.col("sampled_records") > 0, F.col("undeliverable_records") / F.col("sampled_records")),
        **controller_work(),
    }
    return summary.select(*(computed[name].alias(name) if name in computed else name for name in SCENARIO.schema.names))
