"""The report of a what-if: a summary, the affected partitions, and the load that each survivor takes over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from jobs.report.tables import query_table

if TYPE_CHECKING:
    from jobs.views import DuckdbViews

_WHERE = "WHERE snapshot_id = ? AND cluster_id = ? AND scenario_set = ?"
_COLUMNS = (
    "cluster_id", "brokers", "log_dirs", "unclean", "controlled_shutdown", "partitions", "moved_leaders", "newly_offline",
    "newly_refusing_acks_all", "at_min_isr", "unclean_leaders", "no_replica_left", "quorum_lost", "at_risk_size_bytes", "at_risk_unknown",
    "undeliverable_records", "undeliverable_share", "redirected_records", "affected_groups", "stranded_members", "moved_coordinators",
    "lost_coordinators", "metadata_records", "leader_and_isr_requests", "update_metadata_requests", "controller_moves", "order_dependent_partitions",
)  # fmt: skip


def what_if_report(connection: DuckdbViews, snapshot_id: str, cluster_id: str, what_if_id: str) -> list[RenderableType]:
    """Return the parts of a what-if's report."""
    parameters = [snapshot_id, cluster_id, what_if_id]
    row = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM scenario {_WHERE}", parameters).fetchone()
    scenario = dict(zip(_COLUMNS, row or (), strict=True))
    harmful = scenario["newly_offline"] or scenario["newly_refusing_acks_all"]
    partitions = query_table(
        connection,
        "Partitions that change leader or stop accepting writes (the first 200)",
        dict.fromkeys(("topic", "partition", "leader", "ISR", "ELR", "election", "outcome"), "left"),
        "SELECT topic, partition, coalesce(CAST(leader_before AS VARCHAR), 'none') || ' -> ' || coalesce(CAST(leader AS VARCHAR), 'none'), "
        "CAST(isr_before AS VARCHAR) || ' -> ' || CAST(isr AS VARCHAR), coalesce(CAST(elr AS VARCHAR), '') || "
        "CASE WHEN list_contains(order_dependent_columns, 'elr') THEN ' in this order' ELSE '' END, election, "
        "CASE WHEN leader IS NULL THEN 'no leader' WHEN under_min_isr THEN 'under min ISR (' || CAST(min_insync_replicas AS VARCHAR) || ')' "
        "WHEN at_min_isr THEN 'at min ISR' ELSE 'in service' END "
        f"FROM failover {_WHERE} AND (leader IS NULL OR under_min_isr OR leader IS DISTINCT FROM leader_before) "
        "ORDER BY leader IS NOT NULL, NOT under_min_isr, topic, partition LIMIT 200",
        parameters,
    )
    survivors = query_table(
        connection,
        "Who takes over",
        dict.fromkeys(("broker", "leaders now", "leaders gained", "leaders after", "sampled records gained"), "right"),
        "SELECT broker_id, leaders_before, gained_leaders, leaders_after, coalesce(CAST(gained_records AS VARCHAR), 'unknown') "
        f"FROM takeover {_WHERE} ORDER BY 1",
        parameters,
    )
    return [
        Text(f"{_failure(scenario, snapshot_id)}\n", "bold"),
        Text(f"{_outcome(scenario)}\n", "red" if harmful else "green"),
        Text(" ".join(_side_effects(scenario)) + "\n"),
        partitions,
        survivors,
    ]


def _failure(scenario: Mapping[str, Any], snapshot_id: str) -> str:
    manner = "stopped in order" if scenario["controlled_shutdown"] else "killed"
    unclean = {None: "as configured for each topic", True: "allowed", False: "forbidden"}[scenario["unclean"]]
    failures = [f"brokers {', '.join(map(str, scenario['brokers']))} {manner}"] if scenario["brokers"] else []
    failures += [f"log dirs {', '.join(scenario['log_dirs'])} failed"] if scenario["log_dirs"] else []
    return f"Cluster {scenario['cluster_id']} of {snapshot_id}: {', '.join(failures)}, unclean election {unclean}."


def _outcome(scenario: Mapping[str, Any]) -> str:
    return (
        "{partitions} partitions have a failed replica. {newly_offline} go offline, {newly_refusing_acks_all} others keep a leader but refuse "
        "acks=all, {at_min_isr} are left at min ISR, {moved_leaders} get another leader ({unclean_leaders} uncleanly, losing records)."
    ).format(**scenario)


def _side_effects(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on the controller, bytes at risk, producers and consumers. Sentences with unknown input are left out."""
    if scenario["quorum_lost"]:
        yield "The controllers lose their quorum: from then on no leader is elected, and no dead replica leaves its ISR."
    elif scenario["controller_moves"]:
        yield "The active controller is among the failed brokers: another controller takes over first."
    if len(scenario["brokers"]) > 1:
        yield _order_of_deaths(scenario["order_dependent_partitions"])
    unknown = f"; for {scenario['at_risk_unknown']} partitions the size is unknown" if scenario["at_risk_unknown"] else ""
    yield f"{scenario['at_risk_size_bytes']} bytes of lost leaders are not on their successors{unknown}."
    if scenario["undeliverable_records"] is not None:
        share = 100 * (scenario["undeliverable_share"] or 0)
        yield (
            f"{scenario['undeliverable_records']} of the sampled records ({share:.1f}%) are undeliverable, "
            f"{scenario['redirected_records']} without a key go to other partitions."
        )
    if scenario["affected_groups"] is not None:
        stranded = scenario["stranded_members"]
        members = "" if stranded is None else f", {stranded} members have nothing left to read"
        yield f"{scenario['affected_groups']} consumer groups read a partition that goes offline{members}."
    if scenario["moved_coordinators"] is not None:
        yield f"{scenario['moved_coordinators']} groups get another coordinator, {scenario['lost_coordinators']} have none."
    if scenario["metadata_records"] is not None:
        yield f"The controller writes {scenario['metadata_records']} records."
    elif scenario["leader_and_isr_requests"] is not None:
        yield (
            f"The controller sends {scenario['leader_and_isr_requests']} LeaderAndIsr and "
            f"{scenario['update_metadata_requests']} UpdateMetadata requests."
        )


def _order_of_deaths(partitions: int | None) -> str:
    if partitions is None:
        return "The brokers fail in this order, which decides to which of the deaths the controllers react before they lose their quorum."
    if partitions == 0:
        return "Another order of the deaths has the same result."
    return (
        f"Another order of the deaths changes {partitions} partitions: their ELR, last known leader, ISR or elections. "
        "The column order_dependent_columns of failover lists what changes."
    )
