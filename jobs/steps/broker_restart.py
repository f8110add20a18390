"""broker_restart: an order in which brokers can be restarted, and what the return of each broker recovers and costs.

kafka_model.failover.rolling_restart computes the order. A broker returns after it was killed or stopped cleanly, or from the state in the
snapshot if it is dead already; the dumps do not contain how it died. A partition without a leader may then elect one
(kafka_model.failover.broker_failure.return_broker). The broker must catch up with the partitions whose ISR it left before a preferred election
makes it their leader again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.arrays import NO_BROKER, Ints, distinct_columns, elements_in, to_ints, to_matrix
from jobs.engine import Engine, sql_text
from jobs.failure.cluster_state import ClusterState, cluster_states
from jobs.failure.election_inputs import election_inputs
from jobs.failure.min_isr import effective_min_isr
from jobs.failure.patterns import INPUTS, Partitions
from jobs.failure.sizes import LEADER_SIZE, UNKNOWN, bytes_at_risk
from jobs.schema import BROKER, BROKER_RESTART, CLUSTER, PARTITION, PRODUCER_LOAD, TOPIC, Table
from jobs.schema.table import CLUSTER_COLUMNS
from jobs.spark.worker_rows import Batches, Compute, WorkerRows, summed
from jobs.steps.stage import Stages
from kafka_model.failover.rolling_restart import RestartConstraint, restart_order

READS = (CLUSTER, BROKER, TOPIC, PARTITION, PRODUCER_LOAD)
WRITES = (BROKER_RESTART,)

_DEATHS = ("kill", "stop")
_REVIVED = tuple(f"{name}_after_{death}" for death in _DEATHS for name in ("revived", "revived_uncleanly"))
_REGAINED = tuple(f"regained_leaders_after_{death}" for death in _DEATHS)
_SUMS = ("under_min_isr_partitions", "rejoining_partitions", *_REVIVED, "preferred_partitions", *_REGAINED, "full_copy_bytes",
         "truncated_size_bytes")  # fmt: skip
_BROKER = ("snapshot_id", "cluster_id", "broker_id")
_BROKER_COLUMNS = f"""
    {CLUSTER_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker'"""
TURN = Table(
    "turn",
    "the turn of a live broker in the rolling restart of a cluster where some broker may not stop now; not stored",
    _BROKER,
    f"""{_BROKER_COLUMNS},
    restart_order INT COMMENT 'as in broker_restart'""",
    partition_by=(),
)
BROKER_RETURN = Table(
    "broker_return",
    "sums over the partitions of a broker; not stored",
    _BROKER,
    ",\n".join([_BROKER_COLUMNS, *(f"{name} BIGINT COMMENT 'as in broker_restart'" for name in _SUMS)]),
    partition_by=(),
)
_INPUTS = sql_text(__file__, "broker_restart_inputs", INPUTS=", ".join(INPUTS), LEADER_SIZE=LEADER_SIZE)
_BROKER_RESTART = sql_text(__file__, "broker_restart")


def transform(
    cluster: pa.Table, broker: pa.Table, topic: Any, partition: Any, producer_load: Any, *, engine: Engine
) -> Stages[tuple[Any, ...]]:
    states = cluster_states(cluster.to_pylist(), broker.to_pylist())
    inputs = engine.sql(_INPUTS, election_inputs=election_inputs(engine, partition, topic, states.values()))
    tables = (TURN, BROKER_RETURN)
    turn, returned = yield WorkerRows(inputs, _restarts(states), tables, intermediate=frozenset(tables), together="cluster_id")
    relations = {"broker": broker, "partition": partition, "producer_load": producer_load}
    return (engine.sql(_BROKER_RESTART, turn=turn, broker_return=returned, **relations),)


def _restarts(states: Mapping[str, ClusterState]) -> Compute:
    """Return a function that orders the restarts of whole clusters, and sums up the returns of their brokers."""

    def compute(batches: Batches) -> Iterator[tuple[Table, pa.Table]]:
        returned, constraints = BROKER_RETURN.schema.empty_table(), defaultdict[str, set[RestartConstraint]](set)
        for batch in batches:
            stops = _Stops(batch)
            returned = summed(BROKER_RETURN, [returned, _returns(batch, stops)])
            for cluster_id, constraint in stops.constraints():
                constraints[cluster_id].add(constraint)
        yield BROKER_RETURN, returned
        turns = [turn for cluster_id, each in constraints.items() for turn in _turns(states[cluster_id], each)]
        yield TURN, pa.Table.from_pylist(turns, TURN.schema)

    return compute


class _Stops:
    """The partitions of a batch, as the stop of one more replica finds them."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._cluster = batch["cluster_id"].dictionary_encode()
        self._live = to_matrix(batch["live"])
        self._in_sync = elements_in(to_matrix(batch["isr"]), self._live)
        self._min_isr = np.maximum(effective_min_isr(batch), 1)
        self._avoidable = (self._live != NO_BROKER).sum(axis=0) > self._min_isr

    def unavoidable(self, broker: Ints, row: Ints) -> npt.NDArray[np.bool_]:
        """Return whether each broker's stop leaves the partition of its row under min ISR, even with all live replicas in sync."""
        return ~self._avoidable[row] & (self._in_sync[:, row] == broker).any(axis=0)

    def constraints(self) -> Iterator[tuple[str, RestartConstraint]]:
        """Yield clusters with the replicas of partitions that are under min ISR if one stops before a lagging one has restarted."""
        at_min_isr = (self._in_sync != NO_BROKER).sum(axis=0) <= self._min_isr
        rows, cluster_ids = np.flatnonzero(self._avoidable & at_min_isr), self._cluster.dictionary.to_pylist()
        scalars = np.stack([to_ints(self._cluster.indices, 0), self._min_isr])
        sets = (np.sort(brokers[:, rows], axis=0) for brokers in (self._live, self._in_sync))
        for (cluster, min_isr), *brokers in distinct_columns(scalars[:, rows], *sets)[0]:
            live, in_sync = (frozenset(ids) - {NO_BROKER} for ids in brokers)
            yield cluster_ids[cluster], RestartConstraint(live, in_sync, min_isr)


def _turns(state: ClusterState, constraints: Collection[RestartConstraint]) -> Iterator[dict[str, Any]]:
    """Yield the rows of TURN of a cluster: each live broker, with a null turn if it cannot restart safely."""
    turns = {broker: turn for turn, broker in enumerate(restart_order(state.racks.keys(), constraints).order, start=1)}
    for broker in state.racks:
        yield dict(zip(TURN.schema.names, (state.snapshot_id, state.cluster_id, broker, turns.get(broker)), strict=True))


def _returns(batch: pa.RecordBatch, stops: _Stops) -> pa.Table:
    """Return the rows of BROKER_RETURN of each partition alone."""
    partitions = Partitions(batch)
    broker, deaths = partitions.one_death_each(partitions.replicas)
    returned, row, position = partitions.returns(deaths), deaths.row, deaths.positions[0]
    live = (partitions.live[:, row] == position).any(axis=0)
    leader = returned["leader"]
    sizes, no_successor = to_matrix(batch["replica_size_bytes"], UNKNOWN), np.full(len(row), UNKNOWN)
    truncated, unknown = bytes_at_risk(sizes, row, returned["leader_before"], leader, no_successor)
    index, preferred = pa.array(row), position == 1
    columns = {
        **{name: batch[name].take(index) for name in _BROKER[:2]},
        "broker_id": broker,
        "under_min_isr_partitions": stops.unavoidable(broker, row),
        "rejoining_partitions": returned["rejoins"],
        **{name: returned[name] for name in _REVIVED},
        "preferred_partitions": preferred,
        **{
            name: preferred & _another_leads(returned[f"leader_after_{death}"], position)
            for name, death in zip(_REGAINED, _DEATHS, strict=True)
        },
        "full_copy_bytes": batch["size_bytes"].take(index),
        "truncated_size_bytes": pa.array(truncated, mask=unknown | (leader == 0) | ~live),
    }
    return pa.table(columns).cast(BROKER_RETURN.schema)


def _another_leads(leader: Ints, position: Ints) -> npt.NDArray[np.bool_]:
    """Return whether each partition has a leader other than its replica at this position."""
    return (leader > 0) & (leader != position)
