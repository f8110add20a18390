"""Rules of partition_health: every unhealthy partition has a row, and each problem is a finding."""

from __future__ import annotations

from expectations.limits import Limits
from expectations.rule import Rule, counted, hard, soft

_IN_SYNC, _SETTLED, _ASSIGNED = "in_sync_replicas", "settled_replicas", "assigned_replicas"
_MIN_ISR, _EFFECTIVE = "min_insync_replicas", "effective_min_isr"
_BRING_BACK = "'bring back a broker of its ISR or ELR'"
_CATCH_UP = "'bring back in sync: broker' || if(len(lagging_replicas) = 1, ' ', 's ') || array_to_string(lagging_replicas, ', ')"


def _grow_or_lower(spare: int) -> str:
    """Return a change after which a partition has `spare` replicas more than min.insync.replicas."""
    lower = f"if({_ASSIGNED} > {spare}, ', or lower min.insync.replicas to ' || ({_ASSIGNED} - {spare}), '')"
    return f"'add ' || {counted(f'{_MIN_ISR} + {spare} - {_ASSIGNED}', 'replica')} || {lower}"


# Before Kafka 3.7 a partition with fewer replicas than min.insync.replicas refuses acks=all even with all of them in sync.
_ACCEPT = f"""
    CASE WHEN leaderless THEN {_BRING_BACK} WHEN {_ASSIGNED} >= {_EFFECTIVE} THEN {_CATCH_UP}
         WHEN len(lagging_replicas) > 0 THEN {_CATCH_UP} || '; ' || {_grow_or_lower(0)} ELSE {_grow_or_lower(0)} END
"""
_GET_ABOVE = f"if({_ASSIGNED} > {_MIN_ISR}, {_CATCH_UP}, {_grow_or_lower(1)})"
_WITH_RACKS = "SELECT cluster_id FROM broker GROUP BY cluster_id HAVING bool_and(rack IS NOT NULL)"


def rules(limits: Limits) -> list[Rule]:
    return [
        hard(
            "every_unhealthy_partition",
            "Every partition without a leader, with a replica outside the ISR or with an ISR outside its replicas has a row.",
            """
                SELECT cluster_id, topic, partition, leader, replicas, isr
                FROM partition
                ANTI JOIN partition_health USING (cluster_id, topic, partition)
                WHERE leader IS NULL
                   OR len(list_filter(isr, lambda id: NOT list_contains(replicas, id))) > 0
                   OR len(isr) < len(replicas) - coalesce(len(adding_replicas), 0)
            """,
        ),
        hard(
            "listed_partitions_are_unhealthy",
            "Every listed partition has at least one problem.",
            """
                SELECT cluster_id, topic, partition
                FROM partition_health
                WHERE NOT (leaderless OR under_replicated OR under_min_isr OR at_min_isr OR not_preferred OR non_replica_in_isr OR unknown_broker
                    OR coalesce(rack_unsafe, false) OR no_tolerance OR replication_factor_mismatch OR min_isr_above_replicas)
            """,
        ),
        _problem(
            "leaderless", "every_partition_has_a_leader", "Every partition has a live leader.", "0", "1", "live leaders = 1", _BRING_BACK
        ),
        _problem(
            "under_replicated",
            "fully_replicated",
            "Every replica of a partition is in its ISR.",
            _IN_SYNC,
            _SETTLED,
            "replicas in sync = replicas, without those being added",
            _CATCH_UP,
        ),
        _problem(
            "under_min_isr",
            "accepts_acks_all",
            "Every partition has min.insync.replicas in sync (since Kafka 3.7 at most all its replicas), so that it accepts acks=all writes.",
            _IN_SYNC,
            _EFFECTIVE,
            "replicas in sync >= effective min.insync.replicas",
            _ACCEPT,
        ),
        _problem(
            "at_min_isr",
            "above_min_isr",
            "Every partition would still accept acks=all writes with one in-sync replica fewer.",
            _IN_SYNC,
            f"{_EFFECTIVE} + 1",
            "replicas in sync > effective min.insync.replicas",
            _GET_ABOVE,
        ),
        _problem(
            "non_replica_in_isr",
            "isr_within_replicas",
            "The ISR of a partition contains only its replicas.",
            "1",
            "0",
            "brokers in the ISR that are not replicas = 0",
            "'wait until the reassignment ends, or restart the controller: its state contradicts itself'",
        ),
        _problem(
            "unknown_broker",
            "replicas_on_live_brokers",
            "Every replica is on a live broker.",
            "1",
            "0",
            "replicas on dead brokers = 0",
            "'bring the broker back, or move the replica off it: see plan'",
        ),
        _problem(
            "rack_unsafe",
            "spread_over_racks",
            "The replicas of a partition are in as many racks as possible.",
            "1",
            "0",
            "replicas that share a rack although another is free = 0",
            "'move a replica to a rack without one: see goal_breach and plan'",
            requires=_WITH_RACKS,
        ),
        _problem(
            "no_tolerance",
            "more_replicas_than_min_isr",
            "A partition has more replicas than min.insync.replicas, so that it accepts acks=all writes without one of them.",
            _ASSIGNED,
            f"{_MIN_ISR} + 1",
            "replicas > min.insync.replicas",
            _grow_or_lower(1),
        ),
        _problem(
            "replication_factor_mismatch",
            "replication_factor_of_topic",
            "A partition has as many replicas as its topic's replication factor.",
            _SETTLED,
            "replication_factor",
            "replicas, without those being added = replication factor",
            "'finish the reassignment that caused it, or start another: see plan'",
        ),
        _problem(
            "min_isr_above_replicas",
            "enough_replicas_for_min_isr",
            "A partition has at least min.insync.replicas replicas. With fewer, Kafka before 3.7 refuses all acks=all writes, and later releases "
            "accept them with fewer replicas in sync than configured.",
            _ASSIGNED,
            _MIN_ISR,
            "replicas >= min.insync.replicas",
            _grow_or_lower(0),
        ),
        soft(
            "preferred_leaders",
            f"At most {limits.not_preferred_share_most} of the partitions that prefer a broker have another leader.",
            f"""
                WITH led_by_others AS (
                    SELECT cluster_id, preferred_leader AS broker_id, count(*) AS not_preferred
                    FROM partition_health
                    WHERE not_preferred
                    GROUP BY ALL
                )
                SELECT cluster_id, broker_id, not_preferred, preferred_leaders
                FROM led_by_others
                JOIN broker_balance USING (cluster_id, broker_id)
                WHERE not_preferred > {limits.not_preferred_share_most} * preferred_leaders
            """,
            measured="not_preferred / preferred_leaders",
            limit=limits.not_preferred_share_most,
            formula="partitions that prefer the broker and have another leader / all that prefer it <= limit",
            change=f"'hold a preferred leader election for ' || {counted('not_preferred', 'partition')}",
        ),
    ]


def _problem(
    column: str, name: str, sentence: str, measured: str, limit: str, formula: str, change: str, *, requires: str | None = None
) -> Rule:
    """Return the rule that no partition has the problem of a column."""
    columns = f"{_ASSIGNED}, {_SETTLED}, {_IN_SYNC}, {_MIN_ISR}, {_EFFECTIVE}, replication_factor, leaderless, lagging_replicas"
    query = f"SELECT cluster_id, topic, partition, {columns} FROM partition_health WHERE {column}"
    return soft(name, sentence, query, measured=measured, limit=limit, formula=formula, change=change, requires=requires)
