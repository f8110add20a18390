"""PartitionLeaderElectionAlgorithms, the four elections of the ZooKeeper controller, and the valid previous states of both machines."""

from __future__ import annotations

import random
from typing import Any

from kafka_model.election.leader_election import (
    elect_controlled_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassign,
)
from kafka_model.election.state_machines import ENTERED_FROM, ReplicaState, replica_entered_from
from kafka_model.release import parse_release

PROGRAMS = {"2.0.0": "Elections", "3.9.2": "Elections"}
RECORDED = 600
UNTIL = "3.9.2"


def case(rng: random.Random) -> dict[str, Any]:
    """Draw up to 6 replicas, sometimes none, an ISR in any order, sometimes empty or not among the replicas, and live brokers."""
    if rng.random() < 0.01:
        return {"states": True}
    replicas = rng.sample(range(9), rng.choice([0, 1, 2, 3, 3, 3, 4, 6]))
    some = [rng.sample(range(9), rng.choice([0, 1, 2, 4, 9])) for _ in range(3)]
    return {"replicas": replicas, "isr": some[0], "live": some[1], "shutting_down": some[2], "unclean": rng.random() < 0.5}


def answer(case: dict[str, Any], kafka: str) -> dict[str, Any]:
    """List the leader by each election, or the valid previous states of each state."""
    if "states" in case:
        version = parse_release(kafka)
        partitions = {state.value: sorted(previous.value for previous in before) for state, before in ENTERED_FROM.items()}
        replicas = {
            state.value: sorted(previous.value for previous in replica_entered_from(state, version=version)) for state in ReplicaState
        }
        return partitions | replicas
    replicas, isr, live = case["replicas"], case["isr"], case["live"]
    return {
        "offline": elect_offline(replicas, isr, live, unclean=case["unclean"]),
        "reassign": elect_reassign(replicas, isr, live),
        "preferred": elect_preferred(replicas, isr, live),
        "controlled_shutdown": elect_controlled_shutdown(replicas, isr, live, case["shutting_down"]),
    }
