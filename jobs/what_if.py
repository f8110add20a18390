"""what_if: one failure, on request, of a published snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from jobs.errors import AuditError, listed
from jobs.failure.cluster_state import ClusterState, cluster_states
from jobs.failure.scenarios import Scenario
from jobs.lake.lake import Lake
from jobs.names import storable_id
from jobs.schema import BROKER, CLUSTER, LOG_DIR, REPLICA
from jobs.snapshot import Snapshot, published_snapshot
from jobs.steps import failover
from jobs.steps.stage import InThisProcess, run_stages


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
    snapshot, cluster_id = published_snapshot(lake, snapshot_id, what_if.cluster_id), what_if.cluster_id
    states = cluster_states(*(snapshot.of_cluster(table, cluster_id).to_pylist() for table in (CLUSTER, BROKER)))
    scenario = _scenario(snapshot, what_if, states[cluster_id])
    engine = lake.engine(snapshot.scale)
    tables = (*failover.READS, *([REPLICA] if what_if.log_dirs else []))
    inputs = {table: snapshot.relation(table, cluster_id=cluster_id) for table in tables}
    computed = run_stages(failover.simulate(engine, [scenario], states, inputs), InThisProcess(engine))
    in_this_process = [rows.toArrow() for rows in computed]  # one after the other, since an engine serves one thread
    with ThreadPoolExecutor(len(failover.WRITES)) as pool:
        writing = [
            pool.submit(snapshot.replace, table, rows, scenario_set=what_if.id, cluster_id=cluster_id)
            for table, rows in zip(failover.WRITES, in_this_process, strict=True)
        ]
    for written in writing:
        written.result()
    return snapshot.snapshot_id


def _scenario(snapshot: Snapshot, what_if: WhatIf, state: ClusterState) -> Scenario:
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
        failing += _brokers_without_log_dirs(snapshot, what_if, state.racks.keys())
    return Scenario(
        snapshot.snapshot_id,
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


def _brokers_without_log_dirs(snapshot: Snapshot, what_if: WhatIf, live: Collection[int]) -> list[int]:
    """Return the brokers whose log dirs all fail: such a broker halts."""
    if what_if.controlled_shutdown:
        raise AuditError("a log dir cannot be shut down in order: leave out the controlled shutdown")
    log_dirs_of: dict[int, set[str]] = {}
    for row in snapshot.of_cluster(LOG_DIR, what_if.cluster_id).to_pylist():
        if row["broker_id"] in live:
            log_dirs_of.setdefault(row["broker_id"], set()).add(f"{row['broker_id']}:{row['log_dir']}")
    known = set().union(*log_dirs_of.values())
    if unknown := set(what_if.log_dirs) - known:
        raise AuditError(f"cluster {what_if.cluster_id} has no live log dir {listed(unknown)}: it has {listed(known)}")
    return [broker for broker, log_dirs in sorted(log_dirs_of.items()) if log_dirs <= set(what_if.log_dirs)]
