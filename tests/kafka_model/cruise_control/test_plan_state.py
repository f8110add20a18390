"""The state of a reassignment: the replicas of each broker after changes."""

from __future__ import annotations

import numpy as np

from kafka_model.cruise_control.columnar import Cluster
from kafka_model.cruise_control.limits import Thresholds
from kafka_model.cruise_control.plan import PlanRequest
from kafka_model.cruise_control.plan_state import DiskSpace, PlanState
from tests.kafka_model.cruise_control.clusters import THREE_RACKS

BROKERS = range(3)


def sorted_replicas(state: PlanState, broker: int) -> list[tuple[float, int, int]]:
    """Return (size, partition, slot) of each replica on a broker, from the matrix of replicas."""
    sizes = state.cluster.size.tolist()
    return sorted((sizes[partition], partition, slot) for partition, slot in np.argwhere(state.replicas == broker).tolist())


def movable_replicas(state: PlanState, broker: int) -> list[tuple[float, int, int]]:
    partitions, slots = state.movable_replicas(broker)
    return list(zip(state.cluster.size[partitions].tolist(), partitions.tolist(), slots.tolist(), strict=True))


def test_movable_replicas_are_in_the_order_of_sizes_after_every_change() -> None:
    rng = np.random.default_rng(3)
    rows = [("t", number, (1, 2), 1, float(rng.integers(5))) for number in range(40)]
    state = PlanState(cluster := Cluster.from_rows(THREE_RACKS, rows), PlanRequest(), Thresholds(), DiskSpace.from_share(cluster, 1.0))
    for change in range(200):
        partition, slot = int(rng.integers(40)), int(rng.integers(2))
        if change % 3:
            (free,) = set(BROKERS) - set(state.replicas[partition].tolist())
            state.set_replica(partition, slot, free, "replicas")
        else:
            state.relocate_leadership(partition, 1, "leaders")
        if change % 7 == 0:
            assert [movable_replicas(state, broker) for broker in BROKERS] == [sorted_replicas(state, broker) for broker in BROKERS]
