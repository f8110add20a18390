"""The tables of a reassignment plan, which the command `plan` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobs.schema.table import CLUSTER_COLUMNS, Table

_PLAN_COLUMNS = f"""{CLUSTER_COLUMNS},
    plan_id STRING NOT NULL COMMENT 'id of the plan'"""
_PARTITION_BY = ("snapshot_id", "plan_id")
_SHOWN_VALUES = 10

PLAN = Table(
    "plan",
    "a reassignment plan: the request and a summary of the result",
    ("snapshot_id", "cluster_id", "plan_id"),
    f"""
    {_PLAN_COLUMNS},
    request STRING NOT NULL COMMENT 'options of the plan as JSON',
    unfulfilled STRING COMMENT 'requested changes that are impossible, with the reasons; null: the plan does all that was requested',
    worse STRING COMMENT 'what is worse after the plan than now; null: nothing',
    left_out STRING COMMENT 'balancing steps that the plan omits, and what they would make worse; null: none',
    score_before DOUBLE NOT NULL COMMENT 'balancedness score now: 100 minus the weights of the violated default goals; goals without input count as satisfied, and dead brokers do not change it',
    score DOUBLE NOT NULL COMMENT 'balancedness score after the plan: 100 minus the weights of the violated default goals; goals without input count as satisfied, and dead brokers do not change it',
    changed_partitions BIGINT NOT NULL COMMENT 'partitions whose replicas or their order change',
    moved_replicas BIGINT NOT NULL COMMENT 'replicas that are copied to a broker that did not have them',
    moved_bytes DOUBLE COMMENT 'bytes to copy; null: the size of every moved replica is unknown',
    leadership_changes BIGINT NOT NULL COMMENT 'partitions that get another preferred leader and no other replica',
    elections BIGINT NOT NULL COMMENT 'partitions that a preferred leader election must hand to their first replica',
    waves INT NOT NULL COMMENT 'waves that copy data',
    minimum_moves BIGINT NOT NULL COMMENT 'moves that would make the counts of live brokers differ by at most one (net imbalance)',
    stranded_replicas BIGINT NOT NULL COMMENT 'replicas that remain on dead or drained brokers because no other broker can take them',
    blocked_replicas BIGINT NOT NULL COMMENT 'replicas that should move or be added and cannot: the sum over plan_blocked',
    disk_limit DOUBLE NOT NULL COMMENT 'fraction of its disk capacity that a broker which gets replicas may use during a wave, old and new copies together',
    disk_unknown_brokers ARRAY<INT> NOT NULL COMMENT 'live brokers with unknown disk capacity, for which the disk limit is not checked',
    size_unknown_partitions BIGINT NOT NULL COMMENT 'partitions of unknown size, which the disk limit does not count',
    throttle_bytes_per_s DOUBLE COMMENT 'replication throttle in bytes/s that keeps each link below the requested share of its capacity, its known current load included; 0: a link is above that share already; null: a network capacity is unknown',
    harmed_before BIGINT NOT NULL COMMENT 'partitions that the death of some broker takes offline or under min ISR now',
    harmed BIGINT NOT NULL COMMENT 'partitions that the death of some broker takes offline or under min ISR after the plan',
    throttle_broker_id INT COMMENT 'broker whose link allows the least traffic; null: a network capacity is unknown',
    throttle_load_source STRING COMMENT 'source of the current load of the link of throttle_broker_id: broker (network_*_bytes_per_s of broker), partition_load (the sum over its partitions), partition_load, incomplete (some partitions have no row), or unknown (counted as 0); null: no throttle',
    load_unknown_brokers ARRAY<INT> NOT NULL COMMENT 'brokers that copy data and whose current network load is unknown or incomplete'
""",
    partition_by=_PARTITION_BY,
)
PLAN_MOVE = Table(
    "plan_move",
    "a partition that a plan changes",
    ("snapshot_id", "cluster_id", "plan_id", "topic", "partition"),
    f"""
    {_PLAN_COLUMNS},
    topic STRING NOT NULL COMMENT 'name of the topic',
    partition INT NOT NULL COMMENT 'number of the partition within its topic, from 0',
    wave INT NOT NULL COMMENT 'wave of the change; 0: only the leadership changes, before any data moves',
    reason STRING NOT NULL COMMENT 'first planning step that changed the partition',
    replicas_before ARRAY<INT> NOT NULL COMMENT 'broker ids of the replicas now, the preferred leader first',
    replicas ARRAY<INT> NOT NULL COMMENT 'broker ids of the replicas after the plan, the preferred leader first',
    added_replicas ARRAY<INT> NOT NULL COMMENT 'broker ids of the added replicas',
    removed_replicas ARRAY<INT> NOT NULL COMMENT 'broker ids of the removed replicas',
    leader_before INT COMMENT 'broker id of the leader now; null: none',
    moved_bytes DOUBLE COMMENT 'bytes to copy; null: the size of the partition is unknown'
""",
    partition_by=_PARTITION_BY,
)
PLAN_WAVE = Table(
    "plan_wave",
    "a wave of a plan, and how many partitions a broker's death harms after it",
    ("snapshot_id", "cluster_id", "plan_id", "wave"),
    f"""
    {_PLAN_COLUMNS},
    wave INT NOT NULL COMMENT 'number of the wave; 0: only leadership changes',
    partitions BIGINT NOT NULL COMMENT 'partitions that change in the wave',
    moved_replicas BIGINT NOT NULL COMMENT 'replicas that are copied in the wave',
    moved_bytes DOUBLE COMMENT 'bytes to copy in the wave; null: the size of every moved replica is unknown',
    moves_of_busiest_broker BIGINT NOT NULL COMMENT 'replicas that are copied to or from the broker with the most of them',
    fullest_target_id INT COMMENT 'broker with the fullest disk of those that get a replica in the wave; null: none gets one, or no disk capacity is known',
    fullest_target_share DOUBLE COMMENT 'largest fraction of its disk capacity that fullest_target_id uses during the wave, old and new copies together; null: none gets a replica, or no disk capacity is known',
    harmed BIGINT NOT NULL COMMENT 'partitions that the death of some broker takes offline or under min ISR after the wave'
""",
    partition_by=_PARTITION_BY,
)
PLAN_BROKER = Table(
    "plan_broker",
    "what a broker carries before and after a plan",
    ("snapshot_id", "cluster_id", "plan_id", "broker_id"),
    f"""
    {_PLAN_COLUMNS},
    broker_id INT NOT NULL COMMENT 'id of the broker',
    replicas_before BIGINT NOT NULL COMMENT 'replicas now',
    replicas BIGINT NOT NULL COMMENT 'replicas after the plan',
    leaders_before BIGINT NOT NULL COMMENT 'partitions that the broker leads now',
    leaders BIGINT NOT NULL COMMENT 'partitions that the broker leads after the plan and a preferred leader election',
    size_bytes_before DOUBLE COMMENT 'bytes of its replicas now, each counted with the size of its partition; null: no size is known',
    size_bytes DOUBLE COMMENT 'bytes of its replicas after the plan, each counted with the size of its partition; null: no size is known'
""",
    partition_by=_PARTITION_BY,
)
PLAN_SCENARIO = Table(
    "plan_scenario",
    "what a failure does before and after a plan",
    ("snapshot_id", "cluster_id", "plan_id", "scenario_id"),
    f"""
    {_PLAN_COLUMNS},
    scenario_id STRING NOT NULL COMMENT 'name of the failure as in scenario, or brokers 1+2 for a pair that shares a partition before or after the plan',
    kind STRING NOT NULL COMMENT 'broker (one is killed), stop (one is stopped by controlled shutdown), rack or pair',
    brokers ARRAY<INT> NOT NULL COMMENT 'ids of the brokers that fail',
    partitions_before BIGINT NOT NULL COMMENT 'before the plan: partitions with a replica on a failed broker',
    partitions BIGINT NOT NULL COMMENT 'after the plan: partitions with a replica on a failed broker',
    moved_leaders_before BIGINT NOT NULL COMMENT 'before the plan: partitions that get another leader',
    moved_leaders BIGINT NOT NULL COMMENT 'after the plan: partitions that get another leader',
    newly_offline_before BIGINT NOT NULL COMMENT 'before the plan: partitions that have a leader before the failure and none after it',
    newly_offline BIGINT NOT NULL COMMENT 'after the plan: partitions that have a leader before the failure and none after it',
    newly_refusing_acks_all_before BIGINT NOT NULL COMMENT 'before the plan: partitions that have a leader after the failure, refuse acks=all, and accepted it before; never also counted in newly_offline_before',
    newly_refusing_acks_all BIGINT NOT NULL COMMENT 'after the plan: partitions that have a leader after the failure, refuse acks=all, and accepted it before; never also counted in newly_offline',
    at_min_isr_before BIGINT NOT NULL COMMENT 'before the plan: partitions with a leader and exactly min.insync.replicas in sync after the failure',
    at_min_isr BIGINT NOT NULL COMMENT 'after the plan: partitions with a leader and exactly min.insync.replicas in sync after the failure',
    newly_lost_before BIGINT NOT NULL COMMENT 'before the plan: partitions that had a live replica with every acknowledged record before the failure and have none after it; can also be counted in newly_offline_before or newly_refusing_acks_all_before',
    newly_lost BIGINT NOT NULL COMMENT 'after the plan: partitions that had a live replica with every acknowledged record before the failure and have none after it; can also be counted in newly_offline or newly_refusing_acks_all'
""",
    partition_by=_PARTITION_BY,
)
PLAN_GOAL = Table(
    "plan_goal",
    "the verdict of a goal of Cruise Control before and after a plan",
    ("snapshot_id", "cluster_id", "plan_id", "goal"),
    f"""
    {_PLAN_COLUMNS},
    goal STRING NOT NULL COMMENT 'class name of the goal',
    hard BOOLEAN NOT NULL COMMENT 'a hard goal: Cruise Control never violates it to satisfy a soft one',
    verdict_before STRING NOT NULL COMMENT 'verdict now: satisfied, violated, unfixable, refused or unknown',
    verdict STRING NOT NULL COMMENT 'verdict after the plan: satisfied, violated, unfixable, refused or unknown',
    breaches_before BIGINT NOT NULL COMMENT 'breaches of the goal now',
    breaches BIGINT NOT NULL COMMENT 'breaches of the goal after the plan'
""",
    partition_by=_PARTITION_BY,
)
PLAN_BLOCKED = Table(
    "plan_blocked",
    "replicas of a partition that a plan should move or add and cannot",
    ("snapshot_id", "cluster_id", "plan_id", "topic", "partition", "reason", "obstacle"),
    f"""
    {_PLAN_COLUMNS},
    topic STRING NOT NULL COMMENT 'name of the topic',
    partition INT NOT NULL COMMENT 'number of the partition within its topic, from 0',
    reason STRING NOT NULL COMMENT 'planning step that needs the change',
    blocked_replicas BIGINT NOT NULL COMMENT 'replicas that should move or be added',
    replicas ARRAY<INT> NOT NULL COMMENT 'broker ids of the replicas now',
    obstacle STRING NOT NULL COMMENT 'why the replicas cannot move or be added: no live leader, no free broker, too few racks, or the disk limit'
""",
    partition_by=_PARTITION_BY,
)
PLAN_RULE = Table(
    "plan_rule",
    "the result of a rule before a plan and on the night after it",
    ("snapshot_id", "cluster_id", "plan_id", "suite", "rule"),
    f"""
    {_PLAN_COLUMNS},
    suite STRING NOT NULL COMMENT 'table that the rule is about',
    rule STRING NOT NULL COMMENT 'name of the rule within its suite',
    severity STRING NOT NULL COMMENT 'hard: a cluster that breaks the rule is not published; soft: a broken rule is a finding about the cluster',
    success_before BOOLEAN COMMENT 'no row breaks the rule now; null: its input is missing',
    success BOOLEAN COMMENT 'no row breaks the rule after the plan; null: its input is missing',
    broken_rows_before BIGINT NOT NULL COMMENT 'rows that break the rule now',
    broken_rows BIGINT NOT NULL COMMENT 'rows that break the rule after the plan',
    example STRING COMMENT 'one row that breaks the rule after the plan, as JSON; null: none',
    sentence STRING NOT NULL COMMENT 'the rule in a sentence'
""",
    partition_by=_PARTITION_BY,
)


def unchecked_limits(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each limit that a row of `plan` could not check, because its input is unknown."""
    if ids := plan["disk_unknown_brokers"]:
        yield f"The disk limit is not checked on brokers {first_values(ids)}: their disk capacity is unknown."
    if count := plan["size_unknown_partitions"]:
        yield f"The disk limit does not count {count} partitions: their size is unknown."
    if plan["throttle_bytes_per_s"] is not None and (ids := plan["load_unknown_brokers"]):
        yield f"The throttle counts the load of brokers {first_values(ids)} only as far as it is known."


def first_values(values: Sequence[object]) -> str:
    """Return the first values as text, and how many more there are."""
    shown = ", ".join(map(str, values[:_SHOWN_VALUES]))
    return shown if len(values) <= _SHOWN_VALUES else f"{shown} and {len(values) - _SHOWN_VALUES} more"
