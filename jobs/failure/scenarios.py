"""Failure scenarios: which brokers and log dirs of a cluster fail, in which order, and what the quorum of its controllers does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from jobs.failure.cluster_state import ClusterState
from jobs.schema import SCENARIO
from jobs.schema.failure import NIGHTLY


class Scenario(NamedTuple):
    """Brokers of a cluster that fail in this order, then log dirs, each as broker id, colon and path. Fields are columns of `scenario`."""

    snapshot_id: str
    cluster_id: str
    scenario_set: str
    scenario_id: str
    kind: str
    brokers: Sequence[int]
    racks: Sequence[str] = ()
    unclean: bool | None = None  # None: as each topic's unclean.leader.election.enable
    controlled_shutdown: bool = False
    log_dirs: Sequence[str] = ()
    failover_scenario_id: str | None = None  # the scenario of the same set with the same outcome; None: this one


_DERIVED_FIELDS = (
    pa.field("controller_moves", pa.bool_()),  # null: the active controller is unknown
    pa.field("quorum_lost", pa.bool_()),  # null: the voters are unknown, or the controller uses ZooKeeper
    pa.field("effective_deaths", pa.int32()),
    pa.field("surviving_brokers", pa.int32()),
    pa.field("kraft", pa.bool_()),
    pa.field("failing_broker", pa.int32()),  # null: several brokers fail, or none
    pa.field("registration_records", pa.int32()),
    pa.field("requests_modeled", pa.bool_()),
)
_SCHEMA = pa.schema([*(SCENARIO.schema.field(name).with_nullable(True) for name in Scenario._fields), *_DERIVED_FIELDS])


def nightly_scenarios(state: ClusterState) -> list[Scenario]:
    """List the failures that every night computes: each live broker killed, each stopped in order, and the loss of each rack.

    The brokers of a rack fail in the order of their ids.
    """
    cluster = (state.snapshot_id, state.cluster_id, NIGHTLY)
    brokers_of: dict[str, list[int]] = {}
    for broker, rack in state.racks.items():
        if rack is not None:
            brokers_of.setdefault(rack, []).append(broker)
    return [
        *(Scenario(*cluster, f"broker {broker}", "broker", [broker]) for broker in state.racks),
        *(_stop(state, broker) for broker in state.racks),
        *(Scenario(*cluster, f"rack {rack}", "rack", brokers, [rack]) for rack, brokers in sorted(brokers_of.items())),
    ]


def _stop(state: ClusterState, broker: int) -> Scenario:
    """Return the controlled shutdown of a broker. In KRaft it has the same outcome as its death."""
    return Scenario(
        state.snapshot_id,
        state.cluster_id,
        NIGHTLY,
        f"stop {broker}",
        "stop",
        [broker],
        controlled_shutdown=True,
        failover_scenario_id=f"broker {broker}" if state.kraft else None,
    )


def quorum_breaking_pair_scenarios(state: ClusterState) -> list[Scenario]:
    """List the deaths of two live brokers that lose the quorum, the lower id first."""
    return [
        Scenario(state.snapshot_id, state.cluster_id, "pairs", f"brokers {one}+{other}", "pair", [one, other])
        for one, other in state.quorum_breaking_pairs()
    ]


def scenario_table(scenarios: Iterable[Scenario], states: Mapping[str, ClusterState]) -> pa.Table:
    """Return scenarios with what follows from the state of their cluster: the rows of jobs.failure.simulate.Failures."""
    rows = []
    for scenario in scenarios:
        state = states[scenario.cluster_id]
        rows.append(
            scenario._asdict()
            | {
                "controller_moves": None if state.controller_id is None else state.controller_id in scenario.brokers,
                "quorum_lost": None if state.remaining_voters is None else state.quorum_lost(scenario.brokers),
                "effective_deaths": state.effective_deaths(scenario.brokers),
                "surviving_brokers": len(state.racks.keys() - set(scenario.brokers)),
                "kraft": state.kraft,
                "failover_scenario_id": scenario.failover_scenario_id or scenario.scenario_id,
                "failing_broker": scenario.brokers[0] if len(scenario.brokers) == 1 else None,
                "registration_records": _registration_records(scenario, state),
                "requests_modeled": _requests_modeled(scenario, state),
            }
        )
    return pa.Table.from_pylist(rows, _SCHEMA)


def _registration_records(scenario: Scenario, state: ClusterState) -> int:
    """Return how many records of broker registrations a KRaft controller writes.

    It fences a killed broker with one record, and writes another one first if the broker shuts down in order. A broker whose log dirs fail
    reports all of them at once.
    """
    reporting = {int(log_dir.partition(":")[0]) for log_dir in scenario.log_dirs}.difference(scenario.brokers)
    return state.effective_deaths(scenario.brokers) * (2 if scenario.controlled_shutdown else 1) + len(reporting)


def _requests_modeled(scenario: Scenario, state: ClusterState) -> bool:
    """Return whether kafka_model.election.zookeeper_controller covers it: one broker fails while another one is the controller."""
    controller_moves = state.controller_id is not None and state.controller_id in scenario.brokers
    return not state.kraft and len(scenario.brokers) == 1 and not scenario.log_dirs and not controller_moves
