"""joint_failover: partitions lost when two brokers die, and how likely several random deaths lose data or stop writes.

Two deaths differ from the two single deaths only in partitions with a replica on both brokers. Only those partitions are simulated, so all
pairs cost at most partitions x replicas^2, and two brokers without a shared partition cost nothing.
kafka_model.failover.joint_failure counts the fatal sets of more brokers from the distinct replica sets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from math import comb
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jobs.arrays import NO_BROKER, Ints, Matrix, distinct_columns, elements_in, to_ints, to_matrix
from jobs.engine import Engine, sql_text
from jobs.failure.cluster_state import ClusterState, cluster_states
from jobs.failure.election_inputs import distinct_election_inputs, election_inputs
from jobs.failure.min_isr import effective_min_isr
from jobs.failure.patterns import Counts, Partitions
from jobs.failure.scenarios import quorum_breaking_pair_scenarios, scenario_table
from jobs.failure.simulate import Failures, pair_counts
from jobs.schema import BROKER, BROKER_PAIR, CLUSTER, JOINT_LOSS, PARTITION, SCENARIO, TOPIC, Table
from jobs.schema.failure import HARMS, ONE_BROKER_KILLED
from jobs.schema.table import CLUSTER_COLUMNS
from jobs.spark.worker_rows import Batches, Compute, WorkerRows, summed
from jobs.steps.stage import Stages
from kafka_model.failover.joint_failure import count_fatal_sets, fatal_to_writes

READS = (CLUSTER, BROKER, TOPIC, PARTITION, SCENARIO)
WRITES = (BROKER_PAIR, JOINT_LOSS)

MAX_DEATHS = 5
_COUNT_COLUMNS = f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'the broker that dies first',
    other_broker_id INT NOT NULL COMMENT 'the broker that dies second',
    shared_partitions BIGINT NOT NULL COMMENT 'partitions with a replica on both brokers',
    newly_offline BIGINT NOT NULL COMMENT 'partitions, as in broker_pair',
    newly_refusing_acks_all BIGINT NOT NULL COMMENT 'partitions, as in broker_pair',
    newly_lost BIGINT NOT NULL COMMENT 'partitions, as in broker_pair'
"""
_PAIR = ("snapshot_id", "cluster_id", "broker_id", "other_broker_id")
JOINT_COUNT = Table("joint_count", "what two deaths do minus what each one does alone; not stored", _PAIR, _COUNT_COLUMNS, partition_by=())
QUORUM_COUNT = Table(
    "quorum_count", "what two deaths do that lose the quorum, in each order; not stored", _PAIR, _COUNT_COLUMNS, partition_by=()
)
_HARMS = [Counts._fields.index(name) for name in HARMS]
_BROKER_PAIR = sql_text(__file__, "joint_failover_broker_pair", ONE_BROKER_KILLED=ONE_BROKER_KILLED)


class _ReplicaSet(NamedTuple):
    """Brokers of partitions, in the order of their ids."""

    replication_factor: int
    min_insync_replicas: int  # the effective one
    live: tuple[int, ...]
    safe: tuple[int, ...]  # live replicas with every acknowledged record
    in_sync: tuple[int, ...]  # live replicas in the ISR of a partition with a leader; empty: it has none


def transform(
    cluster: pa.Table, broker: pa.Table, topic: Any, partition: Any, scenario: pa.Table, *, engine: Engine
) -> Stages[tuple[Any, ...]]:
    states = cluster_states(cluster.to_pylist(), broker.to_pylist())
    inputs = distinct_election_inputs(engine, election_inputs(engine, partition, topic, states.values()))
    tables = (JOINT_COUNT, QUORUM_COUNT, JOINT_LOSS)
    joint, quorum, losses = yield WorkerRows(
        inputs, _joint_deaths(states), tables, frozenset({JOINT_LOSS}), frozenset({JOINT_COUNT, QUORUM_COUNT}), together="cluster_id"
    )
    return engine.sql(_BROKER_PAIR, joint_count=joint, quorum_count=quorum, scenario=scenario), losses


def _joint_deaths(states: Mapping[str, ClusterState]) -> Compute:
    """Return a function that counts the joint deaths of the brokers of whole clusters."""
    # The controllers react to the first death of these pairs only, so all partitions of both brokers are simulated, in both orders.
    breaking = [pair for state in states.values() for pair in quorum_breaking_pair_scenarios(state)]
    breaking += [pair._replace(brokers=pair.brokers[::-1]) for pair in breaking]
    breaking_pairs = scenario_table(breaking, states)

    def compute(batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
        failures, replica_sets = Failures(breaking_pairs), defaultdict[str, set[_ReplicaSet]](set)
        joint = quorum = JOINT_COUNT.schema.empty_table()
        for batch in batches:
            partitions = Partitions(batch)
            joint = summed(JOINT_COUNT, [joint, *_joint_counts(batch, partitions)])
            if breaking:
                quorum = summed(QUORUM_COUNT, [quorum, _quorum_counts(batch, partitions, failures)])
            for cluster_id, replica_set in _replica_sets(batch):
                replica_sets[cluster_id].add(replica_set)
        yield JOINT_COUNT, joint
        yield QUORUM_COUNT, quorum
        losses = [row for cluster_id, sets in replica_sets.items() for row in _losses(states[cluster_id], sets)]
        yield JOINT_LOSS, pa.Table.from_pylist(losses, JOINT_LOSS.schema)

    return compute


def _joint_counts(batch: pa.RecordBatch, partitions: Partitions) -> Iterator[pa.Table]:
    """Yield, for each two live replicas, the counts of both deaths minus those of each death alone."""
    for pair in pair_counts(partitions):
        yield _pair_rows(batch, pair.row, pair.brokers, np.ones_like(pair.row), pair.joint)


def _quorum_counts(batch: pa.RecordBatch, partitions: Partitions, failures: Failures) -> pa.Table:
    """Return the counts of the partitions that the deaths of these pairs affect."""
    failure, deaths = failures.affected_by(partitions, batch["cluster_id"])
    pairs = to_matrix(failures.columns["brokers"])[:, failure]
    shared = (deaths.positions > 0).sum(axis=0) == 2
    return _pair_rows(batch, deaths.row, pairs, shared, partitions.counts(deaths))


def _pair_rows(batch: pa.RecordBatch, row: Ints, pair: Matrix, shared: Ints, counts: Matrix) -> pa.Table:
    """Return a row of JOINT_COUNT for each pair of each row of a batch, whose column `partitions` multiplies the counts."""
    partitions = to_ints(batch["partitions"], 0)[row]
    harms = (partitions * counts[:, harm] for harm in _HARMS)
    names = (batch[name].take(pa.array(row)) for name in _PAIR[:2])
    ids = (pa.array(side, pa.int32()) for side in pair)
    return pa.table([*names, *ids, pa.array(partitions * shared), *map(pa.array, harms)], schema=JOINT_COUNT.schema)


def _replica_sets(batch: pa.RecordBatch) -> Iterator[tuple[str, _ReplicaSet]]:
    """Yield the distinct replica sets of each cluster of a batch."""
    live, isr, elr = (to_matrix(batch[name]) for name in ("live", "isr", "elr"))
    led = elements_in(to_ints(batch["leader"], NO_BROKER)[np.newaxis], live) != NO_BROKER
    safe, in_sync = elements_in(live, np.concatenate([isr, elr])), np.where(led, elements_in(isr, live), NO_BROKER)
    cluster = batch["cluster_id"].dictionary_encode()
    scalars = np.stack([to_ints(cluster.indices, 0), to_ints(pc.list_value_length(batch["replicas"]), 0), effective_min_isr(batch)])
    sets = (np.sort(brokers, axis=0) for brokers in (live, safe, in_sync))  # NO_BROKER comes first
    cluster_ids = cluster.dictionary.to_pylist()
    for (index, replication_factor, min_insync_replicas), *brokers in distinct_columns(scalars, *sets)[0]:
        sets = (ids[ids.count(NO_BROKER) :] for ids in brokers)
        yield cluster_ids[index], _ReplicaSet(replication_factor, min_insync_replicas, *sets)


def _losses(state: ClusterState, replica_sets: Collection[_ReplicaSet]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a cluster: for two deaths, and for as many deaths as each of its replication factors."""
    brokers = sorted(state.racks)
    fatal_to_data = {each.safe for each in replica_sets if each.safe}
    fatal_to_any_write = {
        fatal for each in replica_sets if each.in_sync for fatal in fatal_to_writes(each.in_sync, each.min_insync_replicas)
    }
    fatal_to_any_write.update(state.quorum_breaking_sets())
    factors = {each.replication_factor for each in replica_sets} | {2}
    for deaths in sorted(factor for factor in factors if 2 <= factor <= min(len(brokers), MAX_DEATHS)):
        broker_sets = comb(len(brokers), deaths)
        data, writes = (count_fatal_sets(fatal, brokers=brokers, deaths=deaths) for fatal in (fatal_to_data, fatal_to_any_write))
        copysets = {each.live for each in replica_sets if each.safe and each.replication_factor == deaths == len(each.live)}
        yield {
            "snapshot_id": state.snapshot_id,
            "cluster_id": state.cluster_id,
            "deaths": deaths,
            "live_brokers": len(brokers),
            "broker_sets": broker_sets,
            "copysets": len(copysets),
            "data_loss_sets": data,
            "write_outage_sets": writes,
            "data_loss_probability": None if data is None else data / broker_sets,
            "write_outage_probability": None if writes is None else writes / broker_sets,
        }
