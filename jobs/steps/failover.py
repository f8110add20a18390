"""failover: partitions, their clients and the brokers' load after the loss of each broker and of each rack.

A scenario is a list of brokers that fail in order (jobs/failure/scenarios.py). It changes only partitions with a replica on one of them, and
each partition goes through the failures one after the other (jobs/failure/simulate.py). The rest is SQL that Spark and DuckDB run: the files
failover_*.sql beside this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine import Engine, sql_text
from jobs.failure.cluster_state import ClusterState, cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.outcomes import OutcomeCollector
from jobs.failure.scenarios import Scenario, nightly_scenarios, scenario_table
from jobs.failure.simulate import Failures
from jobs.schema import (
    BROKER,
    CLUSTER,
    COMMITTED_OFFSET,
    CONSUMER_GROUP,
    FAILOVER,
    FAILOVER_LOAD,
    FAILOVER_PATTERN,
    OBSERVED_ASSIGNMENT,
    PARTITION,
    PARTITION_LOAD,
    PRODUCER_LOAD,
    REPLICA,
    SCENARIO,
    TOPIC,
    Table,
)
from jobs.spark.worker_rows import Batches, Compute, WorkerRows
from jobs.steps.stage import Stage, Stages
from kafka_model.java.hash_map import string_hashes

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD, PARTITION_LOAD, CONSUMER_GROUP, OBSERVED_ASSIGNMENT, COMMITTED_OFFSET)
WRITES = (SCENARIO, FAILOVER, FAILOVER_PATTERN, FAILOVER_LOAD)

_TEXTS = {
    name: sql_text(__file__, name)
    for name in ("failover_inputs", "failover_log_dirs", "failover_outcome", "failover_load", "failover_scenario")
}


def transform(*tables: Any, engine: Engine) -> Stages[tuple[Any, ...]]:
    inputs = dict(zip(READS, tables, strict=True))
    states = cluster_states(inputs[CLUSTER].to_pylist(), inputs[BROKER].to_pylist())
    return simulate(engine, [scenario for state in states.values() for scenario in nightly_scenarios(state)], states, inputs)


def simulate(
    engine: Engine, scenarios: Iterable[Scenario], states: Mapping[str, ClusterState], inputs: Mapping[Table, Any]
) -> Stages[tuple[Any, ...]]:
    """Compute WRITES for these scenarios, from the tables READS and, if log dirs fail, REPLICA."""

    def run(text: str, *tables: Table, **relations: Any) -> Any:
        return engine.sql(_TEXTS[text], **{table.name: inputs[table] for table in tables}, **relations)

    failures = scenario_table(scenarios, states)
    elections = election_inputs(engine, inputs[PARTITION], inputs[TOPIC], states.values())
    partitions = run("failover_inputs", PRODUCER_LOAD, election_inputs=elections)
    if REPLICA in inputs:
        partitions = run("failover_log_dirs", REPLICA, partitions=partitions)
    stored = failures.filter(pc.equal(failures["scenario_id"], failures["failover_scenario_id"]))
    tables = (FAILOVER, FAILOVER_PATTERN)
    affected, patterns = yield WorkerRows(partitions, _simulation(stored), tables, frozenset({FAILOVER_PATTERN}))
    outcomes = {"failure": failures, "failover": affected, "outcome": run("failover_outcome", failover_pattern=patterns)}
    load = yield Stage(
        run("failover_load", PRODUCER_LOAD, PARTITION_LOAD, OBSERVED_ASSIGNMENT, BROKER, election_inputs=elections, **outcomes),
        FAILOVER_LOAD,
    )
    engine.add_function("group_hash", group_hashes, "VARCHAR", "INT")
    read = (PARTITION, TOPIC, PRODUCER_LOAD, CONSUMER_GROUP, OBSERVED_ASSIGNMENT, COMMITTED_OFFSET)
    scenario = run("failover_scenario", *read, **outcomes, load=load)
    return scenario, affected, patterns, load


def _simulation(rows: pa.Table) -> Compute:
    def simulate_batches(batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
        failures, outcomes = Failures(rows), OutcomeCollector()
        for batch in batches:
            yield FAILOVER, failures.simulate(batch, outcomes)
        yield FAILOVER_PATTERN, outcomes.table()

    return simulate_batches


def group_hashes(group_ids: pa.Array) -> pa.Array:
    """Return Utils.abs(groupId.hashCode) of consumer groups, which decides their coordinators."""
    codes = string_hashes(group_ids.to_pylist())
    # Java has no absolute value of the lowest number.
    return pa.array([0 if code == -(1 << 31) else abs(code) for code in codes], pa.int32())
