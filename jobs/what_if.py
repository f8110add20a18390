"""what_if: one failure, on request, of a published snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.errors import AuditError, listed
from jobs.failure.cluster_state import ClusterState, cluster_states
from jobs.failure.scenarios import Scenario
from jobs.lake.lake import Lake
from jobs.names import storable_id
from jobs.night import NightlyRun
from jobs.schema import BROKER, CLUSTER, LOG_DIR, REPLICA, Table
from jobs.snapshot import published_snapshot
from jobs.steps import failover
from jobs.steps.stage import ARROW_TABLES


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Brokers, racks and log dirs of a cluster that fail.

    The brokers fail in the given order, then the other brokers of each rack in the order of their ids, then the log dirs, each given as broker
    id, colon and path.
    """

    id: str
    cluster_id: str
    brokers: Sequence[int] = ()
    racks: Sequence[str] = ()
    log_dirs: Sequence[str] = ()
    unclean: bool | None = None  # None: as each topic's unclean.leader.election.enable
    controlled_shutdown: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", storable_id(self.id))


def simulate(lake: Lake, snapshot_id: str | None, what_if: WhatIf) -> str:
    """Compute a failure on a published snapshot, by default the cluster's newest, and store the result; return the snapshot's id."""
    night = NightlyRun.of_attempt(lake, published_snapshot(lake, snapshot_id, what_if.cluster_id).attempt)
    local = {table: night.of_cluster(table, what_if.cluster_id) for table in failover.READS if table in ARROW_TABLES}
    states = cluster_states(local[CLUSTER].to_pylist(), local[BROKER].to_pylist())
    scenario = _scenario(night, what_if, states[what_if.cluster_id])
    night.session()

    def rows(table: Table) -> DataFrame:
        return night.read(table).where(F.col("cluster_id") == what_if.cluster_id)

    inputs: dict[Table, DataFrame | pa.Table] = {table: local[table] if table in local else rows(table) for table in failover.READS}
    result = failover.simulate([scenario], states, inputs, replica=rows(REPLICA) if what_if.log_dirs else None)
    night.write(failover.WRITES, result, scenario_set=what_if.id, cluster_id=what_if.cluster_id)
    return night.snapshot_id


def _scenario(night: NightlyRun, what_if: WhatIf, state: ClusterState) -> Scenario:
    """Return the failure as a scenario; raise an AuditError if the cluster has no such live broker, rack or log dir."""
    if unknown := [broker for broker in what_if.brokers if broker not in state.racks]:
        raise AuditError(f"cluster {what_if.cluster_id} has no live broker {listed(unknown)}: it has {listed(state.racks)}")
    racks = set(filter(None, state.racks.values()))
    if unknown_racks := [rack for rack in what_if.racks if rack not in racks]:
        raise AuditError(f"cluster {what_if.cluster_id} has no live broker on rack {listed(unknown_racks)}: its racks are {listed(racks)}")
    if not what_if.brokers and not what_if.racks and not what_if.log_dirs:
        raise AuditError("a what-if needs at least one broker, rack or log dir that fails")
    failing = [*what_if.brokers, *(broker for failed in what_if.racks for broker, rack in state.racks.items() if rack == failed)]
    if what_if.log_dirs:
        failing += _brokers_without_log_dirs(night, what_if, state.racks.keys())
    return Scenario(
        night.snapshot_id,
        what_if.cluster_id,
        scenario_set=what_if.id,
        scenario_id=what_if.id,
        kind="what-if",
        brokers=list(dict.fromkeys(failing)),
        racks=list(what_if.racks),
        unclean=what_if.unclean,
        controlled_shutdown=what_if.controlled_shutdown,
        log_dirs=list(what_if.log_dirs),
    )


def _brokers_without_log_dirs(night: NightlyRun, what_if: WhatIf, live: Collection[int]) -> list[int]:
    """Return the brokers whose log dirs all fail: such a broker halts."""
    if what_if.controlled_shutdown:
        raise AuditError("a log dir cannot be shut down in order: leave out the controlled shutdown")
    log_dirs_of: dict[int, set[str]] = {}
    for row in _rows(night, LOG_DIR, what_if.cluster_id):
        if row["broker_id"] in live:
            log_dirs_of.setdefault(row["broker_id"], set()).add(f"{row['broker_id']}:{row['log_dir']}")
    known = set().union(*log_dirs_of.values())
    if unknown := set(what_if.log_dirs) - known:
        raise AuditError(f"cluster {what_if.cluster_id} has no live log dir {listed(unknown)}: it has {listed(known)}")
    return [broker for broker, log_dirs in sorted(log_dirs_of.items()) if log_dirs <= set(what_if.log_dirs)]


def _rows(night: NightlyRun, table: Table, cluster_id: str) -> list[dict[str, Any]]:
    return list(night.of_cluster(table, cluster_id).to_pylist())
